"""The table of all rules, for `list rules`, `explain`, the parser of `checks` and the docs."""

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


def with_safe_set(
    checks: tuple[CheckSpec, ...], *, together: bool = False
) -> tuple[CheckSpec, ...]:
    """Return the safe set followed by the given checks.

    A given check of a rule of the safe set replaces it. If several ranks run `together`, the safe
    set includes the rules for ranks.
    """
    named = {check.rule for check in checks}
    safe = (*SAFE, *RANKS) if together else SAFE
    return (*(check for check in safe if check.rule not in named), *checks)


def probes_of(checks: tuple[CheckSpec, ...]) -> tuple[str, ...]:
    """Return the names of all probes that the checks require, each once."""
    probes: dict[str, None] = {}
    for check in checks:
        rule = CATALOGUE[check.rule]
        probes.update(dict.fromkeys(rule.needs(rule.filled(check.options))))
    return tuple(probes)
