"""Reads what torch.compile did from the lists and counters that torch keeps itself.

Nothing is attached and no handler of a logger is added, so that a script prints what it printed
before. `torch._dynamo.reset()` empties torch's lists: they are read often.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hookcli.models import places
from hookcli.models.fake.lazy_compiler import compiler_is_imported
from hookcli.report.measured.compiler import CompilerAccount, GraphBreak, Recompilation

_MOST = 200  # breaks and recompilations that are kept
_LONGEST = 200  # characters of a reason or guard
_LINE = re.compile(r'File "([^"]+)", line (\d+)')
_ENTRY = re.compile(r"^\d+/\d+(?:_\d+)?: ")  # "0/1: " before the guard of that compilation
_VALUE = re.compile(r"'[^']*'|\"[^\"]*\"|\d+(?:\.\d+)?")  # guards that differ only here are one
_LIMIT = "limit exceeded"


@dataclass(slots=True)
class _Again:
    """A recompilation that is counted; `guard` is that of the first one."""

    guard: str
    place: str | None
    count: int = 0
    steps: int = 0
    last_step: int | None = None


class CompilerReader:
    """Reads torch's lists again and again; the account has what was new each time."""

    def __init__(self) -> None:
        self._metrics: set[Any] = set()
        self._breaks: dict[tuple[str, str | None], int] = {}
        self._read_breaks = 0
        self._last_break: Any = None
        self._again: dict[tuple[str, str], _Again] = {}
        self._functions: set[tuple[str, str, int]] = set()
        self._compiled: dict[tuple[str, str, int], int] = {}
        self._limit_hit: dict[str, None] = {}
        self._read_reasons: dict[Any, int] = {}  # by code
        self._graphs = self._last_total = self._last_frames = 0
        self._last_of: dict[Any, tuple[str, str, int]] = {}
        self._is_complete = True
        self.steps = self.compiling_steps = 0
        if (utils := _utils()) is not None:  # what was compiled before is not of this reader
            self._last_total = utils.counters["stats"].get("unique_graphs", 0)
            found = getattr(utils, "graph_break_reasons", ())
            self._read_breaks, self._last_break = len(found), found[-1] if found else None
            self._metrics = {_identity(m) for m in _metrics(utils)}
            self.has_compiled()

    def has_compiled(self) -> bool:
        """Return whether the compiler ran since this was asked last; it takes a microsecond."""
        utils = _utils()
        if utils is None:
            return False
        counters = utils.counters
        total = counters["frames"].get("total", 0) if "frames" in counters else 0
        changed = total != self._last_frames
        self._last_frames = total
        return bool(changed)

    def read(self, step: int | None) -> None:
        """Read what is new; `step` is the number of the optimizer step that comes next."""
        utils = _utils()
        if utils is None:
            return
        self._read_graphs(utils)
        self._read_graph_breaks(utils)
        self._read_recompilations(utils, step)

    def _read_graphs(self, utils: Any) -> None:
        total = utils.counters["stats"].get("unique_graphs", 0)
        self._graphs += total - self._last_total if total >= self._last_total else total
        self._last_total = total

    def _read_graph_breaks(self, utils: Any) -> None:
        found = getattr(utils, "graph_break_reasons", None)
        if found is None:
            self._is_complete = False
            return
        read = self._read_breaks
        if read and (len(found) < read or found[read - 1] is not self._last_break):
            self._read_breaks = 0  # torch._dynamo.reset() emptied it
        for item in found[self._read_breaks :]:
            key = first_sentence(item.reason), _user_place(item.user_stack)
            if key in self._breaks or len(self._breaks) < _MOST:
                self._breaks[key] = self._breaks.get(key, 0) + 1
        self._read_breaks = len(found)
        self._last_break = found[-1] if found else None

    def _read_recompilations(self, utils: Any, step: int | None) -> None:
        metrics = _metrics(utils)
        new = [m for m in metrics if _identity(m) not in self._metrics]
        if self._metrics and metrics and len(new) == len(metrics):
            self._is_complete = False  # torch keeps the last 64: some may be lost
        self._metrics = {_identity(m) for m in metrics}
        for entry in new:
            self._read_entry(entry, step)
        if metrics and not hasattr(metrics[-1], "recompile_reason"):  # torch 2.6
            self._read_guards(utils, step)

    def _read_guards(self, utils: Any, step: int | None) -> None:
        """Read the guards that failed by the code of their function; how often is not known."""
        self._is_complete = False
        for code, reasons in list(getattr(utils, "guard_failures", {}).items()):
            if len(reasons) > self._read_reasons.get(code, 0):
                key = _plain_name(code.co_name), code.co_filename, code.co_firstlineno
                self._note_again(key, reasons[-1], step)
            self._read_reasons[code] = len(reasons)

    def _read_entry(self, entry: Any, step: int | None) -> None:
        frame = str(getattr(entry, "compile_id", "") or "").partition("/")[0]
        reason = getattr(entry, "recompile_reason", None)  # since torch 2.7
        if entry.co_name is None:  # it failed before anything was compiled
            code = self._last_of.get(frame)
            if code is not None and _LIMIT in (entry.fail_reason or ""):
                self._limit_hit.setdefault(_shown(code))
            return
        code = (_plain_name(entry.co_name), entry.co_filename, entry.co_firstlineno)
        self._last_of[frame] = code
        self._functions.add((entry.co_name, entry.co_filename, entry.co_firstlineno))
        if reason:
            self._note_again(code, reason, step)

    def _note_again(self, code: tuple[str, str, int], reason: str, step: int | None) -> None:
        guard, place = guard_of(reason)
        key = code[0], _VALUE.sub("_", guard)
        row = self._again.get(key)
        if row is None:
            if len(self._again) >= _MOST:
                return
            row = _Again(guard, place or f"{places.show(code[1])}:{code[2]}")
            self._again[key] = row
        row.count += 1
        if step is not None and row.last_step != step:
            row.last_step = step
            row.steps += 1

    def account(self) -> CompilerAccount | None:
        """Return the account; None if nothing was compiled."""
        if not self._functions and not self._breaks and not self._limit_hit:
            return None
        return CompilerAccount(
            graphs=self._graphs,
            functions=len(self._functions),
            breaks=tuple(
                GraphBreak(reason, place, count) for (reason, place), count in self._breaks.items()
            ),
            recompilations=tuple(
                Recompilation(function, row.guard, row.place, row.count, row.steps, row.last_step)
                for (function, _), row in self._again.items()
            ),
            limit_hit=tuple(self._limit_hit),
            steps=self.steps,
            compiling_steps=self.compiling_steps,
            is_complete=self._is_complete,
        )


def _utils() -> Any:
    """Return the module that has torch's counters, unless torch's compiler is not imported."""
    if not compiler_is_imported():
        return None
    from hookcli.torch_private import dynamo_utils

    return dynamo_utils


def _metrics(utils: Any) -> list[Any]:
    return list(getattr(utils, "get_compilation_metrics", list)())


def _identity(entry: Any) -> Any:
    return str(entry.compile_id), entry.start_time, entry.co_name, entry.is_forward


def first_sentence(reason: str) -> str:
    """Return the first line of torch's text, and its explanation if there is one."""
    lines = [line.strip() for line in reason.strip().splitlines() if line.strip()]
    if not lines:
        return "no reason given"
    text = lines[0]
    if text.endswith(":") and len(lines) > 1:  # "backend='inductor' raised:"
        text = f"{text} {lines[1]}"
    for line in lines[1:]:
        if line.startswith("Explanation: "):
            text = f"{text}: {line.removeprefix('Explanation: ')}"
            break
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _user_place(stack: Iterable[Any]) -> str | None:
    """Return the innermost line of the user's code; of a library if there is no such line."""
    frames = list(stack)
    chosen = next((f for f in reversed(frames) if places.is_user(f.filename)), None)
    chosen = chosen or (frames[-1] if frames else None)
    return None if chosen is None else f"{places.show(chosen.filename)}:{chosen.lineno}"


def guard_of(reason: str) -> tuple[str, str | None]:
    """Return the condition that failed, and the line that needs it if torch tells the line."""
    lines = _LINE.findall(reason)
    user = [(file, line) for file, line in lines if places.is_user(file)] or lines
    place = f"{places.show(user[-1][0])}:{user[-1][1]}" if user else None
    first = next(iter(reason.strip().splitlines()), "")
    guard = _ENTRY.sub("", first).partition("  # ")[0].strip()
    guard = guard if len(guard) <= _LONGEST else guard[: _LONGEST - 1] + "…"
    return guard, place


def _plain_name(name: str) -> str:
    """Return the name of a function, also for the rest of one after a graph break."""
    found = re.fullmatch(r"torch_dynamo_resume_in_(.+)_at_\d+", name)
    return found[1] if found else name


def _shown(code: tuple[str, str, int]) -> str:
    return f"{code[0]} ({places.show(code[1])}:{code[2]})"
