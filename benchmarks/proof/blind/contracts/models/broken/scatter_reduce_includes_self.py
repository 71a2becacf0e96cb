r"""Averages the messages of all neighbours.

Source: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.scatter_reduce_.html
Fault: scatter_reduce has include_self=True by default, so the zeros of the target are averaged in
    as one more element.
Cause: include_self|(initial|zero|target|self|existing)\w*.*(includ|count|averag|element)
    |(mean|averag)\w*.*(zero|too small|one more|extra|count|bias)
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class GraphLayer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.message = nn.Linear(2 * dim, dim)
        self.update = nn.GRUCell(dim, dim)

    def forward(self, h, edges):
        src, dst = edges
        m = F.relu(self.message(torch.cat([h[src], h[dst]], dim=-1)))
        index = dst.unsqueeze(-1).expand_as(m)
        agg = torch.zeros_like(h).scatter_reduce(0, index, m, reduce="mean")
        return self.update(agg, h)


class GraphNet(nn.Module):
    """Averages the messages of all neighbours."""

    def __init__(self, features=5, dim=16, out=2):
        super().__init__()
        self.inp = nn.Linear(features, dim)
        self.layer = GraphLayer(dim)
        self.out = nn.Linear(dim, out)

    def forward(self, x, edges):
        return self.out(self.layer(self.inp(x), edges))


torch.manual_seed(0)
model = GraphNet()
example_inputs = (torch.randn(12, 5), torch.randint(0, 12, (2, 40)),)
