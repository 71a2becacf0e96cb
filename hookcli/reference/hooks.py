"""The pages of hooks and actions as plain text, for `explain` and `list`."""

from __future__ import annotations

from hookcli.catalogue.actions import ARGUMENTS, CATALOGUE as ACTIONS, Action
from hookcli.catalogue.kind import Kind
from hookcli.catalogue.kinds import CATALOGUE as HOOKS
from hookcli.catalogue.options import OPTIONS
from hookcli.formats.parts.grid import Column, draw
from hookcli.formats.parts.text import sentence
from hookcli.reference.text_page import WIDTH, bullet_list, fields, filled, grouped, page
from hookcli.text import shorten

REAL_ONLY = "real only"


def kind_page(kind: Kind, width: int = WIDTH) -> str:
    """Return the page of one kind of hook."""
    return page(
        (
            f"{kind.name}  ({kind.family} hook)",
            filled(sentence(f"fires {kind.fires}"), width, "", ""),
            fields(
                [
                    ("signature", kind.signature),
                    ("value", kind.value),
                    ("returns", kind.returns),
                    ("attaches to", kind.target),
                    ("phases", ", ".join(kind.phases)),
                    ("models", ", ".join(kind.backends)),
                    ("tensors", REAL_ONLY if kind.needs_values else ""),
                    ("torch", f"{kind.since} or later"),
                    ("attached by", kind.registers),
                    ("example", kind.example),
                ],
                width,
            ),
            bullet_list(
                "options", (f"{name}: {OPTIONS[name].does}" for name in kind.options), width
            ),
            bullet_list("caveats", kind.caveats, width),
        )
    )


def argument(action: Action) -> str:
    """Return the form of an action's argument: "a number above 0"."""
    text = ARGUMENTS[action.argument]
    return f"{text} (optional)" if action.optional else text


def tensors(action: Action) -> str:
    """Return whether an action works with fake tensors."""
    return REAL_ONLY if action.needs_values else "real or fake"


def _works_with(action: Action) -> str:
    if action.averages:
        return ", ".join(kind.name for kind in HOOKS.values() if kind.average is not None)
    changes = action.changes and not action.may_look
    return "kinds whose hooks may return a value" if changes else "every kind"


def _example(action: Action) -> str:
    """Return the example as a line of YAML: a mapping if the action has an argument."""
    return f"do: [{{{action.example}}}]" if ":" in action.example else f"do: [{action.example}]"


def action_page(action: Action, width: int = WIDTH) -> str:
    """Return the page of one action."""
    return page(
        (
            f"{action.name}  (action)",
            filled(sentence(action.does), width, "", ""),
            fields(
                [
                    ("argument", argument(action)),
                    *([("part", _part(action))] if action.parts else []),
                    ("works with", _works_with(action)),
                    ("tensors", tensors(action)),
                    ("example", _example(action)),
                ],
                width,
            ),
        )
    )


def _part(action: Action) -> str:
    """Return how an action is limited to a part of each tensor."""
    value = "" if action.argument == "none" else "value: …, "
    return (
        f'{action.name}: {{{value}index: "[:, 3]"}} changes a part as Python indexes it, '
        f"{action.name}: {{{value}heads: 2 of 8}} a head: one of 8 equal parts of the last axis"
    )


def hooks_table(width: int = WIDTH) -> str:
    """Return a table with a line for each kind of hook."""
    columns: dict[str, Column[Kind]] = {
        "name": Column("Kind", lambda kind: kind.name),
        "family": Column("Family", lambda kind: kind.family),
        "target": Column("Attaches to", lambda kind: kind.target),
        "replaces": Column("Can change", lambda kind: "yes" if kind.replaces else "no"),
        "fires": Column(
            "Fires",
            lambda kind: kind.when,
            least=48,
            fit=lambda kind, width: shorten(kind.when, width),
        ),
    }
    groups: dict[str, list[Kind]] = {"": [], "Rarely needed": []}
    for kind in HOOKS.values():
        groups["Rarely needed" if kind.is_rare else ""].append(kind)
    return grouped(columns, groups, width=width, give_way=("family", "target", "replaces"))


def actions_table(width: int = WIDTH) -> str:
    """Return a table with a line for each action."""
    columns: dict[str, Column[Action]] = {
        "name": Column("Action", lambda action: action.name),
        "changes": Column("Changes", lambda action: "yes" if action.changes else "no"),
        "values": Column("Tensors", tensors),
        "does": Column(
            "What it does",
            lambda action: action.does,
            least=40,
            fit=lambda action, width: shorten(action.does, width),
        ),
        "example": Column("Example", lambda action: action.example),
    }
    return draw(columns, list(ACTIONS.values()), width=width, give_way=("example",)) + "\n"
