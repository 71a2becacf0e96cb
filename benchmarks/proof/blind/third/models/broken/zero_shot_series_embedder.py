r"""Patch embedding block of a forecasting model with a residual path.

Source: https://github.com/NX-AI/tirex/issues/19
Fault: The dropout that is asked for is built but never called in forward.
Cause: dropout.*(unused|never|not (used|called|applied)|no effect|without)
    |(unused|never called).*dropout
Place: dropout|ResidualBlock|forward
"""

import torch
from torch import nn


class ResidualBlock(nn.Module):
    def __init__(self, in_dim, h_dim, out_dim, dropout=0.3):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.hidden_layer = nn.Linear(in_dim, h_dim)
        self.output_layer = nn.Linear(h_dim, out_dim)
        self.residual_layer = nn.Linear(in_dim, out_dim)

    def forward(self, x):
        hid = torch.relu(self.hidden_layer(x))
        return self.output_layer(hid) + self.residual_layer(x)  # here


def build():
    return nn.Sequential(ResidualBlock(16, 32, 24), nn.LayerNorm(24), ResidualBlock(24, 32, 8))


def example_inputs():
    return torch.randn(4, 6, 16)
