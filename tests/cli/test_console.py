"""What the console writes to streams of other kinds than a file or a terminal."""

from __future__ import annotations

import io
import os
import select
import sys

import pytest

from hookcli.console import Console, escape, settle_with, stdout_is_closed


@pytest.mark.parametrize(("write", "stream"), [("out", "stdout"), ("err", "stderr")])
def test_a_line_of_progress_is_erased_before_anything_is_written(monkeypatch, write, stream):
    written = io.StringIO()  # has no buffer of bytes, as a stream of a notebook
    monkeypatch.setattr(sys, stream, written)
    settle_with(lambda: written.write("erased\n"))
    try:
        getattr(Console(), write)("é\ud800")
    finally:
        settle_with(None)
    getattr(Console(), write)("more")
    end = "\n" if write == "err" else ""
    assert written.getvalue() == f"erased\né\\ud800{end}more{end}"


def test_without_poll_or_a_descriptor_stdout_is_not_known_to_be_closed(monkeypatch):
    with monkeypatch.context() as change:
        change.setattr(sys, "stdout", io.StringIO())
        assert not stdout_is_closed()
    with monkeypatch.context() as change:
        change.setattr(sys, "stdout", sys.__stdout__)
        change.delattr(select, "poll", raising=False)
        assert not stdout_is_closed()


@pytest.mark.parametrize("command", ["##vso[task.setvariable]", "##[error]", "##teamcity[x]"])
def test_no_text_has_the_start_of_a_command_of_azure_or_teamcity(command):
    assert "##" not in escape(f"│ {command}")
    assert escape("a ## b ##") == "a ## b ##"


@pytest.mark.skipif(sys.platform == "win32", reason="uses a pseudo-terminal")
@pytest.mark.parametrize(
    ("before", "shown"),
    [
        ("", ["ours", ""]),
        ("done\n", ["done", "ours", ""]),
        ("5", ["5", "ours", ""]),
        ("\rstep 4", ["step 4", "ours", ""]),
        ("x" * 39, ["x" * 39, "ours", ""]),
        ("x" * 40, ["x" * 40, "ours", ""]),
    ],
)
def test_a_report_begins_on_a_line_of_its_own_in_a_terminal(before, shown, monkeypatch):
    from tests.worker.terminal import Terminal, seen

    monkeypatch.delenv("TERM", raising=False)
    terminal = Terminal(columns=40)
    with os.fdopen(os.dup(terminal.slave), "w", newline="") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        stream.write(before)
        console = Console()
        console.begin_line()
        console.err("ours")
        monkeypatch.undo()
    try:
        assert seen(terminal.read(), columns=40) == shown
    finally:
        terminal.close()
