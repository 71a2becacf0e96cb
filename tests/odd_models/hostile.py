"""Modules that misbehave when they are inspected, compared, copied or changed."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ._base import Shelf, call, t

ENTRIES = Shelf()


class Delegating(nn.Module):
    """Passes on every attribute it lacks to the module it wraps."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == "model":
                raise
            return getattr(self.model, name)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.model(*args, **kwargs)


@ENTRIES.add(
    "hostile_getattr_delegation",
    "wrappers that pass unknown attributes on to what they wrap, two deep",
    lambda: call(t(2, 4)),
)
def getattr_delegation() -> nn.Module:
    return Delegating(Delegating(nn.Sequential(nn.Linear(4, 4), nn.ReLU())))


class Mocking(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return 42

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(x)


@ENTRIES.add("hostile_has_everything", "a module that has every attribute", lambda: call(t(2, 4)))
def has_everything() -> nn.Module:
    return nn.Sequential(Mocking(), Mocking())


class Empty(nn.Module):
    """A container of length 0: false in a condition."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def __len__(self) -> int:
        return 0

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(x)


class Undecided(Empty):
    def __bool__(self) -> bool:
        raise ValueError("the truth of this module is ambiguous")


@ENTRIES.add(
    "hostile_falsy",
    "modules that are false, and one whose truth raises",
    lambda: call(t(2, 4)),
)
class Falsy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.empty = Empty()
        self.undecided = Undecided()

    def __len__(self) -> int:
        return 0

    def forward(self, x: Tensor) -> Tensor:
        return self.undecided(self.empty(x))


@dataclass(unsafe_hash=True)
class Scale(nn.Module):
    factor: float

    def __post_init__(self) -> None:
        self.gain = nn.Parameter(torch.full((4,), self.factor))

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        module = super().__new__(cls)
        nn.Module.__init__(module)
        return module

    def forward(self, x: Tensor) -> Tensor:
        return x * self.gain


@ENTRIES.add(
    "hostile_equal_modules",
    "dataclass modules that are equal by value: torch itself takes the second for the first",
    lambda: call(t(2, 4)),
    fake=False,
)
def equal_modules() -> nn.Module:
    return nn.Sequential(Scale(2.0), Scale(3.0), Scale(2.0), Scale(2.0))


class Secretive(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def extra_repr(self) -> str:
        raise RuntimeError("no repr")

    def _get_name(self) -> str:
        raise RuntimeError("no name")

    def __dir__(self) -> Any:
        raise RuntimeError("no dir")

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("no copy, no pickle")

    def __sizeof__(self) -> int:
        raise RuntimeError("no size")

    @property
    def device(self) -> Any:
        raise RuntimeError("no device")

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(x)


@ENTRIES.add(
    "hostile_repr_raises",
    "repr, dir, copy and a property of the module raise",
    lambda: call(t(2, 4)),
)
class ReprRaises(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.secretive = Secretive()

    def forward(self, x: Tensor) -> Tensor:
        return self.secretive(x)


@ENTRIES.add(
    "hostile_loud_repr",
    "extra_repr with escapes and newlines, 100 kB of it; prints to stdout and stderr",
    lambda: call(t(2, 4)),
)
class LoudRepr(nn.Identity):
    def extra_repr(self) -> str:
        return "\x1b[31m\n::error::x\n" + "x" * 100_000

    def forward(self, x: Tensor) -> Tensor:
        print("\x1b[31m{not json", flush=True)
        print("::error::not an error", file=sys.stderr, flush=True)
        return x


class Sealed(nn.Module):
    """Takes no attributes once it is built."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.__dict__["sealed"] = True

    def __setattr__(self, name: str, value: Any) -> None:
        if self.__dict__.get("sealed") and name != "training":
            raise AttributeError(f"cannot set {name}")
        super().__setattr__(name, value)

    def register_forward_hook(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("no hooks")

    register_forward_pre_hook = register_forward_hook

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(x)


@ENTRIES.add(
    "hostile_sealed",
    "a module that takes neither attributes nor hooks",
    lambda: call(t(2, 4)),
)
def sealed() -> nn.Module:
    return nn.Sequential(Sealed(), nn.ReLU())


class Hidden(nn.Module):
    """Hides its children from every iterator."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def named_children(self) -> Any:
        return iter(())

    def named_modules(
        self, memo: Any = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Any:
        yield prefix, self

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(x)


@ENTRIES.add(
    "hostile_hidden_children",
    "named_children and named_modules overridden to hide a child that is called",
    lambda: call(t(2, 4)),
    fake=False,
)
def hidden_children() -> nn.Module:
    return nn.Sequential(Hidden(), nn.ReLU())
