"""Processes that the script starts by multiprocessing: they are observed too.

What is patched: `multiprocessing.spawn.get_command_line`, which returns the command of a spawned
process. Its code then begins with a file of hookcli. A process of a fork server begins with what
`multiprocessing.spawn.get_preparation_data` returns, which is patched too: unpickling it runs that
file. A forked process is observed from when multiprocessing begins to run it. The workers of a
DataLoader stay as they are.
"""

from __future__ import annotations

import contextlib
import importlib
import marshal
import os
import pickle
import sys
import tempfile
import weakref
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

from hookcli.report.encode import training_to_json
from hookcli.report.training import ScriptInfo
from hookcli.spec.training import RunJob
from hookcli.training.script.child_session import JOURNAL, leave_report, with_journal
from hookcli.training.script.own_imports import own_imports
from hookcli.whole_files import HELD, hold_folder, remove_abandoned, remove_folder

_FIRST = Path(__file__).parents[1] / "script" / "child_bootstrap.py"
_LOADER = "torch.utils.data."
_LAST = -1000  # of the functions that multiprocessing runs at the end of a process
BOOT = "boot"


class Children:
    """The processes that a script starts. They leave their reports in a folder of this process."""

    def __init__(self, job: RunJob) -> None:
        self._job = job
        self._folder: str | None = None
        self._original: Callable[..., list[str]] | None = None
        self._preparation: Callable[[str], dict[str, Any]] | None = None
        self._is_forking = False

    def start(self) -> None:
        """Observe the processes that are started from now on."""
        spawn = sys.modules.get("multiprocessing.spawn")
        if spawn is None or not self._job.training.children:
            return
        self._original = original = spawn.get_command_line

        def get_command_line(**values: Any) -> list[str]:
            command: list[str] = original(**values)
            with contextlib.suppress(Exception), own_imports():
                return self._observed(command, sys._getframe(1).f_locals.get("process_obj"))
            return command

        self._preparation = prepared = spawn.get_preparation_data

        def get_preparation_data(name: str) -> dict[str, Any]:
            data: dict[str, Any] = prepared(name)
            with contextlib.suppress(Exception), own_imports():
                self._add_first_code(data, sys._getframe(1))
            return data

        self._watch_forks()
        for function in (get_command_line, get_preparation_data):
            function.__module__ = spawn.__name__
            setattr(spawn, function.__name__, function)

    @property
    def were_started(self) -> bool:
        """Whether the script started a process that is observed."""
        return self._folder is not None

    def stop(self) -> None:
        """Observe no more processes."""
        spawn = sys.modules.get("multiprocessing.spawn")
        if spawn is not None and self._original is not None:
            spawn.get_command_line = self._original  # type: ignore[attr-defined]
            spawn.get_preparation_data = self._preparation  # type: ignore[attr-defined]
            self._original = None

    def _observed(self, command: list[str], process: Any) -> list[str]:
        """Return the command of a process that is observed."""
        if process is None or _is_loader(process):
            return command
        at = command.index("-c") + 1
        return [
            *command[:at],
            f"{self._first_code(served=False)}; {command[at]}",
            *command[at + 1 :],
        ]

    def _first_code(self, *, served: bool) -> str:
        """Return the code with which a process begins that is observed."""
        if self._folder is None:
            self._folder = self._made()
        names = {"__name__": "", "file": str(_FIRST), "folder": self._folder, "served": served}
        return f"exec(open({str(_FIRST)!r}).read(), {names!r})"

    def _add_first_code(self, data: dict[str, Any], frame: FrameType) -> None:
        """Add the first code to what a fork server gives to a process before its own objects."""
        if Path(frame.f_code.co_filename).name != "popen_forkserver.py":
            return
        process = frame.f_locals.get("process_obj")
        if process is not None and not _is_loader(process):
            data["hookcli"] = _FirstCode(self._first_code(served=True))

    def _watch_forks(self) -> None:
        """Observe the processes that multiprocessing forks."""
        util = sys.modules.get("multiprocessing.util")
        if util is None or not hasattr(os, "register_at_fork"):
            return
        util.register_after_fork(self, Children._forked)
        watched = weakref.ref(self)

        def before() -> None:
            children = watched()
            if children is not None and children._original is not None:
                with contextlib.suppress(Exception):
                    children._note_fork(sys._getframe(1))

        os.register_at_fork(before=before)

    def _note_fork(self, frame: FrameType | None) -> None:
        """Make the folder before multiprocessing forks a process that is observed."""
        if frame is None or Path(frame.f_code.co_filename).name != "popen_fork.py":
            return
        process = frame.f_locals.get("process_obj")
        self._is_forking = process is not None and not _is_loader(process)
        if self._is_forking and self._folder is None:
            with own_imports():
                self._folder = self._made()

    def _forked(self) -> None:
        """Observe this process, which multiprocessing has just forked."""
        util: Any = sys.modules["multiprocessing.util"]
        if not self._is_forking or self._folder is None:
            return
        with contextlib.suppress(Exception), own_imports():
            folder = self._folder
            self._is_forking, self._folder = False, None  # it is the other process's
            job = with_journal(self._task(folder), folder)
            watch = importlib.import_module("hookcli.training.watch").start(job)
            util.Finalize(None, _leave, (watch, self._job, folder), exitpriority=_LAST)

    def _made(self) -> str:
        """Make the folder with the task of the children, and hold it as long as this process is."""
        parent = tempfile.gettempdir()
        remove_abandoned(parent)
        folder = tempfile.mkdtemp(prefix=HELD, dir=parent)
        hold_folder(folder)
        script = self._job.script
        boot = {
            "job": pickle.dumps(self._task(folder), protocol=4),
            "watch": "hookcli.training.watch:start",
            "name": script.name,
            "arguments": list(script.arguments),
            "is_module": script.is_module,
            "quiet": True,
            "rank": 0,
            "folder": folder,
        }
        (Path(folder) / BOOT).write_bytes(marshal.dumps(boot, 2))
        return folder

    def _task(self, folder: str) -> RunJob:
        """Return the task of the processes."""
        return replace(self._job, child_of=Path(folder).name, batch=None, started_by=None)

    def reports(self) -> list[str]:
        """Return what the processes left, in the order of their numbers, and remove the folder.

        That is a report, or the journal of a process that was killed.
        """
        if self._folder is None:
            return []
        files = {file.name: file for file in Path(self._folder).iterdir()}
        left = [
            file
            for name, file in files.items()
            if name.endswith(".json")
            or (name.endswith(JOURNAL) and name.replace(JOURNAL, ".json") not in files)
        ]
        texts = [file.read_text("utf-8") for file in sorted(left, key=lambda f: int(f.stem))]
        remove_folder(self._folder)
        self._folder = None
        return texts


class _FirstCode:
    """Code that runs when this is unpickled, in the other process."""

    def __init__(self, code: str) -> None:
        self._code = code

    def __reduce__(self) -> tuple[Callable[..., None], tuple[Any, ...]]:
        return exec, (self._code, {})


def _is_loader(process: Any) -> bool:
    """Return whether a process loads data only."""
    target = getattr(process, "_target", None)
    return str(getattr(target, "__module__", "")).startswith(_LOADER)


def _leave(watch: Any, job: RunJob, folder: str) -> None:
    """Leave the report of a forked process, at its end."""
    with contextlib.suppress(Exception), own_imports():
        if watch.has_steps():
            script = job.script
            info = ScriptInfo(script.name, script.arguments, script.is_module, "completed", 0)
            leave_report(folder, training_to_json(watch.finish(info)))
