"""`batch_independent`: the output of a sample does not depend on the other samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

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
    if "lost" in value and report.inputs is not None and report.inputs.origin != "inferred":
        yield _without_samples(report, value)
        return
    if "why" in value:
        yield skipped(value["why"])
        return
    if "sized" in value:
        inferred = report.inputs is None or report.inputs.origin == "inferred"
        yield skipped(_INFERRED) if inferred else _of_parameter(report, value)
        return
    if "only" in value or "placed" in value:
        yield _of_place(report, value)
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
        if options["dim"] is None and _is_time(report.inputs, value):
            yield skipped(_INFERRED)
            return
        message = (
            f"output{value['output']} of sample {value['sample']} changes by {relative:.3g} of its "
            f"largest value if the other samples are replaced (batch dimension {value['dim']})"
        )
        place, advice = report.model.place, None
        if (mixing := value.get("mixing")) is not None:
            message = f"{_cause(mixing)}: {message}"
            place, advice = mixing["place"] or place, _ADVICE.get(mixing["kind"])
        yield RuleFinding(
            "fail", "", "samples are coupled", message, value["relative"], limit, place,
            severity="note" if mixing and mixing.get("meant") else None,
            advice=_TIME_FIRST if mixing and mixing["time_first"] else advice,
        )  # fmt: skip
        return
    yield passed(
        f"{value['samples']} samples along dimension {value['dim']} do not affect each other",
        value=value["relative"],
        limit=limit,
    )


def _without_samples(report: Report, value: Mapping[str, Any]) -> RuleFinding:
    """Return the note that the rows of an output do not count the samples."""
    shape, many = value["lost"], value["samples"]
    message = (
        f"output{value['output']} {shape} has {shape[0]:,} rows for {many:,} samples and for "
        f"{many + 1:,}: dimension 0 of the input is averaged, or another dimension takes its place"
    )
    return RuleFinding(
        "fail", "", "rows", message, shape[0], many, report.model.place, severity="note",
        advice="keep the samples in dimension 0: `torch.stack(parts, dim=1)`, `mean(dim=1)`",
    )  # fmt: skip


def _of_parameter(report: Report, value: Mapping[str, Any]) -> RuleFinding:
    """Return the finding that a parameter has an entry for each sample of the batch."""
    name, many = value["sized"], value["samples"]
    message = (
        f"'{name}' {value['shape']} has an entry for each of the {many} samples of the batch: "
        "with fewer of both, the model runs"
    )
    owner = name.rpartition(".")[0]
    place = next((row.place for row in report.layers if row.name == owner), None)
    return RuleFinding(
        "fail", name, "entry of each sample", message, place=place or report.model.place,
        advice="give it 1 entry in the dimension of samples, and one for each position",
    )  # fmt: skip


def _of_place(report: Report, value: Mapping[str, Any]) -> RuleFinding:
    """Return the finding that outputs depend on one sample, or on the order of the samples."""
    if report.inputs is not None and report.inputs.origin == "inferred":
        return skipped(_INFERRED)
    if _differ(report.inputs):
        return skipped(_DIFFER)
    output, many, dim = value["output"], value["samples"], value["dim"]
    if "only" in value:
        message = (
            f"output{output} depends on one sample only, number {value['only']}: the other "
            f"{many - 1} of {many} samples change nothing (batch dimension {dim})"
        )
        return RuleFinding(
            "fail", "", "one sample", message, place=report.model.place, advice=_LAST_STEP
        )
    message = (
        f"output{output} depends on the place of a sample in the batch: equal samples get "
        f"different outputs (batch dimension {dim})"
    )
    cause = value.get("mixing") or {}
    if cause.get("place"):
        what = f"'{cause['tensor']}'" if cause.get("tensor") else "values"
        message = (
            f"`{cause['function']}` at {cause['place']} combines sample i with entry i of {what}, "
            f"as positions of samples: {message}"
        )
    place = cause.get("place") or report.model.place
    return RuleFinding("fail", "", "place in the batch", message, place=place, advice=_POSITIONS)


_LAST_STEP = "do not index dimension 0: `x[:, -1]` is the last step of each sample"
_POSITIONS = "index positions by the dimension of time: `pe[:, :x.size(1)]` if batch is first"
_TIME_FIRST = "construct it with `batch_first=True`, or transpose its input"
_ADVICE = {
    "places": "use `transpose` or `permute` to move a dimension, and `view` only to split or merge",
    "sample": "select along the dimension of time, not along that of samples",
}


def _cause(mixing: Mapping[str, Any]) -> str:
    """Return what mixes samples."""
    function, shape, place = mixing["function"], mixing["shape"], mixing["place"]
    where = f"`{function}`" if place is None else f"`{function}` at {place}"
    layer = f"'{mixing['name']}' ({mixing['module']})"
    if mixing["time_first"]:
        return (
            f"{layer} has batch_first=False: it takes dimension 0 of {shape}, the samples, for time"
        )
    if mixing["kind"] == "places":
        return f"{where} puts values of several samples into one row"
    if mixing["kind"] == "sample":
        return f"{where} takes one sample for all, such as sample 0"
    if mixing["name"]:
        where = f"{layer} at {place}" if place else layer
    if mixing["dim"] is None:
        return f"{where} mixes samples"
    return f"{where} mixes samples along dimension {mixing['dim']} of {shape}"


def _may_count_others(inputs: Inputs | None) -> bool:
    """Return whether dimension 0 of an inferred batch may count nodes, words or positions.

    That of a single input of two or more dimensions counts samples.
    """
    if inputs is None or inputs.origin != "inferred":
        return False
    values = (*inputs.args, *inputs.kwargs.values())
    single = values[0] if len(values) == 1 else None
    return single is None or "shape" not in single or len(single["shape"]) < 2


def _is_time(inputs: Inputs | None, value: Mapping[str, Any]) -> bool:
    """Return whether a recurrent layer takes dimension 0 of an inferred batch for time."""
    inferred = inputs is not None and inputs.origin == "inferred"
    return inferred and value.get("mixing", {}).get("time_first", False)


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
    "a layer takes dimension 0 of an inferred batch for time, if "
    "parameters or buffers make a square matrix that multiplies dimension 0 from the left, as an "
    "adjacency matrix does, or if layers quantize with the range of all samples. A finding names "
    "the first function whose result depends on several samples, or the view that puts samples "
    "into wrong places. Two more facts of the same runs are findings: outputs that only one sample "
    "changes, and copies of one sample that get different outputs. If no other number of samples "
    "runs, a parameter that has an entry for each sample is one too: a batch with one sample less "
    "then runs if the parameter has one entry less.",
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
