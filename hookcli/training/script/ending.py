"""How a script ends: by its last line, sys.exit or an exception, or because hookcli ends it."""

from __future__ import annotations

import os
import sys

from hookcli.training.script.held_signals import HeldSignals, call_handlers
from hookcli.training.script.own_imports import own_imports

TYPE_CHECKING = False  # known to type checkers: importing typing is not what plain Python does
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Literal, TypeAlias

    Raised: TypeAlias = tuple[type[BaseException], BaseException, TracebackType | None]
    Hook: TypeAlias = Callable[[type[BaseException], BaseException, TracebackType | None], object]
    Ended: TypeAlias = Literal[
        "completed", "exit", "exception", "interrupted", "max_steps", "stopped"
    ]

_print = sys.__excepthook__  # the script may replace it
_OWN = os.path.join(os.path.dirname(__file__), "importlib_bootstrap.py")  # noqa: PTH118, PTH120


class EndOfRun(SystemExit):
    """Ends the script with status 0, after --max-steps or by --stop-on.

    Blocks of `finally` and functions of atexit run, as after sys.exit.
    """

    def __init__(self, ended: Literal["max_steps", "stopped"]) -> None:
        super().__init__(0)
        self.ended: Ended = ended


class Ending:
    """How the script has ended. `error` and `place` are as in `ScriptInfo`."""

    def __init__(self) -> None:
        self.ended: Ended = "completed"
        self.status = 0
        self.error: str | None = None
        self.place: str | None = None


ending = Ending()


def note(error: BaseException) -> None:
    """Note the exception that leaves the script, and let Python report it without our frames."""
    if isinstance(error, SystemExit):
        ending.ended = getattr(error, "ended", "exit") if isinstance(error, EndOfRun) else "exit"
        ending.status = _status(error.code)
        return
    interrupted = isinstance(error, KeyboardInterrupt)
    ending.ended = "interrupted" if interrupted else "exception"
    ending.status = 130 if interrupted else 1
    _strip_when_reported()


def _status(code: object) -> int:
    """Return the exit status that Python gives for the code of a SystemExit."""
    if code is None:
        return 0
    return code & 0xFF if isinstance(code, int) else 1


def _strip_when_reported() -> None:
    """Remove our frames from the traceback when Python reports the exception.

    The frames are added while the exception leaves them. Python then calls sys.excepthook at once,
    which is this function for this call only. Signals are held back until it has returned: what
    their handlers raise would be reported with our frames. Python ignores it at this time.
    """
    previous = getattr(sys, "excepthook", None)
    held = HeldSignals()
    held.hold()

    def excepthook(
        kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        if previous is None:  # the script deleted it
            del sys.excepthook
        else:
            sys.excepthook = previous
        while trace is not None and trace.tb_frame.f_code.co_filename == _OWN:
            trace = trace.tb_next
        error.__traceback__ = trace
        trace = _mended(error)
        sys.last_traceback = trace
        ending.place = _place(trace)
        _report(previous, (kind, error, trace), held)
        ending.error = _last_line(error)
        _let_go(held)

    sys.excepthook = excepthook


def _report(hook: Hook | None, raised: Raised, held: HeldSignals) -> None:
    """Do what Python does with an exception: call sys.excepthook, and tell what goes wrong in it.

    Raises
    ------
    SystemExit : the script's own function ends the process.
    """
    if hook is None:
        _write("sys.excepthook is missing\n")
        _print(*raised)
        return
    if hook is _print:
        with Ignored():
            hook(*raised)
        return
    _let_go(held)  # a function of the script may take long
    try:
        hook(*raised)
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001
        if error.__traceback__ is not None:  # always, if it was raised
            error.__traceback__ = error.__traceback__.tb_next
        _write("Error in sys.excepthook:\n")
        _print(type(error), error, error.__traceback__)
        _write("\nOriginal exception was:\n")
        _print(*raised)


def _let_go(held: HeldSignals) -> None:
    with Ignored():
        call_handlers(held.release())


class Ignored:
    """Ignores what handlers of signals raise."""

    def __enter__(self) -> None:
        return

    def __exit__(self, *raised: object) -> bool:
        return True


def _write(text: str) -> None:
    with Ignored():
        sys.stderr.write(text)


def _mended(error: BaseException) -> TracebackType | None:
    """Return the traceback without what hooks on modules have changed in it."""
    before = error.__traceback__
    try:
        with own_imports():
            from hookcli.training.script.plain_traceback import mend

            mend(error)
    except Exception:  # noqa: BLE001  # the traceback as it is tells the error too
        return before
    return error.__traceback__


def _place(trace: TracebackType | None) -> str | None:
    """Return the innermost line of a traceback that is not in an installed package."""
    place = None
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if "site-packages" not in file and not file.startswith(("<", sys.base_prefix)):
            place = f"{file}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


def _last_line(error: BaseException) -> str:
    name = type(error).__name__
    try:
        text = str(error)
    except Exception:  # noqa: BLE001  # the user's own __str__
        return name
    return f"{name}: {text}" if text else name
