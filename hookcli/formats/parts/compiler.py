"""The account of torch.compile in words."""

from __future__ import annotations

from hookcli.console import escape
from hookcli.report.measured.compiler import CompilerAccount
from hookcli.text import counted

_MOST = 5  # lines of each kind


def graphs(account: CompilerAccount) -> str:
    """Return how many graphs, breaks and recompilations there were."""
    again = sum(row.count for row in account.recompilations)
    parts = [
        counted(account.graphs, "graph"),
        counted(sum(row.count for row in account.breaks), "graph break"),
        counted(again, "recompilation"),
    ]
    return ", ".join(parts)


def break_lines(account: CompilerAccount) -> list[str]:
    """Return a line for each graph break and recompilation, the first ones."""
    lines = [f"graph break{_at(row.place)}: {escape(row.reason)}" for row in account.breaks[:_MOST]]
    often = sorted(account.recompilations, key=lambda row: -row.count)
    lines += [
        f"{escape(row.function)} was compiled again {counted(row.count, 'time')}{_at(row.place)}: "
        f"a guard failed: {escape(row.guard)}"
        for row in often[:_MOST]
    ]
    lines += [
        f"{escape(name)} runs eagerly: it reached the limit of recompilations"
        for name in account.limit_hit[:_MOST]
    ]
    left = len(account.breaks) - _MOST
    if left > 0:
        lines.append(f"{counted(left, 'more graph break')} not shown: pass `-f json` to see all")
    return lines


def _at(place: str | None) -> str:
    return "" if place is None else f" at {escape(place)}"
