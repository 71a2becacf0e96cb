r"""Matching of key points of two pictures by optimal transport with a bin for the unmatched.

Source: https://github.com/magicleap/SuperGluePretrainedNetwork/blob/master/models/superglue.py
Odd: The transport runs on logarithms with one learnt score for the bin; the last layer of each
    message starts with a zero bias; the keys of the last rows and columns do not sum to one.
"""

import torch
from torch import nn


def mlp(*channels):
    layers = []
    for a, b in zip(channels[:-2], channels[1:-1]):
        layers += [nn.Conv1d(a, b, 1, bias=False), nn.BatchNorm1d(b), nn.ReLU()]
    return nn.Sequential(*layers, nn.Conv1d(channels[-2], channels[-1], 1))


class Message(nn.Module):
    def __init__(self, dim, heads=4):
        super().__init__()
        self.heads = heads
        self.q, self.k = nn.Conv1d(dim, dim, 1), nn.Conv1d(dim, dim, 1)
        self.v, self.merge = nn.Conv1d(dim, dim, 1), nn.Conv1d(dim, dim, 1)
        self.mlp = mlp(2 * dim, 2 * dim, dim)
        nn.init.zeros_(self.mlp[-1].bias)

    def forward(self, x, source):
        b, d, n = x.shape
        q = self.q(x).view(b, d // self.heads, self.heads, n)
        k = self.k(source).view(b, d // self.heads, self.heads, -1)
        v = self.v(source).view(b, d // self.heads, self.heads, -1)
        score = torch.einsum("bdhn,bdhm->bhnm", q, k) / (d // self.heads) ** 0.5
        y = torch.einsum("bhnm,bdhm->bdhn", score.softmax(-1), v).reshape(b, d, n)
        return self.mlp(torch.cat([x, self.merge(y)], dim=1))


def log_transport(scores, bin_score, steps=20):
    b, m, n = scores.shape
    bins0, bins1 = bin_score.expand(b, m, 1), bin_score.expand(b, 1, n)
    corner = bin_score.expand(b, 1, 1)
    z = torch.cat([torch.cat([scores, bins0], 2), torch.cat([bins1, corner], 2)], dim=1)
    norm = -torch.tensor(float(m + n)).log()
    log_mu = torch.cat([norm.expand(m), torch.tensor([float(n)]).log() + norm]).expand(b, -1)
    log_nu = torch.cat([norm.expand(n), torch.tensor([float(m)]).log() + norm]).expand(b, -1)
    u, v = torch.zeros_like(log_mu), torch.zeros_like(log_nu)
    for _ in range(steps):
        u = log_mu - (z + v[:, None]).logsumexp(2)
        v = log_nu - (z + u[:, :, None]).logsumexp(1)
    return z + u[:, :, None] + v[:, None] - norm


class PosesMatched(nn.Module):
    def __init__(self, dim=32, layers=("self", "cross", "self", "cross")):
        super().__init__()
        self.kenc = mlp(3, 16, dim)
        nn.init.zeros_(self.kenc[-1].bias)
        self.names = layers
        self.layers = nn.ModuleList(Message(dim) for _ in layers)
        self.final_proj = nn.Conv1d(dim, dim, 1)
        self.bin_score = nn.Parameter(torch.tensor([[[1.0]]]))

    def forward(self, desc0, place0, desc1, place1):
        d0, d1 = desc0 + self.kenc(place0), desc1 + self.kenc(place1)
        for name, layer in zip(self.names, self.layers):
            s0, s1 = (d1, d0) if name == "cross" else (d0, d1)
            d0, d1 = d0 + layer(d0, s0), d1 + layer(d1, s1)
        d0, d1 = self.final_proj(d0), self.final_proj(d1)
        scores = torch.einsum("bdn,bdm->bnm", d0, d1) / d0.shape[1] ** 0.5
        return log_transport(scores, self.bin_score)


def build():
    return PosesMatched()


def example_inputs():
    unit = nn.functional.normalize(torch.randn(4, 32, 14), dim=1)
    place = torch.cat([2 * torch.rand(4, 2, 14) - 1, torch.rand(4, 1, 14)], dim=1)
    return unit, place, unit[:, :, :11].flip(2), place[:, :, :11].flip(2)
