r"""The model `QueryReader`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.einsum.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class QueryReader(nn.Module):
    def __init__(self, features=8, dim=16, queries=3, out=4):
        super().__init__()
        self.key = nn.Linear(features, dim, bias=False)
        self.value = nn.Linear(features, dim)
        self.make_query = nn.Linear(features, queries * dim)
        self.queries = queries
        self.out = nn.Linear(queries * dim, out)

    def forward(self, x):
        k, v = self.key(x), self.value(x)
        q = self.make_query(x.mean(dim=1)).unflatten(1, (self.queries, -1))
        s = torch.einsum("bqd,bkd->bqk", q, k) / k.size(-1) ** 0.5
        w = s.softmax(dim=-1)
        y = torch.einsum("bqk,bkd->bqd", w, v)
        return self.out(F.relu(y.flatten(1)))


torch.manual_seed(0)
model = QueryReader()
example_inputs = (torch.randn(5, 10, 8),)
