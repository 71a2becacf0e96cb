"""What torch.compile does while a script trains: graphs, graph breaks and recompilations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hookcli.engine.compiled.account import CompilerReader
from hookcli.report.measured.compiler import CompilerAccount
from hookcli.training.observers.observer import Observer
from hookcli.training.record.records import Record


class Compiler(Observer):
    """Reads torch's own lists before a step, if the compiler ran since the last one.

    A script that does not compile costs a look at `sys.modules` for each step. Steps are those of
    the first optimizer.
    """

    kinds = ("recompilation",)
    is_always_told = True

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._reader = CompilerReader()
        self._first: int | None = None  # id of the optimizer whose steps are counted

    def before_step(self, optimizer: Any, records: Sequence[Record]) -> None:
        """Count a step, and read what was compiled before it."""
        reader = self._reader
        if self._first is None:
            self._first = self.seen.key_of(optimizer)
        is_counted = self.seen.key_of(optimizer) == self._first
        reader.steps += is_counted
        if not reader.has_compiled():
            return
        self.facts.look(*self.kinds)
        reader.compiling_steps += is_counted and reader.steps > 1
        reader.read(reader.steps)

    def finish(self) -> None:
        """Read what was compiled after the last step."""
        self._reader.read(None)

    def account(self) -> CompilerAccount | None:
        """Return what the compiler did; None if nothing was compiled."""
        return None if self.is_dropped else self._reader.account()
