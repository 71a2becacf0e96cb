r"""Choice of the answer in dialogues of a shop, with a validation after each epoch.

Source: https://github.com/shubhamagarwal92/mmd/issues/14
Fault: The evaluation puts the model into evaluation mode and never back, so from the second epoch
    on it is trained without dropout.
Cause: eval(uation)?.{0,10}mode|train(ing)?.{0,5}mode|\.train\(\)|\.eval\(\)|dropout.{0,50}(off
    |disabled|inactive|no effect|not active|not applied|stops|without)|(without|no) dropout
Place: evaluate|model|\.eval\b|\.train\b
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(5)
CONFIG = {"vocab": 60, "answers": 8, "dim": 128, "dropout": 0.6, "epochs": 14, "batch": 32}
topics = torch.randn(CONFIG["answers"], CONFIG["vocab"]).mul(0.9).softmax(1)


def make_dialogues(count):
    answer = torch.randint(0, CONFIG["answers"], (count,))
    words = torch.multinomial(topics[answer], 12, replacement=True)
    counts = F.one_hot(words, CONFIG["vocab"]).sum(1).float()
    noisy = torch.rand(count) < 0.15
    answer[noisy] = torch.randint(0, CONFIG["answers"], (int(noisy.sum()),))
    return TensorDataset(counts, answer)


class DialogueRanker(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.inputs = nn.Dropout(0.3)
        self.encoder = nn.Linear(config["vocab"], config["dim"])
        self.dropout = nn.Dropout(config["dropout"])
        self.middle = nn.Linear(config["dim"], config["dim"])
        self.score = nn.Linear(config["dim"], config["answers"])

    def forward(self, counts):
        hidden = self.dropout(F.relu(self.encoder(self.inputs(counts))))
        return self.score(self.dropout(F.relu(self.middle(hidden))))


def evaluate(model, loader):
    model.eval()  # here
    total, right, count = 0.0, 0, 0
    with torch.no_grad():
        for counts, answer in loader:
            scores = model(counts)
            total += F.cross_entropy(scores, answer, reduction="sum").item()
            right += (scores.argmax(1) == answer).sum().item()
            count += len(answer)
    return total / count, right / count


def run(config):
    train_loader = DataLoader(make_dialogues(400), batch_size=config["batch"], shuffle=True)
    valid_loader = DataLoader(make_dialogues(1000), batch_size=250)
    model = DialogueRanker(config)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    model.train()
    for epoch in range(config["epochs"]):
        running = 0.0
        for counts, answer in train_loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(counts), answer)
            loss.backward()
            optimizer.step()
            running += loss.item() / len(train_loader)
        valid_loss, accuracy = evaluate(model, valid_loader)
        print(f"epoch {epoch} train {running:.3f} valid {valid_loss:.3f} accuracy {accuracy:.3f}")


run(CONFIG)
