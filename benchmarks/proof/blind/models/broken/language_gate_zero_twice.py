r"""Fusion of vision and language features with a gate that starts closed.

Source: https://github.com/yz93/LAVT-RIS/issues/25
Fault: both linear layers of the gate are zero with a ReLU between: the gate never gets a
    gradient.
Cause: init|(start|weight|both|all|two).*(zero|\b0\b)|zero.*(weight|both|layers)
Place: res_gate
"""

import torch
from torch import nn


class PixelWordFusion(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.fusion = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.res_gate = nn.Sequential(
            nn.Linear(dim, dim, bias=False),
            nn.ReLU(),
            nn.Linear(dim, dim, bias=False),
            nn.Tanh(),
        )
        nn.init.zeros_(self.res_gate[0].weight)  # here
        nn.init.zeros_(self.res_gate[2].weight)
        self.norm = nn.LayerNorm(dim)
        self.mlp = nn.Linear(dim, dim)

    def forward(self, x, words):
        x_residual, _ = self.fusion(x, words, words)
        x = x + self.res_gate(x_residual) * x_residual
        return self.mlp(self.norm(x))


def example_inputs():
    return (
        torch.randn(2, 9, 16),
        torch.randn(2, 5, 16),
    )
