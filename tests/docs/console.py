"""A console block: its commands, and whether what it shows is what comes out."""

from __future__ import annotations

import difflib
import itertools
import math
import re
from dataclasses import dataclass

from tests.conftest import ROOT
from tests.docs.terminal import Command, Terminal

ELISION = "..."
LIKE = 0.4  # of 1: what is less like the old lines is taken for others
_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?(?![\d\w])")


@dataclass(frozen=True)
class Entry:
    """What is typed, and what the block shows below it."""

    typed: tuple[str, ...]  # more than one line where they end in a backslash
    shown: tuple[str, ...]

    @property
    def line(self) -> str:
        return " ".join(line.removesuffix("\\").strip() for line in self.typed).removeprefix("$ ")


def entries(lines: tuple[str, ...]) -> list[Entry]:
    """The commands of a block.

    Raises
    ------
    ValueError : the block does not begin with a command.
    """
    found: list[Entry] = []
    typed: list[str] = []
    for line in lines:
        if line.startswith("$ ") or typed:
            typed.append(line)
            if not line.endswith("\\"):
                found.append(Entry(tuple(typed), ()))
                typed = []
        elif found:
            found[-1] = Entry(found[-1].typed, (*found[-1].shown, line))
        else:
            raise ValueError(f"a console block begins with `$ `, not with {line!r}")
    return found


def run(block: tuple[str, ...], terminal: Terminal) -> list[str]:
    """The block as it should be: the lines it has, where they are right.

    A block that shows no output at all is a list of commands: they run, and must end with the
    status that their comment gives.

    Raises
    ------
    AssertionError : a command ends with another status than its comment gives, or its output has
        a path that is another one on the next machine.
    """
    parts = entries(block)
    is_list = not any(any(entry.shown) for entry in parts)
    new: list[str] = []
    for number, entry in enumerate(parts):
        new += entry.typed
        command = Command.read(entry.line)
        if command is None:
            new += entry.shown
            continue
        out = terminal.run(command)
        assert terminal.status == command.status, (
            f"`{entry.line}` ended with status {terminal.status}; write `# status "
            f"{terminal.status}` behind it if that is meant\n" + "\n".join(out[-20:])
        )
        shown, blank = _without_blank_end(entry.shown)
        if is_list or agrees(shown, out):
            new += shown
        else:
            written = shortened(shown, out)
            for path in (str(terminal.folder), str(ROOT)):
                assert path not in "".join(written), f"this path is of one machine: {path}"
            new += written
        new += blank if number < len(parts) - 1 else ()
    return new


def _without_blank_end(lines: tuple[str, ...]) -> tuple[list[str], list[str]]:
    kept = list(lines)
    while kept and not kept[-1]:
        kept.pop()
    return kept, list(lines[len(kept) :])


def agrees(shown: list[str], out: list[str]) -> bool:
    """Whether an output is what is shown, `...` on a line of its own being any lines."""
    head, *rest = _split(shown)
    if not same(head, out[: len(head)]):
        return False
    at = len(head)
    for part in rest[:-1]:
        places = range(at, len(out) - len(part) + 1)
        place = next((n for n in places if same(part, out[n : n + len(part)])), None)
        if place is None:
            return False
        at = place + len(part)
    if not rest:
        return at == len(out)
    start = len(out) - len(rest[-1])
    return start >= at and same(rest[-1], out[start:])


def same(shown: list[str], out: list[str]) -> bool:
    """Whether lines are the same, but for what another CPU rounds in another way."""
    return len(shown) == len(out) and all(map(_same_line, shown, out))


def _same_line(shown: str, out: str) -> bool:
    if shown == out:
        return True
    words = [_NUMBER.sub("#", " ".join(line.split())) for line in (shown, out)]
    pairs = zip(_NUMBER.findall(shown), _NUMBER.findall(out), strict=False)
    return words[0] == words[1] and all(itertools.starmap(_same_number, pairs))


def _same_number(shown: str, out: str) -> bool:
    """Integers are equal; of other figures the fourth digit may be another, or all are noise."""
    if shown == out or shown.isdigit() or out.isdigit() or "," in shown + out:
        return shown == out
    a, b = float(shown), float(out)
    return math.isclose(a, b, rel_tol=2e-3) or max(a, b) < 1e-5


def _split(lines: list[str]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for line in lines:
        if line.strip() == ELISION:
            parts.append([])
        else:
            parts[-1].append(line)
    return parts


def shortened(shown: list[str], out: list[str]) -> list[str]:
    """The output, with as many lines around each `...` as are shown there.

    The first and the last lines are those of the output; between two elisions stand the lines that
    are most like those that stood there.

    Raises
    ------
    ValueError : nothing in the output is like them, so that a person must say what to keep.
    """
    parts = _split(shown)
    if len(parts) == 1 or sum(map(len, parts)) >= len(out):
        return out
    head, *middle, tail = parts
    new, at, end = out[: len(head)], len(head), len(out) - len(tail)
    for part in middle:
        at = _most_like(part, out[:end], at)
        new += [ELISION, *out[at : at + len(part)]]
        at += len(part)
    return [*new, ELISION, *out[end:]]


def _most_like(part: list[str], out: list[str], start: int) -> int:
    """Where the lines that are most like these begin, from `start` on."""
    likeness = {
        at: sum(map(_likeness, part, out[at : at + len(part)])) / max(1, len(part))
        for at in range(start, len(out) - len(part) + 1)
    }
    best = max(likeness, key=likeness.__getitem__, default=None)
    if best is None or likeness[best] < LIKE:
        raise ValueError(f"what stands between two `...` has gone: write it again by hand: {part}")
    return best


def _likeness(old: str, new: str) -> float:
    return difflib.SequenceMatcher(None, old, new, autojunk=False).ratio() if new else 0.0
