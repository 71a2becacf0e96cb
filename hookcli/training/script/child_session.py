"""The observation of a process that the script has started: its report is left for the script's."""

from __future__ import annotations

import marshal
import os
import sys

from hookcli.training.script.session import ScriptSession
from hookcli.training.script.torch_import import TorchFinder


def begin(folder: str) -> None:
    """Observe this process, as soon as it imports torch."""
    with open(os.path.join(folder, "boot"), "rb") as stream:  # noqa: PTH118, PTH123
        session = ChildSession(marshal.loads(stream.read()))
    session.begin()
    if "torch" in sys.modules:
        session.start()
    else:
        sys.meta_path.insert(0, TorchFinder(session.start))


class ChildSession(ScriptSession):
    """Leaves the report in the folder of the process that started this one."""

    def _report_and_deliver(self) -> int:
        try:
            if self._watch is not None and self._watch.has_steps():
                leave_report(self._boot["folder"], self._report())
        except Exception as error:  # noqa: BLE001
            self._fail("the report of a process is not written", error)
        except KeyboardInterrupt:
            return 0
        return 0


def leave_report(folder: str, report: str) -> None:
    """Leave the report of this process, which another one has started, for that one."""
    name = os.path.join(folder, f"{os.getpid()}.json")  # noqa: PTH118
    try:
        with open(f"{name}.unfinished", "w", encoding="utf-8") as stream:  # noqa: PTH123
            stream.write(report)
        os.replace(f"{name}.unfinished", name)  # noqa: PTH105
    except OSError:  # such as a folder that is gone: the other process has ended
        return
