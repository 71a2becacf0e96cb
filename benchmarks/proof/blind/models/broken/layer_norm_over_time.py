r"""A sublayer with dropout, residual and a layer norm written by hand.

Source: https://github.com/jadore801120/attention-is-all-you-need-pytorch/pull/17
Fault: mean and deviation are taken over the sequence instead of the features of each token.
Cause: (over|along|across|instead|wrong).*(dim|axis|sequence|seq|time|feature)|\b(dim|axis)\b
Place: mu|sigma|norm|mean|std
"""

import torch
import torch.nn.functional as F
from torch import nn


class LayerNormalization(nn.Module):
    def __init__(self, d_hid, eps=1e-3):
        super().__init__()
        self.eps = eps
        self.a_2 = nn.Parameter(torch.ones(d_hid))
        self.b_2 = nn.Parameter(torch.zeros(d_hid))

    def forward(self, z):
        mu = torch.mean(z, dim=1, keepdim=True)  # here
        sigma = torch.std(z, dim=1, keepdim=True)  # here
        return (z - mu) / (sigma + self.eps) * self.a_2 + self.b_2


class PositionwiseFeedForward(nn.Module):
    def __init__(self, d_hid=16, d_inner=32):
        super().__init__()
        self.w_1 = nn.Linear(d_hid, d_inner)
        self.w_2 = nn.Linear(d_inner, d_hid)
        self.layer_norm = LayerNormalization(d_hid)

    def forward(self, x):
        return self.layer_norm(self.w_2(F.relu(self.w_1(x))) + x)


def build():
    return PositionwiseFeedForward()


def example_inputs():
    return (torch.randn(3, 7, 16),)
