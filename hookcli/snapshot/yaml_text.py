"""Writes a snapshot as a configuration file: YAML with comments, one check a line if it fits."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hookcli.outputs.escapes import yaml_quoted
from hookcli.snapshot.section import Section
from hookcli.snapshot.snapshot import Snapshot
from hookcli.spec.checks import Suppression
from hookcli.spec.yaml import flow

_WIDTH = 100


def scalar(value: Any) -> str:
    """Return a value as YAML inside brackets. Invisible characters are written as escapes."""
    quoted = yaml_quoted(value) if isinstance(value, str) else None
    return flow([value])[1:-1] if quoted is None else quoted


def value_text(value: Any) -> str:
    """Return a value in flow style."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{scalar(k)}: {value_text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(value_text, value)) + "]"
    return scalar(value)


def _key(key: str, value: Any) -> Iterator[str]:
    """Yield a key with its value on one line; a long mapping or list has a line for each item."""
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
    """Yield a check on one line; a long one has a line for each key."""
    line = f"  - {value_text(check)}"
    if len(line) <= _WIDTH:
        yield line
        return
    lead = "  - "
    for key, value in check.items():
        line = f"{lead}{key}: {value_text(value)}"
        if len(line) <= _WIDTH or not isinstance(value, list | tuple | Mapping):
            yield line
        elif isinstance(value, Mapping):
            words = [f"{scalar(k)}: {value_text(v)}" for k, v in value.items()]
            yield from _filled(f"{lead}{key}: {{", words, "}")
        else:
            yield from _filled(f"{lead}{key}: [", [value_text(item) for item in value], "]")
        lead = "    "


def _filled(line: str, words: Sequence[str], end: str) -> Iterator[str]:
    """Yield a list or a mapping on several lines."""
    for i, word in enumerate(words):
        more = word + (end if i == len(words) - 1 else ",")
        gap = "" if line.endswith(("[", "{", " ")) else " "
        if len(line) + len(gap) + len(more) > _WIDTH and line.strip():
            yield line
            line, gap = " " * 6, ""
        line += gap + more
    yield line


def _comment(sentence: str, lead: str) -> Iterator[str]:
    """Yield a sentence as a comment, wrapped to the width."""
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
    yield "# Today's findings. Remove a suppression when hookcli check reports it as unused."
    yield "suppress:"
    for suppression in suppressions:
        yield from _item(
            {"rule": suppression.rule, "at": suppression.at, "reason": suppression.reason}
        )


def text(snapshot: Snapshot, head: Sequence[str], request: Mapping[str, Any]) -> str:
    """Return the file: comments, the model and how to run it, the checks, the suppressions."""
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
