r"""The model `AdaptedNet`.

Source: https://arxiv.org/abs/2106.09685
Healthy: the right twin of the broken case of this name.
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class LoRALinear(nn.Module):
    def __init__(self, base, rank=4, alpha=8.0):
        super().__init__()
        self.base = base
        for p in self.base.parameters():
            p.requires_grad_(False)
        self.down = nn.Parameter(torch.zeros(rank, base.in_features))
        self.up = nn.Parameter(torch.zeros(base.out_features, rank))
        self.scale = alpha / rank
        nn.init.kaiming_uniform_(self.down, a=math.sqrt(5))

    def forward(self, x):
        return self.base(x) + self.scale * (x @ self.down.T @ self.up.T)


class AdaptedNet(nn.Module):
    def __init__(self, n_in=16, hidden=32, classes=4):
        super().__init__()
        self.fc1 = LoRALinear(nn.Linear(n_in, hidden))
        self.fc2 = LoRALinear(nn.Linear(hidden, hidden))
        self.head = nn.Linear(hidden, classes)

    def forward(self, x):
        h = F.relu(self.fc1(x))
        h = F.relu(self.fc2(h))
        return self.head(h)


torch.manual_seed(0)
model = AdaptedNet()
example_inputs = (torch.randn(8, 16),)
