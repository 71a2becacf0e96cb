"""`-o FILE`: which format the file gets, the same in every command."""

from __future__ import annotations

import dataclasses
import importlib
import json
import typing

import pytest

from hookcli.cli.commands import COMMANDS
from hookcli.cli.flags.options import OutputFlags
from hookcli.cli.output import Target, deliver, parse_targets
from hookcli.console import Console
from hookcli.errors import RequestError
from hookcli.formats.format import Format
from hookcli.formats.registry import FORMATS
from hookcli.formats.results import KINDS
from hookcli.formats.view import View
from tests.conftest import run_cli
from tests.formats.fabricate import GRADS

SUFFIXES = {".html": "html", ".json": "json", ".md": "markdown", ".svg": "svg", ".xml": "junit",
            ".sarif": "sarif"}  # fmt: skip
NET = """
import torch
example_inputs = torch.ones(2, 3)
def model():
    return torch.nn.Linear(3, 1)
"""
TRAIN = """
import torch
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for _ in range(2):
    optimizer.zero_grad()
    net(torch.ones(2, 3)).sum().backward()
    optimizer.step()
"""
RUNS = {
    "inspect": ["net.py"],
    "grads": ["net.py"],
    "trace": ["net.py"],
    "check": ["net.py"],
    "diff": ["net.py", "net.py"],
    "render": ["report.json"],
    "run": ["train.py"],
    "follow": ["trained.json"],
}
ASKS_A_RUN = {"ask"}  # which goes on: tests/cli/following


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a model, a script and a saved report."""
    folder = tmp_path_factory.mktemp("suffix")
    (folder / "net.py").write_text(NET)
    (folder / "train.py").write_text(TRAIN)
    assert run_cli("inspect", "net.py", "-f", "json", "-o", "report.json", cwd=folder).status == 0
    assert run_cli("run", "-q", "-o", "trained.json", "train.py", cwd=folder).status == 0
    return folder


def asked(*, formats=(), output=None, **more):
    """The targets as (format, name of the file) pairs; the files are never written."""
    flags = OutputFlags(formats=tuple(formats), output=None if output is None else str(output))
    targets = parse_targets(flags, read=[], console=Console(), **more)
    return [(target.format, None if target.file is None else target.file.name)
            for target in targets]  # fmt: skip


def takes_output(command):
    """Whether a parameter of the command is OutputFlags, whose flags are -f and -o."""
    module = importlib.import_module(f"hookcli.cli.commands.{command}")
    function = getattr(module, command, None) or getattr(module, f"{command}_")
    hints = typing.get_type_hints(function, include_extras=True).values()
    return OutputFlags in {hint.__origin__ if hasattr(hint, "__origin__") else hint
                           for hint in hints}  # fmt: skip


def test_every_command_that_writes_a_report_is_tried_here():
    assert {command for command in COMMANDS if takes_output(command)} == {
        *RUNS, *ASKS_A_RUN,
    }  # fmt: skip


@pytest.mark.parametrize("command", RUNS)
def test_a_suffix_means_the_same_in_every_command(command, folder):
    done = run_cli(command, "-o", f"{command}.json", *RUNS[command], cwd=folder)
    written = json.loads((folder / f"{command}.json").read_text())
    assert written["schema"].startswith("hookcli.")
    assert done.out == ""
    note = f"note: {command}.json gets the format json, because of its suffix: pass `-f table`"
    assert (note in done.err) == (command != "run")  # run writes JSON anyway


@pytest.mark.parametrize("command", RUNS)
def test_another_suffix_keeps_the_default_of_the_command(command, folder):
    done = run_cli(command, "-o", f"{command}.txt", *RUNS[command], cwd=folder)
    assert (folder / f"{command}.txt").read_text().startswith("{") == (command == "run")
    assert "because of its suffix" not in done.err


def test_the_suffixes_are_those_of_the_rows():
    assert {row.suffix: name for name, row in FORMATS.items() if row.suffix} == SUFFIXES


NOUNS = {"weights": "the report of weights", "weights_diff": "the comparison of weights"}


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_suffix_chooses_a_format_that_the_result_supports(kind, suffix, tmp_path, capsys):
    default = "json" if kind == "run" else "table"
    name = SUFFIXES[suffix] if kind in FORMATS[SUFFIXES[suffix]].kinds else default
    file = tmp_path / f"x{suffix.upper()}"
    assert asked(output=file, kinds=[kind], default=default) == [(name, file.name)]
    said = capsys.readouterr().err
    if SUFFIXES[suffix] == default:
        assert said == ""
    elif name == default:
        why = f"{NOUNS.get(kind, 'diff')} does not support format '{SUFFIXES[suffix]}'"
        assert f"gets the format table: {why}" in said
    else:
        assert f"gets the format {name}, because of its suffix: pass `-f {default}`" in said


def test_a_format_that_is_named_counts_more_than_the_suffix(tmp_path, capsys):
    file = tmp_path / "x.json"
    assert asked(formats=["table"], output=file) == [("table", "x.json")]
    assert "gets the format table, because of `-f table`: pass" in capsys.readouterr().err
    for name, other in [("table", "x.txt"), ("sarif", "x.json"), ("json", "x.html")]:
        assert asked(formats=[name], output=tmp_path / other) == [(name, other)]
        assert capsys.readouterr().err == ""


def test_the_file_can_be_one_of_several(tmp_path):
    page, report = tmp_path / "x.html", tmp_path / "x.json"
    assert asked(formats=[f"html={page}"], output=report) == [
        ("html", "x.html"), ("json", "x.json"),
    ]  # fmt: skip
    assert asked(formats=[f"html={page}", "tree"], output=report) == [
        ("html", "x.html"), ("tree", "x.json"),
    ]  # fmt: skip
    assert asked(formats=["table=-"], output=report) == [("table", None), ("json", "x.json")]
    assert asked(formats=[f"json={report}"], output="-") == [("json", "x.json"), ("table", None)]


def test_the_file_of_two_formats_is_an_error(tmp_path):
    with pytest.raises(RequestError, match="-o cannot be combined with several formats"):
        asked(formats=["json", "table"], output=tmp_path / "x.json")
    with pytest.raises(RequestError, match="two formats cannot share a file"):
        asked(formats=[f"json={tmp_path / 'x'}"], output=tmp_path / "x")


def test_a_format_can_be_bytes(tmp_path, monkeypatch, capsysbinary):
    row = Format("raw", "bytes", "a test", "", renderer="tests.raw:render")
    data = b"\x89PNG\r\n\xff"
    monkeypatch.setattr("hookcli.formats.format._function", lambda name: lambda result, view: data)
    monkeypatch.setitem(FORMATS, "raw", row)
    file = tmp_path / "x.raw"
    targets = [Target("raw", file), Target("raw", None)]
    deliver(GRADS, targets, View(), Console())
    assert file.read_bytes() == data
    assert capsysbinary.readouterr().out == data


def test_a_result_that_a_format_does_not_support_is_an_error(tmp_path):
    other = dataclasses.replace(FORMATS["svg"], kinds=("diff",))
    with pytest.raises(LookupError, match="svg does not support a report"):
        other.render(GRADS, View())


def test_the_file_of_a_snapshot_is_no_report(folder):
    done = run_cli("snapshot", "net.py", "-o", "checks.json", cwd=folder)
    assert done.status == 0, done.err
    assert "suffix" not in done.err
    assert "checks:" in (folder / "checks.json").read_text()
