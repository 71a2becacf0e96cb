r"""The model `Tagger`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, dim=32, heads=4):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q, k, v = (u.view(b, t, self.heads, c // self.heads).transpose(1, 2) for u in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v)
        return self.out(y.transpose(1, 2).reshape(b, t, c))


class Tagger(nn.Module):
    def __init__(self, features=8, dim=32, tags=5):
        super().__init__()
        self.inp = nn.Linear(features, dim)
        self.pos = nn.Parameter(torch.randn(1, 32, dim) * 0.02)
        self.attn = Attention(dim)
        self.head = nn.Linear(dim, tags)

    def forward(self, x):
        h = self.inp(x) + self.pos[:, :x.size(1)]
        return self.head(h + self.attn(h))


torch.manual_seed(0)
model = Tagger()
example_inputs = (torch.randn(4, 12, 8),)
