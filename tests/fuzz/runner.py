"""Runs a case in a fork of this process, in folders of its own, and checks what it left.

The command is `hookcli.__main__.main` in the process that `tests.forked.server` makes of a fork.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import re
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, TypeAlias

import hookcli
import hookcli.__main__
from hookcli.cli import main as cli_main
from hookcli.models import places
from hookcli.worker import last_event, processes
from hookcli.worker.process import set_spawn
from tests.forked import server
from tests.fuzz import corpus
from tests.fuzz.case import Case
from tests.fuzz.configurations import SNAPSHOT

SECONDS = 90  # most that a case may take, on a busy machine
PROCESSOR = 20  # most seconds of processor time of all its processes
MEMORY = 2 << 30  # most resident bytes of one of its processes
ADDRESSES = 12 << 30  # most bytes of addresses, which protects the machine
DOCUMENTED = {0, 1, 2, 3}  # docs/commands/index.md; the others need a signal or a bug
_GRACE = 2.0  # seconds in which processes of a command may end after it


Listing: TypeAlias = dict[str, bytes | None]


@dataclass(frozen=True, slots=True)
class Failure:
    """What is wrong; `kind` is the same for failures with the same cause, as far as one can see."""

    kind: str
    detail: str


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
    before = _laid_out(case, folder)
    started = time.monotonic()
    try:
        pid = os.fork()
        if pid == 0:
            server._never_return(lambda: _alone(case, folder))
        status, used, late = _wait(pid)
        seconds, memory = time.monotonic() - started, used.ru_maxrss * 1024
        busy = used.ru_utime + used.ru_stime
        slow = late or busy > PROCESSOR
        failures = [Failure("too slow", f"{seconds:.0f} s, {busy:.0f} s busy")] if slow else []
        if left := _left_over():
            failures.append(Failure("a process is left", " ".join(left)))
        if memory > MEMORY:
            failures.append(Failure("too much memory", f"{memory >> 20} MiB"))
        return _outcome(case, folder, before, None if late else status, failures, seconds, memory)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run_all(cases: list[Case], folder: Path) -> Iterator[Outcome]:
    """Run cases: first in one fork, which takes a fifth of the time, those that need no worker.

    What fails there runs again in a fork of its own, and that outcome counts.
    """
    quick = _together(cases, folder)
    for index, case in enumerate(cases):
        outcome = quick.get(index)
        if outcome is None or outcome.failures:
            outcome = run(case, folder / str(index))
        yield outcome


def _together(cases: list[Case], folder: Path) -> dict[int, Outcome]:
    chosen = [i for i, case in enumerate(cases) if case.check is None and not case.ahead]
    before = {i: _laid_out(cases[i], folder / str(i)) for i in chosen}
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        server._never_return(lambda: _in_turn([(i, cases[i]) for i in chosen], folder, writer))
    os.close(writer)
    ended = dict(_statuses(pid, reader))
    _, _, used = os.wait4(pid, 0)
    clean = not _left_over() and used.ru_maxrss * 1024 <= MEMORY
    found = {}
    for index, (status, seconds) in ended.items() if clean else ():
        if status is not None:
            here, memory = folder / str(index), used.ru_maxrss * 1024
            found[index] = _outcome(cases[index], here, before[index], status, [], seconds, memory)
    for index in chosen:
        shutil.rmtree(folder / str(index), ignore_errors=True)
    return found


def _statuses(pid: int, reader: int) -> Iterator[tuple[int, tuple[int | None, float]]]:
    """Each case that ended: its number, its status (None if it must run alone), its seconds."""
    poll = select.poll()
    poll.register(reader, select.POLLIN | select.POLLHUP)
    with open(reader, "rb", buffering=0) as lines:
        while poll.poll(SECONDS * 1000):
            line = lines.read(_LINE)
            if len(line) < _LINE:
                return
            number, status, seconds = line.split()
            yield int(number), (None if status == b"alone" else int(status), float(seconds))
    for member in reversed(processes.tree(pid)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(member, signal.SIGKILL)


_LINE = 40  # bytes of a line about a case


def _laid_out(case: Case, folder: Path) -> Listing:
    """Make the folders and files of a case, and return what they contain."""
    for name in ("work", "home", "tmp"):
        (folder / name).mkdir(parents=True)
    for name, content in case.files.items():
        (folder / "work" / name).write_bytes(content)
    (folder / "in").write_bytes(case.piped)
    return _listing(folder)


def _outcome(
    case: Case,
    folder: Path,
    before: Listing,
    status: int | None,
    failures: list[Failure],
    seconds: float,
    memory: int,
) -> Outcome:
    texts = [(folder / name).read_bytes().decode("utf-8", "replace") for name in ("out", "err")]
    judged = [] if status is None else _judged(case, status, *texts)
    changes = _changes(case, status, before, _listing(folder))
    everything = (*failures, *judged, *changes, *_foreign(folder))
    return Outcome(status, everything, seconds, memory, *texts)


# In the fork. -----------------------------------------------------------------------------------


def _alone(case: Case, folder: Path) -> None:
    _limit()
    tempfile.tempdir = None  # chosen again, from the environment
    _watch_files(folder)
    streams, environment = _opened(folder), _environment(folder)
    if case.check is not None:
        server._streams(*streams)
        os.chdir(folder / "work")
        server._environment(environment)
        case.check()
        os._exit(0)
    if not case.ahead:
        cli_main.start_ahead = lambda *_: None  # most commands end before they need the worker
    request = {"program": "hookcli", "args": [*case.arguments], "cwd": str(folder / "work")}
    server._command({**request, "env": environment, "session": "own"}, streams)


class _NeedsWorkerError(BaseException):
    """The command is about to start its worker."""


def _in_turn(cases: list[tuple[int, Case]], folder: Path, writer: int) -> None:
    """Run commands in this process until they need a worker, and write how each ended."""

    def refuse(*_: object, **__: object) -> NoReturn:
        raise _NeedsWorkerError

    _limit()
    os.setsid()
    gc.disable()  # as hookcli.__main__ does
    server._close_all_but((writer,))
    set_spawn(refuse)
    cli_main.start_ahead = lambda *_: None
    for index, case in cases:
        started = time.monotonic()
        here = folder / str(index)
        _watch_files(here)
        streams = _opened(here)
        server._streams(*streams)
        for fd in streams:
            os.close(fd)
        os.chdir(here / "work")
        places.START = last_event._CWD = places._cwd()
        server._environment(_environment(here))
        tempfile.tempdir = None
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        sys.argv = [hookcli.__main__.__file__, *case.arguments]
        try:
            status = str(int(cli_main.guarded([*case.arguments])))
        except BaseException:
            status = "alone"
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        line = f"{index} {status} {time.monotonic() - started:.4f}"
        os.write(writer, f"{line:{_LINE}}".encode())
    os._exit(0)


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _opened(folder: Path) -> list[int]:
    """Descriptors for stdin, stdout and stderr."""
    how = {"in": os.O_RDONLY, "out": _NEW, "err": _NEW}
    return [os.open(folder / name, flags, 0o600) for name, flags in how.items()]


_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC


def _environment(folder: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"], "HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp"),
        "OMP_NUM_THREADS": "1", "LANG": "C.UTF-8", "PYTHONHASHSEED": "0",
    }  # fmt: skip


_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_CHANGING = {"os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink", "os.link", "os.chmod",
             "os.truncate", "shutil.rmtree", "os.chown", "os.utime"}  # fmt: skip


_watched: list[Path] = []  # the folder of the case that runs


def _watch_files(folder: Path) -> None:
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


def _foreign(folder: Path) -> list[Failure]:
    log = folder / "foreign"
    if not log.exists():
        return []
    return [Failure("a file outside the folder was written", log.read_text(errors="replace"))]


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


def _left_over() -> list[str]:
    """The commands of processes below this one that do not end by themselves; they are ended."""
    until = time.monotonic() + _GRACE
    while True:
        server._reap()
        pids = processes.tree(os.getpid())[1:]
        if not pids or time.monotonic() > until:
            break
        time.sleep(0.005)
    names = []
    for pid in pids:
        with contextlib.suppress(OSError):
            names.append(f"{pid}:{Path(f'/proc/{pid}/wchan').read_text()}")
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for pid in pids:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)
    return names


# What the command printed. ----------------------------------------------------------------------


def _judged(case: Case, status: int, out: str, err: str) -> list[Failure]:
    if case.check is not None:
        return [] if status == 0 else [Failure(f"differs: {_cause(err)}", err[-3000:])]
    if status not in DOCUMENTED:
        return [Failure(f"status {status}: {_cause(err)}", err[-3000:])]
    found = []
    shown = "Traceback (most recent call last)" in err and "hookcli" in _cause(err)
    if shown and not {"-v", "--verbose"} & {*case.arguments}:  # the model's own are its output
        found.append(Failure(f"a traceback: {_cause(err)}", err[-3000:]))
    lines = err.splitlines()
    not_judged = status == 3 and out and not any(map(_is_error, lines))  # docs/commands/check.md
    if status in {2, 3} and not not_judged:
        starts = ("error: ", "  --> ", "hint: ")
        last = [_plain(line) for line in lines[-3:]]
        is_error = len(last) == 3 and all(map(str.startswith, last, starts))
        if (
            not (
                is_error
                and all(
                    line.removeprefix(start).strip()
                    for line, start in zip(last, starts, strict=True)
                )
            )
            and "-v" not in case.arguments
        ):
            found.append(Failure(f"status {status} without three lines", err[-2000:]))
    elif status < 2 and any(map(_is_error, lines)) and "diff" not in case.arguments:
        found.append(Failure(f"status {status} with an error", err[-2000:]))
    if status == 2 and out:
        found.append(Failure("status 2 with a report", out[-2000:]))
    if out and (wrong := _not_whole(case, out)):
        found.append(Failure(f"stdout is not whole: {wrong}", out[-2000:]))
    return found


def _is_error(line: str) -> bool:
    return _plain(line).startswith("error: ")


def _plain(line: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", line)


def _cause(err: str) -> str:
    """The last frame in hookcli and the type of the exception, without values."""
    if bug := re.search(r"hookcli failed: (\w+).*\n  --> .*?([\w.]+/[\w.]+:\d+)", err):
        return f"{bug[1]} in {bug[2]}"
    frames = re.findall(r'File "([^"]+)", line \d+, in (\S+)', err)
    own = [
        f"{file[file.index('hookcli/') :]}:{name}" for file, name in frames if "/hookcli/" in file
    ]
    types = re.findall(r"^([A-Za-z_.]+(?:Error|Exception|Interrupt|Exit))\b", err, re.MULTILINE)
    return f"{types[-1] if types else 'unknown'} in {own[-1] if own else 'the model'}"


def _not_whole(case: Case, out: str) -> str:
    """Why stdout is not a whole document of its format, "" if it is or if nothing can tell."""
    given = case.arguments
    named = [given[i + 1] for i, word in enumerate(given[:-1]) if word in {"-f", "--format"}]
    if not named or given[0] not in _REPORTING:
        return ""
    try:
        if named[-1] in {"json", "sarif", "perfetto"}:
            json.loads(out, parse_constant=_refuse)
        elif named[-1] == "junit":
            ET.fromstring(out)
        elif named[-1] == "html" and not out.rstrip().endswith("</html>"):
            return "html has no end"
    except (ValueError, ET.ParseError) as error:
        return f"{named[-1]}: {type(error).__name__}"
    return ""


_REPORTING = {"inspect", "grads", "trace", "check", "render", "diff"}


def _refuse(constant: str) -> None:
    raise ValueError(constant)


# What it left in its folders. -------------------------------------------------------------------


def _listing(folder: Path) -> Listing:
    """Every file below the three folders with its content; None of what is no plain file."""
    found: Listing = {}
    for name in ("work", "home", "tmp"):
        for path in (folder / name).rglob("*"):
            plain = path.is_file() and not path.is_symlink()
            found[str(path.relative_to(folder))] = path.read_bytes() if plain else None
    return found


def _changes(case: Case, status: int | None, before: Listing, after: Listing) -> list[Failure]:
    found = []
    new = sorted(after.keys() - before.keys())
    if any("CANARY" in name for name in new):
        found.append(Failure("code of a file ran", ", ".join(new)))
    elif new and not (
        case.writes and status != 2 and all(name.startswith("work/") for name in new)
    ):
        found.append(Failure(f"a new file in {new[0].split('/')[0]}", ", ".join(new)))
    changed = [name for name, content in before.items() if after.get(name, b"") != content]
    if changed and not case.writes:
        found.append(Failure("an input changed", ", ".join(changed)))
    return found
