"""A model and its parallel plan, compared: the reference, then the ranks, then the judge."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hookcli.errors import ModelError
from hookcli.report.report import ErrorInfo, Report
from hookcli.spec.compared.parallel import COMPARED, ParallelPlan, ParallelRun, Role
from hookcli.spec.request import Attempt, DistributedSpec, SideSpec, Spec
from hookcli.whole_files import private_folder
from hookcli.worker.attempts import run_within
from hookcli.worker.compared.sides import compared_value, running
from hookcli.worker.process import start_ahead
from hookcli.worker.progress.screen import labelled
from hookcli.worker.ranks import Ranks
from hookcli.worker.worker import Limits

_BEFORE = {"start", "import", "build"}
_ENDED = "find what ends the process in the function of the plan"
_OF_RANKS = "make the function do the same on all ranks: each calls it with its own model"
_COMPARING = 30.0  # seconds to compare what ranks have left that took all the time there was


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """The model, the model as the plan gets it, and the plan."""

    a: Spec
    b: Spec
    plan: ParallelPlan
    tolerances: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class PlanOutcome:
    """The report of the reference, what the judge found, and the error of a rank, if any.

    `compared` is the value of the measurement `COMPARED`.
    """

    reference: Report
    compared: dict[str, Any]
    error: ErrorInfo | None


def run_plan(
    request: PlanRequest, check: Callable[[], None], meanwhile: Callable[[], None] = lambda: None
) -> PlanOutcome | Report:
    """Run the reference, the ranks and the judge; return the reference's report if it failed.

    Raises
    ------
    HookcliError : something could not be run; the message names the side.
    """
    timeout = request.a.run.timeout
    limits = Limits(time.monotonic() + timeout, timeout, request.a.run.max_memory)
    with private_folder() as folder:
        return _PlanRun(request, limits, folder, check).outcome(meanwhile)


class _PlanRun:
    def __init__(
        self, request: PlanRequest, limits: Limits, folder: str, check: Callable[[], None]
    ) -> None:
        self._request, self._limits, self._folder = request, limits, folder
        self._check = check

    def outcome(self, meanwhile: Callable[[], None]) -> PlanOutcome | Report:
        python = self._request.b.run.python
        path = sys.executable if python is None else python.path
        with contextlib.suppress(OSError):  # reported when the run itself cannot start
            for _ in range(self._request.plan.mesh.ranks):
                start_ahead(path)  # they import torch while the reference runs
        with running("A"):
            a = self._reference(meanwhile)
        if a.error is not None:
            return a
        with running("B"):
            error = self._ranks()
        until = max(self._limits.deadline, time.monotonic() + _COMPARING)
        limits = dataclasses.replace(self._limits, deadline=until)
        with labelled("comparing"):
            report = run_within(self._as("judge", self._request.b), limits, self._check)
        return PlanOutcome(a, compared_value(report.report, COMPARED), error)

    def _as(self, role: Role, spec: Spec) -> Spec:
        """Return the request of one process of this run."""
        tolerances = self._request.tolerances
        run = ParallelRun(role, self._request.plan, self._folder, tolerances)
        settings = dataclasses.replace(spec.run, mode=spec.run.mode or "eval")
        return dataclasses.replace(
            spec, command="grads", run=settings, hooks=(), checks=(), probes=(), parallel=run
        )

    def _reference(self, meanwhile: Callable[[], None]) -> Report:
        spec = self._as("reference", self._request.a)
        spec = dataclasses.replace(spec, side=SideSpec("a", self._folder, weights=True))
        return run_within(spec, self._limits, self._check, meanwhile).report

    def _ranks(self) -> ErrorInfo | None:
        """Run the ranks; return the error of the model on a rank, if any.

        Raises
        ------
        ModelError : a rank did not get as far as the model: there is nothing to compare.
        """
        spec = self._as("rank", self._request.b)
        distributed = DistributedSpec(nproc=self._request.plan.mesh.ranks)
        spec = dataclasses.replace(
            spec, run=dataclasses.replace(spec.run, distributed=distributed, steps=1)
        )
        error = Ranks(spec, self._limits, self._check).run(Attempt("real")).report.error
        if error is not None and error.phase in _BEFORE:
            raise ModelError(
                error.message,
                place=error.place or self._request.plan.place,
                hint=error.hint or (_ENDED if error.type == "died" else _OF_RANKS),
            )
        return error
