"""`tied_weights`: parameters that must be one are one, and others are not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hookcli.report.report import ParameterRow, Report
from hookcli.rules.rule import (
    Options,
    Rule,
    RuleFinding,
    RuleOption,
    no_match,
    passed,
    skipped,
)
from hookcli.rules.select import matches, owner, places
from hookcli.spec.checks import request_probe
from hookcli.text import counted, join_names

PROBE = "shared_memory"
_ASSIGN = "assign the parameter itself, as in `self.head.weight = self.embedding.weight`"
_SEPARATE = "give each module a parameter of its own"
_TIE = "call `model.tie_weights()`, or set `tie_word_embeddings` to false"


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each parameter that is, or is not, the same as others."""
    if not report.parameters:
        yield skipped("the model has no parameters")
    elif options["at"]:
        yield _named(report, options["at"], tied=options["tied"])
    else:
        findings = [*_by_memory(report), *_by_config(report)]
        yield from findings
        if not findings:
            shared = sum(bool(row.shared_with) for row in report.parameters)
            yield passed(f"{counted(shared, 'parameter')} with several names")


def _named(report: Report, globs: tuple[str, ...], *, tied: bool) -> RuleFinding:
    """Return the verdict on the parameters that the globs match, one name or several."""
    groups: dict[str, list[str]] = {}
    for row in report.parameters:
        names = [n for n in (row.name, *row.shared_with) if any(matches(g, n) for g in globs)]
        if names:
            groups[row.name] = names
    missing = [
        g for g in globs if not any(matches(g, n) for names in groups.values() for n in names)
    ]
    if missing:
        return no_match("parameter", missing)
    place = places(report).get(owner(next(iter(groups))))
    if tied and len(groups) > 1:
        message = f"{_listed([names[0] for names in groups.values()])} are not one parameter"
        return RuleFinding(
            "fail", next(iter(groups)), "not tied", message, len(groups), 1, place, advice=_ASSIGN
        )
    several = next((names for names in groups.values() if len(names) > 1), None)
    if not tied and several is not None:
        message = f"{_listed(several)} are one parameter, but must not be"
        return RuleFinding("fail", several[0], "tied", message, place=place, advice=_SEPARATE)
    count = sum(map(len, groups.values()))
    return passed(f"{counted(count, 'name')} of {counted(len(groups), 'parameter')}")


def _listed(names: Sequence[str]) -> str:
    quoted = [f"'{name}'" for name in names]
    return " and ".join(quoted) if len(quoted) == 2 else join_names(quoted)


def _by_memory(report: Report) -> Iterator[RuleFinding]:
    """Yield a finding for parameters that are several, but in one memory."""
    rows: dict[str, ParameterRow] = {row.name: row for row in report.parameters}
    where = places(report)
    for measurement in report.measurements:
        if measurement.probe != PROBE or not measurement.target:
            continue
        names = [measurement.target, *measurement.value["with"]]
        if not any(rows[name].requires_grad for name in names if name in rows):
            continue  # nothing trains them
        message = (
            f"{_listed(names)} share memory, but are {len(names)} parameters: each has its own "
            "gradient and is updated by it"
        )
        yield RuleFinding(
            "fail", names[0], "one memory", message, len(names), 1,
            where.get(owner(names[0])), "warning", advice=_ASSIGN,
        )  # fmt: skip


def _by_config(report: Report) -> Iterator[RuleFinding]:
    """Yield a finding for embeddings that a configuration of transformers ties, but are not."""
    for measurement in report.measurements:
        value = measurement.value
        if measurement.probe != PROBE or measurement.target or value["tied"] or not value["alike"]:
            continue
        message = (
            f"{value['setting']} is true, but '{value['output']}' and '{value['input']}' are two "
            "parameters"
        )
        yield RuleFinding(
            "fail", value["output"], "config", message, 2, 1,
            places(report).get(owner(value["output"])), "warning", advice=_TIE,
        )  # fmt: skip


RULE = Rule(
    name="tied_weights",
    severity="error",
    diagnoses=True,
    looks_at="shared weights",
    says="parameters that must be one are one object, and others do not share memory",
    computes="With `at`, all parameters that it matches must be one parameter under several names; "
    "with `tied: false`, none of them may be. Without `at`, reports parameters that share memory "
    "but are different objects, at least one of which is trained, and models of transformers "
    "whose configuration sets tie_word_embeddings although the embeddings are two parameters; both "
    "are warnings.",
    formula="a is b, or memory(a) != memory(b)",
    source="torchinfo#322; transformers' PreTrainedModel.tie_weights",
    fails="self.head.weight = nn.Parameter(self.embedding.weight), which makes a second parameter "
    "in the same memory; a load that replaces one of two tied parameters",
    mend="assign the parameter itself: self.head.weight = self.embedding.weight",
    example="{rule: tied_weights, at: [lm_head.weight, transformer.wte.weight]}",
    options=(
        RuleOption("at", "globs", "globs of parameter names that must be one parameter", ()),
        RuleOption("tied", "flag", "false if they must be different parameters", True),
    ),
    watches=lambda options: () if options["at"] else (request_probe(PROBE),),
    judge=judge,
)
