"""Runs a case in a fork of this process, in folders of its own, and checks what it left.

The command is `hookcli.__main__.main` in the process that `tests.forked.server` makes of a fork.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import weakref
from dataclasses import dataclass
from pathlib import Path

import hookcli
import hookcli.__main__
import hookcli.cli.main
from hookcli.cli import main as cli_main
from hookcli.models import places
from hookcli.worker import last_event, processes
from hookcli.worker.process import set_spawn
from tests.forked import scripts, server
from tests.fuzz import corpus, judge
from tests.fuzz.case import Case
from tests.fuzz.configurations import SNAPSHOT
from tests.fuzz.judge import Failure, Listing

SECONDS = 90  # most that a case may take, on a busy machine
PROCESSOR = 20  # most seconds of processor time of all its processes
MEMORY = 2 << 30  # most resident bytes of one of its processes
ADDRESSES = 12 << 30  # most bytes of addresses, which protects the machine
_GRACE = 2.0  # seconds in which processes of a command may end after it


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a case ended: its failures, and what it cost."""

    status: int | None
    failures: tuple[Failure, ...]
    seconds: float
    memory: int
    out: str = ""
    err: str = ""


def prepare() -> None:
    """Import and build what all cases need, then leave it to the forks."""
    import importlib
    import pkgutil

    processes.adopt_orphans()
    for module in pkgutil.walk_packages(hookcli.__path__, "hookcli."):
        parts = module.name.split(".")
        if not {"__main__", "script", "pytest_plugin"} & set(parts):
            importlib.import_module(module.name)
    server._warm()
    set_spawn(server._spawn)
    _rehearse()
    gc.collect()
    gc.freeze()


def _rehearse() -> None:
    """Run commands here, so that forks find imported and built what each would make again."""
    import torch

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    start, kept = Path.cwd(), [os.dup(fd) for fd in range(3)]
    nothing = os.open(os.devnull, os.O_RDWR)
    with tempfile.TemporaryDirectory(prefix="hookcli-fuzz-") as folder:
        try:
            for fd in range(3):
                os.dup2(nothing, fd)
            os.chdir(folder)
            places.START = last_event._CWD = places._cwd()  # as tests.forked.server does
            Path("m.py").write_bytes(corpus.MODEL)
            Path("c.yaml").write_text(SNAPSHOT)
            Path("r.json").write_bytes(corpus.reports()[0])
            Path("t.json").write_bytes(corpus.trainings()[0])
            for line in REHEARSED:
                for number, handler in before.items():
                    signal.signal(number, handler)
                cli_main.guarded(line.split())
            hookcli.inspect(corpus.Net(), torch.ones(2, 4))
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
        finally:
            os.chdir(start)
            for fd, copy in enumerate(kept):
                os.dup2(copy, fd)
                os.close(copy)
            os.close(nothing)
            for number, handler in before.items():
                signal.signal(number, handler)


REHEARSED = (
    *(f"render r.json -f {name}" for name in ("table", "tree", "json", "markdown")),
    *(f"render r.json -f {name}" for name in ("html", "junit", "sarif", "github", "perfetto")),
    *(f"render t.json -f {name}" for name in ("table", "tree", "json", "markdown", "html")),
    "diff r.json r.json -f json", "diff r.json r.json", "diff t.json t.json",
    "check --against r.json -f json", "inspect nothing", "inspect m.py -i 2y4",
    "inspect m.py -i 2x4", "check -c c.yaml", "grads m.py -i 2x4", "trace m.py -i 2x4",
)  # fmt: skip


def run(case: Case, folder: Path) -> Outcome:
    """Run a case in a fork of its own, in an empty folder, which is removed."""
    before = laid_out(case, folder)
    try:
        if not case.script:
            return _run(case, folder, before)
        plain = dataclasses.replace(case, arguments=(), then=())
        expected = _run(plain, folder, before) if case.is_same else None
        shutil.rmtree(folder)
        found = _run(case, folder, laid_out(case, folder))
        return dataclasses.replace(
            found,
            failures=(
                *found.failures,
                *(judge.differences(expected, found) if expected is not None else ()),
                *(failure for command in case.then for failure in _then(command, folder)),
            ),
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(case: Case, folder: Path, before: Listing) -> Outcome:
    started = time.monotonic()
    pid = os.fork()
    if pid == 0:
        server._never_return(lambda: _alone(case, folder))
    status, used, late = _wait(pid)
    seconds, memory = time.monotonic() - started, used.ru_maxrss * 1024
    busy = used.ru_utime + used.ru_stime
    slow = late or busy > PROCESSOR
    failures = [Failure("too slow", f"{seconds:.0f} s, {busy:.0f} s busy")] if slow else []
    if left := left_over():
        failures.append(Failure("a process is left", " ".join(left)))
    if memory > MEMORY:
        failures.append(Failure("too much memory", f"{memory >> 20} MiB"))
    ended = None if late else status
    return outcome(case, folder, before, ended, failures, (seconds, memory))


def _then(command: tuple[str, ...], folder: Path) -> list[Failure]:
    """Run a command that reads a file which an earlier one may have written, and judge it."""
    if not (folder / "work" / command[1]).is_file():
        return []
    found = _run(Case(command), folder, judge.listing(folder))
    if found.status == 2:
        return [Failure(f"{command[0]} refuses what hookcli wrote", found.err)]
    return [Failure(f"{command[0]}: {one.kind}", one.detail) for one in found.failures]


def laid_out(case: Case, folder: Path) -> Listing:
    """Make the folders and files of a case, and return what they contain."""
    for name in ("work", "home", "tmp"):
        (folder / name).mkdir(parents=True)
    for kind, name, target in case.entries:
        path = folder / "work" / name
        if kind == "folder":
            path.mkdir(parents=True)
        elif kind == "pipe":
            os.mkfifo(path)
        else:
            path.symlink_to(target)
    for name, content in case.files.items():
        (folder / "work" / name).write_bytes(content)
    (folder / "in").write_bytes(case.piped)
    return judge.listing(folder)


def outcome(
    case: Case,
    folder: Path,
    before: Listing,
    status: int | None,
    failures: list[Failure],
    cost: tuple[float, int],
) -> Outcome:
    """What became of a case that ended, which took so many seconds and bytes of memory."""
    texts = [(folder / name).read_bytes().decode("utf-8", "replace") for name in ("out", "err")]
    printed = [] if status is None else judge.judged(case, status, *texts)
    changes = judge.changes(case, status, before, judge.listing(folder))
    everything = (*failures, *printed, *changes, *judge.foreign(folder))
    return Outcome(status, everything, *cost, *texts)


# In the fork. -----------------------------------------------------------------------------------


def _alone(case: Case, folder: Path) -> None:
    limit()
    weakref.finalize._registry.clear()  # a script that ends must not remove the harness's folder
    tempfile.tempdir = None  # chosen again, from the environment
    watch_files(folder)
    streams, variables = opened(folder), environment(folder)
    if case.check is not None or (case.script and not case.arguments):
        server._streams(*streams)
        os.chdir(folder / "work")
        server._environment(variables)
        if case.check is None:
            os.setsid()
            scripts.as_main(lambda: _python(case.script))
        else:
            case.check()
        os._exit(0)
    if not case.ahead:
        cli_main.start_ahead = lambda *_: None  # most commands end before they need the worker
    request = {"program": "hookcli", "args": [*case.arguments], "cwd": str(folder / "work")}
    server._command({**request, "env": variables, "session": "own", "faults": {}}, streams)


def _python(arguments: tuple[str, ...]) -> tuple[object, ...]:
    """What runs a script as Python does, for `tests.forked.scripts.as_main`."""
    path = os.path.abspath(arguments[0])  # noqa: PTH100
    sys.argv = [*arguments]
    sys.path.insert(0, os.path.dirname(path))  # noqa: PTH120
    names = sys.modules["__main__"].__dict__
    names["__file__"] = path
    return exec, compile(Path(path).read_bytes(), path, "exec"), names


def limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def opened(folder: Path) -> list[int]:
    """Descriptors for stdin, stdout and stderr."""
    how = {"in": os.O_RDONLY, "out": _NEW, "err": _NEW}
    return [os.open(folder / name, flags, 0o600) for name, flags in how.items()]


_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC


def environment(folder: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"], "HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp"),
        "OMP_NUM_THREADS": "1", "LANG": "C.UTF-8", "PYTHONHASHSEED": "0",
    }  # fmt: skip


_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_CHANGING = {"os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink", "os.link", "os.chmod",
             "os.truncate", "shutil.rmtree", "os.chown", "os.utime"}  # fmt: skip


_watched: list[Path] = []  # the folder of the case that runs


def watch_files(folder: Path) -> None:
    """Note each path outside the folder that Python code opens to write, makes or removes."""
    if not _watched:
        sys.addaudithook(_note_write)
    _watched[:] = [folder]


def _note_write(event: str, args: tuple[object, ...]) -> None:
    if event == "open":
        path, _, flags = args
        if not isinstance(flags, int) or not flags & _WRITING:
            return
    elif event in _CHANGING:
        path = args[0]
    else:
        return
    if isinstance(path, int) or path is None:
        return
    full, own = os.path.abspath(os.fsdecode(path)), str(_watched[0])  # noqa: PTH100
    if not f"{full}{os.sep}".startswith((f"{own}{os.sep}", "/dev/", "/proc/self/")):
        fd = os.open(f"{own}/foreign", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(fd, f"{event} {full}\n".encode("utf-8", "replace"))
        os.close(fd)


def _wait(pid: int) -> tuple[int, resource.struct_rusage, bool]:
    """The exit status, the resources used, and whether it was ended because it took too long."""
    fd = os.pidfd_open(pid)
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    late = not poll.poll(SECONDS * 1000)
    if late:
        for member in reversed(processes.tree(pid)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(member, signal.SIGKILL)
    os.close(fd)
    _, status, used = os.wait4(pid, 0)
    return os.waitstatus_to_exitcode(status), used, late


sessions: set[int] = set()  # processes of the harness, below this one, which run on


def left_over() -> list[str]:
    """Where processes below this one are that do not end by themselves; they are ended."""
    until = time.monotonic() + _GRACE
    while True:
        server._reap()
        children = set(processes.children(os.getpid())) - sessions
        pids = [pid for child in children for pid in processes.tree(child)]
        if not pids or time.monotonic() > until:
            break
        time.sleep(0.005)
    names = []
    for pid in pids:
        with contextlib.suppress(OSError):
            names.append(f"{pid}:{Path(f'/proc/{pid}/wchan').read_text()}")
    end_all(pids)
    return names


def end_all(pids: list[int]) -> None:
    """Kill processes, and wait for those that are children of this one."""
    for pid in reversed(pids):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for pid in pids:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)
