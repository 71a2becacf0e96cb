r"""The model `AdaptedNet`.

Source: https://arxiv.org/abs/2106.09685
Fault: Both low-rank factors start at zero, so each has a zero gradient because of the other and
    the adapter never learns.
Cause: (zero|0)\w*.*(init|gradient|factor|adapter|both|lora|weight|param)
    |(never|not|cannot) (learn|train)|lora|no gradient|saddle|(stuck|dead)|zero gradient
    |gradient\w* (is|are|of|stays?)( exactly)? (none|zero|0)
    |(never|not) (gets?|receiv\w+) (a |any )?gradient|gets no grad
"""

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
