"""What a page calls A and B: by what differs between them."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from hookcli.comparison.diff import Diff, SideInfo
from hookcli.comparison.training.training_diff import TrainingDiff
from hookcli.console import escape
from hookcli.formats.parts.text import cut, number

_MOST = 3  # facts of a name
_LONGEST = 60  # characters of a fact
# Settings whose effect is known of both sides, whether they were typed or not.
_EFFECTIVE = {"dtype", "device", "mode", "compile", "dynamic", "fullgraph", "parallel", "mesh"}


class DistinctNames(NamedTuple):
    """What A and B are called beside their letters, "" if nothing is known to differ."""

    a: str
    b: str

    def title(self, side: str) -> str:
        """Return "A: float32" for side "a"."""
        name = self.a if side == "a" else self.b
        return f"{side.upper()}: {name}" if name else side.upper()


def names_of_models(diff: Diff) -> DistinctNames:
    """Return the types, sources, dtypes, modes and other settings that differ, at most three."""
    facts = [(a, b) for a, b in _facts(diff) if a != b]
    if not facts and diff.a.parameters != diff.b.parameters:
        facts = [(_parameters(diff.a), _parameters(diff.b))]
    return _names(facts)


def names_of_trainings(diff: TrainingDiff) -> DistinctNames:
    """Return the scripts, the arguments, or the first settings that differ."""
    a, b = diff.a.script.name, diff.b.script.name
    if a != b:
        return _names([(a, b)])
    ours, theirs = _options(diff.a.script.arguments), _options(diff.b.script.arguments)
    if ours != theirs:
        return _names([(_without(ours, theirs), _without(theirs, ours))])
    return _names(
        [
            (f"{row.name} {row.a or 'none'}", f"{row.name} {row.b or 'none'}")
            for row in diff.settings
        ]
    )


def _names(facts: list[tuple[str, str]]) -> DistinctNames:
    a, b = zip(*facts[:_MOST], strict=True) if facts else ((), ())
    return DistinctNames(
        *(escape(", ".join(cut(fact, _LONGEST) for fact in side)) for side in (a, b))
    )


def _facts(diff: Diff) -> Iterator[tuple[str, str]]:
    a, b = diff.a, diff.b
    yield a.type or "?", b.type or "?"
    yield a.source, b.source
    if diff.parallel is not None:
        yield "one process", f"{diff.parallel.plan} on {diff.parallel.ranks} ranks"
    if diff.compiled is not None:
        yield "eager", f"compiled with {diff.compiled.backend}"
    yield _dtypes(diff)
    yield a.run.mode, b.run.mode
    yield a.run.device, b.run.device
    yield f"{a.run.tensors} tensors", f"{b.run.tensors} tensors"
    yield f"seed {a.run.seed}", f"seed {b.run.seed}"
    yield a.run.method or "forward", b.run.method or "forward"
    yield from _typed(a, b)
    for title, ours, theirs in (
        ("Python", _version(a, "python"), _version(b, "python")),
        ("torch", _version(a, "torch"), _version(b, "torch")),
    ):
        yield f"{title} {ours}", f"{title} {theirs}"


def _dtypes(diff: Diff) -> tuple[str, str]:
    """Return the dtypes of most parameters whose dtypes differ; else of the outputs."""
    tensors = [row.value for row in diff.state if row.value is not None] or list(diff.output)
    pairs = Counter(
        tensor.dtypes
        for tensor in tensors
        if None not in tensor.dtypes and tensor.dtypes[0] != tensor.dtypes[1]
    )
    a, b = pairs.most_common(1)[0][0] if pairs else ("", "")
    return a or "", b or ""


def _typed(a: SideInfo, b: SideInfo) -> Iterator[tuple[str, str]]:
    """Yield what was typed for one side only, such as `latent=3`, and that the other lacks it."""
    ours, theirs = (dict(_settings(side)) for side in (a, b))
    for key in dict.fromkeys((*ours, *theirs)):
        yield _setting(key, ours.get(key)), _setting(key, theirs.get(key))


def _setting(key: str, value: str | None) -> str:
    return f"default {key}" if value is None else f"{key}={value}"


def _settings(side: SideInfo) -> Iterator[tuple[str, str]]:
    for place, setting in enumerate(side.settings or ()):
        key, _, value = setting.partition("=")
        if key == "arg":
            name, equals, given = value.partition("=")
            yield (name, given) if equals else (f"argument {place + 1}", value)
        elif key not in _EFFECTIVE:
            yield key, value


def _version(side: SideInfo, name: str) -> str:
    return str(getattr(side.environment, name, None) or "?")


def _parameters(side: SideInfo) -> str:
    return f"{number(side.parameters)} parameters"


def _options(arguments: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the arguments with each option beside its values."""
    groups: list[list[str]] = []
    for argument in arguments:
        if groups and not argument.startswith("-") and groups[-1][0].startswith("-"):
            groups[-1].append(argument)
        else:
            groups.append([argument])
    return [tuple(group) for group in groups]


def _without(options: list[tuple[str, ...]], others: list[tuple[str, ...]]) -> str:
    own = [word for group in options if group not in others for word in group]
    return shlex.join(own) or "fewer arguments"
