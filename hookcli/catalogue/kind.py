"""What hookcli knows of one kind of hook: a row of the catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Phase: TypeAlias = Literal[
    "build", "forward", "loss", "backward", "optimizer", "state_dict", "package"
]
PHASES: tuple[Phase, ...] = (
    "build", "forward", "loss", "backward", "optimizer", "state_dict", "package",
)  # fmt: skip
Target: TypeAlias = Literal[
    "module", "every module", "tensor", "parameter", "node", "run", "optimizer", "package"
]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of hook, as users and the engine need to know it.

    `phases` are those in which it can fire; a run performs the phases that its hooks need.
    `signature` is that of a function given to `call`; `value` is what actions see and change.
    `returns` says what a returned value does; `replaces` whether one can replace anything.
    `backends` are the formats of models that have it.
    """

    name: str
    family: str
    target: Target
    fires: str
    phases: tuple[Phase, ...]
    registers: str
    signature: str
    value: str
    returns: str
    replaces: bool
    example: str
    caveats: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    backends: tuple[str, ...] = ("python",)
    needs_values: bool = False
    since: str = "2.0"
