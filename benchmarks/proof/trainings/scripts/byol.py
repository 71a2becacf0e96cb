"""BYOL: an online network with a predictor, and a teacher that is its moving average."""

import copy
import json

import torch
import torch.nn.functional as F
from torch import nn


def MLP(dim, projection_size, hidden_size=32):
    return nn.Sequential(
        nn.Linear(dim, hidden_size),
        nn.BatchNorm1d(hidden_size),
        nn.ReLU(inplace=True),
        nn.Linear(hidden_size, projection_size),
    )


def loss_fn(x, y):
    return 2 - 2 * (F.normalize(x, dim=-1) * F.normalize(y, dim=-1)).sum(dim=-1)


class BYOL(nn.Module):
    def __init__(self):
        super().__init__()
        self.online_encoder = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), MLP(32, 8))
        self.online_predictor = MLP(8, 8)
        self.target_encoder = copy.deepcopy(self.online_encoder)
        for p in self.target_encoder.parameters():
            p.requires_grad = False

    def update_moving_average(self, beta=0.99):
        pairs = zip(self.online_encoder.parameters(), self.target_encoder.parameters(), strict=True)
        for current, target in pairs:
            target.data = target.data * beta + (1 - beta) * current.data

    def forward(self, one, two):
        p1 = self.online_predictor(self.online_encoder(one))
        p2 = self.online_predictor(self.online_encoder(two))
        with torch.no_grad():
            t1, t2 = self.target_encoder(one).detach(), self.target_encoder(two).detach()
        return (loss_fn(p1, t2) + loss_fn(p2, t1)).mean()


torch.manual_seed(11)
learner = BYOL()
opt = torch.optim.Adam(learner.parameters(), lr=3e-4)
losses = []
for _ in range(100):
    images = torch.randn(32, 16)
    loss = learner(images + 0.1 * torch.randn(32, 16), images + 0.1 * torch.randn(32, 16))
    opt.zero_grad()
    loss.backward()
    opt.step()
    learner.update_moving_average()
    losses.append(loss.item())
print(losses[0], losses[-1])
print("TRUTH", json.dumps({"learner": ["Adam", 100, losses[0], losses[-1]]}))
