"""The fork server's own side: it imports torch once, and forks a worker for each request.

It runs no code of the user. A worker that it forked begins where a new process would: with standard
streams of its own, default signals, and no descriptors but those of its request.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import platform
import select
import signal
import socket
import sys
import traceback
import warnings
from typing import NoReturn

from hookcli.system.null_device import open_null
from hookcli.system.signals import ENDING
from hookcli.worker import processes
from hookcli.worker.child import guard
from hookcli.worker.child.main import import_run, main

_MOST = 1 << 16  # bytes of a request
_MOST_FDS = 16


def serve(fd: int) -> NoReturn:
    """Fork workers until the other end of the socket is closed.

    A request is the numbers that its descriptors must have in the worker, as JSON, and the
    descriptors: the pipe of the status, the worker's stdout and stderr, and what it is passed.
    Without descriptors it is names of modules of hookcli to import.
    """
    processes.adopt_orphans()
    import_run()  # an error is raised again in each worker, which reports it
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=guard.move_high(fd)) as requests:
        poll = select.poll()
        poll.register(requests, select.POLLIN)
        living: dict[int, tuple[int, int]] = {}  # a process's descriptor: its id, its status pipe
        while True:
            for ready, _ in poll.poll():
                if ready in living:
                    poll.unregister(ready)
                    _tell_end(ready, *living.pop(ready))
                    if not living:
                        processes.end_orphans(set())
                    continue
                request, fds = _received(requests)
                if not request:
                    for pid, _ in living.values():
                        processes.end_group(pid)
                    guard.exit_now(0)
                if not fds:
                    _import(json.loads(request))
                    continue
                pid = _fork()
                if pid == 0:
                    _become_worker(json.loads(request), fds)
                for passed in fds[1:]:
                    os.close(passed)
                with contextlib.suppress(BrokenPipeError):  # who asked has ended
                    os.write(fds[0], f"{pid}\n".encode())
                process = os.pidfd_open(pid)
                living[process] = pid, fds[0]
                poll.register(process, select.POLLIN)


def _import(names: list[str]) -> None:
    """Import modules of hookcli, so that later workers have them."""
    for name in names:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()


def _received(requests: socket.socket) -> tuple[bytes, list[int]]:
    try:
        data, fds, _, _ = socket.recv_fds(requests, _MOST, _MOST_FDS)
    except ConnectionResetError:
        return b"", []
    return data, fds


def _fork() -> int:
    with warnings.catch_warnings():
        # Libraries of numpy and torch have threads that know of forks.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _tell_end(process: int, pid: int, status_pipe: int) -> None:
    os.close(process)
    _, status = os.waitpid(pid, 0)
    with contextlib.suppress(BrokenPipeError):
        os.write(status_pipe, f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os.close(status_pipe)


def _become_worker(numbers: list[int], fds: list[int]) -> NoReturn:
    """Run one job as a new process does, and end."""
    try:
        os.setsid()
        nothing = open_null()
        _place([nothing, *fds[1:]], [0, 1, 2, *numbers])
        _open_streams()
        _reset_signals()
        gc.enable()
        os.write(numbers[1], f"hookcli {platform.python_version()}\n".encode())
        job, answer, events, dump, alive = numbers
        main(job, answer, events, dump, alive)
    except BaseException:  # noqa: BLE001  # the fork must not go on as the server
        traceback.print_exc()
    guard.exit_now(1)


def _place(fds: list[int], numbers: list[int]) -> None:
    """Give descriptors their numbers, and close all others."""
    import fcntl

    above = max(*numbers, *fds) + 1
    high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, above) for fd in fds]
    for fd, number in zip(high, numbers, strict=True):
        os.dup2(fd, number)
    last = 2
    for number in (*sorted(set(numbers) - {0, 1, 2}), os.sysconf("SC_OPEN_MAX")):
        os.closerange(last + 1, number)
        last = number


def _open_streams() -> None:
    """Make objects for the standard streams, as Python does when it starts."""
    for name, number, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
        old = getattr(sys, f"__{name}__")
        is_line_buffered = name == "stderr" or os.isatty(number)
        stream = open(  # noqa: SIM115  # open as long as the process
            number,
            mode,
            buffering=1 if mode == "w" and is_line_buffered else -1,
            encoding=old.encoding,
            errors=old.errors,
            closefd=False,
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _reset_signals() -> None:
    """Handle signals as a process that was just started."""
    for number in ENDING - {signal.SIGINT}:
        if signal.getsignal(number) is not signal.SIG_IGN:
            with contextlib.suppress(OSError):  # reserved by the C library
                signal.signal(number, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
