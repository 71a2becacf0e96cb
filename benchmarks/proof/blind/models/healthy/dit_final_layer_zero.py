"""A small diffusion transformer with adaLN-zero.

Source: https://github.com/facebookresearch/DiT/issues/82
Odd: the final linear and all modulations are zero, only the final layer has a gradient at first.
"""

import torch
from torch import nn


def modulate(x, shift, scale):
    return x * (1 + scale.unsqueeze(1)) + shift.unsqueeze(1)


class DiTBlock(nn.Module):
    def __init__(self, dim, heads=2):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim, elementwise_affine=False)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.norm2 = nn.LayerNorm(dim, elementwise_affine=False)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.adaLN = nn.Sequential(nn.SiLU(), nn.Linear(dim, 6 * dim))
        nn.init.zeros_(self.adaLN[1].weight)
        nn.init.zeros_(self.adaLN[1].bias)

    def forward(self, x, c):
        s1, c1, g1, s2, c2, g2 = self.adaLN(c).chunk(6, dim=1)
        h = modulate(self.norm1(x), s1, c1)
        x = x + g1.unsqueeze(1) * self.attn(h, h, h, need_weights=False)[0]
        return x + g2.unsqueeze(1) * self.mlp(modulate(self.norm2(x), s2, c2))


class DiT(nn.Module):
    def __init__(self, dim=16, depth=2):
        super().__init__()
        self.t_embed = nn.Linear(1, dim)
        self.blocks = nn.ModuleList(DiTBlock(dim) for _ in range(depth))
        self.final = nn.Linear(dim, dim)
        nn.init.zeros_(self.final.weight)
        nn.init.zeros_(self.final.bias)

    def forward(self, x, t):
        c = self.t_embed(t)
        for block in self.blocks:
            x = block(x, c)
        return self.final(x)


def build():
    return DiT()


def example_inputs():
    return (
        torch.randn(4, 8, 16),
        torch.rand(4, 1),
    )
