"""Commands at once in one folder; `python -m tests.faults.at_once` starts twenty as users do."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.conftest import forks, run_python

from . import at_once
from .at_once import CASES, all_at_once
from .commands import is_whole
from .signals import listing

MANY = Path(__file__).with_name("many.py")


@pytest.mark.parametrize(
    ("case", "runs"), [("one output", 6), ("one baseline", 4), ("ranks", 2), ("one diff folder", 2)]
)
def test_commands_at_once_write_whole_files(case, runs, place):
    chosen = CASES[case]
    before = listing(place.folder)
    commands = [chosen.arguments(i) for i in range(runs)]
    done = run_python(MANY, json.dumps(commands), cwd=place.folder)
    assert done.status == 0, done.err
    results = json.loads(done.out)
    assert {status for status, _ in results} <= chosen.statuses, results
    assert not any("Traceback" in err for _, err in results)
    after = listing(place.folder)
    assert {name: after[name] for name in before} == before
    assert after.keys() - before.keys() == chosen.writes(runs)
    assert all(is_whole(place.folder / name) for name in chosen.writes(runs))
    assert forks().left_over() == []


def test_the_program_that_starts_twenty_notices_what_is_wrong(monkeypatch):
    """Without hookcli: the commands are Python's own, one of which leaves a half file."""
    wrong = (
        "import sys, os; open('out.json', 'w').write('{' * (sys.argv[1] == '1')); open('x', 'w')"
    )
    monkeypatch.setattr(at_once, "HOOKCLI", (sys.executable, "-c", wrong))
    case = at_once.Case(lambda i: (str(i),), lambda _: {"out.json", "missing.json"})
    found = all_at_once(case, 2).problems
    assert "missing.json is missing" in found
    assert "x is left" in found
    assert "out.json is not whole" in found
