"""Environments that are empty or odd: the report is the same, or an error names the variable."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import pytest

from tests.conftest import _AT_START
from tests.forked.client import server

from .commands import COMMANDS, MODEL, Command, checked, is_whole, run_real

ODD = {
    "HOME": "/nonexistent/home", "XDG_CACHE_HOME": "/dev/null/x", "XDG_CONFIG_HOME": "a b",
    "XDG_RUNTIME_DIR": "", "TERM": "no-such\x1b[0m", "LINES": "-3", "COLUMNS": "abc",
    "A\udcff": "\udcfe\n", "PYTHONHASHSEED": "x", "OMP_NUM_THREADS": "abc", "LANG": "xx_YY.nope",
    "LC_ALL": "nope", "PATH": "", "SHELL": "", "USER": "", "LOGNAME": "", "MASTER_PORT": "x",
    "MASTER_ADDR": "nowhere.invalid", "CUDA_VISIBLE_DEVICES": "zz", "HF_HOME": "/dev/null",
    "TORCH_HOME": "/nonexistent", "FORCE_COLOR": "",
}  # fmt: skip


def steady(text: str) -> str:
    """The report without what may differ: its environment."""
    report = json.loads(text)
    report.pop("environment", None)
    return json.dumps(report)


@pytest.mark.parametrize(
    ("name", "env"), [("diff", ODD), ("ranks", {}), ("ranks", ODD), ("run", {})]
)
def test_no_variable_changes_what_a_command_does(name, env, place):
    kept = {"TMPDIR": str(place.temporary)} if env else {}
    outcome = checked(COMMANDS[name], replace(place, env={**env, **kept}))
    assert outcome.status == COMMANDS[name].status


def test_a_user_s_command_needs_no_variable(place):
    usual = checked(COMMANDS["inspect"], place)
    report = (place.folder / "out.json").read_text()
    (place.folder / "out.json").unlink()
    bare = run_real(COMMANDS["inspect"], replace(place, env={}))
    assert (bare.status, bare.out) == (0, usual.out)
    assert steady((place.folder / "out.json").read_text()) == steady(report)


@pytest.mark.parametrize("columns", ["-1", "1"])
def test_any_width_shows_the_report(columns, place):
    outcome = checked(COMMANDS["render"], place.with_env(COLUMNS=columns))
    assert outcome.status == 0
    assert "first" in outcome.out.replace("\n", "") or columns == "1"


LONG = "/".join(["x" * 60] * 8)  # a Unix socket has at most 108 characters


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("ranks", "\udcff"),
        ("diff", "\udcff"),
        ("ranks", LONG),
        ("diff", "a b\n'%s'"),
        ("run", LONG),
    ],
    ids=["ranks-bytes", "diff-bytes", "ranks-long", "diff-spaces", "run-long"],
)
def test_a_folder_for_temporary_files_may_have_any_name(name, folder, place):
    temporary = place.temporary / folder
    temporary.mkdir(parents=True)
    there = replace(place, temporary=temporary).with_env(TMPDIR=str(temporary))
    assert checked(COMMANDS[name], there).status == COMMANDS[name].status


@pytest.mark.parametrize("kind", ["file", "unwritable"])
def test_another_folder_is_used_if_there_is_none_at_tmpdir(kind, place):
    if kind == "file":
        there = place.with_env(TMPDIR=str(place.folder / "model.py"))
    else:
        place.temporary.chmod(0o555)
        there = replace(place, faults={"no_override": True})
    assert checked(COMMANDS["run"], there).status == 0


NAMED = MODEL.replace("class Net", "class Größe").replace("return Net", "return Größe").replace(
    "self.unused = nn.Linear(2, 2)", "self.add_module('schön🔥', nn.Linear(2, 2))"
)  # fmt: skip
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.fixture(scope="module")
def ascii_server():
    """Python as it starts in a locale without Unicode: names of files have undecoded bytes."""
    late = {"HOOKCLI_TEST_LATE_IMPORTS": "1"}
    return server(*sorted({**_AT_START, **ASCII, **late}.items()))


def test_a_locale_without_unicode_gets_escapes_and_files_get_all(place, ascii_server):
    for name in ("modèle_ü🔥.py", os.fsdecode(b"m\xff.py")):
        (place.folder / name).write_text(NAMED)
        output = os.fsdecode(os.fsencode(name) + b".json")
        command = Command(
            ("inspect", _undecoded(name), "-f", f"json={_undecoded(output)}", "-f", "table")
        )
        outcome = checked(replace(command, writes=(output,)), in_ascii(place, ascii_server))
        assert outcome.status == 0
        assert "Gr\\xf6\\xdfe" in outcome.out
        assert "sch\\xf6n\\U0001f525" in outcome.out
        report = json.loads((place.folder / output).read_text())
        assert report["model"]["type"] == "Größe"


def in_ascii(place, ascii_server):
    return replace(place, server=ascii_server).with_env(**ASCII)


def _undecoded(name: str) -> str:
    """The name as Python has it if it cannot decode its bytes."""
    return os.fsencode(name).decode("ascii", "surrogateescape")


def test_names_of_folders_scripts_and_missing_files_are_escaped(place, ascii_server):
    there = in_ascii(place, ascii_server)
    (place.folder / "trüb.py").write_text((place.folder / "train.py").read_text())
    run = Command(("run", "-f", f"json={_undecoded('ü.json')}", _undecoded("trüb.py")), ("ü.json",))
    assert checked(run, there).status == 0
    assert is_whole(place.folder / "ü.json")
    diff = Command(("diff", "model.py", "other.py", "--save", _undecoded("ß")), (), ("ß",), 1)
    assert checked(diff, there).status == 1
    assert is_whole(place.folder / "ß" / "b.json")
    missing = checked(Command(("inspect", _undecoded("nö.py"))), there)
    assert missing.status == 2
    assert missing.error()[0] == "file not found: n\\udcc3\\udcb6.py"
