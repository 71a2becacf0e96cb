"""Runs of `check` whose rules compare the compiled model with the eager one."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from hookcli.comparison.compile_diff import compare_compiled, compiled_sentence
from hookcli.errors import HookcliError
from hookcli.report.findings import Measurement
from hookcli.report.report import Report
from hookcli.rules.compile_equal import PROBE
from hookcli.spec.checks import ProbeRequest
from hookcli.spec.compared.compiled import compile_settings
from hookcli.spec.request import Spec
from hookcli.worker.compiled.compiled_pair import CompileRequest, run_compiled_pair


def compiled_measurements(spec: Spec, check: Callable[[], None]) -> list[Measurement]:
    """Return what the checks of a request need of compiled runs, which are carried out."""
    return [_measured(spec, request, check) for request in spec.probes if request.name == PROBE]


def _measured(spec: Spec, request: ProbeRequest, check: Callable[[], None]) -> Measurement:
    options = request.given()
    value: dict[str, Any] = {
        "backend": options["backend"], "mode": options["mode"], "equal": None, "sentence": "",
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
    place = f"compile_equal: {options['backend']}"
    settings = compile_settings(options["backend"], options["mode"], None, None, place)
    tolerance = options["tolerance"]
    given = () if tolerance is None else (("*", float(tolerance)),)
    run_spec = dataclasses.replace(spec.run, mode="eval", distributed=None)
    alone = dataclasses.replace(spec, run=run_spec, suppressions=())
    outcome = run_compiled_pair(CompileRequest(alone, settings, given), check)
    if isinstance(outcome, Report):
        error = outcome.error
        value["error"] = "the model failed in eval mode" if error is None else error.message
        return
    diff = compare_compiled(outcome.reference, outcome.compared, settings, spec.model.source)
    first = diff.first
    value["equal"] = diff.verdict == "same"
    value["sentence"] = compiled_sentence(diff) if first is None else first.sentence
    value["named"] = [] if diff.compiled is None else list(diff.compiled.named)
    if first is not None:
        value["relative"], value["limit"] = first.relative, first.limit
        value["place"] = None if first.a is None else first.a.place
