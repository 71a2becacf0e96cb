"""Kinds of flowers learned by clients whose weights are averaged, each step taken twice.

Source: https://github.com/hwan-sig/Official-FedGF/issues/1
Odd: The weights are first moved up the gradient, the gradient is taken there, the move is taken
    back and only then the optimizer steps; there are two backward passes for one step.
"""

import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1)
KINDS, FEATURES, RHO = 4, 6, 0.05
middle = 2 * torch.randn(KINDS, FEATURES)


def flowers(count, kinds):
    label = kinds[torch.randint(0, len(kinds), (count,))]
    return middle[label] + 0.8 * torch.randn(count, FEATURES), label


clients = [flowers(200, torch.tensor(k)) for k in ([0, 1, 2], [1, 2, 3])]
test_x, test_y = flowers(400, torch.arange(KINDS))
model = nn.Sequential(nn.Linear(FEATURES, 32), nn.ReLU(), nn.Linear(32, KINDS))


class SAM:
    def __init__(self, parameters, base, rho):
        self.parameters, self.base, self.rho = list(parameters), base, rho
        self.moves = []

    @torch.no_grad()
    def ascent_step(self):
        norm = torch.stack([p.grad.norm() for p in self.parameters]).norm()
        self.moves = []
        for p in self.parameters:
            move = self.rho * p.grad / (norm + 1e-12)
            p.add_(move)
            self.moves.append(move)
        self.base.zero_grad()

    @torch.no_grad()
    def descent_step(self):
        for p, move in zip(self.parameters, self.moves, strict=True):
            p.sub_(move)
        self.base.step()
        self.base.zero_grad()


for communication in range(10):
    states = []
    for x, y in clients:
        local = copy.deepcopy(model)
        base = torch.optim.SGD(local.parameters(), lr=0.05, momentum=0.9)
        sam = SAM(local.parameters(), base, RHO)
        for rows in torch.randperm(len(x)).split(40):
            loss = F.cross_entropy(local(x[rows]), y[rows])
            loss.backward()
            sam.ascent_step()
            F.cross_entropy(local(x[rows]), y[rows]).backward()
            sam.descent_step()
        states.append(local.state_dict())
    model.load_state_dict({k: (states[0][k] + states[1][k]) / 2 for k in states[0]})
    if communication % 2 == 1:
        with torch.no_grad():
            right = (model(test_x).argmax(1) == test_y).float().mean().item()
        print(f"round {communication + 1} local loss {loss.item():.4f} right {right:.3f}")
