"""The events of a report: what fired, in its order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hookcli.report.values import Leaf, Number


@dataclass(frozen=True, slots=True)
class EventRow:
    """One firing of one hook. `seq` is its place in the order of all, over kinds and threads.

    `kind` is the hook's, `target` the qualified name it stands on (of a module's value with
    `:input` or `:output`, as in a selector), `call` the module's call. `node` names the autograd
    node or operator, or says which of "pack" and "unpack" it is. `hook` is the index into the hooks
    of the configuration, the preset's after them. `values` are what the hook was given, after it
    acted; `changed` is the 2-norm of what it changed: None where it only looked on.
    """

    seq: int
    step: int
    phase: Literal["build", "forward", "loss", "backward", "optimizer", "state_dict", "package"]
    kind: str
    target: str
    call: int | None
    node: str | None
    hook: int | None
    values: tuple[Leaf, ...] = ()
    changed: Number | None = None
    recomputed: bool = False
    rank: int = 0


@dataclass(frozen=True, slots=True)
class Streamed:
    """Events that stand in a file of their own, one JSON object a line."""

    file: str
    count: int
    dropped: int
