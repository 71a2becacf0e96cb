"""Runs the command line in forks of this process, in which torch is imported already.

A run is two processes, of which the second imports torch: two seconds, of which most tests want
none. Here both are forks. All else is as it is: two processes, their pipes, groups and signals.
What processes themselves are about (tests/worker, closed streams, what is imported) starts them
as a user does.

Started with the descriptor of a socket, over which come requests: JSON and three descriptors.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import gc
import importlib
import json
import os
import pkgutil
import platform
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import time
import traceback
import weakref

if "HOOKCLI_TEST_REACHED" in os.environ:  # `make near-map` asks which functions are called
    from tests.near import marks

    marks.install()

import hookcli
import hookcli.__main__
import hookcli.cli.app
import hookcli.cli.main
import hookcli.engine.attempt
import hookcli.engine.hook_engine.attached
import hookcli.worker.child.main
from hookcli.models import places
from hookcli.system.null_device import open_null
from hookcli.system.signals import ENDING
from hookcli.worker import last_event, processes
from hookcli.worker.process import set_spawn, spawn_python

if sys.path[0] == os.path.dirname(__file__):  # noqa: PTH120
    del sys.path[0]
from tests.forked import inherited, scripts

_PATH = list(sys.path)  # as PYTHONPATH and the installation make it


def main(fd: int) -> None:
    """Serve until the other end closes."""
    processes.adopt_orphans()  # what a command leaves behind becomes a child of this process
    _warm()
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=fd) as server:
        server.send(b"ready")
        while True:
            text, fds, _, _ = socket.recv_fds(server, 1 << 20, 3)
            if not text:
                return
            request = json.loads(text)
            if request["program"] == "left over":
                server.send(json.dumps(_left_over()).encode())
                continue
            pid = os.fork()
            if pid == 0:
                measure_anew()
                _never_return(lambda: _command(request, fds))
            for one in fds:
                os.close(one)
            server.send(str(pid).encode())
            _, status = os.waitpid(pid, 0)
            _reap()
            server.send(str(os.waitstatus_to_exitcode(status)).encode())


def _left_over() -> list[int]:
    """The living processes below this one, which has no command at the moment."""
    _reap()
    return processes.tree(os.getpid())[1:]


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


# What the command's own process imports before a model runs. The worker imports the rest of
# hookcli while there is a model, which tests of hostile models are about.
_PARENT = (
    "catalogue", "cli", "comparison", "config", "diagnosis", "formats", "reference", "report",
    "rules", "snapshot", "spec", "worker",
)  # fmt: skip


def _warm() -> None:
    """Import what nearly every run does, and the modules that HOOKCLI_TEST_IMPORTS names.

    With HOOKCLI_TEST_LATE_IMPORTS, a command imports its own modules, as it does for a user.
    """
    import numpy  # noqa: F401
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    from hookcli.cli.app import COMMANDS
    from hookcli.cli.application import application

    with FakeTensorMode():
        torch.empty(1)
    for name in os.environ.get("HOOKCLI_TEST_IMPORTS", "").split():
        importlib.import_module(name)
    if "HOOKCLI_TEST_LATE_IMPORTS" not in os.environ:
        for folder in _PARENT:
            _import_below(importlib.import_module(f"hookcli.{folder}"))
        importlib.import_module("hookcli.report.schema").prepare()
    application(COMMANDS, called=COMMANDS)


def _import_below(package) -> None:
    for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        if found.name not in {"hookcli.worker.__main__", "hookcli.worker.child"}:
            module = importlib.import_module(found.name)
            if found.ispkg:
                _import_below(module)


def _command(request: dict, fds: list[int]) -> None:
    """`python -m hookcli`, or `python FILE`, in the folder and the environment asked for."""
    if request["session"] != "inherited":
        os.setsid()
        for number in ENDING:  # a background job, or one under nohup, ignores some
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
    _streams(*fds)
    _close_all_but(())
    if request["session"] == "terminal":
        fcntl.ioctl(2, termios.TIOCSCTTY, 0)
    os.chdir(request["cwd"])
    inherited.make(**request["faults"])
    places.START = last_event._CWD = places._cwd()  # read when they were imported, as is proper
    _environment(request["env"])
    tempfile.tempdir = None  # found anew in this environment
    sys.path[:] = [request["cwd"], *_PATH]
    set_spawn(_spawn)
    if request["program"] == "python":
        _script(request["args"])
    if request["program"] == "oracle":
        scripts.oracle(request["args"])
    scripts.watch_exec()
    sys.argv = [hookcli.__main__.__file__, *request["args"]]
    hookcli.__main__.main()


def _script(arguments: list[str]) -> None:
    """A Python file as the main program; ends the process."""
    import runpy

    sys.argv = arguments
    status = 0
    try:
        runpy.run_path(arguments[0], run_name="__main__")
    except SystemExit as leaving:
        status = leaving.code if isinstance(leaving.code, int) else 1
    except Exception:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


class ForkedProcess:
    """The process that hookcli starts for a run: forked where Popen would execute Python."""

    def __init__(self, command, *, stdout, stderr, pass_fds, env) -> None:
        self._arguments, self._status = command, None
        self.pid = os.fork()
        if self.pid == 0:
            measure_anew()
            _never_return(lambda: _worker(command[3:-2], stdout, stderr, pass_fds, env))

    def poll(self):
        if self._status is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:  # ended as an orphan: its status is lost, as with Popen
                pid, status = self.pid, 0
            self._status = os.waitstatus_to_exitcode(status) if pid else None
        return self._status

    def wait(self, timeout=None):
        until = None if timeout is None else time.monotonic() + timeout
        while self.poll() is None:
            if until is not None and time.monotonic() > until:
                raise subprocess.TimeoutExpired(self._arguments, timeout)
            time.sleep(0.0005)
        return self._status

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


def _spawn(command, *, stdout, stderr, pass_fds, env):
    """A fork; another interpreter is started as it is."""
    make = ForkedProcess if command[0] == sys.executable else spawn_python
    return make(command, stdout=stdout, stderr=stderr, pass_fds=pass_fds, env=env)


def _worker(arguments: list[str], stdout: int, stderr: int, passed, env: dict[str, str]) -> None:
    """`python -c` with hookcli/worker/__main__.py; `arguments` are its descriptors."""
    os.setsid()
    nothing = open_null()
    _streams(nothing, *(nothing if fd == subprocess.DEVNULL else fd for fd in (stdout, stderr)))
    _close_all_but(passed)
    for fd in passed:
        os.set_inheritable(fd, True)
    for one in ENDING - {signal.SIGINT}:  # only what is ignored outlives the start of a program
        if signal.getsignal(one) is not signal.SIG_IGN:
            signal.signal(one, signal.SIG_DFL)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # as Python itself does
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    _environment(env)
    atexit._clear()  # what the parent does when it ends is not this one's
    weakref.finalize._registry.clear()
    gc.enable()
    sys.path[:] = _PATH
    os.write(int(arguments[1]), f"hookcli {platform.python_version()}\n".encode())
    hookcli.worker.child.main.main(*map(int, arguments))


def measure_anew() -> None:
    """Let `make coverage` measure this fork without what its parent has measured already."""
    coverage = sys.modules.get("coverage")
    current = coverage and coverage.Coverage.current()
    if current:
        collector = current._collector
        collector.stop()
        collector.reset()
        collector.start()


def _never_return(work) -> None:
    try:
        work()
    except BaseException:  # the fork must not go on as the server
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError):
            sys.stderr.flush()
        os._exit(70)


def _streams(*fds: int) -> None:
    """These as the standard streams, with objects of their own."""
    safe = [os.dup(fd) for fd in fds]
    for number, fd in enumerate(safe):
        os.dup2(fd, number)
    for name, number, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
        old = getattr(sys, f"__{name}__")
        made = open(
            number,
            mode,
            1 if old.line_buffering or old.write_through else -1,
            encoding=old.encoding,
            errors=old.errors,
            closefd=False,
        )
        setattr(sys, name, made)
        setattr(sys, f"__{name}__", made)


def _close_all_but(kept) -> None:
    last = 2
    for fd in (*sorted(kept), os.sysconf("SC_OPEN_MAX")):
        os.closerange(last + 1, fd)
        last = fd


def _environment(wanted: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(wanted)


if __name__ == "__main__":
    main(int(sys.argv[1]))
