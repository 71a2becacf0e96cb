r"""Energy of a cloud of atoms and the forces on them.

Source: https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Potential(nn.Module):
    """Energy of a cloud of atoms and the forces on them."""

    def __init__(self, hidden=32):
        super().__init__()
        self.pair = nn.Sequential(nn.Linear(1, hidden), nn.SiLU(), nn.Linear(hidden, hidden))
        self.out = nn.Linear(hidden, 1)

    def energy(self, pos):
        diff = pos.unsqueeze(2) - pos.unsqueeze(1)
        d = (diff.square().sum(dim=-1, keepdim=True) + 0.01).sqrt()
        return self.out(F.silu(self.pair(d))).sum(dim=(1, 2, 3))

    def forward(self, pos):
        with torch.enable_grad():
            pos = pos.detach().requires_grad_()
            energy = self.energy(pos)
            grad = torch.autograd.grad(energy.sum(), pos, create_graph=True)[0]
        return energy, -grad


torch.manual_seed(0)
model = Potential()
example_inputs = (torch.randn(4, 6, 3),)
