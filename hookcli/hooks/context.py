"""What all hooks of one run share: the clock, the numbering, and where their firings go."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from hookcli.catalogue.kind import Phase
from hookcli.models.model import Call, CallStack
from hookcli.report.recording import EventNote, HookFinding


@dataclass(slots=True)
class Context:
    """The state of a run as hooks see it.

    `statistics` gives a tensor's figures (None where it has no values), `norm` that one of them,
    `norm_of_sum` that of two tensors' sum, `difference` the 2-norm of what changed between two.
    """

    note: Callable[[EventNote], None]
    statistics: Callable[[torch.Tensor], dict[str, Any] | None]
    norm: Callable[[torch.Tensor], dict[str, Any] | None]
    norm_of_sum: Callable[[torch.Tensor, torch.Tensor], dict[str, Any] | None]
    difference: Callable[[torch.Tensor, torch.Tensor], float | None]
    calls: CallStack = field(default_factory=CallStack)
    sequence: itertools.count[int] = field(default_factory=itertools.count)
    findings: list[HookFinding] = field(default_factory=list)
    step: int = 0
    phase: Phase = "build"
    open: bool = True  # False once the run is over: what still hangs in a graph does nothing
    raised: tuple[BaseException, str] | None = None  # by a hook of the user's, and its place
    restarts: list[Callable[[], None]] = field(default_factory=list)  # called as a step begins
    ended: list[Callable[[Call, Any], None]] = field(default_factory=list)  # after forward hooks
    called_as_written: set[int] = field(default_factory=set)  # ids of torch.compile's wrappers
    names: dict[int, str] = field(default_factory=dict)  # id of a registered module → name

    def passes_over(self, call: Call) -> bool:
        """Whether hooks on the module of this call stay silent: torch.compile goes past it."""
        return call.inlined and call.key not in self.called_as_written

    def find(self, finding: HookFinding) -> None:
        """Note a finding, once."""
        if finding not in self.findings:
            self.findings.append(finding)
