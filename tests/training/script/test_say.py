"""A line on stderr while the user's script runs, whatever the script did to the stream."""

from __future__ import annotations

import os
import sys

import pytest

from hookcli.training.script.say import say


class Broken:
    def flush(self):
        raise ValueError("I/O operation on closed file")


@pytest.mark.parametrize("stream", [None, Broken(), object()], ids=["none", "broken", "no stream"])
def test_the_line_is_written_past_the_scripts_own_stream(monkeypatch, capfd, stream):
    monkeypatch.setattr(sys, "stderr", stream)
    say("two\nlines \ud800")
    monkeypatch.undo()
    assert capfd.readouterr().err == "two lines \\ud800\n"


def test_what_the_script_wrote_before_comes_first(capfd):
    sys.stderr.write("before ")
    say("after")
    assert capfd.readouterr().err == "before \nafter\n"  # it is a file, whose last byte is known


def test_a_closed_stderr_is_no_error_of_the_script(monkeypatch, capfd):
    def write(fd, data):
        raise OSError(9, "Bad file descriptor")

    monkeypatch.setattr(os, "write", write)
    say("lost")
    monkeypatch.undo()
    assert capfd.readouterr().err == ""
