"""`do: breakpoint` from the command line: Python's debugger at the user's terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

import pytest

from tests.conftest import ROOT, forks
from tests.worker.running import LONG, heed_signals

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc tells what is stopped")

PROMPT = "(Pdb) "
NET = """\
import time
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 3), nn.Linear(3, 2)

    def forward(self, x):
        try:
            x = self.a(x)
        except Exception:
            x = torch.zeros(2, 3)
        return self.b(x)
"""
AT_TERMINAL = """\
import fcntl, runpy, sys, termios
fcntl.ioctl(2, termios.TIOCSCTTY, 0)
sys.argv[0] = 'hookcli'
runpy.run_module('hookcli', run_name='__main__', alter_sys=True)
"""


class Session:
    """The command at a terminal of its own, which is the controlling one of its session.

    It runs in a fork that has torch already; if `real`, it is started as a user does.
    """

    def __init__(self, folder: Path, *args: str, stdin=None, real: bool = False) -> None:
        self.master, self.slave = pty.openpty()
        settings = termios.tcgetattr(self.slave)
        # Ctrl-C would discard what the command writes just after its signal.
        settings[3] |= termios.NOFLSH
        termios.tcsetattr(self.slave, termios.TCSANOW, settings)
        self.before = termios.tcgetattr(self.slave)
        self.seen = ""
        self._out = tempfile.TemporaryFile()
        env = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
        streams = (self.slave if stdin is None else stdin, self._out, self.slave)
        if real:
            names = ("stdin", "stdout", "stderr")
            self._process = subprocess.Popen(
                [sys.executable, "-c", AT_TERMINAL, *args], cwd=folder, env=env,
                start_new_session=True, preexec_fn=heed_signals,
                **dict(zip(names, streams, strict=True)),
            )  # fmt: skip
        else:
            self._process = forks().start(streams, [*args], folder, env, session="terminal")
        self.pid = self._process.pid

    def wait_for(self, text: str) -> str:
        """What came until this text stood there, with it."""
        assert self.reads(text, LONG), self.seen
        before, _, self.seen = self.seen.partition(text)
        return before + text

    def reads(self, text: str, seconds: float) -> bool:
        """Whether this text comes in time."""
        until = time.monotonic() + seconds
        while text not in self.seen and time.monotonic() < until:
            if select.select([self.master], [], [], 0.1)[0]:
                self.seen += os.read(self.master, 1 << 16).decode().replace("\r\n", "\n")
        return text in self.seen

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def press_ctrl_c(self) -> str:
        """What came until the debugger asked again."""
        # A signal that comes just before Python waits for input is not seen until the next one.
        for _ in range(9):
            self.type("\x03")
            if self.reads("KeyboardInterrupt", LONG / 9):
                break
        return self.wait_for(PROMPT)

    def end(self) -> tuple[int, str, str]:
        """(status, stdout, what is left on the terminal)."""
        status = self._process.wait(LONG)
        self._out.seek(0)
        out = self._out.read().decode()
        while select.select([self.master], [], [], 0.2)[0]:
            self.seen += os.read(self.master, 1 << 16).decode().replace("\r\n", "\n")
        assert termios.tcgetattr(self.slave) == self.before
        return status, out, self.seen

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._out.close()
        os.close(self.master)
        os.close(self.slave)


@pytest.fixture
def session(tmp_path):
    opened = []

    def start(hooks: str, *args: str, command: str = "trace", **more) -> Session:
        (tmp_path / "net.py").write_text(NET)
        (tmp_path / "hooks.yaml").write_text(f"hooks: [{hooks}]\n")
        opened.append(
            Session(
                tmp_path, command, "net.py:Net", "-c", "hooks.yaml", "-i", "f32[2,4]", *args, **more
            )
        )
        return opened[-1]

    yield start
    for one in opened:
        one.close()


AT_A = "{kind: forward, at: a, do: breakpoint}"


def state(pid: int) -> str:
    """The letter of a process's state, "T" where it is stopped."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]


def stopped(pid: int) -> bool:
    """Whether a process and its only child are stopped."""
    (child,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return state(pid) == state(int(child)) == "T"


@pytest.mark.parametrize("real", [False, True], ids=["forked", "real"])
def test_commands_see_the_event_and_c_goes_on(session, real):
    asked = session(AT_A, "-f", "json", real=real)
    asked.wait_for(PROMPT)
    asked.type("p event.kind, event.target, tuple(event.value.shape)\n")
    assert "('forward', 'a', (2, 3))" in asked.wait_for(PROMPT)
    asked.type("print(6 * 7)\n")
    assert "\n42\n" in asked.wait_for(PROMPT)
    asked.type("c\n")
    status, out, _ = asked.end()
    assert status == 0
    assert [event["target"] for event in json.loads(out)["events"]] == ["a"]  # the report alone


def test_every_firing_asks(session):
    asked = session("{kind: [forward, tensor], at: ['b:output', b], do: breakpoint}".replace(
        "{kind: [forward, tensor], at: ['b:output', b]", "{kind: forward, at: '*'"
    ))  # fmt: skip
    for target in ("a", "b", ""):
        asked.wait_for(PROMPT)
        asked.type("p event.target\n")
        assert f"\n{target!r}\n" in asked.wait_for(PROMPT)
        asked.type("c\n")
    assert asked.end()[0] == 0


def test_a_gradient_can_be_looked_at_in_backward(session):
    asked = session("{kind: tensor, at: b.bias, do: breakpoint}", command="grads")
    asked.wait_for(PROMPT)
    asked.type("p event.phase, event.value.shape\nc\n")
    assert "('backward', torch.Size([2]))" in asked.wait_for(PROMPT)
    assert asked.end()[0] == 0


@pytest.mark.parametrize("keys", ["q\n", "exit\n", "\x04"], ids=["q", "exit", "Ctrl-D"])
def test_leaving_the_debugger_ends_the_run(session, keys):
    asked = session(AT_A)
    asked.wait_for(PROMPT)
    asked.type(keys)
    status, out, err = asked.end()
    assert (status, out) == (130, "")
    lines = err.splitlines()[-3:]
    assert lines == [
        "error: the run was ended from the debugger, in forward, in a",
        "  --> hooks.yaml:1: hooks[0].do",
        "hint: leave the debugger with c to let the run go on",
    ]
    assert "Traceback" not in err


def test_ctrl_c_ends_the_debugger_s_command_and_not_the_run(session):
    asked = session(AT_A)
    asked.wait_for(PROMPT)
    assert "KeyboardInterrupt" in asked.press_ctrl_c()
    # One long sleep could miss the signal: Python looks for signals before the sleep begins.
    lines = "import time", "print('it ' 'sleeps', flush=True)", "while True: time.sleep(0.01)"
    asked.type(f"exec({chr(10).join(lines)!r})\n")
    asked.wait_for("it sleeps\n")
    assert "KeyboardInterrupt" in asked.press_ctrl_c()
    asked.type("c\n")
    assert asked.end()[0] == 0


SLOW = """\
import time
def slow(event):
    print('it sleeps', flush=True)
    time.sleep(1000)
"""


def test_ctrl_c_while_the_model_runs_ends_the_run(session, tmp_path):
    (tmp_path / "slow.py").write_text(SLOW)
    asked = session(
        "{kind: forward, at: a, do: breakpoint}, "
        "{kind: forward, at: b, do: {call: {fn: slow.py:slow, signature: event}}}"
    )
    asked.wait_for(PROMPT)
    asked.type("c\n")
    asked.wait_for("it sleeps")
    asked.type("\x03")
    status, out, err = asked.end()
    assert (status, out) == (130, "")
    assert "interrupted, in forward, in b" in err


@pytest.mark.slow
def test_the_time_at_the_prompt_does_not_count(session):
    for seconds in (3, 60):  # on a busy machine the run itself may need three
        until = time.monotonic() + seconds + 1
        asked = session(AT_A, "--timeout", str(seconds))
        if asked.reads(PROMPT, seconds):
            time.sleep(max(0.0, until - time.monotonic()))
            asked.type("c\n")
        status, _, said = asked.end()
        if status == 0:
            break
    assert status == 0, said


def test_ctrl_z_stops_the_debugger_too(session):
    asked = session(AT_A)
    asked.wait_for(PROMPT)
    os.kill(asked.pid, signal.SIGTSTP)  # of a session of its own the terminal stops nobody
    until = time.monotonic() + LONG
    while not stopped(asked.pid):
        assert time.monotonic() < until
        time.sleep(0.05)
    os.kill(asked.pid, signal.SIGCONT)
    asked.type("p event.target\n")
    assert "'a'" in asked.wait_for(PROMPT)
    asked.type("c\n")
    assert asked.end()[0] == 0


def test_the_terminal_is_used_where_standard_input_is_a_pipe(session):
    read, write = os.pipe()
    os.close(write)
    asked = session(AT_A, stdin=read)
    os.close(read)
    asked.wait_for(PROMPT)
    asked.type("c\n")
    assert asked.end()[0] == 0


def test_settings_that_a_command_changed_are_put_back(session):
    asked = session(AT_A)
    asked.wait_for(PROMPT)
    asked.type("import termios; f = self_fd = [int(n) for n in __import__('os').listdir("
               "'/proc/self/fd') if __import__('os').isatty(int(n))][-1]\n")  # fmt: skip
    asked.wait_for(PROMPT)
    asked.type("s = termios.tcgetattr(f); s[3] &= ~termios.ECHO; termios.tcsetattr(f, 0, s)\n")
    asked.wait_for(PROMPT)
    asked.type("c\n")
    assert asked.end()[0] == 0  # which compares the settings


def test_without_a_terminal_the_run_does_not_begin(tmp_path, cli):
    (tmp_path / "net.py").write_text(NET + "\nraise RuntimeError('it was imported')\n")
    (tmp_path / "hooks.yaml").write_text(f"hooks: [{AT_A}]\n")
    done = subprocess.run(
        [sys.executable, "-m", "hookcli", "trace", "net.py:Net", "-c", "hooks.yaml"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, start_new_session=True, timeout=LONG,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [
        "error: breakpoint needs a terminal, but none is available",
        "  --> hooks.yaml:1: hooks[0].do",
        "hint: run hookcli in the foreground of a terminal, or use the action `print` or `save`",
    ]


def test_several_ranks_are_refused(session):
    asked = session(AT_A, "--nproc", "2", command="grads")
    status, out, err = asked.end()
    assert (status, out) == (2, "")
    assert re.findall("error: .*", err) == [
        "error: breakpoint needs the terminal, which several ranks cannot share"
    ]
    assert "  --> hooks.yaml:1: hooks[0].do" in err
