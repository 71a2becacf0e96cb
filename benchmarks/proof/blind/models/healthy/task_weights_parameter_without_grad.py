"""Regression of several properties with a fixed weight for each task.

Source: https://github.com/chemprop/chemprop/issues/657
Odd: the task weights are an nn.Parameter with requires_grad=False.
"""

import torch
from torch import nn


class MultiTaskMPNN(nn.Module):
    def __init__(self, dim=10, tasks=3):
        super().__init__()
        self.ffn = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, tasks))
        self.w_t = nn.Parameter(torch.tensor([1.0, 0.5, 2.0]), requires_grad=False)

    def forward(self, fingerprints, targets):
        pred = self.ffn(fingerprints)
        return {"loss": (self.w_t * (pred - targets) ** 2).mean(), "pred": pred}


def example_inputs():
    return (
        torch.randn(16, 10),
        torch.randn(16, 3),
    )
