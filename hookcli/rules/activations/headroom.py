"""`range_headroom`: values fit into float16 or bfloat16, with room for larger ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hookcli.report.findings import Measurement
from hookcli.report.report import Report
from hookcli.rules.activations.measured import RANGE, UNREAD
from hookcli.rules.rule import Options, Rule, RuleFinding, RuleOption, passed, skipped
from hookcli.rules.select import matches, owner, places
from hookcli.spec.checks import BACKWARD, request_probe
from hookcli.text import counted

_SHARE, _VALUES = 0.1, 32
_FLOATS = frozenset({"float16", "bfloat16", "float32", "float64"})
_ARBITRARY = frozenset({"probe", "sum", "mean", "gradient"})  # losses that tell no real size


def _problem(
    row: dict[str, Any], limits: dict[str, Any], options: Options
) -> tuple[Any, ...] | None:
    """Return (kind, value, limit, words) of what is wrong with a tensor; None if nothing is."""
    dtype = limits["dtype"]
    if row["abs_max"] > options["headroom"] * limits["max"]:
        share = row["abs_max"] / limits["max"]
        over = "overflows" if share > 1 else f"has little room in {dtype}"
        words = f"reaches {row['abs_max']:.3g}: {share:.1f} times the largest {dtype}"
        if share <= 1:
            words = f"reaches {row['abs_max']:.3g}: {share:.0%} of the largest {dtype}"
        return "overflow", round(share, 4), options["headroom"], f"{over}: it {words}"
    if row["values"] < _VALUES:
        return None
    share = row["tiny"] / row["values"]
    if share > options["underflow"]:
        words = f"underflows: {row['tiny']:,} of {counted(row['values'], 'value')} ({share:.0%}) "
        words += f"are below {limits['tiny']:.2g}, the smallest normal {dtype}"
        return "underflow", round(share, 4), options["underflow"], words
    return None


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each tensor that does not fit, those of one kind in one finding."""
    if options["dtype"] not in _FLOATS:
        message = f"range_headroom cannot judge {options['dtype']}: it requires a floating dtype"
        yield RuleFinding("error", "", "dtype", message)
        return
    rows = [row for row in report.measurements if row.probe == RANGE]
    if not rows:
        yield skipped(UNREAD)
        return
    limits = rows[0].value
    found: dict[tuple[str, str], list[tuple[Measurement, tuple[Any, ...]]]] = {}
    looked = 0
    for row in rows[1:]:
        if row.value["at"] == "gradient" and report.run.loss in _ARBITRARY:
            continue
        if any(matches(glob, row.target) for glob in options["at"]):
            looked += 1
            problem = _problem(row.value, limits, options)
            if problem is not None:
                found.setdefault((row.value["at"], problem[0]), []).append((row, problem))
    where = places(report) if found else {}
    for (at, kind), group in found.items():
        row, (_, value, limit, words) = max(group, key=lambda pair: pair[1][1])
        what = {
            "output": "the output of",
            "parameter": "the parameter",
            "gradient": "the gradient of",
        }
        name = f"'{row.target}'" if row.target else "the model"
        more = f"; also {counted(len(group) - 1, 'tensor')}" if len(group) > 1 else ""
        module = row.target if at == "output" else owner(row.target)
        yield RuleFinding(
            "fail",
            row.target,
            f"{at} {kind}",
            f"{what[at]} {name} {words}{more}",
            value,
            limit,
            where.get(module),
            advice=_ADVICE[kind],
        )
    if not found:
        yield passed(
            f"{counted(looked, 'tensor')} fit into {limits['dtype']}", limit=options["headroom"]
        )


_ADVICE = {
    "overflow": "run this layer in float32 (`torch.autocast(enabled=False)`), use bfloat16, or "
    "scale its inputs down",
    "underflow": "use bfloat16, which has the range of float32, or a larger loss scale",
}

RULE = Rule(
    name="range_headroom",
    severity="warning",
    says="values fit into the dtype that training will use",
    computes="Reads each value of a run in float32: the outputs of modules without children and of "
    "the model, the parameters and their gradients. A tensor must stay below `headroom` of the "
    "largest number of `dtype`, and at most `underflow` of its values that are not zero may lie "
    "below its smallest normal number. Gradients are multiplied by `loss_scale` first, as "
    "torch.amp.GradScaler does, and are judged only with a loss of your own: the size of others "
    "means nothing.",
    formula="max |x| / finfo(dtype).max <= headroom; count(0 < |x| < finfo(dtype).tiny) / "
    "count(x != 0) <= underflow, with 32 values or more",
    source="Transformer Engine's statistics of underflows; GradScaler's default scale",
    fails="logits of 1e5 in float16, of which the largest number is 65504; gradients of 1e-9 "
    "without a loss scale",
    mend="keep the layer in float32, use bfloat16, or change the loss scale",
    example="{rule: range_headroom, dtype: float16, underflow: 0.05}",
    options=(
        RuleOption("at", "globs", "globs of module and parameter names", ("*",)),
        RuleOption("dtype", "dtype", "the dtype: float16, bfloat16", "float16"),
        RuleOption("headroom", "number", "the largest share of the dtype's maximum", _SHARE),
        RuleOption("underflow", "number", "the largest share of values that underflow", _SHARE),
        RuleOption("loss_scale", "number", "the factor of gradients; 1 for none", 65536),
    ),
    needs=lambda options: (BACKWARD,),
    watches=lambda options: (
        (request_probe("ranges", dtype=options["dtype"], scale=options["loss_scale"]),)
        if options["dtype"] in _FLOATS
        else ()
    ),
    judge=judge,
)
