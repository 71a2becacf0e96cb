r"""Vision transformer in which the class token enters only for the last two layers.

Source: https://github.com/facebookresearch/deit/blob/main/cait_models.py
Odd: The class token is absent from the first layers; in the last ones only its query is computed
    and the patches are not updated; the residual branches start with weights of 0.00001.
"""

import torch
from torch import nn


class ClassAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.scale = heads, (dim // heads) ** -0.5
        self.q, self.k = nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.v, self.proj = nn.Linear(dim, dim), nn.Linear(dim, dim)

    def split(self, x):
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)

    def forward(self, x):
        q = self.split(self.q(x[:, :1])) * self.scale
        k, v = self.split(self.k(x)), self.split(self.v(x))
        y = (q @ k.transpose(-2, -1)).softmax(-1) @ v
        return self.proj(y.transpose(1, 2).flatten(2))


class SelfAttention(ClassAttention):
    def forward(self, x):
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        y = (q * self.scale @ k.transpose(-2, -1)).softmax(-1) @ v
        return self.proj(y.transpose(1, 2).flatten(2))


class Layer(nn.Module):
    def __init__(self, dim, attention, init_values=1e-5):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = attention
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))
        self.gamma_1 = nn.Parameter(init_values * torch.ones(dim))
        self.gamma_2 = nn.Parameter(init_values * torch.ones(dim))

    def forward(self, x, cls=None):
        if cls is None:
            x = x + self.gamma_1 * self.attn(self.norm1(x))
            return x + self.gamma_2 * self.mlp(self.norm2(x))
        u = torch.cat([cls, x], dim=1)
        cls = cls + self.gamma_1 * self.attn(self.norm1(u))
        return cls + self.gamma_2 * self.mlp(self.norm2(cls))


class LateClass(nn.Module):
    def __init__(self, dim=32, classes=10):
        super().__init__()
        self.patch = nn.Conv2d(3, dim, 8, stride=8)
        self.pos = nn.Parameter(0.02 * torch.randn(1, 16, dim))
        self.cls_token = nn.Parameter(0.02 * torch.randn(1, 1, dim))
        self.blocks = nn.ModuleList(Layer(dim, SelfAttention(dim, 4)) for _ in range(3))
        self.token_only = nn.ModuleList(Layer(dim, ClassAttention(dim, 4)) for _ in range(2))
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2) + self.pos
        for block in self.blocks:
            x = block(x)
        cls = self.cls_token.expand(len(x), -1, -1)
        for block in self.token_only:
            cls = block(x, cls)
        return self.head(self.norm(torch.cat([cls, x], dim=1))[:, 0])


def build():
    return LateClass()


def example_inputs():
    return (torch.rand(4, 3, 32, 32),)
