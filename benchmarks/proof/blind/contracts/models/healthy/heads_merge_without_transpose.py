r"""The model `SelfAttention`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.reshape.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn


class SelfAttention(nn.Module):
    def __init__(self, dim=32, heads=4):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q = q.view(b, t, self.heads, c // self.heads).transpose(1, 2)
        k = k.view(b, t, self.heads, c // self.heads).transpose(1, 2)
        v = v.view(b, t, self.heads, c // self.heads).transpose(1, 2)
        w = torch.softmax(q @ k.transpose(-2, -1) / (c // self.heads) ** 0.5, dim=-1)
        y = w @ v
        y = y.transpose(1, 2).reshape(b, t, c)
        return self.out(y)


torch.manual_seed(0)
model = SelfAttention()
example_inputs = (torch.randn(4, 10, 32),)
