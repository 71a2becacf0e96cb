"""A multi-task model that keeps a history of its losses.

Source: https://github.com/DeepRank/deeprank/issues/210
    https://github.com/shenyangHuang/TGB/pull/118
Odd: item() is called on the losses in forward, for the log only.
"""

import torch
import torch.nn.functional as F
from torch import nn


class LoggedMultiTask(nn.Module):
    def __init__(self, dim=8, classes=3):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(dim, 32), nn.ReLU())
        self.reg, self.cls = nn.Linear(32, 1), nn.Linear(32, classes)
        self.history = []

    def forward(self, x, target, label):
        h = self.trunk(x)
        mse = F.mse_loss(self.reg(h).squeeze(1), target)
        ce = F.cross_entropy(self.cls(h), label)
        self.history.append((mse.item(), ce.detach().item()))
        return {"loss": mse + ce}


def example_inputs():
    return (
        torch.randn(16, 8),
        torch.randn(16),
        torch.randint(0, 3, (16,)),
    )
