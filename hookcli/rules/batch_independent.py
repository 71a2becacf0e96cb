"""`batch_independent`: what comes out for a sample does not depend on the others."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.report import Report
from hookcli.rules.rule import Options, Rule, RuleFinding, RuleOption, passed, skipped

PROBE = "samples"
_ROOT_EPS = {
    "float64": 1.5e-8, "complex128": 1.5e-8, "float32": 3.5e-4, "complex64": 3.5e-4,
    "float16": 3.2e-2, "bfloat16": 8.9e-2,
}  # fmt: skip
"""The root of the dtype's epsilon: other samples may make kernels round in another order."""


def limit_of(dtype: str) -> float:
    """How far rounding alone may move an output, relative to its largest value."""
    return _ROOT_EPS.get(dtype, 0.0)


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """One finding: the output that moved most."""
    value = next(
        (measurement.value for measurement in report.measurements if measurement.probe == PROBE),
        None,
    )
    if value is None:
        yield skipped("no other samples were tried")
        return
    if "error" in value:
        yield skipped(f"the model could not be run again in eval mode: {value['error']}")
        return
    if "why" in value:
        yield skipped(value["why"])
        return
    limit = options["tolerance"]
    limit = limit_of(value["dtype"]) if limit is None else limit
    relative = float(value["relative"])
    if not relative <= limit:
        message = (
            f"output{value['output']} of sample {value['sample']} changed by {relative:.3g} of its "
            f"largest value when the other samples were replaced (batch dimension {value['dim']})"
        )
        place = report.model.place
        yield RuleFinding(
            "fail", "", "samples are coupled", message, value["relative"], limit, place
        )
        return
    yield passed(
        f"{value['samples']} samples along dimension {value['dim']} do not see each other",
        value=value["relative"],
        limit=limit,
    )


RULE = Rule(
    name="batch_independent",
    severity="warning",
    safe=True,
    says="in eval mode, the output for one sample does not depend on the others",
    computes="Where the batch dimension is known: keeps one sample, replaces all others by "
    "copies of it, and compares what comes out for it, for the first sample and for the last. The "
    "dimension is given, or found by running one sample more and seeing every output grow by one "
    "in one dimension; where two dimensions do and only one is coupled, or the model takes one "
    "number of samples only, nothing is judged.",
    formula="max |f(x)[i] - f(x')[i]| / max |f(x)[i]| <= root of the dtype's epsilon, x'[i] = x[i]",
    source="Karpathy, A Recipe for Training Neural Networks, with values in place of gradients: "
    "integer inputs have none",
    fails="x - x.mean(0); view(B, -1) of a tensor whose batch is not first; a BatchNorm that keeps "
    "no running statistics",
    mend="reduce along features, not along the batch; use transpose where view mixes samples. A "
    "contrastive loss or a mixture of experts may couple samples on purpose: suppress it",
    example="{rule: batch_independent, dim: 1}",
    options=(
        RuleOption("dim", "dimension", "the batch dimension of the inputs; found where left out"),
        RuleOption("tolerance", "number", "the largest relative change; by dtype where left out"),
    ),
    needs=lambda options: (PROBE,) if options["dim"] is None else (f"{PROBE}:{options['dim']}",),
    judge=judge,
)
