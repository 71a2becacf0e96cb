"""Causes: which findings they explain, and the sentence that says so.

Each cause takes the findings that no earlier one has explained. The last one takes all that are
left, and folds those of one cause or rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import takewhile

from hookcli.diagnosis.configured_hooks import zeroed_by_hook
from hookcli.diagnosis.facts import Cause, Facts, Found
from hookcli.report.findings import SEVERITIES, CheckRow, Measurement
from hookcli.rules.grad_exists import IS_ZERO
from hookcli.rules.gradients.grad_path import advice_of, cause_of, reasons, sentence as reason_of
from hookcli.rules.gradients.zero_reasons import CLIPPED, STOPPING
from hookcli.rules.gradients.zero_weights import (
    ZERO_INITIALIZATION,
    is_zero_weight,
    later_gradients,
    named_with_verb,
)
from hookcli.rules.select import modules_above, owner
from hookcli.text import counted, join_names

_NAMED = 2  # further targets that a sentence names
_SYMPTOMS = ("grad_exists", "uncalled_modules")  # findings that another rule may explain
_LITTLE = {"unused", "unknown"}  # reasons of missing gradients; other causes say more
_VERBS = ("ran ", "never ", "got ", "is ", "has ", "returns ")  # messages without a subject
_QUOTED = re.compile("'([^']+)'")


def lost_gradients(facts: Facts) -> Iterator[Found]:
    """Yield the reason for each group of parameters that got no gradient, or only zeros.

    A further forward found the operator, or the output that nothing uses.
    """
    left = facts.of("grad_path", "grad_exists")
    for row in reasons(facts.report):
        if row.value["why"] in _LITTLE:
            continue
        explained = _explained(row, left)
        if explained:
            left = _without(left, explained)
            place = row.value.get("place")
            yield Found(
                cause_of(row), reason_of(row), row.target, tuple(explained), advice_of(row), place
            )


def _without(rows: Iterable[CheckRow], explained: Iterable[CheckRow]) -> list[CheckRow]:
    """Return the rows that are not among the explained ones, which are the same objects."""
    known = {id(row) for row in explained}
    return [row for row in rows if id(row) not in known]


def _explained(row: Measurement, findings: Iterable[CheckRow]) -> list[CheckRow]:
    """Return the findings about the parameters of a reason, of modules in them or around them."""
    parts = set(row.value["cut_off"])
    near = parts | {module for part in parts for module in modules_above(part)}
    cause = cause_of(row)
    return [
        finding
        for finding in findings
        if finding.cause == cause
        and (
            finding.target == row.target
            if finding.rule == "grad_path"
            else finding.target in near or not parts.isdisjoint(modules_above(finding.target))
        )
    ]


def zero_initialization(facts: Facts) -> Iterator[Found]:
    """Yield the weights that are zero and so pass no gradient to the layers before them.

    A product with a zero weight has a zero derivative with respect to its other factor.
    """
    rows = [
        row
        for row in facts.of("grad_exists")
        if row.severity != "note" and facts.below(row.target, "zero")
    ]
    if not rows:
        return
    zero = [row for row in facts.report.parameters if is_zero_weight(row)]
    if later_gradients(facts.report) is not None:  # others have changed in the steps since
        zero = [row for row in zero if row.status == "zero"]
    names = {row.name for row in zero}
    latest = sorted(((facts.order[name], name) for name in names), reverse=True)
    explained, behind = [], set[str]()
    for row in rows:
        hidden = facts.below(row.target, "zero")
        last = max(facts.order[parameter.name] for parameter in hidden)
        own = {parameter.name for parameter in hidden}
        after = takewhile(lambda weight: weight[0] >= last, latest)  # noqa: B023  # used here
        if not own.isdisjoint(names) or any(name not in own for _, name in after):
            explained.append(row)
            behind.update(parameter.name for parameter in hidden)
    if not explained:
        return
    weights = [row.name for row in zero]
    many = counted(len(behind), "parameter")
    learning = any(row.status == "ok" for row in zero)
    sentence = f"{many} got zero gradients because {named_with_verb(weights)} zero"
    if learning:
        sentence += ": a zero initialization"
        advice = "run `--steps 2`: after one step of the optimizer the gradients must not be zero"
    else:
        sentence += f" and no gradient changes {'it' if len(weights) == 1 else 'them'}"
        advice = "initialize the weights with random numbers, as in `nn.init.kaiming_normal_`"
        explained += [row for row in _without(facts.rows, explained) if _follows_zeros(row)]
    yield Found(
        ZERO_INITIALIZATION, sentence, owner(weights[0]), tuple(explained), advice,
        is_note=learning,
    )  # fmt: skip


def stopped_gradients(facts: Facts) -> Iterator[Found]:
    """Yield what makes gradients exactly zero, with the outputs that it makes zero or constant.

    Values of a wrong size may be the reason of that, and weights of zeros, too.
    """
    if facts.of(*(rule for rule, follow in _SIZES if "zero" in follow)):
        return
    if next(zero_initialization(facts), None) is not None:
        return
    for cause in dict.fromkeys(row.cause for row in facts.of("grad_exists")):
        if cause in STOPPING:
            rows = [row for row in facts.of("grad_exists") if row.cause == cause]
            follow = [row for row in _without(facts.rows, rows) if _follows_stop(row)]
            dead = [row for row in follow if row.rule == "dead_units"]
            if dead and cause == CLIPPED:  # it tells more of the layer
                rest = _without((*rows, *follow), dead)
                sentence = with_target(facts, dead[0])
                yield Found("dead_units", sentence, dead[0].target, (*dead, *rest))
                continue
            first = rows[0]
            yield Found(cause, with_target(facts, first), first.target, (*rows, *follow))


def _follows_stop(row: CheckRow) -> bool:
    small = row.rule == "grad_norm" and "below" in row.message
    return small or row.rule in {"dead_units", "all_zero", "low_variance", "saturated_activation"}


def _follows_zeros(row: CheckRow) -> bool:
    """Return whether a finding follows from the zeros that a layer of zero weights returns."""
    zero = row.rule == "grad_exists" and IS_ZERO in row.message
    return zero or row.rule in {"dead_units", "all_zero", "low_variance"}


def wrong_size(facts: Facts) -> Iterator[Found]:
    """Yield the values or gradients of a wrong size that others follow from.

    The first of these rules with a finding explains the findings of the rules below it.
    """
    for i, (rule, follow) in enumerate(_SIZES):
        rows = facts.of(rule)
        if not rows:
            continue
        weaker = {name for name, _ in _SIZES[i + 1 :]} | set(follow)
        explained = [row for row in facts.rows if row.rule in weaker]
        if "zero" in follow:
            explained += [row for row in facts.of("grad_exists") if _has_zeros(row)]
        first = rows[0]
        sentence = with_target(facts, first)
        yield Found(first.cause or rule, sentence, first.target, (*rows, *explained))
        return


def _has_zeros(row: CheckRow) -> bool:
    """Return whether a finding is about gradients of zeros, perhaps in the first step only."""
    return IS_ZERO in row.message or row.cause == ZERO_INITIALIZATION


# From a cause to its consequences. "zero": gradients that are exactly zero.
_SIZES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("finite", ("zero", "empty_mask")),
    ("normalizes_one_value", ("zero", "all_zero", "low_variance")),
    (
        "vanishing_gradient",
        ("zero", "dead_units", "saturated_activation", "all_zero", "low_variance"),
    ),
    ("exploding_gradient", ("saturated_activation",)),
    ("poor_initialization", ("low_variance",)),
    ("grad_norm", ()),
)


def unused_module(facts: Facts) -> Iterator[Found]:
    """Yield the modules that never ran, with their parameters, which so get no gradient."""
    idle = {row.name for row in facts.report.uncalled}
    never = [row for row in facts.of("uncalled_modules") if row.target in idle]
    if not never:
        return
    targets = {row.target for row in never}
    without = [
        row
        for row in facts.of("grad_exists")
        if row.target in targets or not targets.isdisjoint(modules_above(row.target))
    ]
    many = sum(len(facts.below(target, "none")) for target in targets)
    names = join_names([f"'{row.target}'" for row in never], 1 + _NAMED)
    owned = "its" if len(never) == 1 else "their"
    effect = f", so {owned} {counted(many, 'parameter')} got no gradient" if many else ""
    yield Found(
        "uncalled_modules",
        f"{names} never ran{effect}",
        never[0].target,
        (*never, *without),
        advice=_of_unused(facts, [row.target for row in never]),
    )


def _of_unused(facts: Facts, targets: list[str]) -> str:
    """Return what to try with modules that never ran: others of their list may have run."""
    lists = {name.rpartition(".")[0] for name in targets}
    ran = {name for row in facts.report.layers if (name := row.name)}
    beside = [name for name in ran if name.rpartition(".")[0] in lists - {""}]
    numbered = all(name.rpartition(".")[2].isdigit() for name in targets)
    if numbered and len(lists) == 1 and beside:
        where = next(iter(lists))
        return (
            f"check the loop over '{where}', or what selects from it: "
            f"{counted(len(beside), 'other')} of it ran"
        )
    them = "it" if len(targets) == 1 else "them"
    return f"call {them} in forward, or remove {them} from the constructor"


def any_other(facts: Facts) -> Iterator[Found]:
    """Yield every other finding, those of one cause together."""
    groups: dict[tuple[str, bool], list[CheckRow]] = {}
    for row in facts.rows:
        zero = row.rule == "grad_exists" and IS_ZERO in row.message
        groups.setdefault((row.cause or row.rule, zero), []).append(row)
    for (cause, _), group in groups.items():
        group.sort(key=lambda row: (row.rule in _SYMPTOMS, SEVERITIES.index(row.severity)))
        first = group[0]
        sentence = with_target(facts, first)
        others = [
            f"'{name}'"
            for name in dict.fromkeys(row.target for row in group if row.rule == first.rule)
            if name != first.target
        ]
        if others:
            sentence += f"; also {join_names(others, _NAMED)}"
        yield Found(cause, sentence, first.target, tuple(group))


def with_target(facts: Facts, row: CheckRow) -> str:
    """Return the message, after the name of its target unless it names a layer itself."""
    named = set(_QUOTED.findall(row.message))
    told = f"{row.target} (" in row.message or row.message.startswith(row.target)
    if not row.target or told or row.target in named or named & facts.names:
        return row.message
    between = " " if row.message.startswith(_VERBS) else ": "
    return f"'{row.target}'{between}{row.message}"


CAUSES: tuple[Cause, ...] = (
    zeroed_by_hook,
    stopped_gradients,
    wrong_size,
    lost_gradients,
    zero_initialization,
    unused_module,
    any_other,
)
