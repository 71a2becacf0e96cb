"""`step_spikes`: no step of a training leaves what the steps before it were."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.training import SampleNorm, Spike, TrainingReport
from hookcli.rules.rule import Options, Rule, RuleFinding, passed, skipped
from hookcli.rules.script.facts import judge_nothing
from hookcli.rules.select import in_record
from hookcli.text import join_names

_WHAT = {"loss": "loss", "gradient": "gradient norm"}
_MANY = 5  # samples that are named


def judge_run(report: TrainingReport, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for the first spike of each record: a note, unless --stop-on spike asks."""
    if report.spikes is None:
        yield skipped("no step was judged: the first 20 steps of an optimizer are not")
        return
    if not report.spikes:
        yield passed("no gradient norm and no loss is far above those of the steps before it")
        return
    asked = report.tracking.stop_on == "spike"
    records: dict[str, list[Spike]] = {}
    for spike in report.spikes:
        records.setdefault(spike.record, []).append(spike)
    for spike, *others in records.values():
        steps = [f"{other.step:,}" for other in others]
        more = f"; spikes also at step {join_names(steps, _MANY)}" if steps else ""
        if asked and spike.samples is not None and spike.samples.why is not None:
            more += f"; its samples were not compared: {spike.samples.why}"
        yield RuleFinding(
            "fail",
            in_record(spike.record, "") if len(report.records) > 1 else "",
            spike.what,
            sentence(spike) + more,
            spike.value,
            spike.limit,
            severity=None if asked else "note",
            advice=_advice(spike),
            step=spike.step,
        )


def sentence(spike: Spike) -> str:
    """Return what left the usual at which step, and which samples make it."""
    text = (
        f"the {_WHAT[spike.what]} of step {spike.step:,} is {_short(spike.value)}, and "
        f"{_short(spike.usual)} in the {spike.window} steps before it (limit {_short(spike.limit)})"
    )
    samples = spike.samples
    if samples is None or not samples.dominant:
        return text
    makes, it = ("makes", "it") if len(samples.dominant) == 1 else ("make", "them")
    rest = ""
    if samples.without is not None:
        rest = f": without {it}, the norm is {_short(samples.without)}"
    return f"{text}; {named(spike)} of {samples.count:,} {makes} its gradient{rest}"


def named(spike: Spike) -> str:
    """Return the samples that dominate, by their numbers; "" if none does."""
    samples = spike.samples
    if samples is None or not samples.dominant:
        return ""
    several = any(one.forward for one in samples.largest)
    names = [_name(one, several=several) for one in samples.dominant]
    return f"sample{'s' if len(names) > 1 else ''} {join_names(names, _MANY)}"


def _name(one: SampleNorm, *, several: bool) -> str:
    return f"{one.sample} of forward {one.forward}" if several else f"{one.sample}"


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, int | float) else str(value)


def _advice(spike: Spike) -> str:
    which = named(spike)
    if spike.batch is not None:
        return f"look at {which or 'the samples'} in {spike.batch}, and at the labels"
    if which:
        return f"look at {which} of the batch, and at the labels"
    return "run with `--stop-on spike`, which saves the batch, and the weights before that step"


RULE = Rule(
    name="step_spikes",
    severity="warning",
    of_training=True,
    every_step=True,
    looks_at="single steps",
    says="no step of a training has a gradient norm or loss far above those of the steps before it",
    computes="Compares the gradient norm and the loss of each step with those of the last 64 "
    "steps, before the optimizer uses the gradient. A value is a spike if its logarithm is above "
    "their trend by log(5) and by 6 deviations from it, it is more than 3 times the largest of the "
    "last 32, and more than the largest of the first 5 steps. The trend is the line through the "
    "medians of both halves. The first 20 steps are not judged, nor losses if one of the 64 is "
    "negative. A spike is a note; with `--stop-on spike` it is a warning.",
    formula="log x > trend + max(log 5, 6 * 1.4826 MAD), x > 3 max(last 32), x > max(first 5)",
    source="Hampel 1974 for MAD; Chowdhery et al. 2022 (PaLM), section 5.1: single batches that "
    "derail a training",
    fails="a sample with values or a label of another scale; a batch of another data set",
    mend="look at the samples that the finding names, remove or mend them, clip the gradients",
    example="{rule: step_spikes, severity: error}",
    judge=judge_nothing,
    judge_run=judge_run,
)
