"""The processes of workers and the terminal that they may be given, without starting a worker."""

from __future__ import annotations

import errno
import os
import pty
import signal
import subprocess
import termios
import threading
import time
from types import SimpleNamespace

import pytest

from hookcli.errors import RequestError
from hookcli.spec.hooks import ActionSpec
from hookcli.worker import process as process_file, processes, terminal as terminal_file
from hookcli.worker.interpreter import environments


def test_memory_without_a_name_is_a_file_where_the_system_has_no_other(monkeypatch):
    monkeypatch.delattr(os, "memfd_create", raising=False)
    fd = process_file.shared_memory()
    try:
        assert os.write(fd, b"x") == 1
        assert os.fstat(fd).st_nlink == 0
    finally:
        os.close(fd)


@pytest.mark.parametrize("direct", [True, False])
def test_a_closed_stderr_is_not_passed_on(monkeypatch, direct):
    def fstat(fd):
        raise OSError(errno.EBADF, "Bad file descriptor")

    monkeypatch.setattr(process_file, "worker_stream", lambda: 42)
    assert process_file._error_stream(direct=direct) == (2 if direct else 42)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fstat", fstat)
        stream = process_file._error_stream(direct=direct)
    assert stream == subprocess.DEVNULL


@pytest.mark.parametrize(("seed", "passed"), [(None, "0"), ("", "0"), ("random", "0"), ("7", "7")])
def test_the_order_of_sets_is_fixed_unless_the_user_chose_one(monkeypatch, seed, passed):
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    if seed is not None:
        monkeypatch.setenv("PYTHONHASHSEED", seed)
    assert process_file.worker_environment()["PYTHONHASHSEED"] == passed


def test_torch_of_this_process_is_looked_for_without_importing_it(monkeypatch):
    class Finder:
        def __init__(self, spec):
            self.spec = spec

        def find_spec(self, name, path):
            return self.spec

    class Spec:
        def __init__(self, origin):
            self.origin = origin

    for finders, expected in (
        ([], False), ([object(), Finder(None)], False), ([Finder(Spec(None))], False),
        ([object(), Finder(Spec("/site/torch/__init__.py"))], True),
    ):  # fmt: skip
        monkeypatch.setattr("sys.meta_path", finders)
        assert environments.own_has_torch() is expected


def test_an_environment_with_torch_in_its_folder_is_not_started(monkeypatch, tmp_path):
    monkeypatch.setattr(environments, "has_package", lambda folder, name: True)
    assert environments.has_torch(str(tmp_path), "/no/python")
    monkeypatch.setattr(environments, "has_package", lambda folder, name: False)
    assert not environments.has_torch(str(tmp_path), "/no/python")
    assert environments.python_of(str(tmp_path)) is None


ASKS = ActionSpec("breakpoint", None)


@pytest.mark.parametrize(
    ("foreground", "message"),
    [(False, "hookcli runs in the background of it"), (None, "none is available")],
)
def test_a_terminal_that_is_not_ours_is_not_taken(monkeypatch, foreground, message):
    def tcgetpgrp(fd):
        if foreground is None:
            raise OSError(errno.ENOTTY, "Inappropriate ioctl for device")
        return -1

    monkeypatch.setattr(terminal_file, "_paths", lambda: ["/no/terminal", os.devnull])
    monkeypatch.setattr(os, "tcgetpgrp", tcgetpgrp)
    with pytest.raises(RequestError, match=message):
        terminal_file._open(ASKS)


def test_several_ranks_cannot_share_a_terminal():
    with (
        pytest.raises(RequestError, match="several ranks cannot share"),
        terminal_file.user_terminal(ASKS, several_ranks=True),
    ):
        pass


def test_the_settings_of_the_terminal_are_restored(monkeypatch):
    user, screen = pty.openpty()
    monkeypatch.setattr(terminal_file, "_open", lambda action: os.dup(screen))
    before = termios.tcgetattr(screen)
    changed = [*before[:3], before[3] & ~termios.ECHO, *before[4:]]
    with terminal_file.user_terminal(ASKS, several_ranks=False) as terminal:
        termios.tcsetattr(terminal.screen, termios.TCSANOW, changed)
    assert termios.tcgetattr(screen) == before
    with terminal_file.user_terminal(ASKS, several_ranks=False):
        pass
    assert termios.tcgetattr(screen) == before
    os.close(user)
    os.close(screen)


@pytest.mark.parametrize("asks", [True, False])
def test_ctrl_c_goes_to_the_debugger_while_it_asks(monkeypatch, asks):
    sent, own = [], []
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTSTP)
    monkeypatch.setattr(os, "kill", lambda *given: sent.append(given))
    monkeypatch.setattr(os, "killpg", lambda *given: sent.append(given))
    monkeypatch.setattr(os, "getpid", lambda: 1)
    signal.signal(signal.SIGINT, lambda *given: own.append(given))
    signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    try:
        with terminal_file.signals_passed_on(7, SimpleNamespace(asks=lambda: asks)):
            signal.getsignal(signal.SIGINT)(signal.SIGINT, None)
            signal.getsignal(signal.SIGTSTP)(signal.SIGTSTP, None)
        assert signal.getsignal(signal.SIGTSTP) is signal.SIG_DFL
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTSTP, signal.SIG_IGN)
        with terminal_file.signals_passed_on(7, SimpleNamespace(asks=lambda: asks)):
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGTSTP) is signal.SIG_IGN
    finally:
        for number, handler in zip((signal.SIGINT, signal.SIGTSTP), before, strict=True):
            signal.signal(number, handler)
    stopped = [(7, signal.SIGSTOP), (1, signal.SIGSTOP), (7, signal.SIGCONT)]
    assert sent == ([(7, signal.SIGINT)] if asks else []) + stopped
    assert len(own) == (not asks)


def test_another_thread_leaves_the_signals_alone():
    seen = []

    def work():
        with terminal_file.signals_passed_on(7, SimpleNamespace()):
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    before = signal.getsignal(signal.SIGINT)
    thread.start()
    thread.join()
    assert seen == [before]


def test_processes_that_are_gone_count_nothing(monkeypatch, tmp_path):
    monkeypatch.setattr(processes, "_PROC", tmp_path)
    assert processes.children(1) == []
    assert processes.resident(1) == 0
    (tmp_path / "1" / "task" / "1").mkdir(parents=True)
    (tmp_path / "1" / "task" / "1" / "children").write_text("2 x")
    (tmp_path / "1" / "statm").write_text("9")
    assert processes.children(1) == []
    assert processes.resident(1) == 0
    (tmp_path / "1" / "task" / "1" / "children").write_text("2 3")
    assert processes.tree(1) == [1, 3, 2]
    processes.end_group(1 << 30)  # no such group


def test_orphans_are_ended_at_most_for_a_while(monkeypatch):
    ended, left = [], [[5, 6], [6], []]
    monkeypatch.setattr(processes, "children", lambda pid: left.pop(0) if left else [6])
    monkeypatch.setattr(processes, "tree", lambda pid: [pid])
    monkeypatch.setattr(os, "kill", lambda pid, number: ended.append(pid))

    def waitpid(pid, flags):
        raise ChildProcessError

    monkeypatch.setattr(os, "waitpid", waitpid)
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    processes.end_orphans({5})
    assert ended == [6, 6]
    processes.end_orphans(set())  # one that does not end
    assert ended == [6] * 52
    monkeypatch.setattr(processes, "LINUX", False)
    processes.end_orphans(set())
    processes.adopt_orphans()
    assert ended == [6] * 52
