r"""Selective state space layer in plain code.

Source: https://github.com/alxndrTL/mamba.py/issues/53
Fault: softplus is forgotten after the projection of the step size, so steps can be negative and
    states grow without bound.
Cause: \bnan\b|\binf\b|infinit\w*|overflow|explod\w*|grow\w*|(too|very) large|huge
Place: dt_proj|delta\w*|A_log
"""

import torch
import torch.nn.functional as F
from torch import nn


class Mamba(nn.Module):
    def __init__(self, dim=16, state=8, rank=4):
        super().__init__()
        self.state = state
        self.in_proj = nn.Linear(dim, 2 * dim, bias=False)
        self.x_proj = nn.Linear(dim, rank + 2 * state, bias=False)
        self.dt_proj = nn.Linear(rank, dim)
        self.A_log = nn.Parameter(torch.arange(1.0, state + 1).log().repeat(dim, 1))
        self.D = nn.Parameter(torch.ones(dim))
        self.out_proj = nn.Linear(dim, dim, bias=False)
        self.rank = rank

    def forward(self, x):
        x, z = self.in_proj(x).chunk(2, dim=-1)
        x = F.silu(x)
        delta, B, C = self.x_proj(x).split([self.rank, self.state, self.state], dim=-1)
        delta = self.dt_proj(delta)  # here
        deltaA = torch.exp(delta.unsqueeze(-1) * -torch.exp(self.A_log))
        BX = delta.unsqueeze(-1) * B.unsqueeze(2) * x.unsqueeze(-1)
        h, ys = torch.zeros_like(BX[:, 0]), []
        for t in range(x.size(1)):
            h = deltaA[:, t] * h + BX[:, t]
            ys.append((h @ C[:, t].unsqueeze(-1)).squeeze(-1))
        y = torch.stack(ys, 1) + self.D * x
        return self.out_proj(y * F.silu(z))


class SequenceModel(nn.Module):
    def __init__(self, vocab=30, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.mixer = Mamba(dim)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        x = self.embed(ids)
        return self.head(self.norm(x + self.mixer(x)))


def build():
    return SequenceModel()


def example_inputs():
    return torch.randint(0, 30, (4, 60))
