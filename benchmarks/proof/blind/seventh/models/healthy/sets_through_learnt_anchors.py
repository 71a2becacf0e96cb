r"""Counting of the different symbols in a set of pictures' codes, in any order.

Source: https://github.com/juho-lee/set_transformer/blob/master/modules.py
Odd: The elements attend to a few learnt vectors and back, without positions; the query itself,
    after its projection, is added to the attended values; the scale is that of all features.
"""

import torch
from torch import nn


class MAB(nn.Module):
    def __init__(self, dim_q, dim_k, dim, heads):
        super().__init__()
        self.dim, self.heads = dim, heads
        self.fc_q, self.fc_k = nn.Linear(dim_q, dim), nn.Linear(dim_k, dim)
        self.fc_v, self.fc_o = nn.Linear(dim_k, dim), nn.Linear(dim, dim)

    def forward(self, q, k):
        q = self.fc_q(q)
        k, v = self.fc_k(k), self.fc_v(k)
        size = self.dim // self.heads
        q_, k_, v_ = (torch.cat(t.split(size, 2), 0) for t in (q, k, v))
        a = torch.softmax(q_.bmm(k_.transpose(1, 2)) / self.dim**0.5, 2)
        out = torch.cat((q_ + a.bmm(v_)).split(len(q), 0), 2)
        return out + torch.relu(self.fc_o(out))


class ISAB(nn.Module):
    def __init__(self, dim_in, dim, heads, anchors):
        super().__init__()
        self.anchors = nn.Parameter(torch.empty(1, anchors, dim))
        nn.init.xavier_uniform_(self.anchors)
        self.mab0, self.mab1 = MAB(dim, dim_in, dim, heads), MAB(dim_in, dim, dim, heads)

    def forward(self, x):
        h = self.mab0(self.anchors.expand(len(x), -1, -1), x)
        return self.mab1(x, h)


class PMA(nn.Module):
    def __init__(self, dim, heads, seeds):
        super().__init__()
        self.seeds = nn.Parameter(torch.empty(1, seeds, dim))
        nn.init.xavier_uniform_(self.seeds)
        self.mab = MAB(dim, dim, dim, heads)

    def forward(self, x):
        return self.mab(self.seeds.expand(len(x), -1, -1), x)


class SymbolCount(nn.Module):
    def __init__(self, inputs=10, dim=32, heads=4):
        super().__init__()
        self.enc = nn.Sequential(ISAB(inputs, dim, heads, 6), ISAB(dim, dim, heads, 6))
        self.pool = PMA(dim, heads, 1)
        self.fc = nn.Linear(dim, 1)

    def forward(self, x):
        return torch.nn.functional.softplus(self.fc(self.pool(self.enc(x)))).flatten()


def build():
    return SymbolCount()


def example_inputs():
    return (torch.randn(6, 9, 10),)
