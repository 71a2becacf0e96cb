"""`dead_units`: no layer in which most units block the gradient for the whole batch."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from hookcli.report.findings import Measurement
from hookcli.report.report import Report
from hookcli.rules.activations.measured import (
    A_FEW,
    DEAD,
    EVERY,
    UNREAD,
    place_of,
    rows_of,
    seen,
    where,
)
from hookcli.rules.gradients.zero_weights import is_zero_weight
from hookcli.rules.rule import Options, Rule, RuleFinding, RuleOption, passed, skipped
from hookcli.rules.select import matches, owner
from hookcli.text import counted

_SHARE, _VALUES = 0.5, 8
_CHANCE, _CHANCE_OF_ALL = 1e-3, 1e-2  # a layer without a unit that learns is reported sooner


def at_most(successes: int, trials: int, chance: float) -> float:
    """Return Chernoff's bound of the probability of at least so many successes in the trials."""
    if not trials or successes <= chance * trials:
        return 1.0
    if chance == 0:
        return 0.0
    share = successes / trials
    divergence = share * math.log(share / chance)
    if share < 1:
        divergence += (1 - share) * math.log((1 - share) / (1 - chance))
    return math.exp(-trials * divergence)


def by_chance(row: dict[str, Any]) -> float:
    """Return a bound of the probability that a healthy layer has so many dead units.

    New weights are as often negative as positive, so units that are high at every position are as
    likely as dead ones, however similar the samples are. And units that are as often low as the
    others are dead by chance in a small batch; half of the values count, because units differ.
    """
    symmetric = at_most(row["dead"], row["dead"] + row["on"], 0.5)
    if row["zero"] is None:
        return symmetric
    alike = at_most(row["dead"], row["units"], row["zero"] ** (row["values"] / 2))
    return max(symmetric, alike)


def is_certain(row: dict[str, Any], options: Options) -> bool:
    """Return whether the batch is large enough to tell that units are dead."""
    if row["values"] < options["values"]:
        return False
    return by_chance(row) <= (_CHANCE_OF_ALL if row["dead"] == row["units"] else _CHANCE)


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each layer with too large a share of dead units."""
    read = seen(report, DEAD)
    if read is None:
        yield skipped(UNREAD)
        return
    healthy = True
    zero = {owner(row.name) for row in report.parameters if is_zero_weight(row)}
    for measurement in rows_of(report, DEAD):
        row = measurement.value
        share = row["dead"] / row["units"]
        chosen = any(matches(glob, measurement.target) for glob in options["at"])
        if row.get("after") in zero:  # `grad_exists` tells whether later steps reach it
            continue
        if chosen and share > options["share"] and is_certain(row, options):
            healthy = False
            yield _finding(report, measurement, share, options["share"])
    if healthy:
        yield passed(
            f"no layer with more than {options['share']:.0%} dead units in "
            f"{counted(read, 'activation')}",
            limit=options["share"],
        )


def _finding(report: Report, measurement: Measurement, share: float, limit: float) -> RuleFinding:
    row = measurement.value
    amount = f"{row['dead']:,} of {counted(row['units'], 'unit')}"
    if row["dead"] == row["units"]:
        amount = f"all {row['units']:,} units"
    after = row.get("after")
    message = (
        f"{amount} of {where(measurement)} are dead: {row['function']} passes no gradient for any "
        f"of the {row['values']:,} values of each"
    )
    layer = f"'{after}'" if after else "the layer before it"
    return RuleFinding(
        "fail",
        measurement.target,
        f"dead {row['function']}",
        message,
        round(share, 4),
        limit,
        place_of(report, measurement),
        cause="dead_units",
        advice=f"check the bias and the scale of {layer}, lower the learning rate, or use a "
        "function with a slope on both sides, such as leaky_relu",
    )


RULE = Rule(
    name="dead_units",
    severity="warning",
    diagnoses=True,
    looks_at="activations",
    says="no layer has more than half of its units dead",
    computes="A unit is a channel after a convolution or batch norm, and a feature after a linear "
    "layer. It is dead if ReLU, or a similar function, has no slope at each of its values in the "
    "batch: its weights get no gradient. Functions are ReLU, ReLU6, threshold, clamp(min=0) and "
    "hardswish (no slope at or below 0, or -3), and GELU, SiLU, mish, ELU and softplus (inputs up "
    "to -6, -20, -20, -16 and -16, where the slope is below 2**-23). Half of a new layer's units "
    "can be dead if the samples are alike, and a quarter in a batch of two. So a finding needs "
    "`values` values per unit, and a probability below 0.1 % (1 % if all units are dead) of so "
    "many dead units by chance, under both hypotheses: a dead unit is as likely as one that is "
    "active for each value; and dead units are low as often as the others. Functions that are not "
    "modules are read from the autograd graph, with a backward pass and torch 2.10 or newer; those "
    "that write to a view are not in the graph.",
    formula="dead / units > share; chance: exp(-n KL(k/n || p)) with k = dead, and n = dead + "
    "always active, p = 1/2; n = units, p = (share of low values of the others)^(values / 2)",
    source="smdebug's DeadRelu (50 %); Chernoff's bound of a binomial distribution",
    fails="a bias of -100; a learning rate that moved all biases below zero",
    mend="check the bias and the scale of the layer before it and the scale of the batch; lower "
    "the learning rate; use leaky_relu or GELU",
    example='{rule: dead_units, at: "encoder.*", share: 0.3}',
    options=(
        RuleOption("at", "globs", "globs of module names", ("*",)),
        RuleOption("share", "number", "the largest share of dead units", _SHARE),
        RuleOption("values", "number", "the fewest values per unit to judge", _VALUES),
    ),
    watches=lambda options: (A_FEW if options["share"] >= _SHARE else EVERY,),
    judge=judge,
)
