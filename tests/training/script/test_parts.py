"""The parts that run a script, called directly: its start, its end, and what goes wrong there."""

from __future__ import annotations

import builtins
import errno
import os
import pickle
import signal
import sys
import zipfile
from types import ModuleType, SimpleNamespace

import pytest
import torch
from torch import nn

from hookcli.training.script import (
    ending as ending_file,
    native_main,
    plain_traceback,
    session as file,
)
from hookcli.training.script.ending import Ending, EndOfRun, note
from hookcli.training.script.importlib_bootstrap import run
from hookcli.training.script.session import ScriptSession
from hookcli.training.script.torch_import import TorchFinder
from hookcli.training.script.verdict import FOUND, read_verdict, send_verdict


@pytest.fixture
def ended(monkeypatch):
    """How a script ended, in place of the ending of this process."""
    made = Ending()
    monkeypatch.setattr(ending_file, "ending", made)
    monkeypatch.setattr(file, "ending", made)
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(sys, "last_traceback", None, raising=False)
    handler = signal.getsignal(signal.SIGINT)
    yield made
    signal.signal(signal.SIGINT, handler)  # held back until an error is reported


@pytest.mark.parametrize(
    ("error", "how", "status"),
    [
        (SystemExit(), "exit", 0),
        (SystemExit(3), "exit", 3),
        (SystemExit(-1), "exit", 255),
        (SystemExit("it failed"), "exit", 1),
        (EndOfRun("max_steps"), "max_steps", 0),
        (KeyboardInterrupt(), "interrupted", 130),
        (ValueError("no"), "exception", 1),
    ],
)
def test_how_a_script_ends(ended, error, how, status):
    note(error)
    assert (ended.ended, ended.status) == (how, status)


class Mute(Exception):
    def __str__(self):
        raise RuntimeError("no text")


@pytest.fixture
def heeded():
    """Ctrl-C has Python's usual effect: a job in the background of a shell ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_a_second_interrupt_on_the_way_out_is_not_seen(ended, monkeypatch, heeded):
    printed, noted = [], []

    def interrupted_once(error):
        noted.append(error)
        if len(noted) == 1:
            raise KeyboardInterrupt
        note(error)

    monkeypatch.setattr(ending_file, "note", interrupted_once)
    monkeypatch.setattr(sys, "excepthook", lambda *given: printed.append(given))

    def fail():
        raise KeyboardInterrupt("first")

    with pytest.raises(KeyboardInterrupt, match="first") as raised:
        run(fail)
    assert raised.value.__context__ is None
    assert ended.ended == "interrupted"
    signal.raise_signal(signal.SIGINT)  # held back
    sys.excepthook(KeyboardInterrupt, raised.value, raised.value.__traceback__)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert len(printed) == 1


@pytest.mark.parametrize(
    ("error", "line"),
    [(ValueError("no"), "ValueError: no"), (ValueError(), "ValueError"), (Mute(), "Mute")],
)
def test_the_error_is_reported_once_without_our_frames(ended, monkeypatch, error, line):
    printed = []
    monkeypatch.setattr(sys, "excepthook", lambda *given: printed.append(given))
    before = sys.excepthook

    def fail():
        raise error

    with pytest.raises(type(error)):
        run(fail)
    sys.excepthook(type(error), error, error.__traceback__)
    assert sys.excepthook is before
    assert ended.error == line
    assert len(printed) == 1
    names = []
    trace = printed[0][2]
    while trace is not None:
        names.append(trace.tb_frame.f_code.co_filename)
        trace = trace.tb_next
    assert names[-1] == __file__
    assert ended.place.startswith(f"{__file__}:")


def test_a_traceback_that_cannot_be_mended_stays(ended, monkeypatch):
    def mend(error):
        raise RuntimeError("another torch")

    monkeypatch.setattr(plain_traceback, "mend", mend)
    try:
        raise ValueError("no")
    except ValueError as error:
        before = error.__traceback__
        assert ending_file._mended(error) is before
        assert ending_file._place(None) is None


class Fails(nn.Module):
    def forward(self, x):
        raise ValueError("no")


def frames(error):
    names, trace = [], error.__traceback__
    while trace is not None:
        names.append(trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    return names


def raised(module):
    try:
        module(torch.ones(1))
    except ValueError as error:
        return error
    return None


def ours(*args):
    """A hook; its module says whose it is."""


@pytest.mark.skipif(sys.version_info < (3, 11), reason="before Python 3.11 code has no positions")
def test_a_hook_of_hookcli_leaves_no_frame_and_one_of_the_users_stays(monkeypatch):
    plain = frames(raised(Fails()))
    hook = type(ours)(ours.__code__, {}, "hook")
    hook.__module__ = "hookcli.training.watch"
    module = Fails()
    module.register_forward_hook(hook)
    error = raised(module)
    assert len(frames(error)) == len(plain) + 1
    plain_traceback.mend(error)
    assert frames(error) == plain
    module.register_forward_hook(ours)
    error = raised(module)
    plain_traceback.mend(error)
    assert len(frames(error)) == len(plain) + 1


@pytest.mark.skipif(sys.version_info < (3, 11), reason="before Python 3.11 code has no positions")
def test_the_errors_that_an_error_follows_are_mended_too():
    hook = type(ours)(ours.__code__, {}, "hook")
    hook.__module__ = "hookcli.training.watch"
    module = Fails()
    module.register_forward_hook(hook)
    cause, part = raised(module), raised(module)
    before = len(frames(cause))
    group = builtins.ExceptionGroup("several", [part])
    group.__cause__ = cause
    cause.__context__ = group  # a cycle
    plain_traceback.mend(group)
    assert (len(frames(cause)), len(frames(part))) == (before - 1, before - 1)
    empty = ValueError("never raised")
    plain_traceback.mend(empty)
    assert empty.__traceback__ is None


def test_nothing_is_mended_without_torch_or_in_another_one(monkeypatch):
    error = raised(Fails())
    before = error.__traceback__
    kept = plain_traceback._place_of_call
    monkeypatch.setattr(plain_traceback, "_place_of_call", lambda code: None)
    plain_traceback.mend(error)
    assert error.__traceback__ is before
    monkeypatch.setitem(sys.modules, "torch.nn.modules.module", None)
    plain_traceback.mend(error)
    assert error.__traceback__ is before

    def two(f, *args, **kwargs):
        f(*args, **kwargs)
        return f(*args, **kwargs)

    def another(f, *args, **kwargs):
        return [f(*args, **kwargs)]

    assert kept(two.__code__) is None
    assert kept(another.__code__) is None
    assert kept(SimpleNamespace()) is None


# the session of a script


def boot(**more):
    known = {
        "job": pickle.dumps("the job"), "watch": "own_watch:start", "quiet": False, "rank": 0,
        "name": "train.py", "arguments": [], "is_module": False, "end": b"end", "finish": [],
    }  # fmt: skip
    return {**known, **more}


@pytest.fixture
def watch(monkeypatch):
    """The module that observes: it tells what it was asked."""
    module = ModuleType("own_watch")
    module.asked = []

    def start(job):
        module.asked.append(job)
        return SimpleNamespace(abandon=lambda: module.asked.append("abandoned"))

    module.start = start
    monkeypatch.setitem(sys.modules, "own_watch", module)
    monkeypatch.setattr(os, "register_at_fork", lambda **more: None)
    return module


def test_an_observation_that_cannot_start_is_one_line(watch, capfd):
    session = ScriptSession(boot(watch="own_watch:gone"))
    session.start()
    session._finish()
    assert capfd.readouterr().err == (
        "hookcli: cannot observe the training: AttributeError: module 'own_watch' has no attribute "
        "'gone'\n"
    )


def test_a_forked_child_is_not_observed(watch, monkeypatch):
    session = ScriptSession(boot())
    session.start()
    session._abandon()
    assert watch.asked == ["the job", "abandoned"]
    session._watch = SimpleNamespace(abandon=lambda: 1 / 0)
    session._abandon()  # silently
    session._watch = None
    session._abandon()
    session._getpid = lambda: -1
    session.start()
    session._finish()
    assert watch.asked == ["the job", "abandoned"]


@pytest.mark.parametrize(
    ("more", "said"),
    [({}, "note: the script did not import torch: there is nothing to report\n"),
     ({"quiet": True}, ""), ({"rank": 1}, "")],
)  # fmt: skip
def test_a_script_without_torch_gets_a_note(more, said, capfd):
    ScriptSession(boot(**more))._finish()
    assert capfd.readouterr().err == said


@pytest.mark.parametrize(
    ("error", "said"),
    [(ValueError("no space"), "hookcli: the report is not written: ValueError: no space\n"),
     (KeyboardInterrupt(), "hookcli: interrupted: the report is not written\n")],
)  # fmt: skip
def test_a_report_that_is_not_written_is_told(watch, capfd, error, said):
    def finish(info):
        raise error

    session = ScriptSession(boot())
    session._watch = SimpleNamespace(finish=finish, others=(), children=())
    session._finish()
    assert capfd.readouterr().err == said


def test_findings_end_a_script_that_ran_through_with_1(watch, ended, monkeypatch):
    left = []
    monkeypatch.setattr(os, "_exit", left.append)
    session = ScriptSession(boot())
    session._watch = object()
    session._report = lambda: "report"
    session._deliver = lambda report: FOUND
    session._finish()
    ended.status = 3
    session._finish()
    ended.ended = "interrupted"
    session._finish()
    assert left == [1]


def test_the_report_goes_to_the_process_that_ends_the_run(tmp_path, monkeypatch):
    out = tmp_path / "out"
    code = (
        f"import os, sys; open({str(out)!r}, 'wb').write(sys.stdin.buffer.read()); "
        "os.write(int(sys.argv[1]), b'hookcli:' + bytes([5])); sys.exit(9)"
    )
    session = ScriptSession(boot(finish=[sys.executable, "-S", "-c", code]))
    session._folder = str(tmp_path / "removed")
    assert session._deliver("the report") == 5
    # the request, the report, and how many of other ranks follow
    parts = b"end", b"the report", b"0"
    assert out.read_bytes() == b"".join(len(p).to_bytes(8, "little") + p for p in parts)


def test_a_report_that_no_process_can_show_is_kept(tmp_path, monkeypatch, capfd):
    import subprocess
    import tempfile

    def refuse(*args, **more):
        raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert ScriptSession(boot())._deliver("the report") == 0
    (kept,) = tmp_path.iterdir()
    assert kept.read_text() == "the report"
    said = capfd.readouterr().err
    assert "cannot show the report: Resource temporarily unavailable" in said
    assert kept.name in said


@pytest.mark.parametrize("said", ["", "hookcli", "hookcli:", "another text"])
def test_a_report_whose_judge_ends_without_a_verdict_is_kept(said, tmp_path, monkeypatch, capfd):
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    code = f"import os, sys; sys.stdin.read(); os.write(int(sys.argv[1]), {said.encode()!r})"
    session = ScriptSession(boot(finish=[sys.executable, "-S", "-c", code]))
    status = session._deliver("the report")
    assert status == 0
    (kept,) = tmp_path.iterdir()
    assert kept.read_text() == "the report"
    assert "cannot show the report: the process that writes it has ended early" in (
        capfd.readouterr().err
    )


def test_the_last_verdict_has_no_reader(tmp_path):
    reader, writer = os.pipe()
    send_verdict(writer, FOUND)
    assert read_verdict(reader) == FOUND
    os.close(reader)
    send_verdict(writer, FOUND)  # the script's process was killed
    os.close(writer)


@pytest.mark.parametrize("stubborn", [False, True])
def test_an_interrupted_delivery_ends_the_process(stubborn, monkeypatch):
    import subprocess

    done = []

    class Child:
        def communicate(self, data):
            raise KeyboardInterrupt

        def terminate(self):
            done.append("terminate")

        def wait(self, timeout):
            if stubborn:
                raise subprocess.TimeoutExpired("", timeout)

        def kill(self):
            done.append("kill")

    monkeypatch.setattr(subprocess, "Popen", lambda *args, **more: Child())
    with pytest.raises(KeyboardInterrupt):
        ScriptSession(boot())._deliver("the report")
    assert done == (["terminate", "kill"] if stubborn else ["terminate"])


def test_a_full_disk_leaves_no_part_of_a_report(tmp_path, monkeypatch):
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def write(self, text):
        raise OSError(errno.ENOSPC, "No space left on device")

    plain = builtins.open

    def opened(handle, *args, **more):
        os.close(handle)

        class File:
            def __enter__(self):
                return self

            def __exit__(self, *error):
                return None

        File.write = write
        return File()

    monkeypatch.setattr(builtins, "open", opened)
    try:
        with pytest.raises(OSError, match="No space left"):
            file._keep("the report", OSError(1, "x"))
    finally:
        monkeypatch.setattr(builtins, "open", plain)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_gone_is_not_named(monkeypatch):
    def getcwd():
        raise FileNotFoundError

    monkeypatch.setattr(os, "getcwd", getcwd)
    assert file._folder() is None


# the start of a script


def test_the_task_is_read_from_a_descriptor_or_a_file_that_is_removed(tmp_path):
    import marshal

    task = tmp_path / "task"
    task.write_bytes(marshal.dumps({"name": "x"}))
    assert native_main._read(str(os.open(task, os.O_RDONLY))) == {"name": "x"}
    assert native_main._read(str(task)) == {"name": "x"}
    assert not task.exists()


def test_the_path_and_the_folder_of_a_script(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert native_main._absolute("/a/../x.py") == "/a/../x.py"
    assert native_main._absolute("../x.py") == f"{tmp_path}/../x.py"
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "x.py").write_text("")
    (tmp_path / "link.py").symlink_to("real/x.py")
    assert native_main._folder("link.py") == str(tmp_path / "real")
    assert native_main._folder("gone/x.py") == str(tmp_path / "gone")


def test_what_python_imports_from(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path_importer_cache", {})
    (tmp_path / "x.py").write_text("")
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("__main__.py", "")
    assert native_main._importer(str(tmp_path / "x.py")) is None
    assert native_main._importer(str(tmp_path)) is not None
    assert type(native_main._importer(str(tmp_path / "x.zip"))).__name__ == "zipimporter"
    assert len(sys.path_importer_cache) == 3


@pytest.mark.parametrize("name", ["gone.py", "broken.py", "short.pyc"])
def test_what_cannot_be_compiled_is_left_to_python(tmp_path, monkeypatch, name):
    (tmp_path / "broken.py").write_text("x = (")
    (tmp_path / "short.pyc").write_bytes(b"")

    class Replaced(Exception):
        pass

    def execv(*given):
        raise Replaced(given)

    monkeypatch.setattr(os, "execv", execv)
    with pytest.raises(Replaced) as caught:
        native_main._of_file(str(tmp_path / name), {}, ["/py", name], None)
    assert caught.value.args[0] == ("/py", ["/py", name])


def test_source_and_compiled_scripts_get_their_loader(tmp_path):
    import py_compile

    source, names = tmp_path / "x.py", {}
    source.write_text("value = 3\n")
    runner, code, space = native_main._of_file(str(source), names, [], None)
    runner(code, space)
    assert (names["value"], names["__file__"]) == (3, str(source))
    assert type(names["__loader__"]).__name__ == "SourceFileLoader"
    compiled = py_compile.compile(str(source), cfile=str(tmp_path / "y.pyc"))
    runner, code, space = native_main._of_file(compiled, names, [], None)
    assert type(names["__loader__"]).__name__ == "SourcelessFileLoader"


def test_a_module_is_run_as_python_m_does(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["x"])
    monkeypatch.setattr(sys, "path", ["/site"])
    names = {"__file__": "x", "__cached__": None}
    runner, name, alter = native_main._of_module("pkg.train", ["-x"], names)
    assert (runner.__name__, name, alter) == ("_run_module_as_main", "pkg.train", True)
    assert sys.argv == ["-m", "-x"]
    assert sys.path[1:] == ["/site"]
    assert list(names) == ["__loader__"]
    monkeypatch.setattr(native_main, "_is_safe", lambda: True)
    native_main._of_module("pkg.train", [], {})
    assert sys.path[2:] == []


def test_what_importing_hookcli_left_is_forgotten(monkeypatch):
    monkeypatch.setattr(sys, "modules", {**sys.modules, "brand_new": ModuleType("brand_new")})
    monkeypatch.setattr(sys, "path_importer_cache", {"/a": None, "/b": None})
    native_main._forget(set(sys.modules) - {"brand_new"}, {"/a"})
    assert "brand_new" not in sys.modules
    assert "hookcli" in sys.modules
    assert list(sys.path_importer_cache) == ["/a"]


# the import of torch


class Loader:
    def __init__(self, *, fails=False):
        self.fails = fails

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        if self.fails:
            raise ImportError("a library is missing")


class Finder:
    def __init__(self, loader, origin="/site/torch/__init__.py"):
        from importlib.machinery import ModuleSpec

        self.spec = ModuleSpec("torch", loader, origin=origin)

    def find_spec(self, name, path=None, target=None):
        return self.spec if name == "torch" else None


@pytest.fixture
def no_torch(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch")


def test_the_end_of_the_import_of_torch_is_noticed_once(no_torch, monkeypatch):
    import importlib
    from importlib.machinery import ModuleSpec

    called, finder = [], Finder(Loader())
    ours = TorchFinder(lambda: called.append(True))
    monkeypatch.setattr(sys, "meta_path", [ours, object(), finder])
    assert ours.find_spec("numpy") is None
    importlib.import_module("torch")
    assert called == [True]
    assert ours not in sys.meta_path
    assert type(finder.spec) is ModuleSpec


def test_an_import_of_torch_that_fails_is_not_observed(no_torch, monkeypatch):
    import importlib

    called = []
    ours = TorchFinder(lambda: called.append(True))
    monkeypatch.setattr(sys, "meta_path", [ours, Finder(Loader(fails=True))])
    with pytest.raises(ImportError, match="a library is missing"):
        importlib.import_module("torch")
    assert called == []
    assert ours in sys.meta_path


def test_a_folder_named_torch_and_no_torch_are_left_alone(no_torch, monkeypatch):
    from importlib.machinery import ModuleSpec

    ours = TorchFinder(lambda: None)
    monkeypatch.setattr(sys, "meta_path", [ours, Finder(None, origin=None)])
    assert type(ours.find_spec("torch")) is ModuleSpec
    monkeypatch.setattr(sys, "meta_path", [ours])
    assert ours.find_spec("torch") is None
