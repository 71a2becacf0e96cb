"""Runs case after case in one process, which takes a tenth of the time of two forks for each."""

from __future__ import annotations

import contextlib
import functools
import gc
import json
import os
import pickle
import resource
import select
import shutil
import signal
import socket
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import typer.main

import hookcli.__main__
import hookcli.cli.main
from hookcli.cli import application as cli_application, main as cli_main
from hookcli.cli.commands import COMMANDS
from hookcli.models import places
from hookcli.worker import last_event, processes
from hookcli.worker.process import set_spawn
from tests.forked import server
from tests.fuzz import runner
from tests.fuzz.case import Case
from tests.fuzz.runner import Outcome
from tests.fuzz.workers import Workers

_CASES = 400  # that one process runs, before another takes its place
_SECONDS = 30  # most that a case may take here; it then runs again in a fork of its own
_GRACE = 0.5  # seconds in which processes of a command may end after it
_COLLECT = 25  # cases between two garbage collections


@dataclass(frozen=True, slots=True)
class _Ended:
    """How a case ended: its status, seconds of time and of processor time, resident bytes."""

    status: int
    seconds: float
    busy: float
    memory: int


_make, _build = cli_application.application, typer.main.get_command


@functools.cache
def _made(shown: tuple[str, ...], called: frozenset[str]) -> typer.Typer:
    return _make(shown, called)


_built = functools.cache(_build)


def build_commands() -> None:
    """Build typer's commands, which takes most of the time of a short one, for all sessions."""
    for shown in (*((name,) for name in COMMANDS), COMMANDS):
        for command in _built(_made(shown, frozenset(shown))).commands.values():
            for parameter in command.params:
                parameter.get_runtime_param()


def _use_built_commands() -> None:
    cli_application.application = lambda shown, called: _made(
        tuple(shown), frozenset(called) & frozenset(COMMANDS)
    )
    typer.main.get_command = _built


class Session:
    """A process that runs commands, or checks of the Python API: these must not be mixed.

    What autograd has run in cannot be forked.
    """

    def __init__(self) -> None:
        self._pid = 0
        self._workers = 0
        self._left = 0

    def run(self, case: Case, folder: Path) -> Outcome | None:
        """Run a case in an empty folder, which is removed; None if this process cannot run it."""
        before = runner.laid_out(case, folder)
        try:
            ended = self._ended(case, folder)
            if ended is None:
                return None
            cost = ended.seconds, ended.memory
            return runner.outcome(case, folder, before, ended.status, [], cost)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _ended(self, case: Case, folder: Path) -> _Ended | None:
        if not self._left:
            self.end()
            self._start()
        self._left -= 1
        with contextlib.suppress(OSError):  # the process has ended
            data = pickle.dumps((case, folder))
            self._socket.sendall(len(data).to_bytes(8, "little") + data)
            ready = select.select([self._socket], [], [], _SECONDS)[0]
            if ready and (answer := self._socket.recv(1000)):
                ended = _Ended(**json.loads(answer))
                within = ended.memory <= runner.MEMORY and ended.busy <= runner.PROCESSOR
                if within and not self._left_over():
                    return ended
        self.end()
        return None

    def _start(self) -> None:
        self._socket, theirs = socket.socketpair()
        self._left = _CASES
        self._pid = os.fork()
        if self._pid == 0:
            server._never_return(lambda: _serve(theirs))
        theirs.close()
        runner.sessions.add(self._pid)
        self._workers = int(self._socket.recv(20))

    def _left_over(self) -> bool:
        """Whether a process of the case is left."""
        until = time.monotonic() + _GRACE
        while {*processes.tree(self._pid)} - {self._pid, self._workers}:
            if time.monotonic() > until:
                return True
            time.sleep(0.005)
        return False

    def end(self) -> None:
        """End the process and all below it."""
        if not self._pid:
            return
        runner.end_all(processes.tree(self._pid))
        runner.sessions.discard(self._pid)
        self._socket.close()
        self._pid = self._left = 0


# In its process. --------------------------------------------------------------------------------


def _serve(requests: socket.socket) -> None:
    runner.limit()
    os.setsid()
    gc.disable()  # as hookcli.__main__ does
    server._close_all_but((requests.fileno(),))
    processes.adopt_orphans()
    workers = Workers()
    set_spawn(workers.spawn)
    _use_built_commands()
    ahead = cli_main.start_ahead
    requests.send(str(workers.pid).encode())
    done = 0
    with requests.makefile("rb") as stream:
        while size := stream.read(8):
            case, folder = pickle.loads(stream.read(int.from_bytes(size, "little")))
            cli_main.start_ahead = ahead if case.ahead else lambda *_: None
            requests.send(json.dumps(_run(case, folder, workers)).encode())
            done += 1
            if done % _COLLECT == 0:
                gc.collect()
    os._exit(0)


def _run(case: Case, folder: Path, workers: Workers) -> dict:
    """Run a case as `_Ended`. A check raises if it fails; what a command raises is its bug."""
    started, busy = time.monotonic(), time.process_time()
    workers.folder, workers.busy, workers.memory = folder, 0.0, 0
    runner.watch_files(folder)
    streams = runner.opened(folder)
    server._streams(*streams)
    for fd in streams:
        os.close(fd)
    os.chdir(folder / "work")
    places.START = last_event._CWD = places._cwd()
    server._environment(runner.environment(folder))
    tempfile.tempdir = None
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    sys.argv = [hookcli.__main__.__file__, *case.arguments]
    if case.check is None:
        status = int(cli_main.guarded([*case.arguments]))
    else:
        case.check()
        status = 0
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {
        "status": status,
        "seconds": time.monotonic() - started,
        "busy": time.process_time() - busy + workers.busy,
        "memory": max(own, workers.memory),
    }
