"""Which attempt follows an outcome, without a process: fake tensors first, then real ones."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from hookcli.errors import ModelError, NoBatchError, NoFakeError, RequestError
from hookcli.report.events import ChangeRow, EventRow
from hookcli.report.findings import Measurement
from hookcli.report.report import ErrorInfo
from hookcli.spec.inferred import Hypothesis
from hookcli.spec.request import Attempt, Interpreter, ModelSpec, RunSpec, Spec, Terminal
from hookcli.worker import attempts, worker as worker_file
from hookcli.worker.attempts import _check_memory, _Done, _next, _settle
from hookcli.worker.interpreter.choice import _typed, find_python
from hookcli.worker.last_event import LastEvent
from hookcli.worker.protocol import Crash, DamagedAnswerError, FailureMessage, ReportMessage
from hookcli.worker.verify_neutral import verified
from hookcli.worker.worker import Limits, Worker, _exit_of, _process
from tests.formats.fabricate import report

SPEC = Spec("inspect", ModelSpec("net.py"))
FAKE, REAL = Attempt("fake"), Attempt("real")
INFERRED = Hypothesis(())


def crash(reason="died", phase="forward"):
    return Crash(reason, "it was killed", phase, "fc", 0, "net.py:4", "3.12.1")


def failure(kind=ModelError, phase="build", message="no"):
    return FailureMessage(phase, kind(message, place="net.py:1", hint="mend it"))


def done(error=None, inferred=None, declaration=None, **model):
    made = report("inspect", error=error)
    made = replace(made, model=replace(made.model, **model))
    return _Done(made, ReportMessage("", declaration, inferred))


RAISED = ErrorInfo("forward", "fc", 0, (), "ValueError", "no\nmore", "net.py:4")


@pytest.mark.parametrize(
    ("attempt", "outcome", "expected"),
    [
        (REAL, done(), None),
        (REAL, failure(NoBatchError), Attempt("fake", for_batch=True)),
        (Attempt("real", inferred=INFERRED), failure(NoBatchError), None),
        (REAL, failure(), None),
        (
            Attempt("fake", for_batch=True), done(inferred=INFERRED),
            Attempt("real", inferred=INFERRED),
        ),
        (Attempt("fake", for_batch=True), done(), None),
        (Attempt("fake", for_batch=True), crash(), None),
        (FAKE, crash("memory", "import"), Attempt("fake", meta_import=True)),
        (Attempt("fake", meta_import=True), crash("memory", "import"), None),
        (FAKE, crash("died", "forward"), Attempt("real", fallback="it was killed")),
        (FAKE, crash("died", "start"), None),
        (FAKE, crash("died", "import"), None),
        (FAKE, crash("timeout"), None),
        (FAKE, failure(), Attempt("real", fallback="no")),
        (FAKE, failure(phase="import"), None),
        (FAKE, failure(NoFakeError, "import"), Attempt("real", fallback="no")),
        (
            Attempt("fake", meta_import=True), failure(phase="import"),
            Attempt("real", fallback="no"),
        ),
        (FAKE, failure(RequestError), None),
        (FAKE, failure(message="Network is unreachable"), None),
        (FAKE, done(), None),
        (
            FAKE, done(RAISED, INFERRED, "declared"),
            Attempt("real", fallback="ValueError: no at net.py:4", declaration="declared",
                    inferred=INFERRED),
        ),
        (
            FAKE, done(replace(RAISED, type="FakeDoubtError", place=None)),
            Attempt("real", fallback="no"),
        ),
        (FAKE, done(replace(RAISED, message="Network is unreachable")), None),
    ],
)  # fmt: skip
def test_what_follows_an_outcome(attempt, outcome, expected):
    assert _next(SPEC, attempt, outcome) == expected


def test_only_fake_tensors_if_the_user_says_so():
    spec = replace(SPEC, run=RunSpec(tensors="fake"))
    assert _next(spec, FAKE, failure()) is None


@pytest.mark.parametrize(
    ("free", "most", "outcome", "refused"),
    [
        (10, None, done(parameter_bytes=20), True),
        (10, None, done(RAISED, parameter_bytes=20), True),
        (None, 10, done(parameter_bytes=8, buffer_bytes=4), True),
        (30, 25, done(parameter_bytes=20, buffer_bytes=4), False),
        (None, None, done(parameter_bytes=20), False),
        (10, None, done(parameter_bytes=None), False),
        (10, None, crash(), False),
    ],
)
def test_a_real_run_that_is_too_large_is_refused(monkeypatch, free, most, outcome, refused):
    monkeypatch.setattr(attempts, "available", lambda: free)
    spec = replace(SPEC, run=RunSpec(max_memory=most))
    if not refused:
        _check_memory(spec, outcome)
        return
    with pytest.raises(ModelError) as caught:
        _check_memory(spec, outcome)
    failed = outcome.report.error is not None
    assert ("the run with fake tensors failed: ValueError: no" in caught.value.message) == failed
    assert caught.value.place == ("net.py:4" if failed else "net.py")


def test_an_outcome_becomes_a_report_or_the_commands_error():
    with pytest.raises(ModelError, match=r"^no\b"):
        _settle(SPEC, FAKE, failure(), 1.0)
    with pytest.raises(ModelError, match=r"it was killed, in start, in fc"):
        _settle(SPEC, FAKE, crash(phase="start"), 1.0)
    partial = _settle(SPEC, FAKE, crash(), 1.23456)
    assert (partial.status, partial.environment.seconds) == ("partial", 1.235)
    assert _settle(SPEC, FAKE, done(), 1.23456).environment.seconds == 1.235


# --verify-neutral: digests of the run and of two runs without hooks


def digests(**values):
    return tuple(Measurement("digest", name, None, value, None) for name, value in values.items())


def event(**more):
    return EventRow(0, 0, "forward", "forward", "fc", 0, None, 0, **more)


CHANGED = event(changes=(ChangeRow("", None, None),))


@pytest.mark.parametrize(
    ("hooked", "second", "events", "status", "message"),
    [
        ({"a": "1", "b": "2"}, {"a": "1", "b": "2"}, (), "pass", "are bitwise equal"),
        ({"a": "1", "b": "3"}, {"a": "1", "b": "2"}, (), "fail", "not neutral: b differs"),
        ({"a": "0"}, {"a": "1", "b": "2"}, (), "fail", "not neutral: a, b differ"),
        ({"a": "0", "b": "2"}, {"a": "1", "b": "2"}, (event(changed=0.5),), "skip", "on purpose"),
        ({"a": "0", "b": "2"}, {"a": "1", "b": "2"}, (CHANGED,), "skip", "on purpose: a differs"),
        ({"a": "0", "b": "2"}, {"a": "1", "b": "2"}, (event(changed=0),), "fail", "a differs"),
        ({"a": "1", "b": "9"}, {"a": "1", "b": "7"}, (), "pass", "(1 differ between runs"),
        ({"a": "1", "b": "9"}, {"a": "7"}, (), "skip", "the run ended before"),
    ],
)
def test_neutral_is_what_equals_two_runs_without_hooks(hooked, second, events, status, message):
    made = replace(report("trace"), measurements=digests(**hooked), events=events)
    runs = [digests(a="1", b="2"), digests(**second)]
    seen = []

    def again(spec):
        seen.append(spec)
        return replace(report("inspect"), measurements=runs.pop(0))

    found = verified(SPEC, made, again)
    assert [(spec.hooks, spec.run.tensors) for spec in seen] == [((), "real")] * 2
    (row,) = found.checks
    assert (row.rule, row.status) == ("neutral", status)
    assert message in row.message
    assert found.measurements == ()


# The worker's parent, with a child that is made up


def limits(**more):
    return Limits(time.monotonic() + 9, 9.0, **{"memory": None, **more})


class Child:
    pid = 0

    def __init__(self, status=None):
        self.status = status

    def poll(self):
        return self.status

    def wait(self, timeout=None):
        if self.status is None:
            raise subprocess.TimeoutExpired("python", timeout)
        return self.status


class Box:
    def __init__(self, phase="forward", place=None):
        self.phase, self.place = phase, place

    def last(self):
        return LastEvent(self.phase, "fc", 0, "net.py:4")

    def dumped_place(self):
        return self.place


class Pipe:
    def __init__(self, python="3.12.1", answer=None):
        self.python, self._answer = python, answer

    def feed(self, data):
        pass

    def answer(self):
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


_pipes: list[int] = []


@pytest.fixture(autouse=True)
def _closed_pipes():
    yield
    while _pipes:
        os.close(_pipes.pop())


def made_up(status=None, python="3.12.1", answer=None, phase="forward", place=None, **more):
    worker = object.__new__(Worker)
    read, write = os.pipe()
    os.close(write)
    _pipes.append(read)
    worker._process = SimpleNamespace(answer=read)
    worker._child, worker._box = Child(status), Box(phase, place)
    worker._inbox, worker._limits = Pipe(python, answer), limits(**more)
    worker._terminal, worker._python = None, Interpreter("/no/python", "own", "here")
    return worker


@pytest.mark.parametrize(
    ("status", "phase", "reason", "message"),
    [
        (3, "forward", "died", "the process exited with status 3"),
        (74, "forward", "died", "the process exited with status 74"),
        (74, "report", "died", "the model closed the pipe that carries its report"),
        (-signal.SIGKILL, "forward", "memory", "as the system does when memory runs out"),
        (-signal.SIGSEGV, "forward", "died", "was killed by SIGSEGV: a segmentation fault"),
        (-signal.SIGRTMIN - 1, "forward", "died", f"was killed by signal {signal.SIGRTMIN + 1}"),
        (-signal.SIGTERM, "forward", "died", "was killed by SIGTERM"),
    ],
)
def test_how_a_child_ended_is_told(status, phase, reason, message):
    found = made_up(status, phase=phase).look(())
    assert (found.reason, found.phase, found.layer) == (reason, phase, "fc")
    assert message in found.message


def test_a_child_that_closed_its_pipe_and_lives_is_a_crash():
    worker = made_up()
    found = worker.look({worker._process.answer})
    assert found.message == "the model closed the pipe that carries its report"


def test_a_damaged_answer_and_a_good_one():
    found = made_up(answer=DamagedAnswerError()).look(())
    assert found.message == "the model wrote to the pipe that carries its report"
    answer = failure()
    assert made_up(0, answer=answer).look(()) is answer


@pytest.mark.parametrize(
    ("python", "message"),
    [(None, "/no/python is not a Python interpreter: it ended with status 1"),
     ("3.8.2", "requires Python 3.10 or newer, got Python 3.8.2")],
)  # fmt: skip
def test_a_child_that_could_not_start_hookcli(python, message):
    found = made_up(1, python=python).look(())
    assert found.phase == "start"
    assert message in found.error.message


@pytest.mark.parametrize(
    ("more", "free", "message"),
    [
        ({"memory": 10}, None, "over --max-memory 1e-08 GB"),
        ({"memory": 10**15}, 1 << 20, "the machine ran out of memory"),
        ({}, 1 << 40, None),
        ({}, None, None),
    ],
)
def test_a_child_over_a_limit_is_stopped(monkeypatch, more, free, message):
    monkeypatch.setattr(worker_file, "available", lambda: free)
    monkeypatch.setattr(worker_file.processes, "resident", lambda pid: 1 << 30)
    found = made_up(python=None, **more).look(())
    assert (found is None) == (message is None)
    assert message is None or message in found.message


def test_the_dump_of_a_child_tells_where_it_is(monkeypatch):
    sent = []

    def kill(pid, number):
        sent.append(number)
        raise ProcessLookupError

    monkeypatch.setattr(worker_file.os, "kill", kill)
    found = made_up(place="user.py:7").stopped("timeout", "too long")
    assert (found.place, sent) == ("user.py:7", [signal.SIGUSR1])
    assert made_up(python=None).stopped("timeout", "too long").place == "net.py:4"
    assert len(sent) == 1


def test_the_time_of_a_debugger_does_not_count():
    worker = made_up()
    worker._checked = time.monotonic() - 5
    worker._note_pause()
    assert worker._limits.pauses.seconds == 0  # no terminal
    with Path(os.devnull).open("rb") as nothing:
        asks = Terminal(nothing.fileno(), nothing.fileno())
        worker._terminal = asks
        worker._note_pause()
        assert worker._limits.pauses.seconds == 0  # it does not ask
        worker._terminal = SimpleNamespace(asks=lambda: True)
        worker._checked -= 5
        worker._note_pause()
    assert worker._limits.pauses.seconds >= 5


@pytest.mark.parametrize(
    ("error", "expected", "message"),
    [
        (OSError(errno.ENOMEM, "Cannot allocate memory"), OSError, "Cannot allocate memory"),
        (OSError(errno.EMFILE, "Too many open files", "/py"), OSError, "Too many open files"),
        (OSError(errno.EACCES, "Permission denied", "/py"), RequestError, "cannot start /py"),
    ],
)
@pytest.mark.parametrize("terminal", [None, Terminal(7, 8)])
def test_a_process_that_cannot_start_blames_its_file_only_if_it_is_to_blame(
    monkeypatch, error, expected, message, terminal
):
    given = []

    def refuse(*args):
        given.append(args)
        raise error

    monkeypatch.setattr(worker_file, "started", refuse)
    monkeypatch.setattr(worker_file, "Process", refuse)
    with pytest.raises(expected, match=message) as caught:
        _process(Interpreter("/py", "--python", "--python /py"), terminal)
    assert given == [("/py",) if terminal is None else ("/py", (7, 8))]
    assert getattr(caught.value, "filename", None) is None


@pytest.mark.parametrize("opener", [None, "fails"])
def test_without_descriptors_of_processes_the_ticks_do(monkeypatch, opener):
    def refuse(pid):
        raise OSError(errno.ENOSYS, "Function not implemented")

    if opener is None:
        monkeypatch.delattr(os, "pidfd_open", raising=False)
    else:
        monkeypatch.setattr(os, "pidfd_open", refuse, raising=False)
    selector = SimpleNamespace(register=lambda *given: pytest.fail("nothing can be watched"))
    with _exit_of(os.getpid(), selector):
        pass


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["inspect", "--python", "a", "--python=b"], "b"),
        (["inspect", "--", "--python", "a"], None),
        (["inspect", "--python"], None),
    ],
)
def test_the_interpreter_of_a_command_line(arguments, expected):
    assert _typed(arguments) == expected


def test_a_name_that_is_no_interpreter_says_why(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken" / "bin").mkdir(parents=True)
    (tmp_path / "broken" / "bin" / "python").symlink_to(tmp_path / "gone")
    (tmp_path / "file").write_text("")
    for name, message in (
        ("a\0b", "a path contains a NUL character"),
        ("empty", "empty is a directory without a Python interpreter"),
        ("broken", "is a link to a file that does not exist"),
        ("absent", "absent"),
        ("./file", "./file is not executable"),
    ):
        with pytest.raises(RequestError) as caught:
            find_python(name, place="--python")
        assert message in caught.value.message
    assert find_python("sh", place="--python").endswith("/sh")
