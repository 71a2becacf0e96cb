"""The events of a report, in the order in which the hooks fired."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from hookcli.report.values import Count, Index, Leaf, Number, Shape, absent


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """One tensor that a hook changed, and its statistics before and after, as `stats` has them.

    `path` is the one in `values`, or in the value before if the tensor is gone. `before` and
    `after` are null without readable values. `shapes` and `dtypes` are present if they differ:
    the one before, then the one after, null if there is no tensor.
    """

    path: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    shapes: tuple[Shape | None, Shape | None] | None = absent()  # it is a field()
    dtypes: tuple[str | None, str | None] | None = absent()  # it is a field()


@dataclass(frozen=True, slots=True)
class EventRow:
    """One firing of one hook. `seq` counts the events of all kinds and threads.

    `kind` is the kind of the hook, `target` the qualified name of what it is attached to (with
    `:input` or `:output` for a value of a module, as in a selector), `call` the call of the module.
    `node` is the name of the autograd node or operator, or "pack" or "unpack". `hook` is an index
    into the hooks of the configuration, followed by those of the preset. `values` are the tensors
    passed to the hook, after it ran; `changed` is the 2-norm of its change, None if it only
    observed, or if the tensors before and after cannot be compared. `changes` are the tensors that
    the hook changed, as far as values are known; the key is absent if there are none.
    """

    seq: Index
    step: Index
    phase: Literal["build", "forward", "loss", "backward", "optimizer", "state_dict", "package"]
    kind: str
    target: str
    call: Index | None
    node: str | None
    hook: Index | None
    values: tuple[Leaf, ...] = ()
    changed: Number | None = None
    recomputed: bool = False
    rank: Index = 0
    changes: tuple[ChangeRow, ...] | None = absent()  # it is a field()


@dataclass(frozen=True, slots=True)
class Streamed:
    """Events in a separate file, one JSON object per line."""

    file: str
    count: Count
    dropped: Count
