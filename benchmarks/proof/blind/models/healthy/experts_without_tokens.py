"""A mixture of many experts on few tokens, with an auxiliary loss.

Source: https://github.com/lucidrains/mixture-of-experts/issues/10
Odd: most experts see no token of this batch, so they have no gradient.
"""

import torch
import torch.nn.functional as F
from torch import nn


class SparseDispatch(nn.Module):
    def __init__(self, dim=8, experts=8, coef=1e-2):
        super().__init__()
        self.w_gating = nn.Linear(dim, experts, bias=False)
        self.experts = nn.ModuleList(nn.Linear(dim, dim) for _ in range(experts))
        self.coef = coef

    def forward(self, x):
        gates = self.w_gating(x).softmax(-1)
        top, index = gates.max(-1)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            rows = (index == i).nonzero().squeeze(1)
            if len(rows):
                out = out.index_add(0, rows, top[rows, None] * expert(x[rows]))
        density = F.one_hot(index, len(self.experts)).float().mean(0)
        aux = (density * gates.mean(0)).sum() * len(self.experts)
        return {"loss": F.mse_loss(out, x) + self.coef * aux, "out": out}


def example_inputs():
    return (torch.randn(6, 8),)
