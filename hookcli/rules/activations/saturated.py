"""`saturated_activation`: sigmoid, tanh and softmax are not at their flat ends."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.findings import Measurement
from hookcli.report.report import Report
from hookcli.rules.activations.measured import (
    A_FEW,
    EVERY,
    ONE_HOT,
    SATURATED,
    UNREAD,
    place_of,
    rows_of,
    seen,
    where,
)
from hookcli.rules.rule import Options, Rule, RuleFinding, RuleOption, passed, skipped
from hookcli.rules.select import matches
from hookcli.text import counted

_SHARE, _ENDS, _VALUES = 0.5, 0.9, 32
_FULL = frozenset({"float32", "float64"})  # a narrow dtype rounds results to the ends early


def _reached(measurement: Measurement) -> int | None:
    """Return how many values count; None if the model returns them, and may be confident.

    What a model returns counts only where the slope is zero.
    """
    row = measurement.value
    if not row["output"]:
        return int(row["flat"])
    if measurement.probe == ONE_HOT or row["dtype"] not in _FULL:
        return None
    return int(row["stuck"])


def _limit(measurement: Measurement, options: Options) -> float:
    """Return the share that a function may have: softmax and hard functions reach their ends."""
    hard = measurement.probe == ONE_HOT or measurement.value["function"].startswith("hard")
    return float(options["ends" if hard else "share"])


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each activation of which too large a share is saturated."""
    counts = [seen(report, SATURATED), seen(report, ONE_HOT)]
    if None in counts:
        yield skipped(UNREAD)
        return
    healthy = True
    for measurement in rows_of(report, SATURATED, ONE_HOT):
        if not any(matches(glob, measurement.target) for glob in options["at"]):
            continue
        reached, values = _reached(measurement), measurement.value["values"]
        few = values < (
            options["values"] / 4 if measurement.probe == ONE_HOT else options["values"]
        )
        limit = _limit(measurement, options)
        if reached is not None and not few and reached / values > limit:
            healthy = False
            yield _finding(report, measurement, reached, limit)
    if healthy:
        read = sum(count or 0 for count in counts)
        yield passed(f"none of {counted(read, 'activation')} is saturated", limit=options["share"])


def _finding(report: Report, measurement: Measurement, reached: int, limit: float) -> RuleFinding:
    row = measurement.value
    share = reached / row["values"]
    if measurement.probe == ONE_HOT:
        what = f"one entry has all the weight in {reached:,} of {counted(row['values'], 'row')}"
    else:
        slope = "no slope" if row["output"] else "less than 1 % of its slope"
        what = f"{slope} is left at {reached:,} of {counted(row['values'], 'value')}"
    after = row.get("after")
    message = f"{row['function']} of {where(measurement)} is saturated: {what} ({share:.0%})"
    layer = f"'{after}'" if after else "the layer before it"
    return RuleFinding(
        "fail",
        measurement.target,
        f"saturated {row['function']}",
        message,
        round(share, 4),
        limit,
        place_of(report, measurement),
        cause="saturated_activation",
        advice=f"scale down the inputs: normalise the batch, initialise the weights of {layer} "
        "smaller, or add a normalisation before it",
    )


RULE = Rule(
    name="saturated_activation",
    severity="warning",
    diagnoses=True,
    looks_at="activations",
    says="sigmoid, tanh and softmax are not saturated",
    computes="A value is saturated if the slope there is less than 1 % of the function's greatest "
    "slope: |x| > 6 for sigmoid, > 3 for tanh, at or beyond an end for hardsigmoid and hardtanh. "
    "A row of a softmax, or of attention, is saturated if one entry has more than 0.9975 of the "
    "weight; rows of one entry do not count. What the model returns may be confident: there a "
    "sigmoid or tanh counts only where its slope is zero in float32 (sigmoid beyond -23 and 17, "
    "tanh beyond 9.5), and a softmax never. log_softmax is not judged. Functions that are not "
    "modules are read from the autograd graph, with a backward pass and torch 2.10 or newer; the "
    "gates of nn.LSTM are fused on some devices and then not read.",
    formula="4 y (1 - y) < 0.01 (sigmoid), 1 - y^2 < 0.01 (tanh), max of the row > 0.9975 "
    "(softmax); share of values > share, of rows and of hard functions > ends",
    source="smdebug's SaturatedActivation (50 %; its limits are those of a zero slope); Glorot and "
    "Bengio, Understanding the difficulty of training deep feedforward neural networks (2010)",
    fails="nn.Linear(256, 64) with weights from N(0, 1) before sigmoid; pixels from 0 to 255",
    mend="normalise the batch, use Xavier's initialisation, add a normalisation before the "
    "function; divide the logits of attention by the root of the head's size",
    example='{rule: saturated_activation, at: "lstm.*", share: 0.3}',
    options=(
        RuleOption("at", "globs", "globs of module names", ("*",)),
        RuleOption("share", "number", "the largest share of saturated values", _SHARE),
        RuleOption("ends", "number", "the same of softmax rows and hard functions", _ENDS),
        RuleOption("values", "number", "the fewest values to judge, 4 for each row", _VALUES),
    ),
    watches=lambda options: (
        A_FEW if options["share"] >= _SHARE and options["ends"] >= _ENDS else EVERY,
    ),
    judge=judge,
)
