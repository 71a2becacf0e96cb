"""docs/configuration.md: its examples read, its tables are those of the catalogue.

UPDATE_DOCS=1 writes the tables.
"""

from __future__ import annotations

import os
import re

import pytest

from hookcli.catalogue.actions import CATALOGUE as ACTIONS
from hookcli.catalogue.kinds import CATALOGUE
from hookcli.config.sections.actions import ARGUMENTS
from hookcli.config.sections.at import CONDITIONS
from hookcli.config.sections.comm import STATES
from hookcli.config.sections.hooks import HOOK
from hookcli.config.sections.root import ROOT
from hookcli.config.sections.run import BACKWARD, PACKAGE, RUN
from tests.conftest import ROOT as REPOSITORY

PAGE = REPOSITORY / "docs" / "configuration.md"
TEXT = PAGE.read_text()
EXAMPLES = re.findall(r"```yaml\n(.*?)```", TEXT, re.S)


def rows(*cells):
    escaped = ([cell.replace("|", r"\|") for cell in row] for row in cells)
    return "".join(f"| {' | '.join(row)} |\n" for row in escaped)


def table(head, body):
    return rows(head, ["---"] * len(head)).replace(" --- ", "---") + rows(*body)


def keys(shape):
    return table(
        ["key", "is", "wants"],
        [[f"`{name}`", key.does, key.shape.wants] for name, key in shape.keys.items()],
    )


def of_kinds():
    groups = {}
    for kind in CATALOGUE.values():
        rule = kind.at
        forms = [f"{rule.plain}s"] if rule.plain else []
        forms += [f"`PATTERN:{part}`" for part in rule.parts]
        forms += ["`{op: …}`"] * rule.op + ["`{node: …}`"] * rule.node
        said = ", ".join(forms) + ("" if rule.required or not forms else "; may be left out")
        groups.setdefault(said or "none", []).append(f"`{kind.name}`")
    return table(["`at` is", "kinds"], [[at, " ".join(kinds)] for at, kinds in groups.items()])


def of_actions():
    def wants(action):
        if action.argument == "none":
            return ""
        said = ARGUMENTS[action.argument].wants
        return f"{said}; may be left out" if action.optional else said

    return table(
        ["action", "does", "argument"],
        [[f"`{a.example}`", a.does, wants(a)] for a in ACTIONS.values()],
    )


def of_states():
    return table(
        ["name", "state"],
        [[f"`{name}`", ", ".join(f"`{key}`" for key in state)] for name, state in STATES.items()],
    )


TABLES = {
    "top": lambda: keys(ROOT),
    "run": lambda: keys(RUN),
    "backward": lambda: keys(BACKWARD),
    "package": lambda: keys(PACKAGE),
    "hooks": lambda: keys(HOOK),
    "at": lambda: keys(CONDITIONS),
    "kinds": of_kinds,
    "actions": of_actions,
    "comm": of_states,
}


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_every_example_reads(number, read, folder):
    (folder / "base.yaml").write_text("model: model.py")
    read(EXAMPLES[number])


def generated():
    text = TEXT
    for name, make in TABLES.items():
        between = re.compile(rf"(<!-- generated: {name} -->\n).*?(<!-- end -->)", re.S)
        assert between.search(text), name
        text = between.sub(lambda m, make=make: f"{m[1]}{make()}{m[2]}", text)
    return text


def test_the_tables_are_those_of_the_catalogue():
    if os.environ.get("UPDATE_DOCS"):
        PAGE.write_text(generated())
        return
    assert generated() == TEXT, "UPDATE_DOCS=1 writes the tables anew"


def test_every_error_shown_is_said(problem):
    shown = re.search(r"    error: (.*)\n      --> .*  \|  (.*)\n    hint: (.*)\n", TEXT)
    message, _, line, hint = problem(f"\n\n{shown[2]}")
    assert (message, line, hint) == (shown[1], shown[2], shown[3])
