"""Shortens names that are shown together, so that no two of them look alike.

A name is a path: `encoder.layers.3.attention.query.weight`. Of all names that are shown, the parts
in which one differs from its siblings are kept, and so is its end; what many share is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from hookcli.formats.parts.text import cut

_MARK = "…"
# A word with the separator before it. Long words are parts too, of at most so many characters.
_PART = re.compile(r"[^\w]*_*[^\W_]{1,12}[)\]]*|[^\w]+|_+")
_LONGEST = 2000  # characters of a name that are looked at


@dataclass(slots=True)
class _Fork:
    """The names that begin with the same parts, by the part that follows."""

    following: dict[str, _Fork] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Path:
    """A name in parts. `tells` are the parts in which it differs from a name that begins alike."""

    parts: tuple[str, ...]
    tells: frozenset[int]
    unique: tuple[int, ...]  # characters of each part that no sibling begins with

    def form(self, given_up: int) -> str:
        """Return the name without the first `given_up` things that can be left out."""
        left_out, shortened = set[int](), set[int]()
        for step in self._steps()[:given_up]:
            (left_out if step >= 0 else shortened).add(step if step >= 0 else -step - 1)
        text, gap = "", False
        for i, part in enumerate(self.parts):
            if i in left_out:
                gap = True
                continue
            part = part[: self.unique[i]] + _MARK if i in shortened else part
            if gap:
                text = text.removesuffix(_MARK) + _MARK
                part = part.lstrip("._") or part
            text, gap = text + part, False
        return text.replace(_MARK * 2, _MARK)

    def _steps(self) -> list[int]:
        """Return what to leave out, the least useful first: parts, then ends of parts (negative).

        The end of the name is shortened last of all.
        """
        last = len(self.parts) - 1
        plain = [i for i in range(last) if i not in self.tells]
        long = [i for i in range(last) if i in self.tells and self._shrinks(i)]
        ends = [last] if self._shrinks(last) else []
        return [*plain, *(-i - 1 for i in (*long, *ends))]

    def _shrinks(self, index: int) -> bool:
        return self.unique[index] + 1 < len(self.parts[index])

    def within(self, width: int) -> str:
        """Return the longest form of at most `width` characters, or the shortest form."""
        low, high = 0, len(self._steps())
        while low < high:
            middle = (low + high) // 2
            if len(self.form(middle)) <= width:
                high = middle
            else:
                low = middle + 1
        return self.form(low)


def _paths(names: Iterable[str]) -> dict[str, _Path]:
    root = _Fork()
    split = {name: tuple(_PART.findall(cut(name, _LONGEST))) for name in names}
    for parts in split.values():
        fork = root
        for part in (*parts, ""):  # "" is the end: `a` and `a.b` differ in it
            fork = fork.following.setdefault(part, _Fork())
    return {name: _path(parts, root) for name, parts in split.items()}


def _path(parts: tuple[str, ...], root: _Fork) -> _Path:
    tells, unique, fork = set(), [], root
    for i, part in enumerate(parts):
        siblings = fork.following
        if len(siblings) > 1:
            tells.add(i)
        unique.append(_unique(part, siblings))
        fork = siblings[part]
    return _Path(parts, frozenset(tells), tuple(unique))


_MANY = 64  # siblings that are compared: a list of a thousand layers has numbers as names


def _unique(part: str, siblings: Mapping[str, _Fork]) -> int:
    """Return how many characters of a part tell it from its siblings."""
    if len(siblings) > _MANY or part.strip("._").isdigit():
        return len(part)
    start = len(part) - len(part.lstrip("._"))
    for length in range(start + 1, len(part)):
        if not any(other.startswith(part[:length]) for other in siblings if other != part):
            return length
    return len(part)


def shortened(names: Iterable[str], width: int) -> dict[str, str]:
    """Return each name within `width`; different names have different short forms.

    The result depends on the set of names only, not on their order. If a form that is readable does
    not fit, or several names have the same, the end of the form is replaced by a number. If even
    that does not fit, the names are cut.
    """
    every = sorted(set(names))
    if all(len(name) <= width for name in every):
        return {name: name for name in every}
    paths = _paths(every)
    forms = {n: n if len(n) <= width else _end(paths[n].within(width), width) for n in every}
    taken: dict[str, list[str]] = {}
    for name, form in forms.items():
        taken.setdefault(form, []).append(name)
    used = set(taken)
    for form, alike in taken.items():
        if len(alike) > 1:
            for number, name in enumerate((n for n in alike if n != form), 1):
                forms[name] = _numbered(form, number, width, used)
    return forms


def _end(text: str, width: int) -> str:
    """Return the text within a width: its end, which has what distinguishes the inner parts."""
    if len(text) <= width:
        return text
    return _MARK + text[len(text) - width + 1 :].lstrip(f".{_MARK}") if width > 1 else _MARK[:width]


def _numbered(form: str, number: int, width: int, used: set[str]) -> str:
    """Return a form that ends with a number and is not used yet."""
    while True:
        end = f"{_MARK}{number}"
        if len(end) > width:
            return form
        text = form[: width - len(end)].rstrip(_MARK) + end
        if text not in used:
            used.add(text)
            return text
        number += 1


class ShortNames:
    """The short forms of a set of names by width, computed once for each width."""

    def __init__(self, names: Callable[[], Iterable[str]]) -> None:
        self._names = names
        self._forms: dict[int, dict[str, str]] = {}

    def within(self, name: str, width: int) -> str:
        """Return a name of the set within a width."""
        if len(name) <= width:
            return name
        if width not in self._forms:
            self._forms[width] = shortened(self._names(), width)
        return self._forms[width].get(name) or cut(name, width)
