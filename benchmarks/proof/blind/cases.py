"""The cases: what is wrong in a file, or why it is healthy, and in which part of the set it is."""

from __future__ import annotations

import ast
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
HALVES = ("tuning", "held_out")  # of the first set
# Sets that were written later.
LATER = (
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
    "thirteenth",
    "fourteenth",
    "fifteenth",
    "contracts",  # of the documentation of PyTorch: a right twin for each mistake
)
SEVENTH = "seventh"  # it has halves too
SEVENTH_HALVES = tuple(f"{SEVENTH}_{half}" for half in HALVES)
PARTS = (*HALVES, *LATER, *SEVENTH_HALVES)
_MARK = re.compile(r"# here\s*$")


@dataclass(frozen=True)
class Case:
    """One file. `cause` and `place` are regular expressions, None in a healthy case.

    A sentence that matches `cause`, or that names `place` or one of the `lines`, is about the
    fault.
    """

    path: Path
    cause: re.Pattern[str] | None
    place: re.Pattern[str] | None
    lines: frozenset[int]

    @property
    def name(self):
        return self.path.stem

    @property
    def is_training(self):
        return self.path.parts[-3] == "trainings"

    @property
    def is_broken(self):
        return self.path.parts[-2] == "broken"

    @property
    def part(self):
        """The part: of the first and the seventh set it is a half, which only the name decides."""
        first = self.path.relative_to(FOLDER).parts[0]
        if first in LATER:
            return first
        halves = SEVENTH_HALVES if first == SEVENTH else HALVES
        return halves[hashlib.sha256(self.name.encode()).digest()[0] & 1]


def _field(text, name):
    """Return a field of the docstring as a pattern."""
    text = re.sub(r"\n\s+\|", "|", text)
    match = re.search(rf"^{name}:\s*(.+?)(?=^\w+:|\Z)", text, re.MULTILINE | re.DOTALL)
    return match and re.compile(" ".join(match[1].split()), re.IGNORECASE)


def read(path):
    """Return the case of a file."""
    source = path.read_text()
    text = ast.get_docstring(ast.parse(source)) or ""
    marked = (n for n, line in enumerate(source.splitlines(), 1) if _MARK.search(line))
    return Case(path, _field(text, "Cause"), _field(text, "Place"), frozenset(marked))


def cases(part=None, kinds=("models", "trainings")):
    """Return the cases of a part, or all, by kind and name."""
    places = (FOLDER, *(FOLDER / name for name in (*LATER, SEVENTH)))
    folders = [folder / kind for kind in kinds for folder in places]
    paths = [path for folder in folders for path in sorted(folder.glob("*/*.py"))]
    found = [read(path) for path in paths if path.stem != "__init__"]
    return [case for case in found if part is None or case.part == part]
