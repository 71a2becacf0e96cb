r"""A transformer whose blocks keep attention and feed-forward layers in two lists.

Source: https://github.com/kyegomez/BitNet/issues/32
    https://github.com/strutive07/transformer-tensorflow2.0/issues/14
Fault: x was overwritten by attention before x + x, so there is no residual around attention.
Cause: residual|skip|shortcut|x ?\+ ?x|overwrit|doubl|itself
Place: layers|attn|forward
"""

import torch
from torch import nn


class BitTransformer(nn.Module):
    def __init__(self, dim=16, heads=2, depth=4):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.MultiheadAttention(dim, heads, batch_first=True) for _ in range(depth)
        )
        self.ffn_layers = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 32), nn.GELU(), nn.Linear(32, dim))
            for _ in range(depth)
        )

    def forward(self, x):
        for attn, ffn in zip(self.layers, self.ffn_layers, strict=True):
            x, _ = attn(x, x, x)
            x = x + x  # here
            x = ffn(x) + x
        return x


def example_inputs():
    return (torch.randn(2, 6, 16),)
