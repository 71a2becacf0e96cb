"""`lost_updates`: updates are not lost in the rounding of a short dtype."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.report import Report
from hookcli.rules.rule import (
    Options,
    Rule,
    RuleFinding,
    RuleOption,
    not_a_training,
    passed,
    skipped,
)
from hookcli.rules.select import owner, places
from hookcli.rules.training.series import real
from hookcli.text import join_names

_SHARE = 0.9
_LEAST = 16  # elements


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield one finding for all parameters of which steps change nearly no element."""
    training = report.training
    if training is None:
        yield not_a_training()
        return
    rows = {row.name: row for row in report.parameters}
    known = [
        (update, share)
        for update in training.updates
        if (share := real(update.kept)) is not None
        and update.name in rows
        and (rows[update.name].numel or 0) >= _LEAST
    ]
    if not known:
        yield skipped("no parameter in bfloat16 or float16 was compared before and after a step")
        return
    lost = [(update, share) for update, share in known if share >= options["share"]]
    if not lost or not any(update.changed for update, _ in lost):  # unchanged_parameters tells it
        yield passed(f"steps change up to {1 - min(share for _, share in known):.0%} of elements")
        return
    names = [update.name for update, _ in lost]
    share = min(share for _, share in lost)
    dtype = rows[names[0]].dtype
    who = join_names([f"'{name}'" for name in names], 2)
    message = (
        f"each step leaves {share:.0%} or more of the elements of {who} as they were: updates are "
        f"lost in the rounding of {dtype}"
    )
    yield RuleFinding(
        "fail", names[0], "rounding", message, share, options["share"],
        places(report).get(owner(names[0])), advice=_ADVICE,
    )  # fmt: skip


_ADVICE = "keep the parameters in float32 and use `torch.autocast`, or raise the learning rate"

RULE = Rule(
    name="lost_updates",
    severity="warning",
    of_training=True,
    looks_at="updates",
    says="updates are not lost in the rounding of a short dtype",
    computes="Counts, in sampled steps, the elements of parameters in bfloat16 and float16 that "
    "have a gradient and the same bits after the step. Fails if their share is at least `share` in "
    "each of these steps. A parameter that changes not at all is for `unchanged_parameters`. Only "
    "optimizers of torch.optim are judged: others may round at random, or keep what is lost.",
    formula="share of (p after = p before, for p.grad != 0) < share, in some sampled step",
    source="Zamirai et al. 2020, Revisiting BFloat16 Training",
    fails="a model in bfloat16 with Adam and a learning rate of 1e-5",
    mend="keep the parameters in float32, and use torch.autocast",
    example="{rule: lost_updates, share: 0.5}",
    options=(RuleOption("share", "number", "the least share of such elements, 0 to 1", _SHARE),),
    judge=judge,
)
