"""`make near` runs the tests that reach what changed, the fastest first, for a limited time."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import time

import pytest

from tests.conftest import ROOT
from tests.near import marks
from tests.near.changes import changed_functions, changed_lines
from tests.near.choice import choose
from tests.near.map import MOST, Map, ranked, read, write

TEXT = '''"""A module."""
LIMIT = 3


def first(x):
    """Doc."""
    return x + LIMIT


class Words:
    size = 2

    @property
    def longest(self):
        def inner():
            return 1
        return inner()

    async def later(self):
        yield 2
'''


def test_functions_have_the_names_of_what_they_are_in():
    names = [name for name, _ in marks.functions(ast.parse(TEXT))]
    assert names == ["first", "Words.longest", "Words.longest.inner", "Words.later"]


@pytest.mark.parametrize(
    ("lines", "names"),
    [
        ({5}, {"first"}), ({7}, {"first"}), ({2}, {""}), ({11}, {""}), ({13}, {"Words.longest"}),
        ({16}, {"Words.longest.inner"}), ({17, 20}, {"Words.longest", "Words.later"}),
        (set(), {""}),
    ],
)  # fmt: skip
def test_a_line_belongs_to_the_innermost_function(lines, names):
    assert changed_functions(TEXT, lines) == names


def test_a_file_that_cannot_be_parsed_changed_as_a_whole():
    assert changed_functions("def f(:\n", {1}) == {""}


def test_a_marked_module_notes_its_calls_and_is_else_the_same(monkeypatch):
    path = str(ROOT / "hookcli" / "text.py")
    first = marks.files()[path]
    reached = bytearray(marks.size())
    monkeypatch.setattr("builtins._reached_", reached, raising=False)
    names: dict = {}
    exec(compile(marks.marked(TEXT, path), path, "exec"), names)
    assert not any(reached)
    assert names["first"](1) == 4
    assert names["first"].__doc__ == "Doc."
    assert names["first"].__code__.co_firstlineno == 5
    assert names["Words"]().longest == 1
    assert [i - first for i, was in enumerate(reached) if was] == [0, 1, 2]


def test_no_two_files_share_a_number():
    names = marks.names()
    assert {"hookcli/text.py::nearest", "hookcli/text.py::closest"} <= {*names.values()}
    assert max(names) < marks.size()


@pytest.fixture
def repository(tmp_path):
    """A repository with a commit."""
    for path, text in {"hookcli/a.py": TEXT, "hookcli/b.py": "B = 1\n", "gone.py": "x\n"}.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "-A"], [*who, "commit", "-q", "-m", "x"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    return tmp_path


def test_lines_that_differ_from_the_last_commit_are_found(repository):
    changed = TEXT.replace("x + LIMIT", "x - LIMIT").replace("    size = 2\n\n", "")
    (repository / "hookcli" / "a.py").write_text(changed)
    (repository / "new file.py").write_text("")
    (repository / "gone.py").unlink()
    subprocess.run(["git", "add", "hookcli"], cwd=repository, check=True)
    found = changed_lines(repository)
    assert found == {"hookcli/a.py": {7, 10, 11}, "new file.py": set(), "gone.py": {0, 1}}


ROWS = [
    {"test": "tests/a/test_x.py::test[slow]", "seconds": 2.0, "reached": [1, 2]},
    {"test": "tests/a/test_x.py::test[fast]", "seconds": 0.1, "reached": [1]},
    {"test": "tests/b/test_y.py::test", "seconds": 0.5, "reached": [1]},
]
NAMES = {1: "hookcli/a.py::first", 2: "hookcli/a.py::Words.longest"}


def test_a_map_is_the_same_after_it_was_written(tmp_path):
    made = Map().merged(ROWS, NAMES)
    write(made, tmp_path / "map.gz")
    assert read(tmp_path / "map.gz") == made
    assert read(tmp_path / "none") == Map()


def test_the_fastest_case_of_each_test_comes_first():
    known = Map().merged(ROWS, NAMES)
    fast, slow, other = ROWS[1]["test"], ROWS[0]["test"], ROWS[2]["test"]
    assert known.tests["hookcli/a.py::first"] == [fast, other, slow]
    assert ranked([slow, other, "tests/c.py::unknown"], known.seconds)[0] == other


def test_a_later_record_replaces_what_is_known_of_its_tests():
    again = [{"test": ROWS[1]["test"], "seconds": 3.0, "reached": [2]}]
    known = Map().merged(ROWS, NAMES).merged(again, NAMES)
    assert ROWS[1]["test"] not in known.tests["hookcli/a.py::first"]
    assert ROWS[1]["test"] in known.tests["hookcli/a.py::Words.longest"]
    assert known.seconds[ROWS[1]["test"]] == 3.0


def test_a_map_has_a_limited_number_of_tests_of_a_function():
    rows = [{"test": f"t.py::t{i}", "seconds": i, "reached": [1]} for i in range(MOST + 9)]
    known = Map().merged(rows, NAMES)
    assert len(known.tests["hookcli/a.py::first"]) == len(known.seconds) == MOST
    assert "t.py::t0" in known.seconds


def test_tests_of_a_changed_function_are_chosen(repository):
    known = Map().merged(ROWS, NAMES)
    (repository / "hookcli" / "a.py").write_text(TEXT)
    of_inner = choose(repository, {"hookcli/a.py": {14}}, known)
    assert of_inner == [ROWS[0]["test"]]
    of_constant = choose(repository, {"hookcli/a.py": {2}}, known)
    assert set(of_constant) == {row["test"] for row in ROWS}


@pytest.mark.parametrize(
    ("path", "chosen"),
    [
        ("hookcli/formats/html/bundle.py", ["tests/formats/html"]),
        ("hookcli/formats/grid.py", ["tests/formats"]),
        ("hookcli/formats/html/assets/js/frame/shell.js", ["tests/formats/html"]),
        ("hookcli/plain_files.py", ["tests/test_plain_files.py"]),
        ("tests/spec/test_selectors.py", ["tests/spec/test_selectors.py"]),
        ("tests/rules/judging.py", ["tests/rules"]),
        ("tests/conftest.py", []),
        ("Makefile", []),
    ],
)
def test_without_a_map_the_tests_beside_a_file_are_chosen(path, chosen):
    found = choose(ROOT, {path: set()}, Map())
    assert found[-1:] == chosen[-1:]


def test_a_changed_page_runs_its_examples():
    found = choose(ROOT, {"docs/trust.md": {3}}, Map())
    assert found[0].endswith("test_console_blocks_show_what_comes_out[docs/trust.md]")


INNER = """
import pytest
@pytest.mark.parametrize("n", range(3))
def test_n(n): print(f"ran {n}")
def test_other(): assert False
"""


@pytest.mark.parametrize(("left", "said"), [(60, "2 passed, 2 deselected"), (-1, "2 skipped")])
def test_the_chosen_tests_run_in_their_order_until_the_time_is_over(tmp_path, left, said):
    (tmp_path / "test_it.py").write_text(INNER)
    choice = tmp_path / "choice.json"
    tests = ["test_it.py::test_n[2]", "test_it.py::test_n[0]"]
    choice.write_text(json.dumps({"tests": tests, "until": time.time() + left}))
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "-p"]
    command += ["no:hookcli", "-p", "tests.near.chosen", "-p", "no:xdist", "test_it.py"]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "HOOKCLI_TEST_CHOSEN": str(choice)}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert said in done.stdout, done.stdout + done.stderr
    ran = [
        line.strip(".") for line in done.stdout.splitlines() if "ran" in line and "=" not in line
    ]
    assert ran == (["ran 2", "ran 0"] if left > 0 else [])
