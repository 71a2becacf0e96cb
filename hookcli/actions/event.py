"""The event that a hook passes to its actions, and to functions with the `event` signature."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from hookcli.operators.operator_run import OperatorRun


@dataclass(slots=True)
class Event:
    """One firing.

    `value` is what the hook may read and replace: arguments, an output, a gradient. `target` is the
    qualified name with the part ("fc:output"). `call` is the number of the module's call. `module`
    is the module or None. `node` is the name of an autograd node or operator, or "pack" or
    "unpack". `arguments` are those that PyTorch passed to the hook, in its order, with the current
    `value`, which earlier actions may have changed.
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
    native: Callable[[Any], tuple[Any, ...]]  # from the value to PyTorch's own arguments
    operator: OperatorRun | None = None  # what ran, for actions that read an operator's inputs
    stats: dict[str, Any] | None = None  # the result of `stats`, by the paths of tensors
    # What `stats` read, as `models.nested.leaves` gives it: later actions may drop tensors.
    measured: Sequence[tuple[str, Any, bool]] = ()
    findings: list[str] = field(default_factory=list)

    @property
    def arguments(self) -> tuple[Any, ...]:
        """PyTorch's own arguments of this kind of hook."""
        return self.native(self.value)
