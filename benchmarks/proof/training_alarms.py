"""Counts findings of rules on healthy trainings, and the mistakes that they find in faulty ones.

`python -m benchmarks.proof.training_alarms [names] [--seeds N] [--markdown FILE]` runs the plain
loops of benchmarks/proof/trainings in this process, with hookcli watching, as `hookcli run` does.
Each finding on a healthy training is a false alarm, unless `MEANT` tells why it is true.
`python -m benchmarks.proof.training_scripts` does the same with whole scripts, and compares the
figures of each record with those that the script prints.
"""

from __future__ import annotations

import argparse
import gc
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import torch

from benchmarks.proof.trainings import faulty, healthy
from hookcli.config.load import read_text
from hookcli.config.merge import Flags, spec_of
from hookcli.diagnosis.training import with_training_verdict
from hookcli.report.training import ScriptInfo
from hookcli.rules.catalogue import CATALOGUE, with_training_set
from hookcli.rules.judge_training import all_checks, judge_training
from hookcli.spec.training import DEFAULT_STEPS, RunJob, ScriptSpec, TrainingSpec, parse_steps
from hookcli.training import watch

SEEDS = 2


@dataclass(frozen=True)
class Result:
    """What was found in one training with one seed; `expected` is empty for a healthy one."""

    name: str
    seed: int
    expected: tuple[str, ...]
    rows: tuple
    sentences: tuple[str, ...]
    examined: tuple[str, ...]

    @property
    def failed(self):
        """The rules with a finding."""
        return {row.rule for row in self.rows if row.status == "fail"}

    @property
    def is_found(self):
        return bool(self.failed & set(self.expected))


def observe(train, seed=0):
    """Run a training with hookcli watching; return its report, judged, with a verdict."""
    gc.collect()  # a GradScaler of an earlier training must not be taken for that of this one
    torch.manual_seed(seed)
    spec = spec_of("grads", read_text("{preset: grads}", "run.yaml"), Flags(model="train.py"))
    script = ScriptSpec("train.py")
    job = RunJob(script, TrainingSpec(parse_steps(DEFAULT_STEPS, "")), spec)
    watching = watch.start(job)
    try:
        train()
    finally:
        report = watching.finish(ScriptInfo("train.py", (), False, "completed", 0))
    return with_training_verdict(judge_training(report, with_training_set(())))


def result_of(name, train, seed, expected=()):
    report = observe(train, seed)
    if report.tracking.detached is not None:
        raise RuntimeError(f"{name}: {report.tracking.detached}")
    sentences = tuple(one.sentence for one in report.diagnoses or ())
    return Result(name, seed, expected, all_checks(report), sentences, report.examined or ())


def run(names, seeds):
    """Yield the results of all trainings, or of those whose name contains one of the names."""
    cases = [(name, train, ()) for name, train in healthy.CASES.items()]
    cases += [(name, train, rules) for name, (train, rules) in faulty.CASES.items()]
    for name, train, expected in cases:
        if not names or any(part in name for part in names):
            for seed in range(seeds):
                yield result_of(name, train, seed, expected)


def alarms(results):
    """Return (name, seed, rule, message) of each finding on a healthy training that is false."""
    return [
        (one.name, one.seed, row.rule, row.message)
        for one in results
        for row in one.rows
        if not one.expected and row.status == "fail" and (one.name, row.rule) not in healthy.MEANT
    ]


def missed(results):
    """Return the faulty trainings whose mistake no expected rule found."""
    lost = [one for one in results if one.expected and not one.is_found]
    return [(one.name, one.seed, one.failed) for one in lost]


HEAD = """\
# Rules over steps

`python -m benchmarks.proof.training_alarms --markdown docs/measurements/training-rules.md` runs
{healthy} healthy trainings and {faulty} faulty ones (seeds: {seeds}), as plain PyTorch loops that
`hookcli run` watches with its default sampling (`--steps {steps}`). They are in
benchmarks/proof/trainings. All rules that `hookcli run` judges by default are judged, with their
default options. The numbers count runs.

A finding on a healthy training is false, unless it tells the truth about a training that is meant
so; those are listed below. Each faulty training has one mistake and a rule that must find it.
"""


def page(results):
    """Return the page docs/measurements/training-rules.md."""
    good = [one for one in results if not one.expected]
    bad = [one for one in results if one.expected]
    seeds = len({one.seed for one in results})
    false = Counter((rule, one) for name, seed, rule, _ in alarms(good) for one in [(name, seed)])
    lines = [
        HEAD.format(
            healthy=len({one.name for one in good}),
            faulty=len({one.name for one in bad}),
            seeds=seeds,
            steps=DEFAULT_STEPS,
        ),
        "| rule | healthy: judged | meant | false | false alarms | faulty: expected | found |",
        "|---|---|---|---|---|---|---|",
    ]
    for rule in CATALOGUE:
        judged = [one for one in good if _judged(one, rule)]
        expected = [one for one in bad if rule in one.expected]
        if not judged and not expected:
            continue
        wrong = sum(key[0] == rule for key in false)
        meant = sum(rule in one.failed and (one.name, rule) in healthy.MEANT for one in good)
        found = sum(rule in one.failed for one in expected)
        rate = f"{wrong / len(judged):.1%}" if judged else ""
        lines.append(
            f"| [`{rule}`](../reference/rules.md#{rule}) | {len(judged)} | {meant} | {wrong} | "
            f"{rate} | {len(expected)} | {found} |"
        )
    lines += ["", "A rule that was skipped, for want of figures or of steps, is not counted."]
    lines += ["", "## Findings on healthy trainings", ""]
    told = sorted(
        {(one.name, row.rule) for one in good for row in one.rows if row.status == "fail"}
    )
    lines += ["| training | rule | verdict |", "|---|---|---|"]
    lines += [f"| {n} | `{r}` | {healthy.MEANT.get((n, r), 'false')} |" for n, r in told]
    lines += ["", "## Faulty trainings", "", "| training | expected | found | first sentence |"]
    lines += ["|---|---|---|---|"]
    for name in dict.fromkeys(one.name for one in bad):
        mine = [one for one in bad if one.name == name]
        count = sum(one.is_found for one in mine)
        rules = " or ".join(f"`{rule}`" for rule in mine[0].expected)
        first = next((one.sentences[0] for one in mine if one.sentences), "none")
        escaped = first.replace(f"{Path.cwd()}/", "").replace("|", "\\|").replace("<", "&lt;")
        lines.append(f"| {name} | {rules} | {count} of {len(mine)} | {escaped} |")
    return "\n".join(lines) + "\n"


def _judged(result, rule):
    rows = [row for row in result.rows if row.rule == rule]
    return rule in result.examined if not rows else any(r.status in {"pass", "fail"} for r in rows)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", metavar="name", help="parts of names of trainings")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--sentences", action="store_true", help="print all sentences")
    given = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    torch.set_num_threads(1)
    results = []
    for one in run(given.names, given.seeds):
        results.append(one)
        if given.sentences:
            print(f"{one.name} ({one.seed}):", *one.sentences, sep="\n    ")
    false, lost = alarms(results), missed(results)
    for line in (*(f"false: {one}" for one in false), *(f"missed: {one}" for one in lost)):
        print(line)
    trainings = len({(one.name, one.seed) for one in results if not one.expected})
    print(f"{len(false)} false alarms in {trainings} healthy trainings, {len(lost)} faults missed")
    if given.markdown:
        given.markdown.write_text(page(results))
    return int(bool(lost))


if __name__ == "__main__":
    raise SystemExit(main())
