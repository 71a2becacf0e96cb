"""A fault: an edit of a healthy model's source, and what a verdict has to say about it."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

BASES = Path(__file__).parents[1] / "bases"


@dataclass(frozen=True)
class Fault:
    """One fault in one healthy model.

    `edits` are pairs of a text that occurs once in the source of `base`, and its replacement; the
    first one is the fault. A verdict names its cause if its first sentence matches `says`, a
    regular expression, and its layer if the sentence names one of `layers` or a module in it, or if
    its place is the line of the fault. Without `layers` the fault is in no layer.
    """

    name: str
    base: str
    edits: tuple[tuple[str, str], ...]
    says: str
    layers: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    config: str = ""

    def source(self):
        """Return the edited source and the numbers of the lines of the fault.

        A line of the fault is one that the first edit adds, or the one before a line that it
        removes.
        """
        healthy = (BASES / f"{self.base}.py").read_text()
        prepared = self._edited(healthy, self.edits[1:])
        broken = self._edited(prepared, self.edits[:1])
        lines = set()
        matcher = SequenceMatcher(None, prepared.splitlines(), broken.splitlines(), autojunk=False)
        for tag, _, _, first, last in matcher.get_opcodes():
            if tag != "equal":
                lines.update(range(first + 1, max(last, first + 1) + 1))
        return broken, lines

    def _edited(self, text, edits):
        for old, new in edits:
            if text.count(old) != 1:
                raise ValueError(f"{self.name}: {old!r} occurs {text.count(old)} times")
            text = text.replace(old, new)
        return text


def edit(old, new):
    return ((old, new),)
