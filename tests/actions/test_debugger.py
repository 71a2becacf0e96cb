"""The debugger at a terminal of another session: when it asks, and how it ends."""

from __future__ import annotations

import os
import pty
import sys
import tempfile
import termios
from types import SimpleNamespace

import pytest

from hookcli.actions import debugger as debugger_file
from hookcli.actions.debugger import Debugger, breakpoint_
from hookcli.errors import LeftDebugger
from hookcli.spec.request import Terminal


@pytest.fixture
def terminal():
    """A terminal, and the side at which its user sits."""
    user, screen = pty.openpty()
    with tempfile.TemporaryFile() as prompt:
        prompt.write(b"\0")
        prompt.flush()
        yield Terminal(screen, prompt.fileno()), user
    os.close(user)
    os.close(screen)


@pytest.mark.parametrize("typed", ["q\n", "quit\n", "exit\n", "\x04"])
def test_quitting_ends_the_run_and_the_parent_knows_who_asks(terminal, typed):
    ends, user = terminal
    asked, answers = [], []

    class Watched(Debugger):
        def message(self, msg):
            answers.append(msg)
            super().message(msg)

        def precmd(self, line):
            asked.append(ends.asks())
            return super().precmd(line)

    mine = Watched(ends, "hooks.yaml:3", readrc=False)
    os.write(user, b"p 6 * 7\n")
    os.write(user, typed.encode())
    before = sys.gettrace()
    mine.reset()
    with pytest.raises(LeftDebugger) as caught:
        mine.interaction(sys._getframe(), None)
    assert sys.gettrace() is before
    assert "hooks.yaml:3" in caught.value.place
    assert asked == [True, True]
    assert not ends.asks()
    assert "42" in answers


def test_a_command_that_goes_on_does_not_end_the_run(terminal):
    ends, user = terminal

    class Stepping(Debugger):
        def do_step(self, arg):  # without sys.settrace
            return True

    mine = Stepping(ends, "hooks.yaml:3", readrc=False)
    mine.reset()
    os.write(user, b"step\n")
    mine.interaction(sys._getframe(), None)
    assert not ends.asks()
    assert termios.tcgetattr(ends.screen)  # it is still open


@pytest.mark.parametrize("own", [True, False], ids=["a terminal", "the user's process"])
@pytest.mark.parametrize("data_only", [True, False])
def test_the_hook_opens_one_debugger_which_sees_the_event(terminal, monkeypatch, own, data_only):
    opened = []

    def set_trace(self):
        opened.append((type(self), self.readrc, sys._getframe(1).f_locals["event"]))

    class Recorded(debugger_file.pdb.Pdb):
        def __init__(self, *args, readrc, **more):
            self.readrc = readrc
            super().__init__(*args, readrc=readrc, **more)

    monkeypatch.setattr(debugger_file.pdb, "Pdb", Recorded)
    monkeypatch.setattr(debugger_file.pdb.Pdb, "set_trace", set_trace)
    monkeypatch.setattr(Debugger, "set_trace", set_trace)
    monkeypatch.setattr(Debugger, "readrc", not data_only, raising=False)
    tools = SimpleNamespace(
        terminal=terminal[0] if own else None, place="hooks.yaml:3", data_only=data_only
    )
    do = breakpoint_(None, tools)
    do("first")
    do("second")
    kind = Debugger if own else Recorded
    assert opened == [(kind, not data_only, "first"), (kind, not data_only, "second")]
