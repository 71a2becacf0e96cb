r"""The model `LatentQueryPool`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.parameter.Parameter.html
Fault: nn.Parameter(...) * 0.02 is an ordinary tensor, not a Parameter, so it is not registered
    and never trained.
Cause: not (a )?(registered|parameter|leaf)|unregistered|non-?leaf|(plain|ordinary|regular) tensor
    |(missing|absent|not (in|part of)|invisible|hidden).*(parameters|state_dict)
    |never (trained|updated)|registr|nn\.Parameter
"""

import torch
import torch.nn as nn


class LatentQueryPool(nn.Module):
    def __init__(self, features=6, dim=24, queries=3, out=4):
        super().__init__()
        self.inp = nn.Linear(features, dim)
        self.queries = nn.Parameter(torch.randn(queries, dim)) * 0.2
        self.norm = nn.LayerNorm(dim)
        self.out = nn.Linear(queries * dim, out)

    def forward(self, x):
        h = torch.tanh(self.inp(x))
        score = torch.einsum("qd,bnd->bqn", self.queries, h) / h.size(-1) ** 0.5
        pooled = torch.einsum("bqn,bnd->bqd", score.softmax(dim=-1), h)
        return self.out(self.norm(pooled).flatten(1))


torch.manual_seed(0)
model = LatentQueryPool()
example_inputs = (torch.randn(6, 10, 6),)
