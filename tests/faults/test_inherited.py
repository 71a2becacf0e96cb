"""Parts that cope with what a process inherits: outputs in place, abandoned folders, lost forks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from hookcli import whole_files
from hookcli.models.fake.fork import in_fork
from hookcli.system.signals import ENDING
from hookcli.whole_files import hold_folder, private_folder, replacing, write_whole
from hookcli.worker.interpreter.environments import is_python
from tests.forked.inherited import heed_signals

from .mounts import mounted, needs_mount


def test_every_signal_that_ends_a_process_is_in_the_list():
    harmless = {"SIGCHLD", "SIGCONT", "SIGURG", "SIGWINCH", "SIGTSTP", "SIGTTIN", "SIGTTOU"}
    not_caught = {"SIGKILL", "SIGSTOP"}
    faults = {"SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGTRAP", "SIGSYS"}
    pythons = {"SIGPIPE", "SIGXFSZ"}
    others = {getattr(signal, name) for name in harmless | not_caught | faults | pythons}
    assert set(signal.valid_signals()) - others == ENDING


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGALRM, signal.SIGQUIT])
def test_a_signal_without_a_status_ends_a_command_after_it_has_cleaned_up(number, tmp_path):
    code = (
        "import os, sys\n"
        "from hookcli.cli import main\n"
        "from hookcli.whole_files import private_folder\n"
        "def run(arguments):\n"
        "    with private_folder() as folder:\n"
        f"        os.kill(os.getpid(), {int(number)})\n"
        "main.run = run\n"
        "from hookcli.__main__ import main as start\n"
        "start()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "list"], capture_output=True, text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)}, preexec_fn=heed_signals,
    )  # fmt: skip
    assert done.returncode == -number
    assert done.stderr == f"ended by {number.name}\n"
    assert not list(tmp_path.iterdir())


def test_a_folder_of_a_process_that_was_killed_is_removed_by_the_next(tmp_path, monkeypatch):
    monkeypatch.setattr(whole_files.tempfile, "tempdir", str(tmp_path))
    long_ago = time.time() - 3600
    for name in ("hookcli-held-dead", "hookcli-held-alive", "hookcli-other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("x")
        os.utime(tmp_path / name, (long_ago, long_ago))
    (tmp_path / "hookcli-held-young").mkdir()
    alive = hold_folder(str(tmp_path / "hookcli-held-alive"))
    with private_folder() as folder:
        assert hold_folder(folder) is None
    os.close(alive)
    left = {entry.name for entry in tmp_path.iterdir()}
    assert left == {"hookcli-held-alive", "hookcli-other", "hookcli-held-young"}


@needs_mount
def test_a_mounted_file_is_overwritten_in_place(tmp_path):
    file = tmp_path / "out"
    file.write_text("an old and longer text")
    before = file.stat().st_ino
    with mounted(file):
        write_whole(file, b"new")
        assert file.read_text() == "new"
        with pytest.raises(ZeroDivisionError), replacing(file) as temporary:
            temporary.write_text("newer")
            raise ZeroDivisionError
        assert file.read_text() == "new"
    assert file.stat().st_ino == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


@pytest.fixture
def no_children_are_told():
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGCHLD, before)


@pytest.mark.usefixtures("no_children_are_told")
def test_no_answer_needs_the_status_of_a_child():
    assert in_fork(lambda: b"answer", patience=20) == b"answer"
    assert is_python(sys.executable)
    assert not is_python("/bin/echo")
    assert not is_python("/bin/true")
