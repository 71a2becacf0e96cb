"""The events of a report, in the order in which the hooks fired."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hookcli.report.values import Leaf, Number


@dataclass(frozen=True, slots=True)
class EventRow:
    """One firing of one hook. `seq` counts the events of all kinds and threads.

    `kind` is the kind of the hook, `target` the qualified name of what it is attached to (with
    `:input` or `:output` for a value of a module, as in a selector), `call` the call of the module.
    `node` is the name of the autograd node or operator, or "pack" or "unpack". `hook` is an index
    into the hooks of the configuration, followed by those of the preset. `values` are the tensors
    passed to the hook, after it ran; `changed` is the 2-norm of its change, None if it only
    observed.
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
    """Events in a separate file, one JSON object per line."""

    file: str
    count: int
    dropped: int
