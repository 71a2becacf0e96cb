"""The worker's own side, called directly: its first lines, what it restores, and its pipes."""

from __future__ import annotations

import builtins
import errno
import os
import runpy
import select
import signal
import struct
import sys
import warnings
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

import hookcli
from hookcli.worker.child import guard, process_state
from hookcli.worker.child.process_state import ProcessState
from hookcli.worker.child.user_warnings import show_places_of_user
from hookcli.worker.protocol import Inbox, receive_job

FIRST_LINES = Path(hookcli.__file__).parent / "worker" / "__main__.py"


class Left(Exception):
    """The process would have ended with this status."""


@pytest.fixture
def first_lines(monkeypatch):
    """Run the first lines of a child with other arguments: what it wrote, and main's arguments."""
    called = []

    def leave(status):
        raise Left(status)

    main = ModuleType("hookcli.worker.child.main")
    main.main = lambda *given: called.append(given)
    monkeypatch.setitem(sys.modules, "hookcli", hookcli)
    monkeypatch.setitem(sys.modules, "hookcli.worker.child.main", main)
    monkeypatch.setattr(os, "_exit", leave)
    read, write = os.pipe()

    def run(*, answer=write, home=str(FIRST_LINES.parents[2]), oldest="3.10", path="/site"):
        monkeypatch.setattr(sys, "path", [path, *filter(None, sys.path)])  # xdist adds ""
        monkeypatch.setattr(sys, "argv", ["-c", "3", str(answer), "5", "6", "7", home, oldest])
        space = runpy.run_path(str(FIRST_LINES), run_name="__main__")
        said = os.read(read, 99).decode() if select.select([read], [], [], 0)[0] else ""
        return said, called, space

    yield run
    os.close(read)
    os.close(write)


def test_a_child_tells_its_version_and_calls_main(first_lines):
    said, called, space = first_lines()
    assert said == f"hookcli {sys.version.split()[0]}\n"
    assert len(called) == 1
    assert called[0][0] == 3
    assert sys.path[0] == "/site"
    assert space["__file__"] == str(FIRST_LINES)


def test_a_child_whose_parent_has_ended_ends(first_lines):
    with pytest.raises(Left, match="0"):
        first_lines(answer=9999)


def test_a_child_of_an_old_python_ends(first_lines):
    with pytest.raises(Left, match="0"):
        first_lines(oldest="99.0")


def test_a_child_without_hookcli_says_where_it_looked(first_lines, tmp_path):
    with pytest.raises(SystemExit, match=f"hookcli: not found in {tmp_path}"):
        first_lines(home=str(tmp_path))


def test_what_a_model_replaced_is_restored_and_named(monkeypatch):
    monkeypatch.setattr(sys, "modules", sys.modules)
    monkeypatch.setattr(sys, "path", sys.path)
    state, own = ProcessState(), sys.modules
    plain = (builtins.isinstance, os.getcwd, sys.path)
    gone = ModuleType("gone_module")
    sys.modules["gone_module"] = gone
    try:
        state = ProcessState()
        builtins.isinstance = lambda *given: True
        builtins._ = 3
        os.getcwd = lambda: "/"
        sys.modules = {name: module for name, module in own.items() if name != "gone_module"}
        del own["gone_module"]
        sys.path = ("/a",)
    finally:
        restored = state.restore()
    assert restored == ("isinstance", "sys.modules", "sys.path", "os.getcwd")
    assert (builtins.isinstance, os.getcwd) == plain[:2]
    assert sys.modules is own
    assert sys.path == plain[2]
    assert state.restore() == ()
    assert sys.modules.pop("gone_module") is gone
    del builtins.__dict__["_"]


def test_what_a_model_hides_of_tensors_is_removed(monkeypatch):
    class Tensor:
        shape = None

    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(Tensor=Tensor))
    assert process_state._lost_attributes() == ["torch.Tensor.shape"]
    assert not hasattr(Tensor, "shape")
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(Tensor=None))
    assert process_state._lost_attributes() == []


def test_functions_of_torch_that_are_replaced_are_named(monkeypatch):
    space = SimpleNamespace(add=len, name="x", own=len)
    monkeypatch.setattr(process_state, "_spaces_of_torch", lambda: [("torch", space)])
    state = ProcessState()
    assert state.changed_of_torch() == ()
    space.add, space.name = print, "y"
    space.own = type("Own", (), {"__module__": "hookcli.x"})
    assert state.changed_of_torch() == ("torch.add",)
    monkeypatch.undo()
    monkeypatch.setattr(sys, "modules", {"torch": space})
    assert [name for name, _ in process_state._spaces_of_torch()] == ["torch"]


def test_a_model_that_clears_dictionaries_leaves_a_mark():
    state = ProcessState()
    assert not state.is_cleared
    state._mark.clear()
    assert state.is_cleared


@pytest.mark.parametrize(
    ("file", "shown"),
    [(str(FIRST_LINES), "net.py:4: UserWarning: look\n"), ("/user/net.py", "plain")],
)
def test_a_warning_at_a_line_of_hookcli_names_the_users(monkeypatch, capsys, file, shown):
    plain = []
    monkeypatch.setattr(warnings, "showwarning", lambda *given: plain.append(given))
    show_places_of_user(lambda: "net.py:4")
    warnings.showwarning("look", UserWarning, file, 3)
    assert capsys.readouterr().err == ("" if shown == "plain" else shown)
    assert len(plain) == (shown == "plain")
    monkeypatch.setattr(sys, "stderr", None)
    warnings.showwarning("look", UserWarning, str(FIRST_LINES), 3)  # nowhere


def test_a_descriptor_that_cannot_be_moved_is_not_inherited(monkeypatch):
    import fcntl

    read, write = os.pipe()
    os.set_inheritable(read, True)

    def refuse(*given):
        raise OSError(errno.EINVAL, "Invalid argument")

    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "fcntl", refuse)
        assert guard.move_high(read) == read
        assert not guard._kernel_kills_group(read)
    assert not os.get_inheritable(read)
    moved = guard.move_high(read)
    assert moved != read
    os.close(moved)
    os.close(write)


def test_the_end_of_the_parent_ends_the_group(monkeypatch):
    killed = []
    monkeypatch.setattr(guard, "_killpg", lambda *given: killed.append(given))
    read, write = os.pipe()
    os.write(write, b"x")
    os.close(write)
    guard._wait_for_end(read)
    assert killed == [(os.getpgrp(), signal.SIGKILL)]
    os.close(read)
    guard._wait_for_end(read)  # the model closed it
    assert len(killed) == 1


def test_without_linux_a_thread_waits_for_the_end(monkeypatch):
    started = []
    monkeypatch.setattr(guard, "LINUX", False)
    monkeypatch.setattr(
        guard.threading, "Thread",
        lambda **given: SimpleNamespace(start=lambda: started.append(given["args"])),
    )  # fmt: skip
    guard.end_with_parent(7)
    assert started == [(7,)]


@pytest.mark.parametrize("limit", [500, 5000])
def test_a_recursion_limit_that_is_too_low_is_raised(limit):
    before = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(limit)
        guard.raise_recursion_limit()
        assert sys.getrecursionlimit() == max(limit, 1000)
    finally:
        sys.setrecursionlimit(before)


def test_a_pipe_that_a_model_reused_is_noticed():
    read, write = os.pipe()
    pipe = guard.AnswerPipe(write)
    assert pipe.is_open
    assert not pipe.is_fork
    os.close(write)
    assert not pipe.is_open
    os.close(read)


def test_a_job_is_read_whole_or_not_at_all(tmp_path):
    import pickle

    def sent(data):
        read, write = os.pipe()
        os.write(write, data)
        os.close(write)
        try:
            return receive_job(read)
        finally:
            os.close(read)

    with pytest.raises(EOFError, match="the parent closed the pipe"):
        sent(b"abc")
    body = pickle.dumps("no job")
    with pytest.raises(TypeError, match="str"):
        sent(struct.pack("<Q", len(body)) + body)


def test_an_answer_may_come_in_pieces_after_other_bytes():
    inbox = Inbox(b"t" * 16)
    inbox.feed(b"hookcli 3.1")
    assert inbox.python is None
    assert inbox.answer() is None
    inbox.feed(b"2.1\nnoise" + b"t" * 15)
    assert inbox.python == "3.12.1"
    assert inbox.answer() is None
    inbox.feed(b"t\0\0")
    assert inbox.answer() is None
