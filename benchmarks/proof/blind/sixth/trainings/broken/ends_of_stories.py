r"""Fine-tuning of a language transformer to choose the right end of a story.

Source: https://github.com/huggingface/pytorch-openai-transformer-lm/pull/6
Fault: The optimizer has the parameters of the transformer but not those of the new head.
Cause: (head|clf|classif|linear)\w*.{0,80}(not|never|missing|without|unchanged|n't|untrained|absent)
    |(not|missing|outside|absent|never).{0,60}optimi[sz]er|optimi[sz]er.{0,60}(not|miss|lack|without)
Place: clf_head|model_opt
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(5)
vocab, length, dim = 30, 12, 24


class TransformerModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(vocab + length, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 48, 0.0, batch_first=True)
        self.h = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)

    def forward(self, x):
        return self.h(self.embed(x) + self.embed(torch.arange(vocab, vocab + length)))


class ClfHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.dropout = nn.Dropout(0.1)
        self.linear = nn.Linear(dim, 1)
        nn.init.normal_(self.linear.weight, std=0.02)
        nn.init.zeros_(self.linear.bias)

    def forward(self, h):
        return self.linear(self.dropout(h[:, -1])).squeeze(-1)


def stories(count=48):
    x = torch.randint(0, vocab, (count, 2, length))
    right = torch.randint(0, 2, (count,))
    rows = torch.arange(count)
    x[rows, right, -1] = torch.randint(0, 15, (count,))
    x[rows, 1 - right, -1] = torch.randint(15, vocab, (count,))
    return x, right


model, clf_head = TransformerModel(), ClfHead()
model_opt = torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=0.01)  # here
for step in range(100):
    x, right = stories()
    scores = clf_head(model(x.flatten(0, 1))).view(-1, 2)
    loss = F.cross_entropy(scores, right)
    model_opt.zero_grad()
    clf_head.zero_grad()
    loss.backward()
    model_opt.step()
    if step % 20 == 19:
        accuracy = (scores.argmax(1) == right).float().mean()
        print(f"step {step} loss {loss.item():.3f} accuracy {accuracy.item():.3f}")
clf_head.eval()
x, right = stories(400)
with torch.no_grad():
    scores = clf_head(model(x.flatten(0, 1))).view(-1, 2)
print(f"held out: loss {F.cross_entropy(scores, right).item():.3f}")
