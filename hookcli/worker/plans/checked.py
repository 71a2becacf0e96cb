"""Runs of `check` whose rules need other processes: of a parallel plan, or of a compiled model."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from hookcli.comparison.plan_diff import compare_plan, compared_sentence
from hookcli.errors import HookcliError
from hookcli.report.findings import Measurement
from hookcli.report.report import Report
from hookcli.rules.parallel_equal import PROBE
from hookcli.spec.checks import ProbeRequest
from hookcli.spec.compared.parallel import ParallelPlan, parse_mesh
from hookcli.spec.request import Spec
from hookcli.worker.attempts import WorkerResult, run
from hookcli.worker.compiled.compile_checks import compiled_measurements
from hookcli.worker.plans.ranked import PlanRequest, run_plan


def run_with_plans(
    spec: Spec, check: Callable[[], None], meanwhile: Callable[[], None] = lambda: None
) -> WorkerResult:
    """Carry out the request, then run each plan and each compiled model that its checks name.

    Raises
    ------
    HookcliError : the model could not be run; a plan that cannot be run is a measurement.
    """
    ran = run(spec, check, meanwhile)
    plans = [request for request in spec.probes if request.name == PROBE]
    if ran.report.error is not None:
        return ran
    measured = [_measured(spec, request, check) for request in plans]
    measured += compiled_measurements(spec, check)
    report = dataclasses.replace(ran.report, measurements=(*ran.report.measurements, *measured))
    return dataclasses.replace(ran, report=report)


def _measured(spec: Spec, request: ProbeRequest, check: Callable[[], None]) -> Measurement:
    options = request.given()
    value: dict[str, Any] = {
        "plan": options["plan"], "mesh": options["mesh"], "equal": None, "sentence": "",
        "named": [], "relative": None, "limit": None, "place": None, "error": None,
    }  # fmt: skip
    try:
        _compare(spec, options, value, check)
    except HookcliError as error:
        value["error"], value["place"] = error.message, error.place
    return Measurement(PROBE, "", None, value, None)


def _compare(
    spec: Spec, options: dict[str, Any], value: dict[str, Any], check: Callable[[], None]
) -> None:
    place = f"parallel_equal: {options['plan']}"
    plan = ParallelPlan(options["plan"], parse_mesh(options["mesh"], place), place)
    tolerance = options["tolerance"]
    given = () if tolerance is None else (("*", float(tolerance)),)
    run_spec = dataclasses.replace(spec.run, mode="eval", distributed=None)
    alone = dataclasses.replace(spec, run=run_spec, suppressions=())
    outcome = run_plan(PlanRequest(alone, alone, plan, given), check)
    if isinstance(outcome, Report):
        error = outcome.error
        value["error"] = "the model failed in eval mode" if error is None else error.message
        return
    diff = compare_plan(outcome.reference, outcome.compared, outcome.error, plan, spec.model.source)
    first = diff.first
    value["equal"] = diff.verdict == "same"
    value["sentence"] = compared_sentence(diff) if first is None else first.sentence
    value["named"] = [] if diff.parallel is None else list(diff.parallel.named)
    if first is not None:
        value["relative"], value["limit"] = first.relative, first.limit
        value["place"] = None if first.a is None else first.a.place
