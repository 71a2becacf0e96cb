"""`compile_equal`: the compiled model computes what the eager model computes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hookcli.report.report import Report
from hookcli.rules.rule import Options, Rule, RuleFinding, RuleOption, passed, skipped
from hookcli.spec.checks import ProbeRequest, request_probe

PROBE = "compile_equal"
_ADVICE = "run `hookcli diff MODEL 'MODEL?compile=BACKEND'` for the tensors of each layer"


def request_of(options: Options) -> ProbeRequest:
    """Return the request for the compiled run that a check needs."""
    return request_probe(
        PROBE, backend=options["backend"], mode=options["mode"], tolerance=options["tolerance"]
    )


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield one finding: the layer, parameter or buffer that differs first."""
    value = _measured(report, options)
    if value is None:
        yield skipped("nothing was compiled: only `hookcli check` compiles the model")
    elif value["error"] is not None:
        yield RuleFinding("error", "", "not run", value["error"], place=value["place"])
    elif value["equal"]:
        yield passed(value["sentence"])
    else:
        named = value["named"]
        yield RuleFinding(
            "fail", named[0] if named else "", "differs", value["sentence"], value["relative"],
            value["limit"], value["place"], advice=_ADVICE,
        )  # fmt: skip


def _measured(report: Report, options: Options) -> dict[str, Any] | None:
    for measurement in report.measurements:
        value = measurement.value
        if measurement.probe == PROBE and (value["backend"], value["mode"]) == (
            options["backend"], options["mode"],
        ):  # fmt: skip
            return dict(value)
    return None


RULE = Rule(
    name="compile_equal",
    severity="error",
    says="the compiled model has the outputs and gradients of the eager one",
    computes="Runs the model eagerly and compiled, with the same weights, batch and seed, in eval "
    "mode. Outputs, gradients and buffers are compared. A difference counts if it is beyond the "
    "tolerance, and beyond ten times what rounding noise and the error against float64 explain. "
    "The first layer that differs is named.",
    formula="|compiled - eager| / |eager| > max(tolerance, 10 * noise, 10 * |eager - float64|)",
    source="torch.compile; stochastic arithmetic: Vignes 2004, doi:10.1023/B:NUMA.0000049483.75679"
    ".ce",
    fails="a branch on torch.compiler.is_compiling() that computes something else; a custom "
    "operator or a backend that is wrong",
    mend="look at the layer that is named; `aot_eager` tells the graph from inductor",
    example="{rule: compile_equal, backend: aot_eager}",
    options=(
        RuleOption("backend", "word", "a backend of torch.compile, or file.py:function",
                   required=True),
        RuleOption("mode", "word", "a mode of torch.compile, such as max-autotune"),
        RuleOption("tolerance", "number", "largest relative difference"),
    ),
    needs=lambda options: (request_of(options),),
    judge=judge,
)  # fmt: skip
