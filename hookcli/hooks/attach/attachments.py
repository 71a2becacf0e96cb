"""What the hooks on one model share: those on tensors of calls, and those that wait for a call."""

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
    """What is told of a run's calls.

    `saved` are pairs of saved_tensors, `operators` hooks of operators with the calls that they are
    for, None for all; `late` is what waits for the end of a forward.
    """

    calls: CallTensorHooks = field(default_factory=CallTensorHooks)
    saved: list[SavedTensors] = field(default_factory=list)
    operators: list[tuple[Hook, Conditions | None]] = field(default_factory=list)
    late: list[Callable[[], None]] = field(default_factory=list)
