"""Makes this Python look like one on another system: what the system lacks is removed.

Usage: `python -m tests.other_systems win32|darwin modules|commands [LINES]`. LINES are command
lines as JSON. It proves that hookcli does without what is removed here, and not that it runs on
that system.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import json
import os
import pkgutil
import select
import signal
import sys
import sysconfig

_ONCE = "hookcli.models.torchscript.operators"  # registers operators, which torch allows once
MODULES = {"fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty"}
_SIGNALS = {"SIGABRT", "SIGFPE", "SIGILL", "SIGINT", "SIGSEGV", "SIGTERM", "SIG_DFL", "SIG_IGN"}
OF_OS = {
    "ctermid", "fork", "forkpty", "getegid", "geteuid", "getgid", "getloadavg", "getpgid",
    "getpgrp", "getsid", "getuid", "initgroups", "killpg", "memfd_create", "mkfifo", "nice",
    "openpty", "pidfd_open", "posix_spawn", "pread", "preadv", "pwrite", "pwritev",
    "sched_getaffinity", "set_blocking", "setpgid", "setsid", "statvfs", "sysconf", "tcgetpgrp",
    "ttyname", "uname", "wait3", "wait4", "WNOHANG", "O_ASYNC", "O_CLOEXEC", "O_DIRECTORY",
    "O_NOCTTY", "O_NOFOLLOW", "O_NONBLOCK",
}  # fmt: skip
OF_SIGNAL = {"alarm", "pthread_kill", "pthread_sigmask", "setitimer", "siginterrupt", "sigwait"}
OF_SELECT = {"devpoll", "epoll", "kqueue", "poll"}
_NOT_ON_MACOS = {"memfd_create", "pidfd_open", "preadv", "sched_getaffinity"}


def remove(system: str) -> None:
    """Remove from this process what the system lacks, and name the system."""
    if system == "darwin":
        _delete(os, _NOT_ON_MACOS)
        _delete(select, {"epoll"})
    else:
        for name in MODULES:
            sys.modules[name] = None  # importing it raises ModuleNotFoundError
        _delete(os, OF_OS)
        _delete(select, OF_SELECT)
        signals = {name for name in dir(signal) if name.startswith("SIG")} - _SIGNALS
        _delete(signal, OF_SIGNAL | signals)
        _delete(faulthandler, {"register", "unregister"})
        os.supports_dir_fd = set()
    sys.platform = system


def _delete(module, names):
    for name in names:
        with contextlib.suppress(AttributeError):
            delattr(module, name)


def import_all() -> list[str]:
    """Import every module of hookcli, and return the errors."""
    import hookcli

    errors = []
    for info in pkgutil.walk_packages(hookcli.__path__, "hookcli."):
        if info.name.endswith("__main__"):
            continue
        try:
            importlib.import_module(info.name)
        except Exception as error:
            errors.append(f"{info.name}: {type(error).__name__}: {error}")
    return errors


def run_commands(lines: list[list[str]]) -> list[tuple[int, str, str]]:
    """Run command lines in this process: the status, stdout and stderr of each."""
    import io

    from hookcli.cli.main import guarded

    results = []
    for line in lines:
        streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2)]
        with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
            status = guarded(line)
        texts = []
        for stream in streams:
            stream.flush()
            texts.append(stream.buffer.getvalue().decode())
        results.append((int(status), *texts))
    return results


def forget() -> None:
    """Unload hookcli. What it imported stays loaded.

    The standard library and other packages have their own code for each system, which is not what
    is tested, and which cannot run here.
    """
    sysconfig.get_config_vars()
    for name in list(sys.modules):
        if name.partition(".")[0] == "hookcli" and name != _ONCE:
            del sys.modules[name]


if __name__ == "__main__":
    if sys.argv[2] == "modules":
        assert not import_all()
        forget()
        remove(sys.argv[1])
        print(json.dumps(import_all()))
    else:
        run_commands([["inspect", "--help"], ["schema", "config"], ["list", "hooks"]])
        forget()
        remove(sys.argv[1])
        sys.modules["torch"] = None  # no command may need it here
        print(json.dumps(run_commands(json.loads(sys.argv[3]))))
