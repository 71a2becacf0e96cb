r"""Energy of a cloud of atoms and the forces on them.

Source: https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad.html
Fault: The force is the gradient of the energy without create_graph=True, so it is detached from
    the parameters and cannot be trained.
Cause: create_graph
    |(force|gradient|derivative).*(detach|no gradient|not (differentiab|connect)|graph|constant)
    |double backward|second.order|no gradient|grad_fn|zero gradient
    |gradient\w* (is|are|of|stays?)( exactly)? (none|zero|0)
    |(never|not) (gets?|receiv\w+) (a |any )?gradient|gets no grad|it has no graph
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
            grad = torch.autograd.grad(energy.sum(), pos, retain_graph=True)[0]
        return energy, -grad


torch.manual_seed(0)
model = Potential()
example_inputs = (torch.randn(4, 6, 3),)
