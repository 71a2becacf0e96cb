"""A snapshot as a configuration file: YAML with comments, one check a line where it fits."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hookcli.snapshot.section import Section
from hookcli.snapshot.snapshot import Snapshot
from hookcli.spec.checks import Suppression
from hookcli.spec.yaml import flow

_WIDTH = 100
_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}  # what no reader of the file would see


def scalar(value: Any) -> str:
    """A value as it may stand within brackets; what cannot be seen is spelled with a backslash."""
    if isinstance(value, str) and any(unicodedata.category(c) in _UNSEEN for c in value):
        return '"' + "".join(_spelled(c) for c in value) + '"'
    return flow([value])[1:-1]


def _spelled(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if unicodedata.category(character) not in _UNSEEN:
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\U{code:08x}"


def value_text(value: Any) -> str:
    """A value in flow style."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{scalar(k)}: {value_text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(value_text, value)) + "]"
    return scalar(value)


def _key(key: str, value: Any) -> Iterator[str]:
    """A key with its value on one line; a long mapping, or list, with a line for each item."""
    line = f"{key}: {value_text(value)}"
    if len(line) <= _WIDTH or not isinstance(value, Mapping | list):
        yield line
        return
    yield f"{key}:"
    if isinstance(value, Mapping):
        for inner, item in value.items():
            yield from (f"  {more}" for more in _key(scalar(inner), item))
    else:
        yield from (f"  - {value_text(item)}" for item in value)


def _item(check: Mapping[str, Any]) -> Iterator[str]:
    """A check on one line; a long one with a line for each key."""
    line = f"  - {value_text(check)}"
    if len(line) <= _WIDTH:
        yield line
        return
    lead = "  - "
    for key, value in check.items():
        words = [value_text(item) for item in value] if isinstance(value, list | tuple) else None
        if words is None or len(f"{lead}{key}: {value_text(value)}") <= _WIDTH:
            yield f"{lead}{key}: {value_text(value)}"
        else:
            yield from _filled(f"{lead}{key}: [", words)
        lead = "    "


def _filled(line: str, words: Sequence[str]) -> Iterator[str]:
    """A list over several lines."""
    for i, word in enumerate(words):
        more = word + ("]" if i == len(words) - 1 else ",")
        gap = "" if line.endswith(("[", " ")) else " "
        if len(line) + len(gap) + len(more) > _WIDTH and line.strip():
            yield line
            line, gap = " " * 6, ""
        line += gap + more
    yield line


def _comment(sentence: str, lead: str) -> Iterator[str]:
    """A sentence on as many lines as it takes."""
    lines = textwrap.wrap(sentence, _WIDTH - len(lead) - 1, break_on_hyphens=False)
    yield from (f"{lead} {line}" for line in lines)


def _section(section: Section) -> Iterator[str]:
    yield ""
    for sentence in section.says:
        yield from _comment(sentence, "  #")
    for check in section.checks:
        yield from _item(check)


def _suppressed(suppressions: Sequence[Suppression]) -> Iterator[str]:
    if not suppressions:
        return
    yield ""
    yield "# What is found today. One of these that finds nothing any more is told: take it out."
    yield "suppress:"
    for suppression in suppressions:
        yield from _item(
            {"rule": suppression.rule, "at": suppression.at, "reason": suppression.reason}
        )


def text(snapshot: Snapshot, head: Sequence[str], request: Mapping[str, Any]) -> str:
    """The file: comments, what to run and how, the checks, and what is suppressed."""
    lines = [line for sentence in head for line in _comment(sentence, "#")]
    if request:
        lines.append("")
    for key, value in request.items():
        lines += _key(key, value)
    lines += ["", "checks:"]
    body = [line for section in snapshot.sections for line in _section(section)]
    lines += body[1:]
    lines += _suppressed(snapshot.suppressions)
    return "\n".join(lines) + "\n"
