"""An error of hookcli's own in a probe that observes a run ends that probe, and not the run."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hookcli.engine.batch.fake_checks import is_inconclusive
from hookcli.engine.watcher import AfterRun, Watcher
from hookcli.errors import is_own
from hookcli.models.failures import message_of
from hookcli.refusals import is_short_of, raise_if_external
from hookcli.report.findings import DROPPED, Measurement
from hookcli.text import first_line

_METHODS = tuple(name for name in vars(Watcher) if not name.startswith("_"))
_PACKAGE = Path(__file__).resolve().parents[2]


def drop_on_error(watcher: Watcher, names: Sequence[str]) -> Watcher:
    """Return the watcher so that its first error ends what it does.

    Its measurements are then those of `names`, its probes, with the error: rules that require one
    of them are skipped. What fake tensors cannot do, what the system refuses, and errors that are
    raised for the user end the run as before.
    """
    plain = vars(Watcher)
    kept = _Kept(names)
    for name in _METHODS:
        if getattr(type(watcher), name) is not plain[name] or name == "conclude":
            setattr(watcher, name, kept.guarded(name, getattr(watcher, name)))
    return watcher


class _Kept:
    """The first error of a watcher in a run."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._error: Exception | None = None

    def guarded(self, name: str, method: Callable[..., None]) -> Callable[..., None]:
        """Return a method that does nothing after an error, until the next run begins."""

        @functools.wraps(method)
        def call(*args: Any) -> None:
            if name == "begin":
                self._error = None
            if self._error is None:
                try:
                    method(*args)
                except Exception as error:
                    if not _is_of_probe(error):
                        raise
                    self._error = error
            if name == "conclude" and self._error is not None:
                self._conclude(args[0], self._error)

        return call

    def _conclude(self, after: AfterRun, error: Exception) -> None:
        what, place = f"{type(error).__name__}: {first_line(message_of(error))}", _place_of(error)
        value = {"error": what, "place": place}
        after.recording.measured += [
            Measurement(DROPPED, n, None, value, None) for n in self._names
        ]
        after.recording.warnings.append(
            f"hookcli left out its probe '{self._names[0]}', which failed: {what} ({place}); "
            "please report this"
        )


def _is_of_probe(error: Exception) -> bool:
    raise_if_external(error)
    return not (is_own(error) or is_inconclusive(error) or is_short_of(error))


def _place_of(error: Exception) -> str:
    """Return the last line of hookcli's package that an error passed through."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        if path.is_relative_to(_PACKAGE):
            return f"{path.relative_to(_PACKAGE.parent)}:{frame.lineno}"
    return ""
