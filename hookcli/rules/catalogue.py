"""Every rule: one table. `list rules`, `explain`, the reader of `checks` and the docs read it."""

from __future__ import annotations

from hookcli.rules import (
    batch_independent,
    buckets,
    budget,
    comm_hook_error,
    deterministic,
    dtype,
    finite,
    firing_order,
    grad_exists,
    hook_misuse,
    hooks_fired,
    learning,
    ranks_agree,
    same_as,
    shapes,
    uncalled_modules,
)
from hookcli.rules.rule import Rule
from hookcli.spec.checks import CheckSpec

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
        ranks_agree.RULE,
        comm_hook_error.RULE,
        buckets.RULE,
    )
}
SAFE: tuple[CheckSpec, ...] = tuple(
    CheckSpec(rule.name) for rule in CATALOGUE.values() if rule.safe
)
RANKS: tuple[CheckSpec, ...] = tuple(
    CheckSpec(rule.name) for rule in CATALOGUE.values() if rule.ranks
)


def with_safe_set(asked: tuple[CheckSpec, ...], *, together: bool = False) -> tuple[CheckSpec, ...]:
    """The safe set, and what is asked for: a check of one of its rules stands in its place.

    Where several ranks run `together`, the set has the rules for that too.
    """
    named = {check.rule for check in asked}
    safe = (*SAFE, *RANKS) if together else SAFE
    return (*(check for check in safe if check.rule not in named), *asked)


def probes_of(checks: tuple[CheckSpec, ...]) -> tuple[str, ...]:
    """What the rules want a run to look at, each once."""
    probes: dict[str, None] = {}
    for check in checks:
        rule = CATALOGUE[check.rule]
        probes.update(dict.fromkeys(rule.needs(rule.filled(check.options))))
    return tuple(probes)
