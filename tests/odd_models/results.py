"""Models that return unusual values: nothing, themselves, aliases, scalars, hostile objects."""

from __future__ import annotations

import enum
import functools
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from ._base import Shelf, call, t

ENTRIES = Shelf()


@ENTRIES.add("out_none", "returns None; its result is left on itself", lambda: call(t(2, 4)))
class ReturnsNone(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 2)
        self.result: Tensor | None = None

    def forward(self, x: Tensor) -> None:
        self.result = self.fc(x)


@ENTRIES.add("out_empty_tuple", "returns an empty tuple", lambda: call(t(2, 4)))
class ReturnsEmpty(nn.Module):
    def forward(self, x: Tensor) -> tuple[()]:
        return ()


class Kind(enum.Enum):
    GOOD = 1


@ENTRIES.add(
    "out_no_tensors",
    "scalars, strings, sizes, dtypes, an enum and an exception, but no tensor",
    lambda: call(t(2, 4)),
)
class NoTensors(nn.Module):
    def forward(self, x: Tensor) -> tuple[Any, ...]:
        text = "line\nbreak \x1b[2J \u202e \ud800 end"
        numbers = (10**400, float("nan"), -float("inf"), 1j, True, ...)
        rest = (b"\xff", x.shape, x.dtype, x.device, Kind.GOOD, ValueError("no"), slice(1, 2), int)
        return (text, *numbers, *rest)


@ENTRIES.add(
    "out_callables",
    "returns itself, its child, a bound method, a closure and a partial",
    lambda: call(t(2, 4)),
)
class Callables(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> tuple[Any, ...]:
        return self, self.fc, self.fc.forward, lambda: x, functools.partial(self.fc, x)


@ENTRIES.add("out_is_input", "returns the very object that it was given", lambda: call([t(2, 4)]))
class ReturnsInput(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.same = nn.Identity()

    def forward(self, xs: list[Tensor]) -> list[Tensor]:
        self.same(xs[0])
        return self.same(xs)


@ENTRIES.add("out_same_twice", "one tensor in three places", lambda: call(t(2, 4)))
class SameTwice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> tuple[Any, ...]:
        y = self.fc(x)
        return y, y, {"y": y}


@ENTRIES.add("out_views", "views of its input that overlap each other", lambda: call(t(4, 4)))
class Views(nn.Module):
    def forward(self, x: Tensor) -> tuple[Any, ...]:
        unfolded = x.unfold(0, 2, 1)
        return x.t(), x[1:], x.diagonal(), x[0].expand(3, 4), x.chunk(2), unfolded, x.detach()


@ENTRIES.add(
    "out_parameters",
    "returns its parameter, its buffer and a list of parameters",
    lambda: call(),
)
class ReturnsParameters(nn.Module):
    scale: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3, 2))
        self.register_buffer("scale", torch.ones(()))

    def forward(self) -> tuple[Any, ...]:
        return self.weight, self.scale, [*self.parameters()], self.state_dict()


@ENTRIES.add(
    "out_return_types",
    "torch.return_types: tuples with named fields that are no named tuples",
    lambda: call(t(4, 4)),
)
class ReturnTypes(nn.Module):
    def forward(self, x: Tensor) -> tuple[Any, ...]:
        return x.max(1), x.topk(2), x.sort(0), torch.linalg.qr(x), torch.linalg.slogdet(x)


class Yes:
    """Has every attribute that it is asked for, and each is another such object."""

    def __init__(self, x: Tensor) -> None:
        self.x = x

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Yes(self.x)

    def __call__(self, *args: Any, **kwargs: Any) -> Yes:
        return self


@ENTRIES.add(
    "out_every_attribute",
    "an object that has every attribute: shape, dtype, keys, values, ...",
    lambda: call(t(2, 4)),
)
class EveryAttribute(nn.Module):
    def forward(self, x: Tensor) -> list[Any]:
        return [Yes(x), x]


class Grumpy:
    """Raises at every look."""

    def __init__(self, x: Tensor) -> None:
        self.x = x

    def _no(self, *args: Any) -> Any:
        raise RuntimeError("do not look at me")

    __repr__ = __str__ = __len__ = __iter__ = __bool__ = __eq__ = __hash__ = _no
    __format__ = __dir__ = __getitem__ = __contains__ = __reduce_ex__ = __deepcopy__ = _no


@ENTRIES.add(
    "out_grumpy_object",
    "repr, len, iter, bool, ==, hash, dir and copies of it all raise",
    lambda: call(t(2, 4)),
)
class GrumpyOutput(nn.Module):
    def forward(self, x: Tensor) -> dict[str, Any]:
        return {"grumpy": Grumpy(x), "x": x + 1}


class Endless:
    """A sequence without an end."""

    def __init__(self, x: Tensor) -> None:
        self.x = x

    def __iter__(self) -> Iterator[Tensor]:
        while True:
            yield self.x

    def __getitem__(self, index: int) -> Tensor:
        return self.x

    def __len__(self) -> int:
        return 2**62


@ENTRIES.add("out_endless", "an iterable object without an end", lambda: call(t(2, 4)))
class EndlessOutput(nn.Module):
    def forward(self, x: Tensor) -> Endless:
        return Endless(x)


class LazyDict(dict):
    """A dict that computes on access and says no to items()."""

    def __missing__(self, key: Any) -> Any:
        return key

    def items(self) -> Any:
        raise TypeError("ask for each key")

    def values(self) -> Any:
        raise TypeError("ask for each key")


class Liar:
    """Says that it is a tensor."""

    @property
    def __class__(self) -> Any:
        return Tensor

    shape = "round"


@ENTRIES.add(
    "out_dishonest",
    "a dict whose items() raises and an object that isinstance takes for a tensor",
    lambda: call(t(2, 4)),
)
class Dishonest(nn.Module):
    def forward(self, x: Tensor) -> tuple[Any, ...]:
        return LazyDict(x=x), Liar(), x
