"""Models that raise on purpose."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ._base import Shelf, call, t

ENTRIES = Shelf()


class Broken(nn.Module):
    def __init__(self, error: Exception | None = None, after: int = 0) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.error = error or ValueError("broken")
        self.after = after

    def forward(self, x: Tensor) -> Tensor:
        if self.after == 0:
            raise self.error
        self.after -= 1
        return self.fc(x)


@ENTRIES.add("raise_deep_inside", "raises eight modules deep", lambda: call(t(2, 4)))
def deep_inside() -> nn.Module:
    model: nn.Module = Broken()
    for _ in range(8):
        model = nn.Sequential(nn.Linear(4, 4), model)
    return model


@ENTRIES.add("raise_shape_mismatch", "the third layer does not fit", lambda: call(t(2, 4)))
def shape_mismatch() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(4, 3))


@ENTRIES.add(
    "raise_missing_argument",
    "a child is called without an argument that it needs: forward never starts",
    lambda: call(t(2, 4)),
)
class MissingArgument(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bilinear = nn.Bilinear(4, 4, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.bilinear(x)


@ENTRIES.add(
    "raise_after_buffer_change",
    "changes a buffer in place and binds another before it raises",
    lambda: call(t(2, 4)),
)
class AfterBufferChange(nn.Module):
    seen: Tensor
    mean: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(()))
        self.register_buffer("mean", torch.zeros(4))
        self.broken = Broken()

    def forward(self, x: Tensor) -> Tensor:
        self.seen.add_(1)
        self.mean = self.mean + x.mean(0)
        return self.broken(x)


@ENTRIES.add(
    "raise_at_second_call",
    "a child that works at its first call and raises at its second",
    lambda: call(t(2, 4)),
)
class AtSecondCall(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.broken = Broken(after=1)

    def forward(self, x: Tensor) -> Tensor:
        return self.broken(self.broken(x))


@ENTRIES.add(
    "raise_in_pre_hook",
    "the model's own forward pre-hook raises for a child",
    lambda: call(t(2, 4)),
)
def in_pre_hook() -> nn.Module:
    def refuse(module: nn.Module, args: Any) -> None:
        raise PermissionError("refused by a hook")

    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    model[1].register_forward_pre_hook(refuse)
    return model


@ENTRIES.add(
    "raise_in_hook",
    "the model's own forward hook raises after the child has returned",
    lambda: call(t(2, 4)),
)
def in_hook() -> nn.Module:
    def check(module: nn.Module, args: Any, out: Tensor) -> None:
        raise AssertionError("an output of the wrong shape")

    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    model[0].register_forward_hook(check)
    return model


@ENTRIES.add(
    "raise_hostile_message",
    "a message of many lines with escapes, bidi overrides, a command and a lone surrogate",
    lambda: call(t(2, 4)),
)
def hostile_message() -> nn.Module:
    text = "one\r\ntwo\n\x1b[31mred\x1b]0;t\x07 \u202eevil \x00 \ud800\n::error::x\n" + "y" * 50_000
    return nn.Sequential(Broken(RuntimeError(text)))


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words for it")

    __repr__ = __str__


@ENTRIES.add(
    "raise_unspeakable",
    "an exception whose str and repr raise",
    lambda: call(t(2, 4)),
)
def unspeakable() -> nn.Module:
    return nn.Sequential(Broken(Unspeakable()))


@ENTRIES.add(
    "raise_stop_iteration",
    "raises StopIteration, which generators turn into another error",
    lambda: call(t(2, 4)),
)
class RaisesStopIteration(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        rest = iter(())
        return next(rest, None) or self.fc(next(rest))


@ENTRIES.add(
    "raise_from_cleanup",
    "an error raised while another is handled, chained to itself",
    lambda: call(t(2, 4)),
)
class FromCleanup(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = Broken(KeyError("\n"))
        self.second = Broken(OSError(2, "no such thing"))

    def forward(self, x: Tensor) -> Tensor:
        try:
            return self.first(x)
        except KeyError as error:
            self.second.error.__cause__ = error
            error.__cause__ = self.second.error
            return self.second(x)
