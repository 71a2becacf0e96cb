"""The loop of `--watch`: run, show, wait for a change, run again."""

from __future__ import annotations

import contextlib
import importlib
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from hookcli.cli.errors import reporting, watch_stdout
from hookcli.cli.help.next_command import typed
from hookcli.cli.watch.followed_files import FollowedFiles
from hookcli.cli.watch.ready_run import TICK, ReadyRun, RunOutcome
from hookcli.cli.watch.watch_screen import TERMINAL, LinePrinter, TerminalScreen, Watched
from hookcli.console import Console, stdout_is_terminal
from hookcli.errors import HookcliError, RequestError, raise_if_signalled
from hookcli.worker.interpreter.choice import early_choice
from hookcli.worker.process import end_unused, set_spawn
from hookcli.worker.progress import screen
from hookcli.worker.systems import check_workers
from hookcli.worker.watched.fork_server import ForkServer, can_fork
from hookcli.worker.watched.opened_files import read_record

if TYPE_CHECKING:
    from hookcli.cli.flags.options import OutputFlags

_MOST_SUPERSEDED = 3  # runs in turn that a change ends; the next one may finish


def watch(output: OutputFlags, console: Console, command: Callable[[], int]) -> NoReturn:
    """Run a command, and run it again whenever a file that it read has changed.

    Raises
    ------
    InterruptedRun : a signal arrived, or stdout was closed.
    RequestError : this system or a format does not allow it.
    """
    _check(output)
    end_unused()  # it would not be used by a fork
    screen.close()
    with contextlib.ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="hookcli-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        python = _interpreter()
        preload: Callable[[Sequence[str]], None] = _nothing
        if python is not None and can_fork():
            preload = stack.enter_context(_forked(python))
        shown: Watched = TerminalScreen(console) if stdout_is_terminal() else LinePrinter(console)
        stack.callback(shown.close)
        _Loop(lambda: reporting(console, command), folder, python, shown, preload).run()


def _check(output: OutputFlags) -> None:
    """Check that this system and the formats allow --watch.

    Raises
    ------
    RequestError : they do not.
    """
    check_workers()
    if stdout_is_terminal() or output.output is not None:
        return
    for text in output.formats:
        if "=" not in text:
            raise RequestError(
                f"--watch writes a line for each change to stdout, not the format {text}",
                place=f"--watch -f {text}",
                hint=f"write the format to a file: `-f {text}=FILE`",
            )


def _interpreter() -> str | None:
    """Return the interpreter that the command line names; None if it is wrong: the run tells."""
    try:
        return early_choice([*typed()])
    except HookcliError:
        return None


@contextlib.contextmanager
def _forked(python: str) -> Iterator[Callable[[Sequence[str]], None]]:
    """Fork workers within the block, from a process that has imported torch.

    The function that it returns lets that process import further modules.
    """
    from hookcli.worker.process import spawn_python

    try:
        server = ForkServer(python)
    except OSError:  # each run starts its own processes
        yield _nothing
        return
    set_spawn(server.spawn)
    try:
        yield server.preload
    finally:
        set_spawn(spawn_python)
        server.close()


def _nothing(_names: Sequence[str]) -> None:
    """Import nothing in advance."""


class _Loop:
    """The state between the runs of one command."""

    def __init__(
        self,
        command: Callable[[], int],
        folder: Path,
        python: str | None,
        shown: Watched,
        preload: Callable[[Sequence[str]], None],
    ) -> None:
        self._preload = preload
        self._command, self._folder, self._python = command, folder, python
        self._shown = shown
        self._files = FollowedFiles()
        self._paths: frozenset[str] = frozenset()  # what the last good run read
        self._count = self._superseded = 0
        self._uses_worker = True
        self._size = shown.size()
        self._causes: list[str] = []

    def run(self) -> NoReturn:
        """Run until a signal arrives or stdout is closed.

        Raises
        ------
        InterruptedRun : this happened.
        """
        while True:
            record = self._folder / f"{self._count}"
            record.touch()
            python = self._python if self._uses_worker else None
            with ReadyRun(self._command, str(record), python) as ready:
                if self._count and not self._causes:
                    self._wait()
                self._count += 1
                causes, self._causes = self._causes, []
                self._shown.begin(causes)
                ready.go()
                outcome = ready.wait(self._is_superseded)
            if outcome is None:
                self._superseded += 1
                self._causes = [*dict.fromkeys([*causes, *self._causes])]
                continue
            self._superseded = 0
            self._shown.show(outcome, causes, self._follow(record, ready.started, outcome))
            self._uses_worker = outcome.used_worker
            _import(outcome.modules)

    def _follow(self, record: Path, started: int, outcome: RunOutcome) -> list[str]:
        """Follow the files that a run read; those of the last good run too if it failed."""
        recorded = read_record(str(record))
        record.unlink()
        paths = recorded.files
        if outcome.is_fine:
            self._paths = paths
        self._preload(recorded.modules)
        return self._files.follow(paths | self._paths, since=started, folders=not outcome.is_fine)

    def _wait(self) -> None:
        """Wait until a file or the size of the terminal has changed.

        Raises
        ------
        InterruptedRun : a signal arrived, or stdout was closed.
        """
        while not self._has_changed():
            watch_stdout()
            raise_if_signalled()
            time.sleep(TICK)

    def _has_changed(self) -> bool:
        self._causes = self._files.changed()
        size = self._shown.size()
        if not self._causes and size != self._size:
            self._causes = [TERMINAL]
        self._size = size
        return bool(self._causes)

    def _is_superseded(self) -> bool:
        watch_stdout()
        return self._superseded < _MOST_SUPERSEDED and self._has_changed()


def _import(names: Iterable[str]) -> None:
    """Import what a run imported, so that the next fork has it. None of it is the user's code."""
    for name in names:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
