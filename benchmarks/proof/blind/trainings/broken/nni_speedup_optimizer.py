r"""Prunes a network to half of its width and fine-tunes the smaller one.

Source: https://github.com/microsoft/nni/issues/4521
Fault: The speed-up replaces the layers after the optimizer was made; it goes on stepping the old
    parameters, and the new layers stay as they were cut.
Cause: optimi[sz]er.*(old|stale|before|outdated|replaced)|(new|replaced).*(not|never).*(optim|updat)
Place: fc1|fc2
"""

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(12, 64), nn.Linear(64, 64), nn.Linear(64, 4)

    def forward(self, x):
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


def cut(layer, rows=None, cols=None):
    weight = layer.weight.data if rows is None else layer.weight.data[rows]
    weight = weight if cols is None else weight[:, cols]
    new = nn.Linear(weight.shape[1], weight.shape[0])
    new.weight.data.copy_(weight)
    new.bias.data.copy_(layer.bias.data if rows is None else layer.bias.data[rows])
    return new


def speedup_model(model, keep=12):
    keep1 = model.fc1.weight.norm(dim=1).topk(keep).indices
    keep2 = model.fc2.weight.norm(dim=1).topk(keep).indices
    model.fc1 = cut(model.fc1, rows=keep1)
    model.fc2 = cut(model.fc2, rows=keep2, cols=keep1)
    model.fc3 = cut(model.fc3, cols=keep2)


def train(model, optimizer, steps, tag):
    for step in range(steps):
        x = torch.randn(64, 12)
        loss = F.cross_entropy(model(x), x[:, :4].abs().argmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 39:
            print(f"{tag} step {step} loss {loss.item():.4f}")


torch.manual_seed(0)
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
train(model, optimizer, 120, "dense")
speedup_model(model)
train(model, optimizer, 120, "fine-tune")  # here
