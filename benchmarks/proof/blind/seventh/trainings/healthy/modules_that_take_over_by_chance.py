r"""Short modules take the place of long ones by chance, more and more often.

Source: https://github.com/JetRunner/BERT-of-Theseus
Odd: The long modules and the classifier are frozen; in most passes only part of the trained
    modules is used and gets a gradient, the rest keeps none, and the probability of use grows to
    one.
"""

import copy
import random

import torch
import torch.nn.functional as F
from torch import nn

random.seed(79)
torch.manual_seed(79)
WIDTH = 48


def long_module():
    return nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH), nn.Tanh())


class Theseus(nn.Module):
    def __init__(self, modules=3):
        super().__init__()
        self.inward = nn.Linear(16, WIDTH)
        self.predecessors = nn.ModuleList([long_module() for _ in range(modules)])
        self.head = nn.Linear(WIDTH, 5)
        self.successors = None
        self.rate = 0.0

    def forward(self, x):
        x = torch.tanh(self.inward(x))
        for i, old in enumerate(self.predecessors):
            use_new = self.successors is not None and random.random() < self.rate
            x = self.successors[i](x) if use_new else old(x)
        return self.head(x)

    def shorten(self):
        for p in self.parameters():
            p.requires_grad_(False)
        self.successors = nn.ModuleList(
            [nn.Sequential(copy.deepcopy(old[0]), nn.Tanh()) for old in self.predecessors]
        ).requires_grad_(True)


teacher = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 5))


@torch.no_grad()
def sample(count):
    x = 1.3 * torch.randn(count, 16)
    return x, (3 * teacher(x)).argmax(1)


@torch.no_grad()
def test(model, rate):
    before, model.rate = model.rate, rate
    x, y = sample(1000)
    right = (model(x).argmax(1) == y).float().mean().item()
    model.rate = before
    return right


model = Theseus()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(160):
    x, y = sample(128)
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"long modules: loss {loss.item():.3f} accuracy {test(model, 0.0):.3f}")

model.shorten()
optimizer = torch.optim.Adam(model.successors.parameters(), lr=2e-3)
print(f"short modules before training: accuracy {test(model, 1.0):.3f}")
for step in range(240):
    model.rate = min(1.0, 0.4 + 0.6 * step / 160)
    x, y = sample(128)
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    if loss.requires_grad:
        loss.backward()
        optimizer.step()
    if step % 60 == 59:
        short = test(model, 1.0)
        print(f"{step + 1} rate {model.rate:.2f} loss {loss.item():.3f} short {short:.3f}")
