"""Every rule: one table. `list rules`, `explain`, the reader of `checks` and the docs read it."""

from __future__ import annotations

from hookcli.rules import (
    batch_independent,
    budget,
    deterministic,
    dtype,
    finite,
    firing_order,
    grad_exists,
    hook_misuse,
    hooks_fired,
    learning,
    same_as,
    shapes,
    uncalled_modules,
)
from hookcli.rules.check import CheckSpec
from hookcli.rules.rule import Rule

CATALOGUE: dict[str, Rule] = {
    rule.name: rule
    for rule in (
        finite.RULE,
        grad_exists.RULE,
        uncalled_modules.RULE,
        deterministic.RULE,
        batch_independent.RULE,
        hooks_fired.RULE,
        hook_misuse.RULE,
        shapes.OUTPUT,
        shapes.INPUT,
        dtype.RULE,
        budget.RULE,
        firing_order.RULE,
        learning.FROZEN,
        learning.TRAINABLE,
        same_as.RULE,
    )
}
SAFE: tuple[CheckSpec, ...] = tuple(
    CheckSpec(rule.name) for rule in CATALOGUE.values() if rule.safe
)


def with_safe_set(asked: tuple[CheckSpec, ...]) -> tuple[CheckSpec, ...]:
    """The safe set, and what is asked for: a check of one of its rules stands in its place."""
    named = {check.rule for check in asked}
    return (*(check for check in SAFE if check.rule not in named), *asked)


def probes_of(checks: tuple[CheckSpec, ...]) -> tuple[str, ...]:
    """What the rules want a run to look at, each once."""
    found: dict[str, None] = {}
    for check in checks:
        rule = CATALOGUE[check.rule]
        found.update(dict.fromkeys(rule.needs(rule.filled(check.options))))
    return tuple(found)
