r"""Mean of the k largest activations of every channel.

Source: https://docs.pytorch.org/docs/stable/generated/torch.topk.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn


class KMaxPool(nn.Module):
    """Mean of the k largest activations of every channel."""

    def __init__(self, k=3):
        super().__init__()
        self.k = k

    def forward(self, h):
        return h.topk(self.k, dim=1).values.mean(dim=1)


class AlarmNet(nn.Module):
    def __init__(self, features=6, steps=20, dim=20, out=4):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(features, dim), nn.ReLU(), nn.Linear(dim, dim))
        self.pool = KMaxPool(3)
        self.head = nn.Linear(dim, out)

    def forward(self, x):
        # x: [batch, steps, features]
        return self.head(self.pool(self.enc(x)))


torch.manual_seed(0)
model = AlarmNet()
example_inputs = (torch.randn(6, 20, 6),)
