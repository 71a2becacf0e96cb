r"""Negative log-likelihood under a Gaussian with a learnt covariance.

Source: https://docs.pytorch.org/docs/stable/generated/torch.linalg.slogdet.html
Healthy: the right twin of the broken case of this name.
"""

import math

import torch
import torch.nn as nn


class GaussianScore(nn.Module):
    """Negative log-likelihood under a Gaussian with a learnt covariance."""

    def __init__(self, dim=96):
        super().__init__()
        self.mean = nn.Parameter(torch.zeros(dim))
        self.factor = nn.Parameter(0.1 * torch.eye(dim) + 0.002 * torch.randn(dim, dim))

    def forward(self, x):
        dim = x.size(-1)
        cov = self.factor @ self.factor.T + 1e-4 * torch.eye(dim, device=x.device)
        diff = x - self.mean
        m = (diff * torch.linalg.solve(cov, diff.T).T).sum(dim=-1)
        log_det = torch.linalg.slogdet(cov).logabsdet
        return 0.5 * (m + log_det + dim * math.log(2 * math.pi)) / dim


torch.manual_seed(0)
model = GaussianScore()
example_inputs = (0.1 * torch.randn(8, 96),)
