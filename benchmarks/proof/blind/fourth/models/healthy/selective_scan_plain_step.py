r"""Selective state space layer.

Source: https://github.com/state-spaces/mamba/issues/121
Odd: The input matrix is multiplied by the step only, a simpler rule than that of the paper; the
    bias of the step size begins far below 0 on purpose, for steps between 0.001 and 0.1.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


class SelectiveSSM(nn.Module):
    def __init__(self, dim=16, inner=24, state=6, rank=2):
        super().__init__()
        self.state, self.rank = state, rank
        self.in_proj = nn.Linear(dim, 2 * inner, bias=False)
        self.conv1d = nn.Conv1d(inner, inner, 3, padding=2, groups=inner)
        self.x_proj = nn.Linear(inner, rank + 2 * state, bias=False)
        self.dt_proj = nn.Linear(rank, inner)
        dt = torch.exp(torch.rand(inner) * (math.log(0.1) - math.log(0.001)) + math.log(0.001))
        self.dt_proj.bias.data.copy_(dt + torch.log(-torch.expm1(-dt)))
        self.A_log = nn.Parameter(torch.arange(1.0, state + 1).log().repeat(inner, 1))
        self.D = nn.Parameter(torch.ones(inner))
        self.out_proj = nn.Linear(inner, dim, bias=False)

    def forward(self, x):
        x, z = self.in_proj(x).chunk(2, dim=-1)
        x = F.silu(self.conv1d(x.transpose(1, 2))[..., : x.size(1)].transpose(1, 2))
        dt, B, C = self.x_proj(x).split([self.rank, self.state, self.state], dim=-1)
        dt = F.softplus(self.dt_proj(dt))
        dA = torch.exp(dt.unsqueeze(-1) * -torch.exp(self.A_log))
        dBx = dt.unsqueeze(-1) * B.unsqueeze(2) * x.unsqueeze(-1)
        h, ys = torch.zeros_like(dBx[:, 0]), []
        for t in range(x.size(1)):
            h = dA[:, t] * h + dBx[:, t]
            ys.append((h * C[:, t].unsqueeze(1)).sum(-1))
        return self.out_proj((torch.stack(ys, 1) + self.D * x) * F.silu(z))


class ByteModel(nn.Module):
    def __init__(self, vocab=40, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(3))
        self.mixers = nn.ModuleList(SelectiveSSM(dim) for _ in range(2))
        self.head = nn.Linear(dim, vocab, bias=False)

    def forward(self, ids):
        x = self.embed(ids)
        for norm, mixer in zip(self.norms, self.mixers, strict=False):
            x = x + mixer(norm(x))
        return self.head(self.norms[-1](x))


def build():
    return ByteModel()


def example_inputs():
    return torch.randint(0, 40, (4, 20))
