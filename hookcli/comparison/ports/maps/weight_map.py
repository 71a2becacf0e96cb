"""Which tensors of A make each tensor of B: a map of weights, as it is written in YAML.

A line names a module or a tensor of B, and what of A it is made of:

    blocks.{i}.fc1: h.{i}.mlp.c_fc.T              transposed
    blocks.{i}.qkv: [h.{i}.q, h.{i}.k, h.{i}.v]   joined along the first dimension
    blocks.{i}.q:   h.{i}.attn.c_attn.T[0:768]    rows of it, after it is transposed
    h.{i}.c_attn.T: [b.{i}.q, b.{i}.k, b.{i}.v]   what is joined is transposed

`{i}` stands for any number. Modules stand for their tensors of the same last name, or of one that
ends so: `in_proj_bias` and `bias`. Tensors are reshaped to B's shapes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from hookcli.comparison.ports.maps.names import same_role
from hookcli.errors import RequestError
from hookcli.spec.request import MadeTensor, WeightPart
from hookcli.text import nearest

_SOURCE = re.compile(r"(?P<name>.*?)(?P<turned>\.T)?(\[(?P<start>\d+):(?P<stop>\d+)\])?\Z", re.S)
_FIELD = re.compile(r"\{(\w+)\}")
_NUMBER = re.compile(r"(?<![^.])(\d+)(?![^.])")


def text_of(source: WeightPart) -> str:
    """Return a part as it is written in a map."""
    rows = "" if source.rows is None else f"[{source.rows[0]}:{source.rows[1]}]"
    return f"{source.name}{'.T' if source.turned else ''}{rows}"


@dataclass(frozen=True, slots=True)
class MapRow:
    """A line of a map: a tensor or module of B, and those of A that it is made of.

    What they make is transposed if `turned`. `place` is that of the line in its file.
    """

    target: str
    sources: tuple[WeightPart, ...]
    place: str
    turned: bool = False


def parse_row(target: str, sources: Iterable[str], place: str) -> MapRow:
    """Return a line from its texts."""
    name = target.removesuffix(".T")
    return MapRow(name, tuple(map(parse_source, sources)), place, turned=name != target)


def parse_source(text: str) -> WeightPart:
    """Return a source from its text."""
    found = _SOURCE.match(text.strip())
    assert found is not None  # noqa: S101  # the pattern matches any text
    rows = None if found["start"] is None else (int(found["start"]), int(found["stop"]))
    return WeightPart(found["name"], found["turned"] is not None, rows)


def expand(
    rows: Iterable[MapRow], ours: Collection[str], theirs: Collection[str]
) -> dict[str, MadeTensor]:
    """Return what each tensor of B is made of; `ours` and `theirs` are all names of tensors.

    Raises
    ------
    RequestError : a line names no tensor of B, or one that A does not have.
    """
    known = set(ours)
    made: dict[str, MadeTensor] = {}
    for row in rows:
        found = list(_targets(row, theirs))
        if not found:
            guess = nearest(row.target, [*theirs, *_modules(theirs)], cutoff=0.6)
            raise RequestError(
                f"no tensor or module of B is named {row.target}",
                place=row.place,
                hint=f"try `{guess}`" if guess else "write a name of B before the colon",
            )
        for target, fields, leaf in found:
            parts = (_named(source, fields, leaf, known, row.place) for source in row.sources)
            made[target] = MadeTensor(target, tuple(parts), row.turned)
    return made


def _targets(row: MapRow, theirs: Collection[str]) -> Iterator[tuple[str, dict[str, str], str]]:
    """Yield the tensors of B that a line is about, with its fields and the name below a module."""
    pattern = _pattern(row.target)
    for name in theirs:
        whole = pattern.fullmatch(name)
        if whole is not None:
            yield name, whole.groupdict(), ""
            continue
        module, _, leaf = name.rpartition(".")
        inside = pattern.fullmatch(module) if module or not row.target else None
        if inside is not None:
            yield name, inside.groupdict(), leaf


def _pattern(text: str) -> re.Pattern[str]:
    parts = _FIELD.split(text)
    seen: set[str] = set()
    out = []
    for i, part in enumerate(parts):
        if i % 2 == 0:
            out.append(re.escape(part))
        elif part in seen:
            out.append(f"(?P={part})")
        else:
            seen.add(part)
            out.append(rf"(?P<{part}>\d+)")
    return re.compile("".join(out))


def _named(
    source: WeightPart, fields: Mapping[str, str], leaf: str, known: Collection[str], place: str
) -> WeightPart:
    name = _FIELD.sub(lambda found: fields.get(found[1], found[0]), source.name)
    if leaf and name not in known:
        name = _below(name, leaf, known)
    if name not in known:
        guess = nearest(name, known, cutoff=0.6)
        raise RequestError(
            f"A has no tensor named {name}",
            place=place,
            hint=f"try `{guess}`" if guess else "write a name of A after the colon",
        )
    return WeightPart(name, source.turned, source.rows)


def _below(module: str, leaf: str, known: Collection[str]) -> str:
    """Return the tensor of a module of A that has the role of one of B."""
    plain = f"{module}.{leaf}" if module else leaf
    if plain in known:
        return plain
    start = f"{module}." if module else ""
    own = [name for name in known if name.startswith(start) and "." not in name[len(start) :]]
    alike = [name for name in own if same_role(name[len(start) :], leaf)]
    return alike[0] if len(alike) == 1 else plain


def _modules(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(name.rpartition(".")[0] for name in names))


def folded(made: Mapping[str, MadeTensor], flat: Collection[str] = ()) -> Lines:
    """Return a map as it is written: tensors of a module in one line, numbered ones as `{i}`.

    `flat` are the tensors of B with less than two dimensions, which `.T` does not change.
    """
    left = _by_module(made, flat)
    groups: dict[_Template, list[str]] = {}
    for target, sources in left.items():
        for template in _templates(target, sources):
            groups.setdefault(template, []).append(target)
    order = {target: i for i, target in enumerate(left)}
    found: list[tuple[int, str, tuple[str, ...]]] = []
    taken: set[str] = set()
    for template, members in sorted(groups.items(), key=lambda item: -len(item[1])):
        free = [member for member in members if member not in taken]
        if len(free) > 1:
            found.append((order[free[0]], *template))
            taken.update(free)
    found += [(order[one], one, left[one]) for one in left if one not in taken]
    return {
        target: sources[0] if len(sources) == 1 else list(sources)
        for _, target, sources in sorted(found)
    }


def _by_module(made: Mapping[str, MadeTensor], flat: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the lines by module of B, where all its tensors are made of the same modules of A."""
    modules: dict[str, list[MadeTensor]] = {}
    for target, row in made.items():
        modules.setdefault(target.rpartition(".")[0], []).append(row)
    lines: dict[str, tuple[str, ...]] = {}
    for module, rows in modules.items():
        one = _of_all(module, rows, flat) if module else None
        if one is not None:
            lines[one[0]] = one[1]
        else:
            lines.update(dict(_line(row.target, row.parts, turned=row.turned) for row in rows))
    return lines


def _line(target: str, parts: Iterable[WeightPart], *, turned: bool) -> tuple[str, tuple[str, ...]]:
    return f"{target}{'.T' if turned else ''}", tuple(map(text_of, parts))


def _of_all(
    module: str, rows: Sequence[MadeTensor], flat: Collection[str]
) -> tuple[str, tuple[str, ...]] | None:
    """Return the one line for these tensors of a module; None if they need several."""
    found = [(row, _modules_of(row)) for row in rows]
    known = [(row, parts) for row, parts in found if parts is not None]
    if len(known) < len(rows):
        return None
    plain = {tuple(WeightPart(one.name, rows=one.rows) for one in parts) for _, parts in known}
    wide = {(row.turned, parts) for row, parts in known if row.target not in flat}
    if len(plain) != 1 or len(wide) > 1:
        return None
    turned, parts = next(iter(wide)) if wide else (False, known[0][1])
    return _line(module, parts, turned=turned)


def _modules_of(row: MadeTensor) -> tuple[WeightPart, ...] | None:
    """Return the parts of a tensor as modules, if their last names have the role of its own."""
    leaf = row.target.rpartition(".")[2]
    found = []
    for part in row.parts:
        module, _, own = part.name.rpartition(".")
        if not module or not same_role(own, leaf):
            return None
        found.append(WeightPart(module, part.turned, part.rows))
    return tuple(found)


Lines: TypeAlias = dict[str, str | list[str]]
_Template: TypeAlias = tuple[str, tuple[str, ...]]


def _templates(target: str, sources: Sequence[str]) -> Iterator[_Template]:
    """Yield the line with one of its numbers as `{i}`, where each source has the number too."""
    parsed = [parse_source(source) for source in sources]
    for found in _NUMBER.finditer(target):
        turned = []
        for source in parsed:
            same = [one for one in _NUMBER.finditer(source.name) if one[0] == found[0]]
            if not same:
                break
            name = _replaced(source.name, same[0])
            turned.append(text_of(WeightPart(name, source.turned, source.rows)))
        else:
            yield _replaced(target, found), tuple(turned)


def _replaced(name: str, found: re.Match[str]) -> str:
    return f"{name[: found.start()]}{{i}}{name[found.end() :]}"
