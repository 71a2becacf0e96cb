"""The two-layer network of a tutorial: a hidden ReLU, and nothing after the last layer.

Source: https://github.com/jcjohnson/pytorch-examples/issues/30
Odd: no activation follows the output layer; the targets can be negative, so it must be linear.
"""

import torch
from torch import nn


class TwoLayerNet(nn.Module):
    def __init__(self, d_in=30, hidden=50, d_out=5):
        super().__init__()
        self.linear1 = nn.Linear(d_in, hidden)
        self.linear2 = nn.Linear(hidden, d_out)
        self.loss_fn = nn.MSELoss(reduction="sum")

    def forward(self, x, y):
        h_relu = self.linear1(x).clamp(min=0)
        y_pred = self.linear2(h_relu)
        return self.loss_fn(y_pred, y), y_pred


def example_inputs():
    return torch.randn(24, 30), torch.randn(24, 5)
