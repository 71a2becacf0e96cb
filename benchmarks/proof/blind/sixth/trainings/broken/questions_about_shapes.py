r"""Answers to questions about shapes, with the accuracy measured every few steps.

Source: https://github.com/facebookresearch/clevr-iep/pull/22
Fault: The measurement switches the model to evaluation and does not switch it back.
Cause: eval\(|eval(uation)? mode|in (eval|evaluation)\b|to evaluation
    |(train|mode).{0,60}(back|restore|again|never|switch|return)|set_mode
    |dropout|running stat
Place: check_accuracy|set_mode
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(3)
rule = torch.randn(6, 40)


def sample(count):
    question = torch.randint(0, 6, (count,))
    scene = torch.randn(count, 40) * 4 + 2
    answer = ((scene * rule[question]).sum(1) > 2 * rule[question].sum(1)).long()
    return question, scene, answer


train_set, val_set = sample(512), sample(512)


class Reasoner(nn.Module):
    def __init__(self):
        super().__init__()
        self.word = nn.Embedding(6, 40)
        self.net = nn.Sequential(
            nn.BatchNorm1d(80),
            nn.Linear(80, 128),
            nn.BatchNorm1d(128),
            nn.ReLU(),
            nn.Dropout(0.5),
            nn.Linear(128, 2),
        )

    def forward(self, question, scene):
        word = self.word(question)
        return self.net(torch.cat([scene, scene * word], 1))


def set_mode(mode, *models):
    for m in models:
        m.train() if mode == "train" else m.eval()


def check_accuracy(model, data):
    set_mode("eval", model)  # here
    question, scene, answer = data
    with torch.no_grad():
        scores = model(question, scene)
    accuracy = (scores.argmax(1) == answer).float().mean().item()
    return accuracy, F.cross_entropy(scores, answer).item()


model = Reasoner()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
set_mode("train", model)
for t in range(120):
    pick = torch.randint(0, 512, (64,))
    question, scene, answer = (part[pick] for part in train_set)
    loss = F.cross_entropy(model(question, scene), answer)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if t % 20 == 0:
        train_acc, val_acc = check_accuracy(model, train_set), check_accuracy(model, val_set)
        print(f"{t}: train {train_acc[0]:.3f} val {val_acc[0]:.3f} val loss {val_acc[1]:.3f}")
print("final val accuracy {:.3f}, loss {:.3f}".format(*check_accuracy(model, val_set)))
