"""`same_training`: a training begins and ends as a saved one."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from hookcli.report.report import Report
from hookcli.report.steps import TrainingInfo
from hookcli.report.training import TrainingReport
from hookcli.rules.rule import Options, Rule, RuleFinding, RuleOption, passed, skipped
from hookcli.rules.steps.series import Figure, middle, series, thirds
from hookcli.text import counted, join_names

_BEGINNING = 3  # steps: later ones part by rounding errors, which each step amplifies
_FEWEST = 9  # common steps, whose last third says where a training ends
_WORDS: dict[Figure, str] = {"loss": "loss", "grad_norm": "norm of all gradients"}


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield nothing but a reason: only whole trainings are compared."""
    yield skipped("only the whole report of `hookcli run` is compared")


def judge_run(report: TrainingReport, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each difference from the saved training."""
    then = options.get("saved")
    if not isinstance(then, TrainingReport):
        message = f"{options['report']} is not the report of a training"
        yield RuleFinding("error", "", "no training", message)
        return
    now = {row.training.record: row for row in report.records if row.training is not None}
    old = {row.training.record: row for row in then.records if row.training is not None}
    findings = [
        finding for name in (*old, *(name for name in now if name not in old))
        for finding in _of_record(name, now.get(name), old.get(name), options)
    ]  # fmt: skip
    several = len(report.records) > 1
    for finding in findings:
        yield finding if several else dataclasses.replace(finding, target="")
    if not findings:
        yield passed(f"{counted(len(now), 'record')} as in {options['report']}")


def _of_record(
    name: str, now: Report | None, old: Report | None, options: Options
) -> Iterator[RuleFinding]:
    if now is None or old is None or now.training is None or old.training is None:
        word = "is missing" if now is None else "is new"
        yield RuleFinding("fail", name, "record", f"the record {name} {word}")
        return
    place = now.model.place
    shapes, before = ({row.name: row.shape for row in one.parameters} for one in (now, old))
    changed = [one for one in (*before, *shapes) if shapes.get(one) != before.get(one)]
    if changed:
        names = join_names([f"'{one}'" for one in dict.fromkeys(changed)])
        message = f"parameters differ from those of the saved training: {names}"
        yield RuleFinding("fail", name, "parameters", message, None, None, place)
        return
    for figure in _WORDS:
        yield from _figure(name, figure, now.training, old.training, options, place)


def _figure(
    name: str,
    figure: Figure,
    now: TrainingInfo,
    old: TrainingInfo,
    options: Options,
    place: str | None,
) -> Iterator[RuleFinding]:
    ours, theirs = dict(series(now, figure)), dict(series(old, figure))
    common = sorted(ours.keys() & theirs.keys())
    for step in (step for step in common if step < _BEGINNING):
        a, b = ours[step], theirs[step]
        if abs(a - b) > options["rtol"] * abs(b):
            message = f"the {_WORDS[figure]} of step {step} is {a:.5g}, was {b:.5g}"
            yield RuleFinding("fail", name, f"begin {figure}", message, a, b, place, step=step)
            return
    if figure != "loss" or len(common) < _FEWEST:
        return
    last, was = (
        middle(thirds([(step, one[step]) for step in common])[1]) for one in (ours, theirs)
    )
    if last > was + options["worse"] * abs(was):
        message = f"the loss ends at {last:.4g}, was {was:.4g}, in {len(common):,} common steps"
        yield RuleFinding("fail", name, "end", message, last, was, place)


RULE = Rule(
    name="same_training",
    severity="error",
    looks_at="trainings",
    says="a training begins and ends as a saved one",
    computes="Pairs the records of two runs by name. Their parameters must have the same names and "
    "shapes. The loss and the norm of all gradients of the first three steps must agree within "
    "`rtol`, if the seed is the same. Later steps part by rounding errors, so only the end is "
    "compared: the median loss of the last third of the common steps must not be worse by `worse`.",
    formula="|x - x then| <= rtol |x then| for steps 0 to 2; median(late loss) <= (1 + worse) * "
    "that of the saved training",
    source="hookcli's own; msprobe and TrainCheck compare runs by step",
    fails="a refactoring that changes the order of layers, the initialization or the batches; a "
    "new version of a library after which the loss ends higher",
    mend="run `hookcli diff A.json B.json` to see the first step and layer where they part. If the "
    "change is intended, save a new report with `hookcli run -f json=FILE`",
    example="{rule: same_training, report: good.json, worse: 0.05}",
    options=(
        RuleOption("report", "file", "a report that `hookcli run -f json` wrote", required=True),
        RuleOption("rtol", "number", "largest relative difference of the first steps", 0.01),
        RuleOption("worse", "number", "largest relative rise of the last losses", 0.2),
    ),
    needs=lambda options: (),
    judge=judge,
    judge_run=judge_run,
)
