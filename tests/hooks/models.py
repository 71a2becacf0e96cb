"""Ten small models on which hooks fire in ways worth holding, each with its batch."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class InPlace(nn.Module):
    """A ReLU that writes over its input, then an addition in place."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 3)
        self.act = nn.ReLU(inplace=True)
        self.b = nn.Linear(3, 3)

    def forward(self, x):
        h = self.act(self.a(x))
        y = self.b(h)
        y += h
        return y


class Shared(nn.Module):
    """One Linear under two names, called by both."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = self.a
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.b(torch.tanh(self.a(x))))


class Loop(nn.Module):
    """A cell called three times on its own output."""

    def __init__(self):
        super().__init__()
        self.cell = nn.Sequential(nn.Linear(4, 4), nn.Tanh())

    def forward(self, x):
        h = x
        for _ in range(3):
            h = self.cell(h)
        return h


class Split(nn.Module):
    """Two outputs."""

    def __init__(self):
        super().__init__()
        self.left = nn.Linear(4, 3)
        self.right = nn.Linear(4, 2)

    def forward(self, x):
        return self.left(x), self.right(x)


class Several(nn.Module):
    """A child with two outputs, of which one goes nowhere."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.split = Split()
        self.head = nn.Linear(3, 1)

    def forward(self, x):
        kept, _ = self.split(self.fc(x))
        return self.head(kept)


class Dicts(nn.Module):
    """A child that gives a dictionary of a list, taken by keyword."""

    def __init__(self):
        super().__init__()
        self.enc = Nest()
        self.dec = Take()

    def forward(self, x):
        found = self.enc(x)
        return {"out": self.dec(state=found["hidden"]), "first": found["hidden"][0]}


class Nest(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        h = self.fc(x)
        return {"hidden": [h, {"more": h.sin()}], "count": 3}


class Take(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, *, state):
        return self.fc(state[0] + state[1]["more"])


class Checkpointed(nn.Module):
    """A block run again in backward; `reentrant` is the form of checkpoint."""

    def __init__(self, reentrant):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.block = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4))
        self.last = nn.Linear(4, 2)
        self.reentrant = reentrant

    def forward(self, x):
        h = checkpoint(self.block, self.first(x), use_reentrant=self.reentrant)
        return self.last(h)


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x**2


class Custom(nn.Module):
    """A custom autograd.Function between two layers."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 3)
        self.cube = CubeLayer()
        self.b = nn.Linear(3, 1)

    def forward(self, x):
        return self.b(self.cube(self.a(x)))


class CubeLayer(nn.Module):
    def forward(self, x):
        return Cube.apply(x)


class Branch(nn.Module):
    """One branch runs without grad, and its result is used."""

    def __init__(self):
        super().__init__()
        self.trunk = nn.Linear(4, 4)
        self.frozen = nn.Linear(4, 4)
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        h = self.trunk(x)
        with torch.no_grad():
            gate = self.frozen(h)
        return self.head(h * gate.sigmoid())


class Penalty(nn.Module):
    """A gradient is part of the output: autograd.grad with create_graph in forward."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 1))

    def forward(self, x):
        x = x.detach().requires_grad_()
        energy = self.net(x).sum()
        (force,) = torch.autograd.grad(energy, x, create_graph=True)
        return energy + force.square().sum()


MODELS = {
    "in_place": InPlace,
    "shared": Shared,
    "loop": Loop,
    "several": Several,
    "dicts": Dicts,
    "checkpoint_reentrant": lambda: Checkpointed(True),
    "checkpoint": lambda: Checkpointed(False),
    "custom_function": Custom,
    "no_grad_branch": Branch,
    "double_backward": Penalty,
}


def build(name):
    torch.manual_seed(0)
    return MODELS[name]()


def batch():
    return torch.from_numpy(np.linspace(-1, 1, 8, dtype=np.float32)).reshape(2, 4)


class Plain(nn.Module):
    """What every kind of hook can stand on."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)
        self.act = nn.Tanh()
        self.register_buffer("scale", torch.ones(3))
        self.gain = nn.Parameter(torch.full((3,), 0.5))
        self.head = nn.Linear(3, 2)

    def forward(self, x):
        return self.head(self.act(self.fc(x)) * self.scale * self.gain)


def plain():
    torch.manual_seed(0)
    return Plain()
