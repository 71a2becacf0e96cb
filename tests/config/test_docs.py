"""docs/reference/configuration.md: its tables are those of the catalogue.

UPDATE_DOCS=1 writes the tables.
"""

from __future__ import annotations

from hookcli.catalogue.actions import CATALOGUE as ACTIONS
from hookcli.catalogue.kinds import CATALOGUE
from hookcli.config.sections.actions import ARGUMENTS
from hookcli.config.sections.at import CONDITIONS
from hookcli.config.sections.comm import STATES
from hookcli.config.sections.hooks import HOOK
from hookcli.config.sections.root import ROOT
from hookcli.config.sections.run import BACKWARD, PACKAGE, RUN
from tests.conftest import ROOT as REPOSITORY
from tests.docs.generated import check_parts, table

PAGE = REPOSITORY / "docs" / "reference" / "configuration.md"


def keys(shape):
    return table(
        ["key", "meaning", "value"],
        [[f"`{name}`", key.does, key.shape.expected] for name, key in shape.keys.items()],
    )


def of_kinds():
    groups = {}
    for kind in CATALOGUE.values():
        rule = kind.at
        forms = [f"{rule.plain}s"] if rule.plain else []
        forms += [f"`PATTERN:{part}`" for part in rule.parts]
        forms += ["`{op: …}`"] * rule.op + ["`{node: …}`"] * rule.node
        said = ", ".join(forms) + ("" if rule.required or not forms else "; optional")
        groups.setdefault(said or "none", []).append(f"`{kind.name}`")
    return table(["`at` is", "kinds"], [[at, " ".join(kinds)] for at, kinds in groups.items()])


def of_actions():
    def wants(action):
        if action.argument == "none":
            return ""
        said = ARGUMENTS[action.argument].expected
        return f"{said}; optional" if action.optional else said

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


def test_the_tables_are_those_of_the_catalogue():
    check_parts(PAGE, TABLES)
