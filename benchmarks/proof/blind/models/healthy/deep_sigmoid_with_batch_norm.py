"""A network of sigmoids that works since each layer is normalised.

Source: https://github.com/phlippe/uvadlc_notebooks/issues/119
Odd: the activation is one that saturates, in six layers.
"""

import torch
import torch.nn.functional as F
from torch import nn


class SigmoidNet(nn.Module):
    def __init__(self, dim=10, hidden=32, depth=6, classes=3):
        super().__init__()
        layers, size = [], dim
        for _ in range(depth):
            layers += [nn.Linear(size, hidden, bias=False), nn.BatchNorm1d(hidden), nn.Sigmoid()]
            size = hidden
        self.body = nn.Sequential(*layers)
        self.out = nn.Linear(hidden, classes)

    def forward(self, x, y):
        logits = self.out(self.body(x))
        return {"loss": F.cross_entropy(logits, y), "logits": logits}


def example_inputs():
    return (
        torch.randn(64, 10),
        torch.randint(0, 3, (64,)),
    )
