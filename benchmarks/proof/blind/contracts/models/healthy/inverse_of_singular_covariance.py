r"""The model `MahalanobisHead`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.linalg.inv.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn


class MahalanobisHead(nn.Module):
    def __init__(self, n_in=20, dim=16, ridge=0.1):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(n_in, 32), nn.Tanh(), nn.Linear(32, dim))
        self.ridge = ridge
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, support, query):
        s, q = self.embed(support), self.embed(query)
        mean = s.mean(dim=0)
        d = s - mean
        cov = d.T @ d / (s.size(0) - 1)
        cov = cov + self.ridge * torch.eye(cov.size(0), device=cov.device)
        inv = torch.linalg.inv(cov)
        diff = q - mean
        return self.scale * torch.einsum("bi,ij,bj->b", diff, inv, diff)


torch.manual_seed(0)
model = MahalanobisHead()
example_inputs = (torch.randn(8, 20), torch.randn(6, 20),)
