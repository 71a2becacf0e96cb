"""Signals and closed streams become exit statuses, in every phase of a command."""

from __future__ import annotations

import contextlib
import os
import signal
import sys

from hookcli.cli.app import run, will_run
from hookcli.errors import InterruptedRun, RequestError, Status
from hookcli.system.null_device import open_null
from hookcli.system.process_end import (
    fill_standard_streams,
    print_interruption,
    signals_raised,
    status_of,
)
from hookcli.worker.interpreter.choice import early_choice
from hookcli.worker.process import end_unused, start_ahead
from hookcli.worker.progress import screen


def guarded(arguments: list[str]) -> int:
    """Return the command's exit status, whatever ends it."""
    fill_standard_streams()
    # If it is ignored, children have no status. A script gets it as it is.
    if hasattr(signal, "SIGCHLD") and arguments[:1] != ["run"]:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        with signals_raised():
            return _cleaned_up(arguments)
    except InterruptedRun as interruption:
        if interruption.status is Status.CLOSED_STDOUT:
            return _closed()
        _clean_up()  # again, if the signal came meanwhile
        print_interruption(interruption)
        return status_of(interruption)


def _cleaned_up(arguments: list[str]) -> int:
    """Run a command, and end what it has started.

    Raises
    ------
    InterruptedRun : a signal arrived, or stdout was closed.
    """
    encoding = getattr(sys.stderr, "encoding", None)
    screen.allow(encoding, quiet=not {"-q", "--quiet"}.isdisjoint(arguments))
    try:
        if will_run(arguments):
            # The run itself reports it if no process can be started.
            with contextlib.suppress(OSError, RequestError):
                start_ahead(early_choice(arguments))
        return run(arguments)
    except BrokenPipeError:
        return _closed()
    except Exception as error:  # noqa: BLE001  # outside of commands, such as in the help
        return _reported(error)
    finally:
        _clean_up()


def _clean_up() -> None:
    end_unused()
    screen.close()


def _reported(error: Exception) -> int:
    from hookcli.cli.errors import reported
    from hookcli.console import Console

    return reported(error, Console())


def _closed() -> int:
    """End silently. Buffered output is discarded, so that Python does not complain at exit."""
    with contextlib.suppress(OSError):
        os.dup2(open_null(), 1)
    return Status.CLOSED_STDOUT
