"""The observation of a process that the script has started: its report is left for the script's."""

from __future__ import annotations

import marshal
import os
import sys
from typing import Any

from hookcli.training.script.session import ScriptSession
from hookcli.training.script.torch_import import TorchFinder

JOURNAL = ".journal"  # after the number of a process
_LAST = -1000  # of the functions that multiprocessing runs at the end of a process


def begin(folder: str, *, served: bool) -> None:
    """Observe this process, as soon as it imports torch; `served` if a fork server forked it."""
    with open(os.path.join(folder, "boot"), "rb") as stream:  # noqa: PTH118, PTH123
        session = (ServedSession if served else ChildSession)(marshal.loads(stream.read()))
    session.begin()
    if "torch" in sys.modules:
        session.start()
    else:
        sys.meta_path.insert(0, TorchFinder(session.start))


class ChildSession(ScriptSession):
    """Leaves the report in the folder of the process that started this one."""

    def _job(self) -> Any:
        return with_journal(super()._job(), self._boot["folder"])

    def _report_and_deliver(self) -> int:
        try:
            if self._watch is not None and self._watch.has_steps():
                leave_report(self._boot["folder"], self._report())
        except Exception as error:  # noqa: BLE001
            self._fail("the report of a process is not written", error)
        except KeyboardInterrupt:
            return 0
        return 0


class ServedSession(ChildSession):
    """That of a fork of a fork server, which ends without functions of atexit.

    multiprocessing forgets the functions of the server, and then runs those that are registered for
    forks: there this registers its end.
    """

    def begin(self) -> None:
        """Register the end, for when multiprocessing ends this process."""
        util: Any = sys.modules["multiprocessing.util"]
        end = self._at_exit()
        next(end)
        self._end = end
        _served.append(self)  # multiprocessing has a weak reference only
        util.register_after_fork(self, ServedSession._forked)

    def _forked(self) -> None:
        util: Any = sys.modules["multiprocessing.util"]
        util.Finalize(None, next, (self._end, None), exitpriority=_LAST)


_served: list[ServedSession] = []


def with_journal(job: Any, folder: str) -> Any:
    """Return the task of a process with a journal, which is left if the process is killed.

    There is none if the process that started this one has none, or if it cannot be created.
    """
    import dataclasses

    if job.journal is None:
        return job
    path = os.path.join(folder, f"{os.getpid()}{JOURNAL}")  # noqa: PTH118
    try:
        with open(path, "xb") as stream:  # noqa: PTH123
            stream.write(job.journal.header)
    except OSError:
        return dataclasses.replace(job, journal=None)
    place = dataclasses.replace(job.journal, path=path, handle=-1, presets={})
    return dataclasses.replace(job, journal=place)


def leave_report(folder: str, report: str) -> None:
    """Leave the report of this process, which another one has started, for that one."""
    name = os.path.join(folder, f"{os.getpid()}.json")  # noqa: PTH118
    try:
        with open(f"{name}.unfinished", "w", encoding="utf-8") as stream:  # noqa: PTH123
            stream.write(report)
        os.replace(f"{name}.unfinished", name)  # noqa: PTH105
    except OSError:  # such as a folder that is gone: the other process has ended
        return
