"""A model and its compiled form, compared: the reference, then the process that compiles."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hookcli.report.report import Report
from hookcli.spec.compared.compiled import COMPARED, CompiledRun, CompileSettings
from hookcli.spec.request import SideSpec, Spec
from hookcli.whole_files import private_folder
from hookcli.worker.attempts import run_within
from hookcli.worker.compared.sides import compared_value, running
from hookcli.worker.process import start_ahead
from hookcli.worker.worker import Limits


@dataclass(frozen=True, slots=True)
class CompileRequest:
    """The model, and how it is compiled."""

    spec: Spec
    settings: CompileSettings
    tolerances: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class CompileOutcome:
    """The report of the reference, and the value of the measurement `COMPARED`."""

    reference: Report
    compared: dict[str, Any]


def run_compiled(
    request: CompileRequest, check: Callable[[], None], meanwhile: Callable[[], None] = lambda: None
) -> CompileOutcome | Report:
    """Run the reference and the compiled model; return the reference's report if it failed.

    Raises
    ------
    HookcliError : something could not be run; the message names the side.
    """
    timeout = request.spec.run.timeout
    limits = Limits(time.monotonic() + timeout, timeout, request.spec.run.max_memory)
    python = request.spec.run.python
    with private_folder() as folder:
        with contextlib.suppress(OSError):  # reported when the run itself cannot start
            start_ahead(sys.executable if python is None else python.path)
        with running("A"):
            side = SideSpec("a", folder, weights=True)
            spec = dataclasses.replace(_plain(request.spec), side=side)
            a = run_within(spec, limits, check, meanwhile).report
        if a.error is not None:
            return a
        with running("B", "B, compiled"):
            run = CompiledRun(request.settings, folder, request.tolerances)
            spec = dataclasses.replace(_plain(request.spec), compiled=run)
            report = run_within(spec, limits, check).report
        if report.error is not None:
            return report
        return CompileOutcome(a, compared_value(report, COMPARED))


def _plain(spec: Spec) -> Spec:
    """Return the request without hooks and checks, in eval mode unless it has another one."""
    settings = dataclasses.replace(spec.run, mode=spec.run.mode or "eval", tensors="real", steps=1)
    return dataclasses.replace(
        spec, command="inspect", run=settings, hooks=(), checks=(), probes=(), suppressions=()
    )
