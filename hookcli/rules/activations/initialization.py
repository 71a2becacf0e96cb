"""`poor_initialization`: activations have a similar spread in each layer."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from statistics import median

from hookcli.report.report import Report
from hookcli.rules.activations.measured import SPREAD, UNREAD
from hookcli.rules.gradients.profile import Profile, power_of_ten
from hookcli.rules.rule import Options, Rule, RuleFinding, RuleOption, passed, skipped
from hookcli.rules.select import matches, places
from hookcli.spec.checks import request_probe
from hookcli.text import counted

_LEAST = 4  # layers: a trend over fewer means nothing


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding if the spread of activations falls or grows over the depth."""
    rows = [
        row
        for row in report.measurements
        if row.probe == SPREAD and any(matches(glob, row.target) for glob in options["at"])
    ]
    if not rows:
        yield skipped(UNREAD)
        return
    rows = [row for row in rows if row.value["std"]]
    if len(rows) < _LEAST:
        yield skipped(f"fewer than {_LEAST} layers have an output with a spread")
        return
    profile = Profile(
        "outputs", tuple(row.target for row in rows), tuple(row.value["std"] for row in rows)
    )
    ratio = power_of_ten(profile.fall)
    if max(ratio, 1 / ratio) <= options["ratio"] or abs(profile.trend) < options["trend"]:
        yield passed(
            f"the outputs of {counted(len(rows), 'layer')} have a similar spread",
            value=float(f"{max(ratio, 1 / ratio):.3g}"),
            limit=options["ratio"],
        )
        return
    yield _finding(report, profile, ratio, options["ratio"])


def _finding(report: Report, profile: Profile, ratio: float, limit: float) -> RuleFinding:
    names, sizes = profile.names, profile.sizes
    last = len(sizes) - 1
    start = _start(profile, grows=ratio > 1)
    verb = "grow" if ratio > 1 else "fall"
    factor = (sizes[last] / sizes[0]) ** (1 / last)
    message = (
        f"activations {verb} by a factor of {factor:.2g} per layer from '{names[start]}' on: their "
        f"standard deviation is {sizes[0]:.2g} at '{names[0]}' and {sizes[last]:.2g} at "
        f"'{names[last]}'"
    )
    return RuleFinding(
        "fail",
        names[start],
        f"spread {verb}",
        message,
        float(f"{max(ratio, 1 / ratio):.3g}"),
        limit,
        places(report).get(names[start]),
        advice="initialise the weights for the activation, as in `nn.init.kaiming_normal_` or "
        "`nn.init.xavier_uniform_`, or add normalization",
    )


def _start(profile: Profile, *, grows: bool) -> int:
    """Return the first layer after which the spread goes only one way, or the largest step."""
    steps = [b - a if grows else a - b for a, b in pairwise(profile.logs)]
    typical = median(step for step in steps if step > 0)
    return next(i for i, step in enumerate(steps) if step >= typical / 2) + 1


RULE = Rule(
    name="poor_initialization",
    severity="warning",
    says="activations have a similar spread in each layer",
    computes="Takes the standard deviation of the output of each linear layer and convolution, at "
    "its first call, in the order of the run. Fails if the median over the first quarter of the "
    "layers and that over the last quarter differ by more than `ratio`, and the spread and the "
    "depth have a rank correlation (Spearman's) of at least `trend`. At least 4 layers are needed. "
    "The layer named is the first that changes the spread by half the usual factor.",
    formula="median(std(y), last quarter) / median(std(y), first quarter) <= ratio, and >= 1 / "
    "ratio",
    source="smdebug's PoorWeightInitialization (10); Glorot and Bengio (2010), He et al. (2015)",
    fails="twenty layers of ReLU with weights from N(0, 0.01), or from N(0, 1)",
    mend="use nn.init.kaiming_normal_ for ReLU, nn.init.xavier_uniform_ for tanh, or normalization",
    example="{rule: poor_initialization, ratio: 100}",
    options=(
        RuleOption("at", "globs", "globs of module names", ("*",)),
        RuleOption("ratio", "number", "the largest factor between first and last layers", 10),
        RuleOption("trend", "number", "least rank correlation of spread and depth, 0 to 1", 0.7),
    ),
    watches=lambda options: (request_probe("spreads"),),
    judge=judge,
)
