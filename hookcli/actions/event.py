"""What a firing hook gives to its actions, and to functions of the `event` signature."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Event:
    """One firing.

    `value` is what the hook may look at and replace: arguments, an output, a gradient. `target` is
    the qualified name with the part ("fc:output"), `call` the module's call, `module` the module
    or None, `node` the name of an autograd node or operator, or "pack" or "unpack". `arguments`
    are those that PyTorch gave the hook, in its order, `value` at its place among them replaced by
    what earlier actions made of it.
    """

    kind: str
    target: str
    call: int | None
    step: int
    phase: str
    node: str | None
    seq: int
    module: Any
    value: Any
    native: Callable[[Any], tuple[Any, ...]]  # the value → PyTorch's own arguments
    stats: dict[str, Any] | None = None  # what `stats` found, by the paths of tensors in `value`
    findings: list[str] = field(default_factory=list)

    @property
    def arguments(self) -> tuple[Any, ...]:
        """PyTorch's own arguments of this kind of hook."""
        return self.native(self.value)
