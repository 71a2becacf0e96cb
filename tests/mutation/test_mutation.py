"""The changes that are made to code, and that they take effect wherever the code is held."""

from __future__ import annotations

import ast
import importlib
import sys

import pytest

from . import runs
from .install import set_marker, sources
from .operators import mutants, number_statements


def changes(text):
    tree = ast.parse(text)
    number_statements(tree)
    return [(one.before, one.after) for one in mutants(tree, "x.py")]


def in_function(body):
    return changes(f"def f(a, b):\n    {body}\n")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("c = a < b", [("a < b", "a <= b")]),
        ("c = a is None", [("a is None", "a is not None")]),
        ("c = a and b", [("a and b", "a or b")]),
        ("c = not a", [("not a", "a")]),
        ("c = a + b", [("a + b", "a - b")]),
        ("a -= b", [("a -= b", "removed"), ("a -= b", "a += b")]),
        ("c = min(a, b)", [("min", "max")]),
        ("c = a[:b]", [("a[:b]", "a[:]")]),
        ("c = [a, 0, 5, 0.5, True]", [
            ("[a, 0, 5, 0.5, True]", f"[a, {new}]")
            for new in ("1, 5, 0.5, True", "0, 6, 0.5, True", "0, 4, 0.5, True",
                        "0, 5, 1.0, True", "0, 5, 0.5, False")
        ]),
        ("return a", [("return a", "return None")]),
        ("return None", []),
        ("a.x = b", [("a.x = b", "removed")]),
        ("if a: b()", [("a", "not a"), ("b()", "removed")]),
        ("if a == b: pass", [("a == b", "a != b")]),
        ("for c in a: break", [("break", "continue")]),
        ("raise a(1 + b)", [("raise a(1 + b)", "removed")]),
        ('c = f"{a + b}" + "x"', [("f'{a + b}' + 'x'", "f'{a + b}' - 'x'")]),
        ('"""A docstring: 1 + 1."""', []),
        ("c: a | b = a", []),
    ],
)  # fmt: skip
def test_the_changes_of_a_statement(body, expected):
    assert in_function(body) == expected


def test_defaults_constants_and_fields_are_changed_and_annotations_are_not():
    assert changes("def f(a: int | str = 1, *, b=True): pass") == [
        ("a: int | str=1, *, b=True", "a: int | str=2, *, b=True"),
        ("a: int | str=1, *, b=True", "a: int | str=1, *, b=False"),
    ]
    assert changes("LIMIT = 0.5") == [("LIMIT = 0.5", "LIMIT = 1.0")]
    assert changes("class A:\n    x: int = 2\n") == [
        ("x: int = 2", "x: int = 3"), ("x: int = 2", "x: int = 1"),
    ]  # fmt: skip
    assert changes("X: TypeAlias = int | str") == []


def test_a_change_on_import_has_the_names_that_use_it():
    text = "A: int = 1\nB, C = 2, 3\nclass D:\n    x: int = 4\ndef f(y=5): pass\n"
    found = mutants(ast.parse(text), "x.py")
    names = ["A", "B C", "B C", "B C", "B C", "D", "D", "f", "f"]
    assert [" ".join(sorted(one.names)) for one in found] == ["A", *names[1:]]


CODE = """
from dataclasses import dataclass
from functools import cache

LIMIT = 5

@dataclass(frozen=True)
class Row:
    size: int = 3
    check: object = None

ROW = Row(check=lambda value: value > 2)

def above(value):
    return value > LIMIT

def with_default(value, other=7):
    return value + other

class Things:
    @property
    def first(self):
        return 11

    @staticmethod
    def inner(value):
        def one():
            return value * 2
        return one()
"""
USER = "from {} import LIMIT, ROW, Things, above\ndef limit(): return LIMIT\n"


@pytest.fixture
def modules(tmp_path, monkeypatch):
    """A module, and another that imports names from it."""
    (tmp_path / "hookcli_made.py").write_text(CODE)
    (tmp_path / "hookcli_user.py").write_text(USER.format("hookcli_made"))
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path, importlib.import_module("hookcli_made"), importlib.import_module("hookcli_user")
    for name in ("hookcli_made", "hookcli_user"):
        del sys.modules[name]


@pytest.mark.parametrize(
    ("after", "value", "expected"),
    [
        ("value >= LIMIT", lambda made, user: user.above(5), True),
        ("LIMIT = 6", lambda made, user: (user.above(6), user.limit()), (False, 6)),
        ("value >= 2", lambda made, user: user.ROW.check(2), True),
        ("size: int = 4", lambda made, user: (user.ROW.size, made.Row().size), (4, 4)),
        ("value, other=8", lambda made, user: made.with_default(0), 8),
        ("return 12", lambda made, user: user.Things().first, 12),
        ("value / 2", lambda made, user: user.Things.inner(4), 2.0),
        ("value * 3", lambda made, user: user.Things.inner(4), 12),
    ],
)
def test_a_change_takes_effect_wherever_the_code_is_held(modules, after, value, expected):
    folder, made, user = modules
    [source] = sources([made], folder)
    [mutant] = [one for one in source.mutants if one.after == after]
    before = value(made, user)
    source.install(mutant)
    assert value(made, user) == expected != before


def test_a_marked_statement_says_that_it_was_reached(modules):
    folder, made, user = modules
    [source] = sources([made], folder)
    reached = bytearray(source.numbers.stop)
    set_marker(reached)
    source.mark()
    lines = {one.statement: one.function for one in source.mutants if one.statement is not None}

    def functions(call):
        reached[:] = bytes(len(reached))
        call()
        return {lines[number] for number, was in enumerate(reached) if was and number in lines}

    assert functions(lambda: user.above(1)) == {"above"}
    assert functions(lambda: user.ROW.check(1)) == {""}
    assert functions(lambda: user.Things.inner(1)) == {"Things.inner", "Things.inner.one"}


def test_the_statements_of_a_function_are_those_of_its_own_body(modules):
    """A default is used by whoever calls the function, also from elsewhere."""
    folder, made, _ = modules
    [source] = sources([made], folder)
    lines = {one.statement: one.line for one in source.mutants}
    code = CODE.splitlines()
    for name, text in (("with_default", "return value + other"), ("Things.first", "return 11")):
        assert [code[lines[n] - 1].strip() for n in source.statements_of(name)] == [text]
    assert source.statements_of("Row") == []


RUNNER = """
calls = []

def run(request, model=None):
    _reached_(3)
    calls.append(request)
    return {"request": request, "number": len(calls)}

def run_both(request):
    return [run(request), run(request)]

def run_lazily(request):
    return (run(request) for _ in "a")
"""


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """A module, another that holds its `run`, the runs of test "t", and what was reached."""
    (tmp_path / "hookcli_runner.py").write_text(RUNNER)
    (tmp_path / "hookcli_caller.py").write_text("from hookcli_runner import run\n")
    monkeypatch.syspath_prepend(tmp_path)
    names = ("hookcli_runner", "hookcli_caller")
    runner, caller = map(importlib.import_module, names)
    places = [f"hookcli_runner:{name}" for name in ("run", "run_both", "run_lazily")]
    monkeypatch.setattr(runs, "_PLACES", places)
    reached = bytearray(5)
    set_marker(reached)
    kept = runs.Runs()
    kept.record(reached)
    kept.begin("t")
    yield runner, caller, kept, reached
    for name in names:
        del sys.modules[name]


def again(kept, changed=(), test="t"):
    kept.replay(changed)
    kept.begin(test)


def test_a_run_is_not_made_again_unless_the_change_may_affect_it(recorded):
    runner, caller, kept, reached = recorded
    reached[1] = 1
    first, second = runner.run("a", object()), caller.run("b")
    assert list(reached) == [0, 1, 0, 1, 0]  # also what was reached before

    again(kept)
    assert [caller.run("a", object()), runner.run("b")] == [first, second]
    assert runner.calls == ["a", "b"]
    again(kept, {1, 2})
    assert runner.run("a", object()) == first

    for changed, test, request in (({3}, "t", "a"), ((), "other", "a"), ((), "t", "b")):
        again(kept, changed, test)
        assert runner.run(request, object())["request"] == request
    kept.forget("t")
    again(kept)
    assert runner.run("a", object())["number"] == 6


def test_of_runs_in_runs_the_outer_one_is_kept_and_of_what_cannot_be_pickled_none(recorded):
    runner, _, kept, _ = recorded
    both, lazy = runner.run_both("a"), next(runner.run_lazily("b"))
    places = [place.partition(":")[2] for _, place, _ in kept.known]
    assert places == ["run_both", "run"]  # the last by the generator
    again(kept)
    assert runner.run_both("a") == both
    assert next(runner.run_lazily("b")) == lazy
    assert runner.calls == ["a", "a", "b"]
