"""`python -m tests.faults.matrix --full`: every command in every state that a process inherits.

A state is what the caller of a command leaves to it: signals that are ignored or blocked, standard
streams, limits, another user, folders and files that cannot be written as usual. Each command runs
once without any of it. In a state it must have the same status and the same stdout, or be refused
in three lines if the state may prevent it. No traceback, file in TMPDIR or process may be left.

`--full` starts each command as a user does, or with `--forked` in forks that have torch already,
which takes an eighth of the time. The tests run such forks, and a rotation of the commands that
run a model.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.conftest import forks
from tests.faults.commands import Command, Outcome, Place, is_whole, laid_out, run as run_in_fork
from tests.faults.mounts import can_mount, fill, mounted, small_disk
from tests.faults.process_marks import MARK, listing, marked

NOBODY = 65534
_CAUGHT = ("SIGINT", "SIGHUP", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGALRM")
_STATUS_CLOSED = 141
COMMANDS = {
    "list": Command(("list", "rules")),
    "explain": Command(("explain", "rule:finite")),
    "schema": Command(("schema", "config")),
    "init": Command(("init", "model.py")),
    "render": Command(
        ("render", "report.json", "-f", "json=out.json", "-f", "table"), ("out.json",)
    ),
    "inspect": Command(
        ("inspect", "model.py", "-f", "json=out.json", "-f", "table"), ("out.json",)
    ),
    "grads": Command(("grads", "model.py", "-f", "json=out.json", "-f", "table"), ("out.json",)),
    "trace": Command(
        ("trace", "model.py", "--stream", "events.jsonl", "-f", "json=out.json", "-f", "tree"),
        ("out.json", "events.jsonl"),
    ),
    "check": Command(("check", "model.py", "-f", "json=out.json", "-f", "table"), ("out.json",)),
    "diff": Command(
        ("diff", "model.py", "other.py", "-f", "json=out.json", "-f", "table"), ("out.json",),
        status=1,
    ),
    "snapshot": Command(("snapshot", "model.py")),
    "run": Command(
        ("run", "--fail-on", "warning", "-f", "json=out.json", "lazy.py"), ("out.json",), status=1
    ),
}  # fmt: skip
_PRINTS = "        print('forward', flush=True)\n        "
CHEAP = ("list", "explain", "schema", "init", "render")  # they import no torch
MODEL = tuple(name for name in COMMANDS if name not in CHEAP)
LAZY = """\
import torch
from torch import nn
torch.manual_seed(0)
model = nn.ModuleDict({"used": nn.Linear(8, 1), "unused": nn.Linear(2, 2)})
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(4):
    optimizer.zero_grad()
    model["used"](torch.randn(4, 8)).square().mean().backward()
    optimizer.step()
print("trained")
"""


@dataclass(frozen=True, slots=True)
class State:
    """What a command inherits. `faults` are those of the forked runner.

    `prepare` changes the place for the time of a command. `streams` opens what takes the place of
    captured streams, by number. A command may be `refused`, with status 2 or 3, or be ended by a
    signal in `ends`. `lost` are the streams whose text cannot be compared; if stdout is one of
    them, `printing` is the status of a command that prints there.
    """

    faults: Mapping[str, Any] = field(default_factory=dict)
    prepare: Callable[[Place], contextlib.AbstractContextManager[Place]] = contextlib.nullcontext
    streams: Callable[[], dict[int, int]] = dict
    refused: bool = False
    ends: tuple[int, ...] = ()
    lost: tuple[int, ...] = ()
    printing: int | None = None
    why_not: Callable[[], str | None] = lambda: None


def _full(number: int) -> Callable[[], dict[int, int]]:
    return lambda: {number: os.open("/dev/full", os.O_WRONLY)}


def _gone(number: int) -> Callable[[], dict[int, int]]:
    def open_pipe() -> dict[int, int]:
        reader, writer = os.pipe()
        os.close(reader)
        return {number: writer}

    return open_pipe


def _no_terminal() -> dict[int, int]:
    """Standard streams that are a terminal whose window was closed."""
    master, slave = os.openpty()
    os.close(master)
    return {0: slave, 1: os.dup(slave), 2: os.dup(slave)}


def _socket() -> dict[int, int]:
    """A socket as stdout, whose other end is closed, and a socket without an end as stdin."""
    ends = socket.socketpair()
    ends[0].close()
    return {0: os.dup(ends[1].fileno()), 1: ends[1].detach()}


def _with_env(**names: str | None) -> Callable[[Place], Any]:
    return lambda place: contextlib.nullcontext(place.with_env(**names))


@contextlib.contextmanager
def _full_temporary(place: Place) -> Iterator[Place]:
    with small_disk(place.temporary, kibibytes=64):
        fill(place.temporary)
        yield place


@contextlib.contextmanager
def _without_write(folder: Callable[[Place], Path], place: Place) -> Iterator[Place]:
    """The folder cannot be written, but its files can."""
    for name in ("out.json", "events.jsonl"):
        if folder(place) == place.folder:
            (place.folder / name).write_text("{}")
    folder(place).chmod(0o555)
    try:
        yield place
    finally:
        folder(place).chmod(0o755)


@contextlib.contextmanager
def _mounted_outputs(place: Place) -> Iterator[Place]:
    with contextlib.ExitStack() as stack:
        for name in ("out.json", "events.jsonl"):
            (place.folder / name).write_text("{}")
            stack.enter_context(mounted(place.folder / name))
        yield place


@contextlib.contextmanager
def _of_nobody(place: Place) -> Iterator[Place]:
    for folder in (place.folder, place.temporary):
        folder.chmod(0o777)
    yield place


def _needs_root() -> str | None:
    return None if os.geteuid() == 0 else "only root can become another user"


def _needs_mount() -> str | None:
    return None if can_mount() else "this process may not mount"


def _states() -> Iterator[tuple[str, State]]:
    for name in ("SIGCHLD", "SIGPIPE", *_CAUGHT):
        yield f"{name} ignored", State({"ignored": (name,)})
    for name in ("SIGCHLD", "SIGPIPE", *_CAUGHT):
        yield f"{name} blocked", State({"blocked": (name,)})
    every = ("SIGCHLD", "SIGPIPE", *_CAUGHT)
    yield "all ignored and blocked", State({"ignored": every, "blocked": every})
    yield "stdin closed", State({"closed": (0,)})
    yield "stderr closed", State({"closed": (2,)}, lost=(2,))
    yield "stdout closed", State({"closed": (1,)}, lost=(1,), printing=_STATUS_CLOSED)
    yield "all streams closed", State({"closed": (0, 1, 2)}, lost=(1, 2), printing=_STATUS_CLOSED)
    yield "stdout full", State(streams=_full(1), lost=(1,), printing=2)
    yield "stderr full", State(streams=_full(2), lost=(2,))
    yield "stdout without a reader", State(streams=_gone(1), lost=(1,), printing=_STATUS_CLOSED)
    yield "stderr without a reader", State(streams=_gone(2), lost=(2,))
    yield "8 open files", State({"limits": {"RLIMIT_NOFILE": 8}}, refused=True)
    yield "64 open files", State({"limits": {"RLIMIT_NOFILE": 64}}, refused=True)
    yield "files of 1 KiB", State({"limits": {"RLIMIT_FSIZE": 1024}}, refused=True)
    yield "700 MiB of memory", State({"limits": {"RLIMIT_AS": 700 << 20}}, refused=True)
    yield (
        "1 s of processor time",
        State(
            {"limits": {"RLIMIT_CPU": (1, 4)}}, refused=True, ends=(signal.SIGXCPU, signal.SIGKILL)
        ),
    )
    yield "1 process", State(
        {"user": NOBODY, "limits": {"RLIMIT_NPROC": 1}}, _of_nobody, refused=True,
        why_not=_needs_root,
    )  # fmt: skip
    yield "another user", State({"user": NOBODY}, _of_nobody, why_not=_needs_root)
    yield "no /dev/null", State({"no_null": True}, why_not=_needs_mount)
    yield (
        "a read-only folder",
        State({"no_override": True}, lambda place: _without_write(lambda p: p.folder, place)),
    )
    yield "mounted outputs", State(prepare=_mounted_outputs, why_not=_needs_mount)
    yield "a closed terminal", State(streams=_no_terminal, lost=(1, 2), printing=_STATUS_CLOSED)
    yield "a closed socket", State(streams=_socket, lost=(1,), printing=_STATUS_CLOSED)
    yield "no permissions for new files", State({"umask": 0o777})
    yield (
        "a small stack, no core files",
        State({"limits": {"RLIMIT_STACK": 1 << 20, "RLIMIT_CORE": 0}}),
    )
    yield (
        "a read-only HOME",
        State(
            {"no_override": True},
            lambda place: _without_write(lambda p: p.temporary.parent / "home", place),
        ),
    )
    yield "a long TMPDIR", State(prepare=_with_env(TMPDIR="/none/" + "x" * 5000))
    yield "no TMPDIR", State(prepare=_with_env(TMPDIR="/none/such"))
    yield (
        "a read-only TMPDIR",
        State({"no_override": True}, lambda place: _without_write(lambda p: p.temporary, place)),
    )
    yield "a full TMPDIR", State(prepare=_full_temporary, refused=True, why_not=_needs_mount)
    yield "no HOME", State(prepare=_with_env(HOME=None))
    yield "the working folder is gone", State({"lost_folder": True}, _lost_folder, refused=True)


@contextlib.contextmanager
def _lost_folder(place: Place) -> Iterator[Place]:
    lost = place.folder / "lost"
    lost.mkdir()
    yield replace(place, folder=lost)


STATES = dict(_states())


def place_for(where: Path) -> Place:
    """Return a new place with the files of all commands."""
    place = laid_out(where)
    (place.folder / "lazy.py").write_text(LAZY)
    for name in ("model.py", "other.py"):  # what a model prints goes to stderr
        text = (place.folder / name).read_text()
        (place.folder / name).write_text(
            text.replace("        return self", f"{_PRINTS}return self")
        )
    return place


def commands_for(number: int) -> tuple[str, ...]:
    """Return the commands of the state with this number: half of the cheap, one with a model."""
    return (*CHEAP[number % 2 :: 2], MODEL[number % len(MODEL)])


Runner = Callable[[Command, Place], Outcome]


def judged(name: str, state: State, where: Path, run: Runner, plain: Outcome) -> list[str]:
    """Run a command in a state, and return what is wrong."""
    command, place = COMMANDS[name], place_for(where)
    with contextlib.ExitStack() as stack:
        there = stack.enter_context(state.prepare(place))
        before = listing(place.folder)
        streams = state.streams()
        for fd in streams.values():
            stack.callback(os.close, fd)
        there = replace(there, faults={**there.faults, **state.faults}, streams=streams)
        try:
            outcome = run(command, there)
        except subprocess.TimeoutExpired:
            return ["it does not end"]
        found = list(_wrong(name, state, outcome, plain))
        found += _left(command, place, before, outcome)
    return [f"{what}: status {outcome.status}, {outcome.err[-600:]!r}" for what in found]


def _wrong(name: str, state: State, outcome: Outcome, plain: Outcome) -> Iterator[str]:
    prints = bool(plain.out)
    status = plain.status
    if prints and state.printing is not None and name != "run":
        status = state.printing
    refused = state.refused and (outcome.status in {2, 3} or _is_kept(name, outcome))
    ended = -outcome.status in state.ends or outcome.status - 128 in state.ends
    if outcome.status != status and not refused and not ended:
        if not (name == "run" and _script_failed(state, outcome)):
            yield f"not status {status}"
    for word in ("Traceback", "Exception ignored", "Fatal Python error"):
        if word in outcome.err and not (name == "run" and _script_failed(state, outcome)):
            yield f"{word} on stderr"
    if outcome.status == plain.status and 1 not in state.lost and outcome.out != plain.out:
        yield f"another stdout: {outcome.out[-300:]!r}"
    if outcome.status in {2, 3} and 2 not in state.lost and not _has_three_lines(outcome):
        yield "no three lines"
    if outcome.status == _STATUS_CLOSED and set(outcome.err.splitlines()) - {"forward"}:
        yield "something on stderr"


def _is_kept(name: str, outcome: Outcome) -> bool:
    """Whether no process could judge the report of a script, which was told and is kept."""
    return name == "run" and outcome.status == 0 and "note: the report is in " in outcome.err


def _script_failed(state: State, outcome: Outcome) -> bool:
    """Whether Python itself or the script fails in a state, as it does without hookcli."""
    own = state.refused or 1 in state.lost
    return own and outcome.status in {1, 120, 134, 139, -6, -11}


def _has_three_lines(outcome: Outcome) -> bool:
    try:
        outcome.error()
    except AssertionError:
        return False
    return True


def _left(
    command: Command, place: Place, before: Mapping[str, str], outcome: Outcome
) -> Iterator[str]:
    after = listing(place.folder) if place.folder.is_dir() else {}
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) == after.get(name):
            continue
        if name not in command.writes:
            yield f"{name} was changed, made or removed"
        elif name not in after or not is_whole(place.folder / name):
            yield f"{name} is not whole"
    if outcome.status in {0, command.status} and not _is_kept(command.arguments[0], outcome):
        yield from (f"{name} is not written" for name in command.writes
                    if after.get(name) == before.get(name) and place.folder.is_dir())  # fmt: skip
    for file in place.temporary.iterdir():
        kept = command.arguments[0] == "run" and file.name.startswith("hookcli-run-")
        if not (kept or file.name == "filler" or file.name.startswith("torchinductor_")):
            yield f"{file.name} is left in TMPDIR"


def run_forked(command: Command, place: Place) -> Outcome:
    """Run a command in a fork that has imported its modules: only what it does is in question."""
    outcome = run_in_fork(command, replace(place, server=forks()))
    if left := forks().left_over():
        outcome.err += f"\nTraceback: processes are left: {left}"
    return outcome


# In place of the command: it makes the state, and becomes the command.
_FAULTS = """\
import json, os, sys
from tests.forked.inherited import make
make(**json.loads(sys.argv[1]))
os.execv(sys.executable, [sys.executable, "-m", "hookcli", *sys.argv[2:]])
"""


def run_real(command: Command, place: Place) -> Outcome:
    """Run a command as a user does, in its state; kill what it leaves, which is an error."""
    mark = uuid.uuid4().hex
    env = {**place.env, MARK: mark}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        streams = {1: out.fileno(), 2: err.fileno(), **place.streams}
        process = subprocess.Popen(
            [sys.executable, "-c", _FAULTS, json.dumps(place.faults), *command.arguments],
            cwd=place.folder, env=env, stdin=streams.get(0, subprocess.DEVNULL),
            stdout=streams[1], stderr=streams[2], start_new_session=True,
        )  # fmt: skip
        try:
            status = process.wait(120)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        text = []
        for file in (out, err):
            file.seek(0)
            text.append(file.read().decode("utf-8", "replace"))
    until = time.monotonic() + 10
    while (left := marked(mark)) and time.monotonic() < until:
        time.sleep(0.05)
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        text[1] += f"\nTraceback: process {pid} is left"
    return Outcome(status, *text)


def _why_not_real(state: State) -> str | None:
    """Another user may not start this Python, which may be in root's own folder."""
    user = state.faults.get("user")
    if user is None:
        return None
    command = [sys.executable, "-c", "import hookcli"]
    with contextlib.suppress(OSError):
        if subprocess.run(command, user=user, cwd="/", capture_output=True).returncode == 0:
            return None
    return "the other user cannot start this Python"


def _main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.matrix", description=__doc__)
    parser.add_argument("--full", action="store_true", help="each command in each state")
    parser.add_argument("--forked", action="store_true", help="in forks that have torch already")
    parser.add_argument("--state", choices=sorted(STATES))
    parser.add_argument("--command", choices=sorted(COMMANDS))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    names = [options.command] if options.command else list(COMMANDS)
    run = run_forked if options.forked else run_real
    wrong = count = 0
    skipped: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        where = Path(folder)
        where.chmod(0o755)
        plain = {n: run(COMMANDS[n], place_for(where / f"plain-{n}")) for n in names}
        cases = []
        for number, (label, state) in enumerate(STATES.items()):
            if options.state not in {None, label}:
                continue
            reason = state.why_not() or (None if options.forked else _why_not_real(state))
            if reason:
                skipped[label] = reason
                continue
            some = names if options.full else set(commands_for(number)) & set(names)
            cases += [(label, name) for name in names if name in some]

        def one(case: tuple[int, tuple[str, str]]) -> list[str]:
            number, (label, name) = case
            place = where / str(number)
            return judged(name, STATES[label], place, run, plain[name])

        with ThreadPoolExecutor(options.jobs) as pool:
            for (label, name), found in zip(cases, pool.map(one, enumerate(cases)), strict=True):
                count += 1
                wrong += bool(found)
                for problem in found:
                    print(f"{name}, {label}: {problem}", flush=True)
    for label, reason in skipped.items():
        print(f"skipped: {label}: {reason}")
    print(f"{count} runs, {wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(_main())
