"""Runs of `check` whose rules need other processes: of a parallel plan, or of a compiled model."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from hookcli.comparison.compile_diff import compare_compiled, compiled_sentence
from hookcli.comparison.diff import Diff
from hookcli.comparison.plan_diff import compare_plan, compared_sentence
from hookcli.errors import HookcliError
from hookcli.report.findings import Measurement
from hookcli.report.report import Report
from hookcli.rules.compile_equal import RUN as COMPILED
from hookcli.rules.other_run import OtherRun
from hookcli.rules.parallel_equal import RUN as PARALLEL
from hookcli.spec.checks import ProbeRequest
from hookcli.spec.compared.compiled import compile_settings
from hookcli.spec.compared.parallel import ParallelPlan, parse_mesh
from hookcli.spec.request import Spec
from hookcli.worker.attempts import WorkerResult, run
from hookcli.worker.compared.compiled_run import CompileRequest, run_compiled
from hookcli.worker.compared.plan_run import PlanRequest, run_plan


class _Compared(NamedTuple):
    """A diff, the sentence for a check that passes, and the tensors that differ first."""

    diff: Diff
    sentence: str
    named: Sequence[str]


class _Job(NamedTuple):
    """The request without what the check does not need, and what a rule asks for."""

    spec: Spec
    options: dict[str, Any]
    tolerances: tuple[tuple[str, float], ...]
    check: Callable[[], None]


def run_with_others(
    spec: Spec, check: Callable[[], None], meanwhile: Callable[[], None] = lambda: None
) -> WorkerResult:
    """Carry out the request, then run each plan and each compiled model that its checks name.

    Raises
    ------
    HookcliError : the model could not be run; what else cannot be run is a measurement.
    """
    ran = run(spec, check, meanwhile)
    if ran.report.error is not None:
        return ran
    measured = [
        _measured(other, compare, spec, request, check)
        for other, compare in _RUNS
        for request in spec.probes
        if request.name == other.probe
    ]
    report = dataclasses.replace(ran.report, measurements=(*ran.report.measurements, *measured))
    return dataclasses.replace(ran, report=report)


def _measured(
    other: OtherRun,
    compare: Callable[[_Job], _Compared | Report],
    spec: Spec,
    request: ProbeRequest,
    check: Callable[[], None],
) -> Measurement:
    options = request.given()
    tolerance = options["tolerance"]
    given = () if tolerance is None else (("*", float(tolerance)),)
    settings = dataclasses.replace(spec.run, mode="eval", distributed=None)
    alone = dataclasses.replace(spec, run=settings, suppressions=())
    value = other.nothing(options)
    try:
        found = compare(_Job(alone, options, given, check))
    except HookcliError as error:
        value["error"], value["place"] = error.message, error.place
    else:
        value |= _failed(found) if isinstance(found, Report) else _figures(found)
    return Measurement(other.probe, "", None, value, None)


def _failed(report: Report) -> dict[str, Any]:
    error = report.error
    return {"error": "the model failed in eval mode" if error is None else error.message}


def _figures(found: _Compared) -> dict[str, Any]:
    first = found.diff.first
    value: dict[str, Any] = {
        "equal": found.diff.verdict == "same",
        "sentence": found.sentence if first is None else first.sentence,
        "named": list(found.named),
    }
    if first is not None:
        value |= {"relative": first.relative, "limit": first.limit}
        value["place"] = None if first.a is None else first.a.place
    return value


def _plan(job: _Job) -> _Compared | Report:
    place = f"{PARALLEL.probe}: {job.options['plan']}"
    plan = ParallelPlan(job.options["plan"], parse_mesh(job.options["mesh"], place), place)
    outcome = run_plan(PlanRequest(job.spec, job.spec, plan, job.tolerances), job.check)
    if isinstance(outcome, Report):
        return outcome
    source = job.spec.model.source
    diff = compare_plan(outcome.reference, outcome.compared, outcome.error, plan, source)
    named = () if diff.parallel is None else diff.parallel.named
    return _Compared(diff, compared_sentence(diff), named)


def _compiled(job: _Job) -> _Compared | Report:
    place = f"{COMPILED.probe}: {job.options['backend']}"
    settings = compile_settings(job.options["backend"], job.options["mode"], None, None, place)
    outcome = run_compiled(CompileRequest(job.spec, settings, job.tolerances), job.check)
    if isinstance(outcome, Report):
        return outcome
    source = job.spec.model.source
    diff = compare_compiled(outcome.reference, outcome.compared, settings, source)
    named = () if diff.compiled is None else diff.compiled.named
    return _Compared(diff, compiled_sentence(diff), named)


_RUNS: tuple[tuple[OtherRun, Callable[[_Job], _Compared | Report]], ...] = (
    (PARALLEL, _plan),
    (COMPILED, _compiled),
)
