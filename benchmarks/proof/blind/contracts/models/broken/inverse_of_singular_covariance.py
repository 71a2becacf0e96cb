r"""The model `MahalanobisHead`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.linalg.inv.html
Fault: The covariance of fewer samples than dimensions is singular, and it is inverted without a
    ridge, so the result is huge and noise.
Cause: singular|ridge|regulari[sz]|inver\w*|ill-?condition|condition number|rank|jitter|huge|eps
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
        inv = torch.linalg.inv(cov)
        diff = q - mean
        return self.scale * torch.einsum("bi,ij,bj->b", diff, inv, diff)


torch.manual_seed(0)
model = MahalanobisHead()
example_inputs = (torch.randn(8, 20), torch.randn(6, 20),)
