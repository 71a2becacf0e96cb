"""`gradient_clipping`: gradients are not clipped in every step."""

from __future__ import annotations

import math
from collections.abc import Iterator

from hookcli.report.events import EventRow
from hookcli.report.report import Report
from hookcli.report.steps import TrainingInfo
from hookcli.rules.rule import Options, Rule, RuleFinding, RuleOption, passed, skipped
from hookcli.rules.trainability.losses import without_loss
from hookcli.rules.training.series import series
from hookcli.spec.checks import BACKWARD, request_probe
from hookcli.text import counted

PROBE = "clipping"
_RAISE = "raise the limit, or lower the learning rate and remove the clipping"


def total_norms(report: Report) -> list[float]:
    """Return the 2-norm over all gradients of each step, as torch's clip_grad_norm_ computes it."""
    if report.run.steps == 1:
        norm = report.totals.grad_norm
        return [] if norm is None else [float(norm)]
    steps = zip(*(row.steps for row in report.parameters if row.steps), strict=False)
    return [
        math.hypot(*(float(row["grad"]["norm"]) for row in step if row.get("grad")))
        for step in steps
    ]


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for the limit of the options, else for each hook that always clips."""
    if report.training is not None:
        yield _of_training(report, report.training, options)
        return
    if options["limit"] is not None:
        yield _of_limit(report, options["limit"], options["least"])
        return
    hooks = {m.value["hook"]: m.value for m in report.measurements if m.probe == PROBE}
    if not hooks or not isinstance(report.events, tuple):
        yield skipped("no hook clips gradients: set `limit` to the max_norm of your training")
        return
    bad, groups = False, dict[tuple[int, str], list[EventRow]]()
    for event in report.events:
        if event.hook is not None and event.hook in hooks:
            groups.setdefault((event.hook, event.target), []).append(event)
    for (hook, target), events in groups.items():
        clipped = [event for event in events if event.changed not in {None, 0}]
        if len(events) < options["least"] or len(clipped) < len(events):
            continue
        bad = True
        value = hooks[hook]
        message = (
            f"{value['action']} {value['limit']} clips '{target}' in all {len(events)} firings"
        )
        yield RuleFinding(
            "fail", target, "hook", message, len(clipped), len(events), value["place"] or None,
            advice=_RAISE,
        )  # fmt: skip
    if not bad:
        yield passed(f"{counted(len(groups), 'target')} with firings that are not clipped")


def _of_limit(report: Report, limit: float, least: int) -> RuleFinding:
    """Return the verdict on the norm of all gradients in each step."""
    unusable = without_loss(report)
    if unusable is not None:
        return unusable
    norms = total_norms(report)
    if len(norms) < least:
        return skipped(f"the run has {counted(len(norms), 'step')}: pass `--steps {least}`")
    if min(norms) <= limit:
        return passed(
            f"{sum(norm > limit for norm in norms)} of {len(norms)} steps are clipped",
            value=min(norms),
            limit=limit,
        )
    message = (
        f"the norm of all gradients is above {limit:g} in each of {len(norms)} steps, at least "
        f"{min(norms):.4g}: every step is clipped"
    )
    return RuleFinding(
        "fail", "", "limit", message, min(norms), limit, report.model.place, advice=_RAISE
    )


def _of_training(report: Report, training: TrainingInfo, options: Options) -> RuleFinding:
    """Return whether all norms of a training, after clipping, are at its limit."""
    norms = [value for _, value in series(training, "grad_norm")]
    if len(norms) < options["least"]:
        return skipped(f"the gradient norms of {counted(len(norms), 'step')} are known")
    limit = max(norms) if options["limit"] is None else options["limit"]
    clipped = sum(norm >= limit * (1 - _EQUAL) for norm in norms)
    if clipped < len(norms):
        return passed(f"{clipped} of {len(norms)} steps are clipped", value=min(norms), limit=limit)
    message = (
        f"the norm of all gradients is {limit:.4g} at each of {len(norms)} steps: every step is "
        "clipped"
    )
    return RuleFinding(
        "fail", "", "limit", message, min(norms), limit, report.model.place, advice=_RAISE
    )


_EQUAL = 1e-3  # clip_grad_norm_ divides by the norm plus 1e-6

RULE = Rule(
    name="gradient_clipping",
    severity="warning",
    looks_at="updates",
    says="gradients are not clipped in every step",
    computes="With `limit`, compares the norm of all gradients of each step with it, as "
    "clip_grad_norm_ does; the run requires a loss of the model or the user, and several steps. "
    "Without it, looks at the hooks of the configuration whose action clips (clip_norm, clamp): "
    "for each target, at least one firing must leave the gradient unchanged. In a training of "
    "`hookcli run` the norms are those after clipping: they are all at the limit if every step is "
    "clipped.",
    formula="min over steps of norm(all gradients) <= limit; or change(gradient) = 0 in a firing",
    source="torch.nn.utils.clip_grad_norm_; Pascanu et al., On the difficulty of training "
    "recurrent neural networks: a limit of five to ten times the mean norm",
    fails="clip_grad_norm_(parameters, 1.0) if the norm is about 40 in each step: only the "
    "direction of the gradient is left, so the learning rate alone sets the size of a step",
    mend="raise the limit to a few times the usual norm, or divide the loss by its scale",
    example="{rule: gradient_clipping, limit: 1.0}",
    options=(
        RuleOption("limit", "number", "max_norm of clip_grad_norm_ in the training"),
        RuleOption("least", "count", "the smallest number of steps, or of firings", 3),
    ),
    needs=lambda options: (BACKWARD,),
    watches=lambda options: (request_probe(PROBE),) if options["limit"] is None else (),
    judge=judge,
)
