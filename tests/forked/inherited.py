"""What a process inherits from its caller, which a test makes in a fork before its command runs."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sys

from hookcli.system.signals import ENDING
from tests.forked import capabilities


def heed_signals() -> None:
    """Let all signals have their default effect, as a user's command has them.

    A background job of a shell, as CI may be, ignores SIGINT, and one under nohup ignores SIGHUP.
    """
    for number in (*ENDING, signal.SIGCHLD, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def make(
    limits: dict[str, int | tuple[int, int]] | None = None,
    user: int | None = None,
    no_override: bool = False,
    closed: tuple[int, ...] = (),
    lost_folder: bool = False,
    ignored: tuple[str, ...] = (),
    blocked: tuple[str, ...] = (),
    no_null: bool = False,
    umask: int | None = None,
) -> None:
    """Make what is wrong from the start: resource limits, another user, streams, no working folder.

    With `no_override`, permissions of files hold for root too. Another `user` still reads all.
    `limits` are both the soft and the hard limit, or a pair. `ignored` and `blocked` are names of
    signals. With `no_null` there is no /dev/null. `umask` is that of new files.
    """
    if umask is not None:
        os.umask(umask)
    for name in ignored:
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {getattr(signal, name) for name in blocked})
    if no_null:
        capabilities.without_null()
    for name, most in (limits or {}).items():
        soft, hard = (most, most) if isinstance(most, int) else most
        resource.setrlimit(getattr(resource, name), (soft, hard))
    if no_override:
        capabilities.keep_only(lambda number: number not in capabilities.OVERRIDE)
    if user is not None:
        capabilities.become(user)
    if lost_folder:
        shutil.rmtree(os.getcwd())  # noqa: PTH109
    for fd in closed:
        os.close(fd)
        setattr(sys, ("stdin", "stdout", "stderr")[fd], None)  # as Python starts with it
