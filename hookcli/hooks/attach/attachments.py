"""The hooks of one model that must be told when its calls begin and end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from hookcli.hooks.attach.call_tensors import CallTensorHooks
from hookcli.hooks.hook import Hook
from hookcli.spec.hooks import Match

if TYPE_CHECKING:
    from hookcli.hooks.attach.engine import SavedTensors

Conditions: TypeAlias = list[tuple[Match, dict[int, str]]]


@dataclass(slots=True)
class Attachments:
    """The hooks that follow the calls of a run.

    `calls` are hooks on the tensors of calls, `saved` the pairs of saved_tensors hooks. `operators`
    are hooks on operators with the modules in whose calls they fire, None for all. `late` are
    registrations that wait for the end of a forward.
    """

    calls: CallTensorHooks = field(default_factory=CallTensorHooks)
    saved: list[SavedTensors] = field(default_factory=list)
    operators: list[tuple[Hook, Conditions | None]] = field(default_factory=list)
    late: list[Callable[[], None]] = field(default_factory=list)
