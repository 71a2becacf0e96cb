r"""Energy of a few atoms and the forces on them, with messages that fade at a distance.

Source: https://github.com/mir-group/nequip
Odd: The forces are minus the derivative of the energy by the places, taken inside forward, also in
    eval mode; far pairs have exactly no weight; the bias of the energy has no effect on the forces.
"""

import math

import torch
from torch import nn


class RadialBasis(nn.Module):
    def __init__(self, count=8, cutoff=3.0, power=6):
        super().__init__()
        self.cutoff, self.power = cutoff, power
        self.frequency = nn.Parameter(math.pi * torch.arange(1.0, count + 1))

    def envelope(self, x):
        p = self.power
        y = 1 - (p + 1) * (p + 2) / 2 * x**p + p * (p + 2) * x ** (p + 1)
        y = y - p * (p + 1) / 2 * x ** (p + 2)
        return y * (x < 1)

    def forward(self, distance):
        x = (distance / self.cutoff)[..., None]
        return torch.sin(self.frequency * x) / x * self.envelope(x)


class AtomEnergy(nn.Module):
    def __init__(self, kinds=4, dim=24, depth=2):
        super().__init__()
        self.embed = nn.Embedding(kinds, dim)
        self.basis = RadialBasis()
        self.filters = nn.ModuleList(
            nn.Sequential(nn.Linear(8, dim), nn.SiLU(), nn.Linear(dim, dim, bias=False))
            for _ in range(depth)
        )
        self.mixes = nn.ModuleList(nn.Linear(dim, dim) for _ in range(depth))
        self.readout = nn.Sequential(nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, 1))
        self.shift = nn.Embedding(kinds, 1)
        nn.init.zeros_(self.shift.weight)

    def energy(self, kind, place):
        n = kind.shape[1]
        vector = place[:, :, None] - place[:, None]
        self_pair = torch.eye(n, dtype=torch.bool)
        distance = vector.masked_fill(self_pair[..., None], 10.0).norm(dim=-1)
        basis = self.basis(distance)
        near = self.basis.envelope(distance / self.basis.cutoff)
        h = self.embed(kind)
        for radial, mix in zip(self.filters, self.mixes):
            weight = radial(basis) * near[..., None]
            h = h + torch.nn.functional.silu(mix((weight * h[:, None]).sum(2)))
        return (self.readout(h) + self.shift(kind)).sum((1, 2))

    def forward(self, kind, place):
        with torch.enable_grad():
            place = place.detach().requires_grad_()
            energy = self.energy(kind, place)
            slope = torch.autograd.grad(energy.sum(), place, create_graph=True)[0]
        return energy, -slope


def build():
    return AtomEnergy()


def example_inputs():
    grid = torch.cartesian_prod(torch.arange(2.0), torch.arange(2.0), torch.arange(2.0))
    place = 1.4 * grid + 0.15 * torch.randn(4, 8, 3)
    return torch.randint(0, 4, (4, 8)), place
