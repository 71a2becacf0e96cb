"""The observation of one script, from the import of torch to the end of the process."""

from __future__ import annotations

import os
import sys

from hookcli.system.null_device import open_null
from hookcli.training.script.ending import Ignored, ending
from hookcli.training.script.handover import ENDED, REPORT, SETTLED, hand_over
from hookcli.training.script.held_signals import HeldSignals, call_handlers
from hookcli.training.script.own_imports import UserFolders, own_imports
from hookcli.training.script.say import say
from hookcli.training.script.unmarked_code import UnmarkedCode
from hookcli.training.script.verdict import FOUND, read_verdict

TYPE_CHECKING = False  # known to type checkers: importing typing is not what plain Python does
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


class StandardStreams:
    """Keeps the numbers of standard streams that the script closed from being given to a pipe.

    They are closed again at the end: Python tells of a stream that it cannot flush.
    """

    def __init__(self) -> None:
        self._filled: list[int] = []

    def __enter__(self) -> None:
        for number in range(3):
            try:
                os.fstat(number)
            except OSError:
                self._filled.append(open_null())  # the lowest number that is free

    def __exit__(self, *raised: object) -> None:
        for number in self._filled:
            os.close(number)


class Pipe:
    """A pipe that is closed at the end of a block."""

    def __enter__(self) -> Pipe:
        self.reader, self.writer = os.pipe()
        self._is_open = True
        return self

    def close_writer(self) -> None:
        """Close the end that another process has too."""
        if self._is_open:
            self._is_open = False
            os.close(self.writer)

    def __exit__(self, *raised: object) -> None:
        self.close_writer()
        os.close(self.reader)


_INTERRUPTED = "hookcli: interrupted: the report is not written"
_PATIENCE = 2.0  # seconds for a process that was told to end


class ScriptSession:
    """Starts the observation, and finishes it when Python has run the script's functions of atexit.

    `boot` is the task as the command wrote it: a dict of strings, lists and bytes.
    """

    def __init__(self, boot: dict[str, Any]) -> None:
        self._boot = boot
        self._getpid = os.getpid  # the script may replace it
        self._pid = os.getpid()
        self._folder = _folder()  # the script may change it
        self.folders = own_imports().folders = UserFolders(sys.path)
        self._environment = dict(os.environ)
        self._watch: Any = None
        self._failed = False
        self._held = HeldSignals(None if boot.get("quiet") else self._tell, at_end=True)

    def begin(self) -> None:
        """Register the end first, so that it runs after the script's own functions."""
        had = "atexit" in sys.modules
        import atexit

        end = self._at_exit()
        next(end)
        atexit.register(next, end, None)
        if not had:  # plain Python has not imported it
            del sys.modules["atexit"]

    def start(self) -> None:
        """Start to observe. An error is a line on stderr, and the script goes on.

        What a handler of a signal raises meanwhile is raised at the end, and is not an error.
        """
        if self._getpid() != self._pid:  # a forked child
            return
        held = HeldSignals()
        held.hold()
        try:
            self._start()
        finally:
            call_handlers(held.release())

    def _start(self) -> None:
        try:
            with own_imports():
                self._watch = self._started()
            if hasattr(os, "register_at_fork"):  # not on Windows
                os.register_at_fork(after_in_child=self._abandon)
        except Exception as error:  # noqa: BLE001
            self._fail("cannot observe the training", error)

    def _started(self) -> Any:
        import importlib

        module, _, name = self._boot["watch"].partition(":")
        return getattr(importlib.import_module(module), name)(self._job())

    def _job(self) -> Any:
        """Return the task."""
        import pickle

        return pickle.loads(self._boot["job"])

    def _abandon(self) -> None:
        """Stop to observe, in a forked child. Python would print an error here, and go on."""
        try:
            if self._watch is not None:
                self._watch.abandon()
        except Exception:  # noqa: BLE001
            return

    def _fail(self, what: str, error: BaseException) -> None:
        self._failed, self._watch = True, None
        say(f"hookcli: {what}: {type(error).__name__}: {error}")

    def _tell(self) -> None:
        say("hookcli: the report is being written: press Ctrl-C again to end without it")

    def _at_exit(self) -> Iterator[None]:
        """Finish when it is resumed for the last time, which Python does as it exits.

        It is a generator as Python may call a handler when it begins to run a function, before the
        first line. A generator is then inside of its `try`, and no traceback of hookcli is printed.
        """
        try:
            yield
            self._hold()
        except GeneratorExit:  # the functions of atexit were removed, as in a forked child
            return
        except BaseException:  # noqa: BLE001  # what a handler raised has nothing left to end
            try:
                self._hold()
            except BaseException:  # noqa: BLE001  # at once again
                self._hold()
        try:
            self._finish()
        except KeyboardInterrupt:
            say(_INTERRUPTED)
        except Exception as error:  # noqa: BLE001  # no memory is left, for a report or a line
            with Ignored():
                if self._boot.get("handover") is None:  # else that process reads the journal
                    self._fail("the report is not written", error)
        with Ignored():
            self._held.release()

    def _hold(self) -> None:
        if self._getpid() == self._pid:
            self._held.hold()

    def _finish(self) -> None:
        if self._getpid() != self._pid:
            return
        with UnmarkedCode(), own_imports():
            self._hand_over(ENDED, _ending())
            status = self._report_and_deliver()
        if status == FOUND and not ending.status:
            _flush()
            os._exit(1)

    def _report_and_deliver(self) -> int:
        try:
            if self._watch is not None:
                return self._deliver(self._report())
            self._without_report()
        except Exception as error:  # noqa: BLE001
            self._fail("the report is not written", error)
        except KeyboardInterrupt:
            self._hand_over(SETTLED, None)
            say(_INTERRUPTED)
        return 0

    def _hand_over(self, kind: bytes, value: Any) -> bool:
        """Hand something over to the process that waits for this one; return whether that worked.

        Where no process waits, this one starts another one, which judges the report.
        """
        path = self._boot.get("handover")
        if path is None:
            return False
        try:
            hand_over(path, kind, value)
        except OSError:  # a full disk, or the script has another user now
            return False
        return True

    def _without_report(self) -> None:
        self._hand_over(SETTLED, None)
        journal = self._boot.get("journal")
        if journal is not None:  # it has nothing of a training
            os.unlink(journal)  # noqa: PTH108
        if self._boot["quiet"] or self._failed or self._boot["rank"]:
            return
        _flush()
        say("note: the script did not import torch: there is nothing to report")

    def _report(self) -> str:
        from hookcli.report.encode import training_to_json
        from hookcli.report.training import ScriptInfo

        info = ScriptInfo(
            name=self._boot["name"],
            arguments=tuple(self._boot["arguments"]),
            is_module=self._boot["is_module"],
            ended=ending.ended,
            status=ending.status,
            error=ending.error,
            place=ending.place,
        )
        return training_to_json(self._watch.finish(info))

    def _deliver(self, report: str) -> int:
        """Have another process judge, render and write the report, and return its verdict.

        The process that waits for this one does it, if there is one, after this one has ended.
        Else the verdict comes through a pipe. The status of a process is lost if the script
        ignores SIGCHLD, or if one of its threads waits for any child.
        """
        _flush()
        others = self._others()
        if self._hand_over(REPORT, [report.encode(), *others]):
            return 0
        parts = [self._boot["end"], report.encode(), b"%d" % len(others), *others]
        try:
            with StandardStreams(), Pipe() as pipe:
                child = self._judge(pipe.writer)
                pipe.close_writer()
                try:
                    child.communicate(b"".join(len(p).to_bytes(8, "little") + p for p in parts))
                    verdict = read_verdict(pipe.reader)
                except BaseException:
                    _end(child)
                    raise
        except OSError as error:  # the system refuses another process
            _keep(report, error.strerror or str(error))
            return 0
        if os.name == "nt":  # where a process has its status, and inherits no pipe
            return int(child.returncode)
        if verdict is None:
            _keep(report, "the process that writes it has ended early")
            return 0
        self._hand_over(SETTLED, None)
        return verdict

    def _others(self) -> list[bytes]:
        """Return the reports of other ranks, and of processes that the script started."""
        if self._watch is None:
            return []
        return [text.encode() for text in (*self._watch.others, *self._watch.children)]

    def _judge(self, writer: int) -> Any:
        """Start the process that judges. It ignores Ctrl-C, which this process handles."""
        import subprocess

        from hookcli.interpreters.start import start_python

        folder = self._folder
        if folder is not None and not os.path.isdir(folder):  # noqa: PTH112  # the script removed it
            folder = None
        self._held.ignored_by_children()
        try:
            return start_python(
                [*self._boot["finish"], str(writer)],
                stdin=subprocess.PIPE,
                cwd=folder,
                env=self._environment,
                pass_fds=() if os.name == "nt" else (writer,),
            )
        finally:
            self._held.noted_again()


def _ending() -> dict[str, Any]:
    names = "ended", "status", "error", "place"
    return {name: getattr(ending, name) for name in names}


def _end(child: Any) -> None:
    """End the process that judges, which removes the files that it has begun."""
    import subprocess

    child.terminate()
    try:
        child.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        child.kill()


def _keep(report: str, why: str) -> None:
    """Write a report that cannot be judged and shown to a file.

    Raises
    ------
    OSError : the folder for temporary files cannot be written.
    """
    import tempfile

    handle, name = tempfile.mkstemp(prefix="hookcli-run-", suffix=".json")
    try:
        with open(handle, "w", encoding="utf-8") as file:  # noqa: PTH123
            file.write(report)
    except BaseException:
        os.unlink(name)  # noqa: PTH108
        raise
    say(f"hookcli: cannot show the report: {why}")
    say(f"note: the report is in {name}: show it with `hookcli render`")


def _folder() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109
    except OSError:  # it was deleted
        return None


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except Exception:  # noqa: BLE001  # the script may replace the stream
            continue
