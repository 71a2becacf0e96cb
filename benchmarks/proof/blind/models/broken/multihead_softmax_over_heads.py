r"""Multi-head attention written by hand for features of surgical video.

Source: https://github.com/CAMMA-public/rendezvous/issues/10
Fault: softmax is over the dimension of the heads instead of the keys, so the keys are not
    weighted.
Cause: softmax|normali[sz]\w* over.*(head|dim|axis)
Place: softmax
"""

import torch
from torch import nn


class MHMA(nn.Module):
    def __init__(self, dim=16, num_heads=4):
        super().__init__()
        self.h, self.d = num_heads, dim // num_heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.softmax = nn.Softmax(dim=1)  # here

    def forward(self, x):
        b, t, c = x.shape
        qkv = self.qkv(x).view(b, t, 3, self.h, self.d).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]
        affinity = self.softmax(q @ k.transpose(-2, -1) / self.d**0.5)
        mixed = (affinity @ v).transpose(1, 2).reshape(b, t, c)
        return x + self.proj(mixed)


def example_inputs():
    return (torch.randn(4, 6, 16),)
