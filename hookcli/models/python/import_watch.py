"""What the import of the user's file does besides defining a model: training, writing files.

Nothing of torch or Python is replaced. Optimizer steps are counted by a global optimizer hook.
Files are seen by an audit hook of Python, and those of `torch.save`, which C++ opens, by a tagger
of storages (`torch.serialization.register_package`). Neither can be removed: both do nothing after
the import.
"""

from __future__ import annotations

import functools
import os
import sys
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from types import FrameType
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.serialization import register_package

from hookcli.models import places
from hookcli.sentences import MAIN_GUARD
from hookcli.text import counted, join_names

_FIRST = -1_000_003  # priority of the tagger: before all others, and equal to none
_WRITING = os.O_WRONLY | os.O_RDWR
_SERIALIZATION = str(Path("torch", "serialization.py"))
_SHOWN = 3  # files in the note
_LEAST = 1.0  # seconds: shorter imports are not timed

_watches: list[ImportWatch] = []  # those that are open


class ImportWatch:
    """Optimizer steps, written files and the time of an import; use it as a context manager."""

    def __init__(self) -> None:
        self.steps = 0
        self.seconds = 0.0
        self.trained: set[int] = set()  # ids of parameters that an optimizer has changed
        self._optimizers: weakref.WeakSet[torch.optim.Optimizer] = weakref.WeakSet()
        self._written: dict[str, None] = {}

    @contextmanager
    def watching(self) -> Iterator[ImportWatch]:
        """Watch until the context is closed."""
        _install()
        started = perf_counter()
        handle = register_optimizer_step_post_hook(self._stepped)
        _watches.append(self)
        try:
            yield self
        finally:
            _watches.remove(self)
            handle.remove()
            self.seconds = perf_counter() - started

    def _stepped(self, optimizer: torch.optim.Optimizer, _args: Any, _kwargs: Any) -> None:
        self.steps += 1
        if optimizer not in self._optimizers:
            self._optimizers.add(optimizer)
            groups = optimizer.param_groups
            self.trained |= {id(parameter) for group in groups for parameter in group["params"]}

    def wrote(self, path: object) -> None:
        """Note a file that is opened for writing; the path may be of any type."""
        if isinstance(path, str | bytes | os.PathLike):
            self._written[os.path.realpath(os.fsdecode(path))] = None

    def files(self) -> list[str]:
        """Return the files that were written and still exist, as reports show paths."""
        return [places.show(path) for path in self._written if _is_result(path)]

    def note(self, what: str, *, again: bool = False) -> str | None:
        """Return a note if the import of `what` trained or wrote files, else None.

        `again` tells that it was imported before, for a run that failed.
        """
        files = self.files()
        if not self.steps and not files:
            return None
        did = [f"took {self.seconds:,.0f} s"] if self.seconds >= _LEAST else []
        if self.steps:
            did.append(f"ran {counted(self.steps, 'optimizer step')}")
        if files:
            did.append(f"wrote {join_names(files, _SHOWN)}")
        listed = f"{', '.join(did[:-1])} and {did[-1]}" if did[1:] else did[0]
        twice = ", for the second time" if again else ""
        return f"importing {what} {listed}{twice}: put this code below {MAIN_GUARD}"


def _is_result(path: str) -> bool:
    """Whether a written file is one that the user would look for, and not a cache."""
    near = places.START in Path(path).parents
    shown = os.path.relpath(path, places.START) if near else path
    parts = Path(shown).parts
    if any(part.startswith(".") or part == "__pycache__" for part in parts):
        return False
    if not near and Path(tempfile.gettempdir()).resolve() in Path(path).parents:
        return False
    return os.path.isfile(path)  # noqa: PTH113  # neither a device nor a removed file


@functools.cache
def _install() -> None:
    sys.addaudithook(_on_event)
    register_package(_FIRST, _on_save, lambda *_: None)


def _on_event(event: str, args: tuple[Any, ...]) -> None:
    """Note a file that Python opens for writing. An error here would end the user's code."""
    if _watches and event == "open" and args[2] & _WRITING:
        _watches[-1].wrote(args[0])


def _on_save(_storage: object) -> None:
    """Note the file of the `torch.save` that saves a storage."""
    frame: FrameType | None = sys._getframe(1) if _watches else None
    while frame is not None:
        code = frame.f_code
        if code.co_name == "save" and code.co_filename.endswith(_SERIALIZATION):
            _watches[-1].wrote(frame.f_locals.get("f"))
            return
        frame = frame.f_back
