"""The state that all hooks of one run share: step, phase, event numbers and findings."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from hookcli.catalogue.kind import Phase
from hookcli.hooks.graph_names import GraphNames
from hookcli.models.model import Call, CallStack
from hookcli.report.findings import HookFault
from hookcli.report.recording import EventNote, HookFinding


@dataclass(slots=True)
class Context:
    """The state of a run as its hooks see it.

    `note` receives each event. `statistics` returns the statistics of a tensor (None if it has no
    values), `norm` only its norm, `histogram` also counts by value, `norm_of_sum` the norm of the
    sum of two tensors, `difference` the 2-norm of the difference of two tensors.
    """

    note: Callable[[EventNote], None]
    statistics: Callable[[torch.Tensor], dict[str, Any] | None]
    norm: Callable[[torch.Tensor], dict[str, Any] | None]
    norm_of_sum: Callable[[torch.Tensor, torch.Tensor], dict[str, Any] | None]
    difference: Callable[[torch.Tensor, torch.Tensor], float | None]
    histogram: Callable[[torch.Tensor], dict[str, Any] | None] = lambda _: None
    calls: CallStack = field(default_factory=CallStack)
    sequence: itertools.count[int] = field(default_factory=itertools.count)
    findings: list[HookFinding] = field(default_factory=list)
    step: int = 0
    phase: Phase = "build"
    open: bool = True  # False after the run: hooks that are still in a graph do nothing
    raised: tuple[BaseException, HookFault] | None = None  # an error of the user's hook
    intended: BaseException | None = None  # what a function of the user or an assertion raised
    # Gets an error of hookcli's own while a hook fires; without it, the error is raised.
    failed: Callable[[Exception], bool] | None = None
    fault: HookFault | None = None  # the last value of a hook on which the run may fail
    restarts: list[Callable[[], None]] = field(default_factory=list)  # called when a step begins
    # Called when a call has ended, after its forward hooks.
    ended: list[Callable[[Call, Any], None]] = field(default_factory=list)
    called_as_written: set[int] = field(default_factory=set)  # ids of torch.compile's wrappers
    names: dict[int, str] = field(default_factory=dict)  # id of a registered module → name
    graphs: GraphNames = field(default_factory=GraphNames)
    # How many nodes of a graph that somebody else frees may still be read in this step: torch frees
    # nodes that Python has read recursively (see `let_go`). None if hookcli frees the graph.
    nodes_left: int | None = None
    spent: float = 0.0  # seconds that hooks in somebody's loop took in this step

    def passes_over(self, call: Call) -> bool:
        """Whether hooks on this call's module do not fire, as torch.compile inlines the call."""
        return call.inlined and call.key not in self.called_as_written

    def find(self, finding: HookFinding) -> None:
        """Add a finding, unless it is already there."""
        if finding not in self.findings:
            self.findings.append(finding)
