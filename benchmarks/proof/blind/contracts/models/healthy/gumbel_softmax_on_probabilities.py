r"""The model `DiscreteAutoencoder`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.gumbel_softmax.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class DiscreteAutoencoder(nn.Module):
    def __init__(self, n_in=20, codes=8, dim=16, tau=1.0):
        super().__init__()
        self.tau = tau
        self.enc = nn.Sequential(nn.Linear(n_in, 32), nn.ReLU(), nn.Linear(32, codes))
        self.code = nn.Parameter(torch.randn(codes, dim) * 0.3)
        self.dec = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, n_in))

    def forward(self, x):
        p = self.enc(x)
        if self.training:
            z = F.gumbel_softmax(p, tau=self.tau, hard=False, dim=-1)
        else:
            z = F.one_hot(p.argmax(dim=-1), p.size(-1)).to(x.dtype)
        return self.dec(z @ self.code)


torch.manual_seed(0)
model = DiscreteAutoencoder()
example_inputs = (torch.randn(16, 20),)
