"""Slow tests take turns: each runs in one of them, and all run where they are asked for by name."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from types import SimpleNamespace

import pytest

from tests.conftest import ROOT
from tests.turns import TURNS, Turns, is_named, slow_of, slow_tests, turn_of, turn_of_commit


def test_every_slow_test_is_there():
    for name in slow_tests():
        path, _, test = name.partition("::")
        names = [one.name for one in ast.walk(ast.parse((ROOT / path).read_text()))
                 if isinstance(one, ast.FunctionDef)]  # fmt: skip
        assert test.rpartition("::")[2] in names, name


def test_the_turns_are_about_equal():
    counts = Counter(map(turn_of, slow_tests()))
    assert set(counts) == set(range(TURNS))
    assert max(counts.values()) < 1.5 * min(counts.values())


def selected(turn, arguments=("tests",)):
    names = [*sorted(slow_tests())[:30], "tests/hooks/test_order.py::test_a"]
    items = [SimpleNamespace(nodeid=f"{name}[{case}]") for name in names for case in range(4)]
    dropped = []
    hook = SimpleNamespace(pytest_deselected=lambda items: dropped.extend(items))
    kept = [*items]
    Turns(turn).pytest_collection_modifyitems(SimpleNamespace(args=arguments, hook=hook), kept)
    assert sorted(one.nodeid for one in [*kept, *dropped]) == sorted(one.nodeid for one in items)
    return {one.nodeid for one in kept}


def test_each_slow_case_runs_in_one_turn_and_all_others_in_each():
    turns = [selected(turn) for turn in range(TURNS)]
    fast = {f"tests/hooks/test_order.py::test_a[{case}]" for case in range(4)}
    assert set.intersection(*turns) == fast
    assert sum(len(one - fast) for one in turns) == len(set.union(*turns) - fast) == 120
    assert all(len(one) > 20 for one in turns)


def test_slow_tests_of_a_folder_that_is_named_run_all():
    folder = sorted(slow_tests())[0].rpartition("/")[0]
    named = selected(0, [folder])
    assert named > selected(0)
    assert {one.partition("[")[0] for one in named} >= {
        one for one in sorted(slow_tests())[:30] if one.startswith(folder)
    }


@pytest.mark.parametrize(
    ("argument", "named"),
    [
        ("tests", False),
        (".", False),
        (str(ROOT), False),
        (f"{ROOT}/tests", False),
        ("tests/cli", True),
        ("tests/cli/", True),
        ("tests/cl", False),
        ("tests/cli/test_check.py", True),
        (f"{ROOT}/tests/cli/test_check.py", True),
        ("tests/cli/test_check.py::test_a", True),
        ("tests/api", False),
    ],
)
def test_arguments_that_name_a_test(argument, named):
    assert is_named("tests/cli/test_check.py::test_a", [argument]) is named


def test_the_turn_is_that_of_the_commit(tmp_path, monkeypatch):
    done = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode == 0:
        assert turn_of_commit() == int(done.stdout, 16) % TURNS
    monkeypatch.setattr(sys.modules["tests.turns"], "ROOT", tmp_path)  # no repository
    assert turn_of_commit() == 0


def test_a_slow_test_is_one_whose_cases_take_long_together():
    rows = [("a[1]", 0.4), ("a[2]", 0.4), ("b", 0.6), ("c", 2.0)]
    assert slow_of(rows) == ["a", "c"]
