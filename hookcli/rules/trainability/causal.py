"""`causal`: the output at a time does not depend on later inputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hookcli.report.report import Report
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

PROBE = "causality"
# How much rounding may change an output, relative to its largest value: with other inputs kernels
# may add in another order, as in a mixture of experts, or mix all times, as in a Fourier transform.
ROUNDING = {"float64": 1e-13, "float32": 1e-5, "float16": 4e-3, "bfloat16": 3e-2}
_ADVICE = "mask later positions, for example with `is_causal=True`, or pad only on the left"


def _options(options: Options) -> dict[str, Any]:
    return {name: options[name] for name in ("dim", "input", "output")}


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield one finding: the output that changed most."""
    wanted = _options(options)
    value = next(
        (
            m.value
            for m in report.measurements
            if m.probe == PROBE and m.value.get("options", wanted) == wanted
        ),
        None,
    )
    if value is None:
        yield skipped("this run did not replace later inputs")
    elif "error" in value:
        yield skipped(run_again_failed("eval", value["error"]))
    elif "why" in value:
        yield skipped(value["why"])
    else:
        yield _verdict(report, value, options["tolerance"])


def _verdict(report: Report, value: dict[str, Any], tolerance: float | None) -> RuleFinding:
    limit = ROUNDING.get(value["dtype"], 0.0) if tolerance is None else tolerance
    relative = float(value["relative"])
    if not relative <= limit:
        message = (
            f"output{value['output']} at time {value['time']} changes by {relative:.3g} of its "
            f"largest value if inputs after time {value['time']} are replaced"
        )
        return RuleFinding(
            "fail", "", "later inputs", message, value["relative"], limit, report.model.place,
            advice=_ADVICE,
        )  # fmt: skip
    return passed(
        f"no output depends on later inputs, at {value['size']} times along dimension "
        f"{value['dim']}",
        value=value["relative"],
        limit=limit,
    )


RULE = Rule(
    name="causal",
    severity="error",
    looks_at="later inputs",
    says="in eval mode, the output at a time does not depend on later inputs",
    computes="Replaces the inputs after a time and compares the outputs up to it: after the first "
    "time, the middle and the one before the last. Integers are replaced by others in the range "
    "of the input, so that tokens stay known ones; boolean inputs and integers with two values "
    "are masks, and are kept, unless `input` names them. The time dimension of an output is the "
    "one that gets shorter with the inputs. Only rounding is tolerated: 1e-5 for float32, 1e-13 "
    "for float64, 4e-3 for float16 and 3e-2 for bfloat16.",
    formula="max |f(x)[t] - f(x')[t]| / max |f(x)| <= tolerance for t <= T, x'[t] = x[t] for "
    "t <= T",
    source="Karpathy, A Recipe for Training Neural Networks: use backprop to chart dependencies; "
    "with values instead of gradients, because tokens have no gradient",
    fails="attention without a causal mask; a convolution over time that is padded on both sides; "
    "a normalisation over time; a bidirectional LSTM",
    mend="mask later positions; suppress the finding if the model is meant to see them",
    example="{rule: causal, input: .input_ids, output: .logits}",
    options=(
        RuleOption("dim", "dimension", "the time dimension of the inputs", 1),
        RuleOption("input", "path", "the input to replace; all with this dimension if omitted"),
        RuleOption("output", "path", "the output to compare; all that have times if omitted"),
        RuleOption("tolerance", "number", "largest relative change; set by the dtype if omitted"),
    ),
    needs=lambda options: (request_probe(PROBE, **_options(options)),),
    judge=judge,
)
