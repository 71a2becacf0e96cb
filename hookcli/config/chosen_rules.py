"""A request with the checks of chosen rules only: `--rule`, and `rules` of the Python API."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hookcli.errors import RequestError
from hookcli.sentences import unknown
from hookcli.spec.checks import CheckSpec, Suppression

if TYPE_CHECKING:
    from hookcli.spec.request import Spec


def only(spec: Spec, names: Sequence[str], place: str) -> Spec:
    """Return the request with the checks of these rules; missing ones have default options.

    `place` is where the names were given.

    Raises
    ------
    RequestError : a rule is unknown, or requires options.
    """
    from hookcli.config.merge import with_checks

    checks, suppressions = checks_of(spec.checks, spec.suppressions, names, place)
    return dataclasses.replace(with_checks(spec, checks), suppressions=suppressions)


def checks_of(
    checks: Sequence[CheckSpec],
    suppressions: Sequence[Suppression],
    names: Sequence[str],
    place: str,
) -> tuple[tuple[CheckSpec, ...], tuple[Suppression, ...]]:
    """Return the checks and suppressions of these rules; raises as above."""
    chosen: list[CheckSpec] = []
    for name in dict.fromkeys(names):
        named = [check for check in checks if check.rule == name and not check.only_failures]
        chosen += named or [_default_check(name, place)]
    return tuple(chosen), tuple(entry for entry in suppressions if entry.rule in names)


def _default_check(name: str, place: str) -> CheckSpec:
    """Return a check of this rule with its default options."""
    from hookcli.rules.catalogue import CATALOGUE, meant_rule
    from hookcli.text import try_instead

    rule = CATALOGUE.get(name)
    if rule is None:
        raise RequestError(
            unknown("rule", name),
            place=place,
            hint=try_instead(meant_rule(name), "run `hookcli list rules`"),
        )
    required = [option.name for option in rule.options if option.required]
    if required:
        raise RequestError(
            f"rule '{name}' requires {' and '.join(required)}",
            place=place,
            hint=f"add it to the checks: `{rule.example}`",
        )
    return CheckSpec(name)
