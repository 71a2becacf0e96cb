"""Models with one planted fault each, and ones that only look like it. All take [3, 8]."""

from __future__ import annotations

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

example_inputs = torch.linspace(-2, 2, 24).view(3, 8) ** 3


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 8)
        self.b = nn.Linear(8, 4)

    def forward(self, x):
        return self.b(self.a(x))


class Do(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


class Between(Base):
    """`middle` runs between the two layers."""

    function = staticmethod(lambda x: x)

    def __init__(self):
        super().__init__()
        self.middle = Do(type(self).function)

    def forward(self, x):
        return self.b(self.middle(self.a(x)))


# finite
class LogOfZero(Between):
    function = staticmethod(lambda x: x.relu().log())


class RootOfZero(Between):
    function = staticmethod(lambda x: x + (x * 0).sqrt())


class ZeroByZero(Between):
    function = staticmethod(lambda x: x * 0 / (x * 0).sum())


class HoldsNan(Base):
    def __init__(self):
        super().__init__()
        with torch.no_grad():
            self.b.weight[0, 0] = float("nan")


class Overflows(Between):
    function = staticmethod(lambda x: (x * 1e4).exp())


class Masks(Between):
    """Minus infinity, before a softmax."""

    function = staticmethod(lambda x: x.masked_fill(torch.arange(8) > 4, float("-inf")).softmax(-1))


class MasksInAModule(Base):
    def __init__(self):
        super().__init__()
        self.mask = Do(lambda x: x.masked_fill(torch.arange(8) > 4, float("-inf")))
        self.softmax = nn.Softmax(-1)

    def forward(self, x):
        return self.b(self.softmax(self.mask(self.a(x))))


class LargeButFinite(Between):
    """The sum overflows, no value does."""

    function = staticmethod(lambda x: torch.full_like(x, 3e38) * 0 + x * 0 + 3e38)

    def forward(self, x):
        return self.b(self.a(x)) + 0 * self.middle(x).clamp(max=1.0).sum()


class RootBehindRelu(Between):
    """The root's gradient is infinite at zero, and relu lets none of it through there."""

    function = staticmethod(lambda x: x.relu().sqrt())


class RootWithEps(Between):
    function = staticmethod(lambda x: (x.relu() + 1e-6).sqrt())


# grad_exists
class Detached(Base):
    def forward(self, x):
        return self.b(self.a(x).detach())


class UnusedParameter(Base):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(4))


class TimesZero(Base):
    def forward(self, x):
        return self.b(x) + 0 * self.a(x)[:, :4]


class FrozenPart(Base):
    def __init__(self):
        super().__init__()
        self.a.requires_grad_(False)


class Tied(Base):
    def __init__(self):
        super().__init__()
        self.c = nn.Linear(8, 8)
        self.c.weight = self.a.weight

    def forward(self, x):
        return self.b(self.c(x)) + self.a.bias[:4]


class SmallGradient(Base):
    def forward(self, x):
        return self.b(self.a(x) * 1e-6)


# uncalled_modules
class UnusedHead(Base):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 2)


class UnusedBlock(Base):
    def __init__(self):
        super().__init__()
        self.block = nn.Sequential(nn.Linear(8, 2), nn.ReLU())


class NormTwice(Base):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(8)

    def forward(self, x):
        return self.b(self.norm(self.norm(self.a(x))))


class UsedWithoutACall(Base):
    def forward(self, x):
        return F.linear(self.a(x), self.b.weight, self.b.bias)


class UnusedDropout(Base):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        return F.dropout(self.b(self.a(x)), self.drop.p, self.training)


class LinearTwice(Base):
    def forward(self, x):
        return self.b(self.a(self.a(x)))


# deterministic
class SystemNoise(Between):
    function = staticmethod(lambda x: x + int.from_bytes(os.urandom(4), "big") / 2**32)


class Clock(Between):
    function = staticmethod(lambda x: x + (time.perf_counter_ns() % 1000003) * 1e-6)


class FreshGenerator(Between):
    function = staticmethod(lambda x: x + torch.randn(x.shape, generator=FreshGenerator.new()))

    @staticmethod
    def new():
        generator = torch.Generator()
        generator.seed()
        return generator


class ForgottenMode(Between):
    """Dropout that is always active, because F.dropout is not told the mode."""

    function = staticmethod(lambda x: F.dropout(x, 0.5))


class MadeInForward(Between):
    """A module that eval() does not reach."""

    function = staticmethod(lambda x: nn.Dropout(0.5)(x))


class TrainModeDropout(Base):
    """A registered module that forward sets to train mode, which is meant."""

    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return super().forward(self.drop.train()(x))


class AlwaysDropout(Between):
    """Monte Carlo dropout, which is meant."""

    function = staticmethod(lambda x: F.dropout(x, 0.5, training=True))


class OwnGenerator(Base):
    """Its generator goes on from run to run, from the same place."""

    def __init__(self):
        super().__init__()
        self.generator = torch.Generator().manual_seed(3)
        self.coin = random.Random(4)

    def forward(self, x):
        return super().forward(x) + torch.randn(3, 1, generator=self.generator) + self.coin.random()


class Counts(Base):
    """Its state changes with each forward."""

    def __init__(self):
        super().__init__()
        self.register_buffer("steps", torch.zeros(()))
        self.times = 0

    def forward(self, x):
        self.steps += 1
        self.times += 1
        return super().forward(x) * self.steps * self.times


# batch_independent
class Centred(Between):
    function = staticmethod(lambda x: x - x.mean(0))


class Rolled(Between):
    function = staticmethod(lambda x: x + 0.1 * x.roll(1, 0))


class Summed(Between):
    """Only later samples see earlier ones."""

    function = staticmethod(lambda x: x.cumsum(0))


class NoRunningStatistics(Base):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(8, track_running_stats=False)

    def forward(self, x):
        return self.b(self.norm(self.a(x)))


class BatchNormed(Base):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(8)

    def forward(self, x):
        return self.b(self.norm(self.a(x)))


class TimeFirst(nn.Module):
    """Dimension 0 is time: what is coupled along it is no sample."""

    example_inputs = torch.linspace(-1, 1, 5 * 3 * 8).view(5, 3, 8)

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(8, 4)

    def forward(self, x):
        return self.lstm(x)


class AttendsAlongTime(nn.Module):
    example_inputs = torch.linspace(-1, 1, 5 * 3 * 8).view(5, 3, 8)

    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(8, 2, 16)

    def forward(self, x):
        return self.layer(x)


class Contrasts(Base):
    """A matrix of all pairs, as CLIP gives it."""

    def forward(self, x):
        h = super().forward(x)
        return h, h @ h.T


class EmptyTail(Base):
    """A scalar loss beside the outputs is of all samples."""

    def forward(self, x):
        h = super().forward(x)
        return {"out": h, "penalty": h.square().mean()}


class Siamese(Base):
    """A tower that runs once for each image, with its BatchNorm."""

    def __init__(self):
        super().__init__()
        self.tower = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8))
        self.before, self.norm = nn.Linear(8, 8), nn.BatchNorm1d(8)

    def forward(self, x):
        first, other = self.tower(x), self.tower(x * 2)
        first, other = self.norm(self.before(first)), self.norm(self.before(other))
        return self.b(self.a(first * other))
