r"""The model `TabularModel`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.bucketize.html
Fault: torch.bucketize needs ascending boundaries, but the random edges are not sorted, so the
    bucket numbers are meaningless.
Cause: (not|un)[- ]?sort|sorted|ascend|monoton|increasing|boundar|edges
"""

import torch
import torch.nn as nn


class BinnedEmbedding(nn.Module):
    def __init__(self, bins=12, dim=8):
        super().__init__()
        edges = torch.randn(bins - 1)
        self.register_buffer("edges", edges)
        self.embed = nn.Embedding(bins, dim)

    def forward(self, x):
        return self.embed(torch.bucketize(x, self.edges))


class TabularModel(nn.Module):
    def __init__(self, columns=5, dim=8, out=3):
        super().__init__()
        self.columns = nn.ModuleList(BinnedEmbedding(dim=dim) for _ in range(columns))
        self.net = nn.Sequential(nn.Linear(columns * dim, 32), nn.ReLU(), nn.Linear(32, out))

    def forward(self, x):
        parts = [f(x[:, i].contiguous()) for i, f in enumerate(self.columns)]
        return self.net(torch.cat(parts, dim=1))


torch.manual_seed(0)
model = TabularModel()
example_inputs = (torch.randn(64, 5),)
