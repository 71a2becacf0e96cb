"""`data_code`: what belongs together in a sample gets the same random change."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.training import ScriptFact, TrainingReport
from hookcli.rules.rule import Options, Rule, RuleFinding
from hookcli.rules.script.facts import facts_of, findings_of, judge_nothing, without_findings

_KINDS = ("separate_draws",)


def judge_run(report: TrainingReport, options: Options) -> Iterator[RuleFinding]:
    """Yield a note for each function that moves parts of a sample apart."""
    found = facts_of(report, *_KINDS)
    yield from findings_of(found, _SENTENCES)
    if not found:
        yield without_findings(
            report, _KINDS, "data sets move the parts of a sample together", "no step was made"
        )


def _separate(fact: ScriptFact) -> tuple[str, str]:
    return (
        f"`{fact.target}` makes random changes, and __getitem__ calls it for two parts of a "
        "sample: each gets its own draw, so that they do not match any more",
        "draw the random numbers once, and make the same change to both parts",
    )


_SENTENCES = {"separate_draws": _separate}

RULE = Rule(
    name="data_code",
    severity="note",
    of_training=True,
    looks_at="the code",
    says="the parts of a sample get the same random crop, flip or rotation",
    computes="Reads the source of the script and of the user's modules. A note tells of a function "
    "that draws random numbers to crop, flip, rotate or warp, if the `__getitem__` of a data set "
    "calls it for two different values, such as a picture and its mask. Two calls with the same "
    "value, as for two views of a picture, are not judged.",
    formula="image[i, j] belongs to mask[i, j], also after the change",
    source="thuanz123/realfill#4; pytorch/vision#9, on joint transformations",
    fails="return random_crop(image), random_crop(mask)",
    mend="image, mask = random_crop(image, mask), which draws once",
    example="{rule: data_code, severity: warning}",
    judge=judge_nothing,
    judge_run=judge_run,
)
