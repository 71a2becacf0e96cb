"""A bounded share of the cases of `make fuzz`, and what the harness itself must do."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from random import Random

import pytest

from tests.conftest import ROOT
from tests.fuzz import judge
from tests.fuzz.case import Case
from tests.fuzz.mutations import mutated_bytes, mutated_document, mutated_zip, zipped
from tests.fuzz.shrink import shrunk
from tests.fuzz.targets import TARGETS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="uses /proc and process groups")


def test_mutations_keep_what_they_were_given():
    document = {"a": [1, {"b": "x"}], "c": None}
    text = json.dumps(document)
    changed = [mutated_document(Random(i), document) for i in range(50)]
    assert json.dumps(document) == text
    assert sum(one != document for one in changed) > 40
    archive = zipped([("m/data.pkl", b"x"), ("m/version", b"3")])
    assert len({mutated_zip(Random(i), archive) for i in range(50)}) > 40
    assert len({mutated_bytes(Random(i), b"some bytes") for i in range(50)}) > 40


def test_a_case_is_made_smaller_while_it_fails():
    made = Case(("check", "-f", "json", "x"), {"x": b"a" * 40 + b"!" + b"b" * 40, "y": b""}, "x")
    small = shrunk(made, lambda one: b"!" in one.files.get("x", b""))
    assert small.arguments == ("check",)
    assert small.files == {"x": b"!"}


# What a command must not do, as a check in its place; and the failure that it must be.
BAD = {
    "raises": ("raise AssertionError('x')", "differs"),
    "canary": ("open('CANARY', 'w').close()", "code of a file ran"),
    "new file": ("open('x', 'w').close()", "a new file in work"),
    "temporary file": ("import tempfile; tempfile.mkstemp()", "a new file in tmp"),
    "home": ("import pathlib; (pathlib.Path.home() / 'x').mkdir()", "a new file in home"),
    "outside": ("import os; os.rmdir(os.path.abspath('../../x'))", "a file outside the folder"),
    "input": ("open('given', 'a').write('x')", "an input changed"),
    "process": ("import os, time; os.fork() or (os.setsid(), time.sleep(60))", "a process is left"),
    "memory": ("b'x' * (800 << 20)", "too much memory"),
    "nothing": ("open('given').close()", None),
}
CASES = 24
PROGRAM = """
import sys
from pathlib import Path
from tests.fuzz import judge, runner
from tests.fuzz.__main__ import fuzz
from tests.fuzz.case import Case
from tests.fuzz.targets import case as made
runner.processes.adopt_orphans()
folder = Path(sys.argv[1])
(folder / "x").mkdir()
before = runner._GRACE, runner.MEMORY
runner._GRACE, runner.MEMORY = 0.2, 700 << 20
for number, code in enumerate(sys.argv[3:]):
    case = Case(files={"given": b"x"}, check=lambda: exec(code, {}))
    outcome = runner.run(case, folder / str(number))
    print([failure.kind for failure in outcome.failures])
runner._GRACE, runner.MEMORY = before
drawn = [made(1, number) for number in range(200)]
for number, (target, case) in enumerate(drawn[:30]):
    again, same = made(1, number)
    assert again is target and (same.arguments, same.files) == (case.arguments, case.files)
print(sorted({target.name for target, _ in drawn}))
sys.stdout.flush()
sys.exit(fuzz(["--failures", str(folder / "failures"), "--jobs", "1", "--cases", sys.argv[2]]))
"""


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """One process that commits each of BAD, and then runs a few cases of seed 1."""
    folder = tmp_path_factory.mktemp("fuzz")
    codes = [code for code, _ in BAD.values()]
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder), str(CASES), *codes],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        timeout=280,
    )


def test_no_case_of_a_fixed_seed_fails(done):
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"\n{'all':18} {CASES:>8}" in done.stdout


def test_the_checks_find_what_a_command_must_not_do(done):
    lines = done.stdout.splitlines()[: len(BAD)]
    found = dict(zip(BAD, map(ast.literal_eval, lines), strict=True))
    for name, (_, kind) in BAD.items():
        assert [one[: len(kind)] for one in found[name]] == [kind] if kind else not found[name], (
            name
        )


def test_every_target_has_its_share_and_a_number_gives_the_same_case_each_time(done):
    drawn = ast.literal_eval(done.stdout.splitlines()[len(BAD)])
    assert drawn == sorted(target.name for target in TARGETS if target.share)


def test_a_report_may_precede_the_error_of_the_next_file():
    said = (2, "{}\n", "error: x\n  --> y\nhint: z\n")
    files = ("-f", "json=/dev/stdout", "-f", "html=/dev/full")
    assert not judge.judged(Case(("render", "r.json", *files)), *said)
    assert judge.judged(Case(("render", "r.json", "-f", "json")), *said)


TRACEBACK = """Traceback (most recent call last):
  File "/x/hookcli/cli/app.py", line 3, in run
KeyError: 'x'
"""


@pytest.mark.parametrize(
    ("status", "out", "err", "kind"),
    [
        (4, "", "error: x\n  --> y\nhint: z\n", "status 4"),
        (2, "", "error: x\n  --> y\nhint: z\n", None),
        (2, "", "error: x\n", "status 2 without three lines"),
        (2, "", "error: x\n  --> \nhint: z\n", "status 2 without three lines"),
        (2, "{}\n", "error: x\n  --> y\nhint: z\n", "status 2 with a report"),
        (3, "", TRACEBACK + "error: x\n  --> y\nhint: z", "a traceback"),
        (0, "{}\n", "", None),
        (0, "{", "", "stdout is not whole: json"),
        (0, '{"a": NaN}', "", "stdout is not whole: json"),
        (-11, "", "", "status -11"),
    ],
)
def test_what_a_command_prints_is_judged(status, out, err, kind):
    failures = judge.judged(Case(("inspect", "m.py", "-f", "json")), status, out, err)
    assert [one.kind[: len(kind)] for one in failures] == [kind] if kind else not failures
