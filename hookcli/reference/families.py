"""The families of things that `list` and `explain` show: hooks, actions, rules, formats."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Family:
    """One family: its members by name, and how they are shown.

    `singular` is the word before the colon in `explain hook:NAME`. `page` returns the page of a
    member and `table` a line for each member, both for a width. `data` returns plain data.
    """

    singular: str
    members: Mapping[str, Any]
    page: Callable[[str, int], str]
    table: Callable[[int], str]
    data: Callable[[], list[dict[str, Any]]]


def _hooks() -> Family:
    from hookcli.catalogue.kinds import CATALOGUE
    from hookcli.reference.hooks import hooks_table, kind_page

    def page(name: str, width: int) -> str:
        return kind_page(CATALOGUE[name], width)

    def data() -> list[dict[str, Any]]:
        return [
            {"name": kind.name, "description": kind.fires, **kind.facts()}
            for kind in CATALOGUE.values()
        ]

    return Family("hook", CATALOGUE, page, hooks_table, data)


def _actions() -> Family:
    from hookcli.catalogue.actions import CATALOGUE
    from hookcli.reference.hooks import action_page, actions_table

    def page(name: str, width: int) -> str:
        return action_page(CATALOGUE[name], width)

    def data() -> list[dict[str, Any]]:
        return [
            {"name": action.name, "description": action.does, **action.facts()}
            for action in CATALOGUE.values()
        ]

    return Family("action", CATALOGUE, page, actions_table, data)


def _rules() -> Family:
    from hookcli.reference.rules import rule_data, rule_page, rules_table
    from hookcli.rules.catalogue import CATALOGUE

    def page(name: str, width: int) -> str:
        return rule_page(CATALOGUE[name], width)

    def data() -> list[dict[str, Any]]:
        return [rule_data(rule) for rule in CATALOGUE.values()]

    return Family("rule", CATALOGUE, page, rules_table, data)


def _formats() -> Family:
    from hookcli.formats.registry import FORMATS
    from hookcli.reference.formats import format_page, formats_table

    def data() -> list[dict[str, Any]]:
        return [{"name": row.name, "description": row.description} for row in FORMATS.values()]

    return Family("format", FORMATS, format_page, formats_table, data)


# By the name that `list` accepts. A catalogue is imported when its family is requested.
FAMILIES: dict[str, Callable[[], Family]] = {
    "hooks": _hooks,
    "actions": _actions,
    "rules": _rules,
    "formats": _formats,
}
