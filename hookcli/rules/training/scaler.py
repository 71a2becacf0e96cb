"""`skipped_steps` and `loss_scale`: GradScaler skips few steps, and its scale does not collapse."""

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
from hookcli.rules.training.series import real, script_line
from hookcli.text import counted

_SHARE = 0.2
# GradScaler begins with 2**16 and halves it at each skipped step: so many bring it down to 1, and
# more are not its search for a scale.
_SEARCH = 16
_SCALE = 1.0


def _skipped(report: Report, options: Options) -> Iterator[RuleFinding]:
    training = report.training
    if training is None:
        yield not_a_training()
        return
    count, total = training.skipped, training.total
    if not any(row.skipped is not None for row in training.steps) and not count:
        yield skipped("no GradScaler was seen")
    elif count <= max(_SEARCH, options["share"] * total):
        yield passed(
            f"GradScaler skipped {count:,} of {counted(total, 'step')}",
            value=count,
            limit=options["share"],
        )
    else:
        message = f"GradScaler skipped {count:,} of {counted(total, 'step')}: they change nothing"
        place = script_line(report, "step")
        yield RuleFinding(
            "fail", "", "skipped", message, count / total, options["share"], place,
            advice="find the layer that overflows with `--stop-on nonfinite`, and keep it in "
            "float32, or use bfloat16",
        )  # fmt: skip


def _scale(report: Report, options: Options) -> Iterator[RuleFinding]:
    training = report.training
    if training is None:
        yield not_a_training()
        return
    rows = [(row.step, scale) for row in training.steps if (scale := real(row.scale)) is not None]
    if not rows:
        yield skipped("no GradScaler was seen")
        return
    low = next(((step, scale) for step, scale in rows if scale < options["least"]), None)
    if low is None:
        yield passed(f"the scale of the loss is at least {min(s for _, s in rows):g}")
        return
    message = (
        f"the scale of the loss collapses from {rows[0][1]:g} to {min(s for _, s in rows):g}: "
        "gradients overflow in float16 without any scale"
    )
    yield RuleFinding(
        "fail", "", "collapse", message, low[1], options["least"], script_line(report, "step"),
        step=low[0], advice="use bfloat16, which needs no scale, or clip and normalize the layer "
        "that overflows",
    )  # fmt: skip


SKIPPED = Rule(
    name="skipped_steps",
    severity="error",
    of_training=True,
    every_step=True,
    looks_at="the loss scale",
    says="GradScaler skips few steps",
    computes="Counts the steps that GradScaler skipped because a gradient was not finite. The "
    "first 16 do not count: the scale begins with 65,536, and is halved each time.",
    formula="skipped <= max(16, share * steps)",
    source="torch.amp.GradScaler: init_scale, backoff_factor and growth_interval",
    fails="a loss that is infinite in float16 for each batch: the training changes nothing",
    mend="find the layer that overflows and keep it in float32, or use bfloat16",
    example="{rule: skipped_steps, share: 0.05}",
    options=(RuleOption("share", "number", "the largest share of skipped steps, 0 to 1", _SHARE),),
    judge=_skipped,
)

SCALE = Rule(
    name="loss_scale",
    severity="error",
    of_training=True,
    every_step=True,
    looks_at="the loss scale",
    says="the scale of GradScaler does not collapse",
    computes="Looks at the scale of the loss in each known step. A scale below `least` means that "
    "gradients overflow in float16 even without a scale, so that small ones become zero.",
    formula="scale >= least, in each step",
    source="Micikevicius et al. 2018; torch.amp.GradScaler",
    fails="activations above 65,504 in a layer of a model that was trained in bfloat16",
    mend="use bfloat16, or keep the layer that overflows in float32",
    example="{rule: loss_scale, least: 16}",
    options=(RuleOption("least", "number", "the smallest scale", _SCALE),),
    judge=_scale,
)
