r"""The model `GatedMLP`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.register_parameter("weight", nn.Parameter(torch.ones(dim)))
        self.register_parameter("bias", nn.Parameter(torch.zeros(dim)))

    def forward(self, x):
        rms = x.square().mean(dim=-1, keepdim=True).add(self.eps).sqrt()
        return x / rms * self.weight + self.bias


class GatedMLP(nn.Module):
    def __init__(self, n_in=10, dim=24, out=3):
        super().__init__()
        self.inp = nn.Linear(n_in, dim)
        self.norm = RMSNorm(dim)
        self.gate = nn.Linear(dim, 2 * dim)
        self.out = nn.Linear(dim, out)

    def forward(self, x):
        h = self.norm(F.gelu(self.inp(x)))
        return self.out(h + F.glu(self.gate(h), dim=-1))


torch.manual_seed(0)
model = GatedMLP()
example_inputs = (torch.randn(8, 10),)
