"""The pages of rules as plain text, for `explain` and `list`."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import Any

from hookcli.catalogue.probes import PROBES
from hookcli.formats.parts.grid import Column
from hookcli.formats.parts.text import sentence
from hookcli.reference.text_page import WIDTH, bullet_list, fields, filled, grouped, page
from hookcli.rules.catalogue import CATALOGUE
from hookcli.rules.rule import Rule, RuleOption
from hookcli.spec.checks import ProbeRequest
from hookcli.text import shorten


def _option(option: RuleOption) -> str:
    default = option.default
    if isinstance(default, bool):
        return f"{option.name}: {option.does} (default: {str(default).lower()})"
    if isinstance(default, tuple):
        default = "[" + ", ".join(map(str, default)) + "]"
    suffix = (
        " (required)" if option.required else "" if default is None else f" (default: {default!r})"
    )
    if isinstance(default, str) and default.startswith("["):
        suffix = f" (default: {default})"
    return f"{option.name}: {option.does}{suffix}"


def costs(rule: Rule) -> str:
    """Return what a run must do for the rule in addition, with the default options."""
    options = rule.filled({})
    requests = (*rule.needs(options), *rule.watches(options))
    needed = dict.fromkeys(request.name for request in requests)
    return "; ".join(PROBES[name].cost for name in needed) or "nothing beyond the run"


_IN_VERDICT = "yes: grads, trace and check judge it without being asked"


def rule_page(rule: Rule, width: int = WIDTH) -> str:
    """Return the page of one rule."""
    return page(
        (
            f"{rule.name}  (rule)",
            filled(sentence(rule.says), width, "", ""),
            filled(rule.computes, width, "", ""),
            fields(
                [
                    ("formula", rule.formula),
                    ("severity", rule.severity),
                    ("safe set", "yes: checked by default" if rule.safe else "no"),
                    ("verdict", _IN_VERDICT if rule.diagnoses else "no"),
                    ("costs", costs(rule)),
                    ("source", rule.source),
                    ("fails", rule.fails),
                    ("fix", rule.mend),
                    ("example", rule.example),
                ],
                width,
            ),
            bullet_list("options", (_option(option) for option in rule.options), width),
        )
    )


# The groups of the table: a rule is in the first one that it belongs to.
_GROUPS: dict[str, Callable[[Rule], bool]] = {
    "Always judged by `hookcli check`": lambda rule: rule.safe,
    "Always judged by `hookcli run`": lambda rule: rule.of_training,
    "In the verdict of grads, trace and check": lambda rule: rule.diagnoses,
    "Judged if `checks:` of a configuration names them": lambda _: True,
}


def rules_table(width: int = WIDTH) -> str:
    """Return a table with a line for each rule, by what judges them without being asked."""
    columns: dict[str, Column[Rule]] = {
        "name": Column("Rule", lambda rule: rule.name),
        "severity": Column("Severity", lambda rule: rule.severity),
        "verdict": Column("Verdict", lambda rule: "yes" if rule.diagnoses else "no"),
        "says": Column(
            "What it checks",
            lambda rule: rule.says,
            least=32,
            fit=lambda rule, width: shorten(rule.says, width),
        ),
    }
    groups: dict[str, list[Rule]] = {title: [] for title in _GROUPS}
    for rule in CATALOGUE.values():
        groups[next(title for title, is_in in _GROUPS.items() if is_in(rule))].append(rule)
    return grouped(columns, groups, width=width, give_way=("severity", "verdict"))


def rule_data(rule: Rule) -> dict[str, Any]:
    """Return a rule as plain data, for JSON."""
    names = (
        "severity",
        "safe",
        "diagnoses",
        "says",
        "computes",
        "formula",
        "source",
        "fails",
        "mend",
        "example",
    )
    return {
        "name": rule.name,
        "description": rule.says,
        **{name: getattr(rule, name) for name in names},
        "needs": [_request(request) for request in rule.needs(rule.filled({}))],
        "watches": [_request(request) for request in rule.watches(rule.filled({}))],
        "diagnoses": rule.diagnoses,
        "options": [dataclasses.asdict(option) for option in rule.options],
    }


def _request(request: ProbeRequest) -> str:
    """Return a request as version 0.1 wrote it: `ranges:float16:65536`, or options as JSON."""
    options = request.given()
    if not options:
        return request.name
    if None in options.values():
        return f"{request.name}:{json.dumps(options)}"
    return ":".join((request.name, *map(str, options.values())))
