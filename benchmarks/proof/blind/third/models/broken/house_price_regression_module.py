r"""Tabular regressor that returns its own squared error.

Source: https://github.com/LAMDA-Tabular/TALENT/pull/92 https://github.com/fastai/fastai/issues/1863
Fault: Predictions of shape (n, 1) meet targets of shape (n,): every pair is compared.
Cause: broadcast|shape.*(target|mismatch|n, n)|\(n, ?1\)|all pairs|squeeze
Place: mse_loss|loss|forward|head|squeeze
"""

import torch
from torch import nn


class PriceNet(nn.Module):
    def __init__(self, numeric=6, districts=9):
        super().__init__()
        self.district = nn.Embedding(districts, 4)
        self.body = nn.Sequential(nn.Linear(numeric + 4, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, numeric, district, price):
        pred = self.body(torch.cat([numeric, self.district(district)], dim=1))
        return ((pred - price) ** 2).mean()  # here


def build():
    return PriceNet()


def example_inputs():
    return torch.randn(10, 6), torch.randint(0, 9, (10,)), torch.rand(10) * 3
