"""A fact about a kind or an action is in its row: no module outside catalogue/ asks for a name."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from hookcli.catalogue.actions import ARGUMENTS, CATALOGUE as ACTIONS
from hookcli.catalogue.kind import PHASES, Stage
from hookcli.catalogue.kinds import CATALOGUE as KINDS
from hookcli.catalogue.options import OPTIONS
from hookcli.config.sections.actions import ARGUMENTS as READERS
from hookcli.engine.hook_engine.attached import attach_function
from hookcli.hooks.build import builder_of
from tests.conftest import ROOT
from tests.source_code import tree_of

PACKAGE = ROOT / "hookcli"
FAMILIES = {kind.family for kind in KINDS.values()}
NAMES = {*KINDS, *ACTIONS, *FAMILIES}
# What an expression is called that holds the name of a kind, a family or an action. Other words
# (a phase, a part, a row's status) have values that are spelled alike: "forward", "zero".
HOLDERS = {"kind", "kinds", "family", "families", "action", "actions", "name", "names"}
TESTS = {"startswith", "endswith", "removeprefix", "removesuffix"}
# Where a name that is compared is none of these, and why.
EXCEPTIONS: dict[str, str] = {}


def modules():
    return [
        path for path in sorted(PACKAGE.rglob("*.py")) if PACKAGE / "catalogue" not in path.parents
    ]


def last_word(node) -> str:
    """`kind` of `hook.spec.kind`; "" of what has no name."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Name):
        return node.id
    return ""


def texts(node) -> set[str]:
    """The texts that an expression is, or that a tuple, set, list or table holds or has as keys."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return {node.value}
    if isinstance(node, (ast.Tuple, ast.Set, ast.List)):
        return {text for one in node.elts for text in texts(one)}
    if isinstance(node, ast.Dict):
        return {text for key in node.keys if key is not None for text in texts(key)}
    return set()


def is_table_of_names(node) -> bool:
    """Whether this is a collection of at least two kinds, families or actions, and of no phases."""
    found = texts(node) if isinstance(node, (ast.Tuple, ast.Set, ast.List, ast.Dict)) else set()
    return len(found) > 1 and found <= NAMES and not found <= {*PHASES}


def comparisons(path: Path):
    """The lines of a module that ask for a kind, a family or an action by name."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            named = {text for side in sides for text in texts(side)} & NAMES
            if named and any(last_word(side) in HOLDERS for side in sides):
                yield node.lineno
        elif isinstance(node, ast.Match):
            asked = {
                value.value
                for case in node.cases
                for value in ast.walk(case.pattern)
                if isinstance(value, ast.Constant)
            }
            if asked & NAMES and last_word(node.subject) in HOLDERS:
                yield node.lineno
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            holder = last_word(node.func.value)
            if node.func.attr in TESTS and holder in {"kind", "family"}:
                yield node.lineno
        elif is_table_of_names(node):
            yield node.lineno


def test_no_module_asks_for_a_kind_or_an_action_by_name():
    names = {path: str(path.relative_to(PACKAGE)) for path in modules()}
    places = [
        f"{name}:{line}"
        for path, name in names.items()
        if name not in EXCEPTIONS
        for line in comparisons(path)
    ]
    assert places == []


@pytest.mark.parametrize(
    "line",
    [
        "x = hook.spec.kind == 'ddp_comm'",
        "x = 'full_backward' in hook.kind",
        "x = kind.family in {'state', 'optimizer'}",
        "x = action.name != 'call'",
        "x = spec.kind.startswith('global_')",
        "x = {'scale': 1, 'zero': 2}",
        "match kind.name:\n    case 'node' | 'tensor':\n        pass",
    ],
)
def test_the_test_above_sees(line, tmp_path):
    path = tmp_path / "module.py"
    path.write_text(line)
    assert set(comparisons(path)) == {1}


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_s_row_names_what_attaches_it(name):
    assert callable(attach_function(KINDS[name]))


@pytest.mark.parametrize("name", ACTIONS)
def test_an_action_s_row_names_what_makes_it(name):
    row = ACTIONS[name]
    if row.build is None:
        assert row.averages  # the communication hook itself
    else:
        assert callable(builder_of(row))


@pytest.mark.parametrize("name", KINDS)
def test_what_a_row_refers_to_exists(name):
    kind = KINDS[name]
    assert all(option in OPTIONS for option in kind.options)
    assert all(conflict.kind in KINDS for conflict in kind.conflicts)
    assert kind.at.by_name in {"", *KINDS}
    assert bool(kind.at.plain) or not (kind.at.required or kind.at.parts or kind.at.op)
    assert kind.stage is Stage.MODEL or kind.at.plain is None  # only those have targets


def test_a_conflict_is_one_from_both_sides():
    pairs = {(kind.name, other.kind) for kind in KINDS.values() for other in kind.conflicts}
    assert pairs == {(b, a) for a, b in pairs}


def test_the_kinds_of_all_have_places_of_their_own():
    places = [kind.in_all for kind in KINDS.values() if kind.in_all is not None]
    assert sorted(places) == list(range(len(places)))


def test_every_form_of_an_argument_is_explained_and_read():
    used = {action.argument for action in ACTIONS.values()}
    assert used == set(ARGUMENTS)
    assert used - {"none"} == set(READERS)
