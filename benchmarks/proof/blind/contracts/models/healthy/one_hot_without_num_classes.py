r"""Mean of the embedded points of every cluster.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.one_hot.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class ClusterAverager(nn.Module):
    """Mean of the embedded points of every cluster."""

    def __init__(self, features=4, clusters=8, dim=16):
        super().__init__()
        self.clusters = clusters
        self.inp = nn.Sequential(nn.Linear(features, dim), nn.ReLU(), nn.Linear(dim, dim))
        self.out = nn.Linear(dim, 2)

    def forward(self, x, cluster):
        h = self.inp(x)
        a = F.one_hot(cluster, num_classes=self.clusters).to(h.dtype)
        mean = torch.einsum("bnk,bnd->bkd", a, h) / a.sum(dim=1).clamp(min=1).unsqueeze(-1)
        return self.out(F.relu(mean))


torch.manual_seed(0)
model = ClusterAverager()
example_inputs = (torch.randn(4, 12, 4), torch.randint(0, 6, (4, 12)),)
