"""`batch_independent`: the output of a sample does not depend on the other samples."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.report import Inputs, Report
from hookcli.rules.rule import (
    Options,
    Rule,
    RuleFinding,
    RuleOption,
    passed,
    run_again_failed,
    skipped,
)
from hookcli.spec.checks import request_probe

PROBE = "samples"
_ROOT_EPS = {
    "float64": 1.5e-8, "complex128": 1.5e-8, "float32": 3.5e-4, "complex64": 3.5e-4,
    "float16": 3.2e-2, "bfloat16": 8.9e-2,
}  # fmt: skip
"""The square root of the epsilon: with other samples, kernels may round in another order."""
_INFERRED = "the batch was inferred, and its dimension 0 may not count samples: pass `--input`"
_DIFFER = (
    "dimension 0 of the inputs differs, and may not count samples: set dim to the batch dimension"
)


def limit_of(dtype: str) -> float:
    """Return how much rounding may change an output, relative to its largest value."""
    return _ROOT_EPS.get(dtype, 0.0)


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield one finding: the output that changed most."""
    value = next(
        (measurement.value for measurement in report.measurements if measurement.probe == PROBE),
        None,
    )
    if value is None:
        yield skipped("this run did not replace any samples")
        return
    if "error" in value:
        yield skipped(run_again_failed("eval", value["error"]))
        return
    if "why" in value:
        yield skipped(value["why"])
        return
    limit = options["tolerance"]
    limit = limit_of(value["dtype"]) if limit is None else limit
    relative = float(value["relative"])
    if not relative <= limit:
        if options["dim"] is None and _may_count_others(report.inputs):
            yield skipped(_INFERRED)
            return
        if options["dim"] is None and _differ(report.inputs):
            yield skipped(_DIFFER)
            return
        message = (
            f"output{value['output']} of sample {value['sample']} changes by {relative:.3g} of its "
            f"largest value if the other samples are replaced (batch dimension {value['dim']})"
        )
        place = report.model.place
        yield RuleFinding(
            "fail", "", "samples are coupled", message, value["relative"], limit, place
        )
        return
    yield passed(
        f"{value['samples']} samples along dimension {value['dim']} do not affect each other",
        value=value["relative"],
        limit=limit,
    )


def _may_count_others(inputs: Inputs | None) -> bool:
    """Return whether dimension 0 of an inferred batch may count nodes, words or positions.

    That of a single input of two or more dimensions counts samples.
    """
    if inputs is None or inputs.origin != "inferred":
        return False
    values = (*inputs.args, *inputs.kwargs.values())
    single = values[0] if len(values) == 1 else None
    return single is None or "shape" not in single or len(single["shape"]) < 2


def _differ(inputs: Inputs | None) -> bool:
    """Return whether dimension 0 of the inputs differs, as of nodes and edges of a graph."""
    if inputs is None:
        return False
    values = (*inputs.args, *inputs.kwargs.values())
    shapes = [value["shape"] for value in values if "shape" in value]
    return len({shape[0] for shape in shapes if shape}) > 1


RULE = Rule(
    name="batch_independent",
    severity="warning",
    safe=True,
    looks_at="samples",
    says="in eval mode, the output of one sample does not depend on the other samples",
    computes="Keeps one sample, replaces all others by copies of it, and compares the output of "
    "that sample; first with the first sample, then with the last. The batch dimension is `dim`, "
    "or detected by a run with one more sample, in which every output must grow by one in one "
    "dimension. The rule is skipped if two dimensions grow and only one is coupled, if the "
    "model accepts only one number of samples, if an inferred batch has several inputs or a "
    "vector, whose dimension 0 may count nodes or words, if dimension 0 of the inputs differs, if "
    "parameters or buffers make a square matrix that multiplies dimension 0 from the left, as an "
    "adjacency matrix does, or if layers quantize with the range of all samples.",
    formula="max |f(x)[i] - f(x')[i]| / max |f(x)[i]| <= root of the dtype's epsilon, x'[i] = x[i]",
    source="Karpathy, A Recipe for Training Neural Networks, with values instead of gradients, "
    "because integer inputs have no gradient",
    fails="x - x.mean(0); view(B, -1) of a tensor whose batch dimension is not the first; a "
    "BatchNorm without running statistics",
    mend="reduce over features, not over the batch; use transpose if view mixes samples. "
    "Suppress the finding if samples are coupled on purpose, as by a contrastive loss or a mixture "
    "of experts",
    example="{rule: batch_independent, dim: 1}",
    options=(
        RuleOption("dim", "dimension", "the batch dimension of the inputs; detected if omitted"),
        RuleOption("tolerance", "number", "largest relative change; set by the dtype if omitted"),
    ),
    needs=lambda options: (
        (request_probe(PROBE),)
        if options["dim"] is None
        else (request_probe(PROBE, dim=options["dim"]),)
    ),
    judge=judge,
)
