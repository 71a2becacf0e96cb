"""A process that another one waits for gets each signal once, and ends both."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.forked.inherited import heed_signals

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere exec is used")
SUPERVISED = """
import os, sys
from hookcli.system.supervised_process import end_as, supervise
def start():
    os.execv(sys.argv[1], sys.argv[1:])
try:
    end = supervise(start, ())
except OSError as error:
    sys.exit("not started: " + error.strerror)
os._exit(end_as(end))
"""
TRAPS = "trap 'echo usr' USR1; trap 'echo int' INT; echo $$; while true; do sleep 0.05; done"


def in_own_group():
    """Be a job of a shell: the group of a session of its own could not be stopped."""
    heed_signals()
    os.setpgid(0, 0)


def started(*command, **options):
    return subprocess.Popen(
        [sys.executable, "-c", SUPERVISED, *command],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=in_own_group,
        **options,
    )


def state(pid):
    """The state of a process, such as T for a stopped one; None if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return None


def wait_until(is_so):
    until = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.fixture
def trapping():
    process = started("/bin/sh", "-c", TRAPS)
    child = int(process.stdout.readline())
    yield process, child
    process.kill()
    process.communicate()


def test_a_signal_to_one_or_to_all_comes_once(trapping):
    process, child = trapping
    sends = (process.send_signal, lambda number: os.killpg(process.pid, number))
    for send in (*sends, *sends):
        for number in (signal.SIGUSR1, signal.SIGINT):
            send(number)
            time.sleep(0.3)  # the shell calls a trap once for signals that come together
    os.kill(child, signal.SIGKILL)
    assert process.wait(30) == -signal.SIGKILL
    assert process.stdout.read().split() == ["usr", "int"] * 4


def test_both_stop_and_go_on(trapping):
    process, child = trapping
    for send in (process.send_signal, lambda number: os.killpg(process.pid, number)):
        send(signal.SIGTSTP)
        wait_until(lambda: state(process.pid) == state(child) == "T")
        send(signal.SIGCONT)
        wait_until(lambda: "T" not in {state(process.pid), state(child)})


def test_the_child_ends_with_the_process_that_waits(trapping):
    process, child = trapping
    process.kill()
    wait_until(lambda: state(child) in {None, "Z"})


@pytest.mark.parametrize(
    ("code", "status"), [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", -9), ("kill -11 $$", -11)]
)
@pytest.mark.parametrize("ignored", [False, True])
def test_the_end_is_that_of_the_child(code, status, ignored):
    code = ("trap '' CHLD; " if ignored else "") + code
    process = started("/bin/sh", "-c", code)
    process.communicate(timeout=30)
    assert process.returncode == status


def test_a_program_that_cannot_be_executed_is_an_oserror():
    process = started("/dev/null")
    assert process.communicate(timeout=30)[1] == "not started: Permission denied\n"


def test_a_pipe_that_the_child_closes_is_closed():
    reader, writer = os.pipe()
    code = f"exec {writer}>&-; sleep 30"
    process = started("/bin/sh", "-c", code, pass_fds=(writer,))
    os.close(writer)
    assert os.read(reader, 1) == b""
    assert process.poll() is None
    os.close(reader)
    process.kill()
    process.communicate()
