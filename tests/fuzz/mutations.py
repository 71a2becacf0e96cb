"""Mutations of bytes, of documents (JSON, YAML), and of zip archives."""

from __future__ import annotations

import copy
import io
import json
import warnings
import zipfile
from random import Random
from typing import Any

from tests.fuzz.hostile import BYTES, NUMBERS, VALUES, WORDS


def mutated_bytes(rng: Random, data: bytes, times: int = 3) -> bytes:
    """The bytes with a few changes: replaced, inserted, removed, cut, doubled, bits flipped."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, times)):
        start = rng.randrange(len(changed) + 1)
        size = rng.choice((1, 1, 2, 4, 8, 40, 400))
        piece = rng.choice(BYTES) if rng.random() < 0.6 else rng.randbytes(rng.randint(1, 8))
        match rng.randrange(7):
            case 0:
                changed[start : start + len(piece)] = piece
            case 1:
                changed[start:start] = piece
            case 2:
                del changed[start : start + size]
            case 3:
                del changed[start if rng.random() < 0.3 else max(start, len(changed) - size) :]
            case 4:
                changed[start:start] = changed[start : start + size]
            case 5 if start < len(changed):
                changed[start] ^= 1 << rng.randrange(8)
            case _:
                other = rng.randrange(len(changed) + 1)
                changed[start : start + size] = changed[other : other + size]
    return bytes(changed)


def positions(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every value in a document."""
    found = [path] if path else []
    items: Any = value.items() if isinstance(value, dict) else ()
    items = enumerate(value) if isinstance(value, list) else items
    for key, inner in items:
        found += positions(inner, (*path, key))
    return found


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def mutated_document(rng: Random, document: Any, times: int = 2) -> Any:
    """A copy in which values were replaced, removed, repeated, renamed, or taken from elsewhere.

    Most changes keep the type of a value, so that more than the first check sees them.
    """
    changed = copy.deepcopy(document)
    for _ in range(rng.randint(1, times)):
        places = positions(changed)
        if not places:
            return rng.choice(VALUES)
        *above, last = _spread(rng, places)
        holder = at(changed, tuple(above))
        if rng.random() < 0.7 and isinstance(holder[last], str | int | float):
            alike = [v for v in (at(changed, place) for place in places) if type(v) is str]
            holder[last] = _of_same_type(rng, holder[last], alike)
            continue
        match rng.randrange(7):
            case 0:
                del holder[last]
            case 1 if isinstance(holder, list):
                holder.append(copy.deepcopy(holder[last]))
            case 1 | 2 if isinstance(holder, dict):
                holder[str(rng.choice(VALUES))] = holder.pop(last)
            case 3:
                holder[last] = copy.deepcopy(at(changed, rng.choice(places)))
            case 4:
                holder[last] = [holder[last]]
            case _:
                holder[last] = copy.deepcopy(rng.choice(VALUES))
    return changed


def _of_same_type(rng: Random, value: str | int | float, others: list[str]) -> str | int | float:
    """Another value of this type; a string may be one of `others`, which are in the document."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return rng.choice(WORDS if rng.random() < 0.5 else others)
    if isinstance(value, int) and rng.random() < 0.7:
        return value + rng.choice((-1, 1, 2, 7))
    return rng.choice([number for number in NUMBERS if isinstance(number, type(value))])


def _spread(rng: Random, places: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """A place: each depth is as likely, although most places are deep."""
    depth = rng.choice(sorted({len(place) for place in places}))
    return rng.choice([place for place in places if len(place) == depth])


def as_json(document: Any) -> bytes:
    return json.dumps(document).encode("utf-8", "surrogatepass")


def mutated_json(rng: Random, data: bytes) -> bytes:
    """A JSON document: mutated as a document, as bytes, or as both."""
    if rng.random() < 0.08:
        return mutated_bytes(rng, data)
    try:
        document = json.loads(data)
    except ValueError:  # it was mutated before
        return mutated_bytes(rng, data)
    changed = as_json(mutated_document(rng, document))
    return mutated_bytes(rng, changed, 1) if rng.random() < 0.04 else changed


def mutated_zip(rng: Random, data: bytes) -> bytes:
    """A zip archive: its bytes, or one or two of its members."""
    if rng.random() < 0.3:
        return mutated_bytes(rng, data)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [(info.filename, archive.read(info)) for info in archive.infolist()]
    for _ in range(rng.randint(1, 2)):
        if members:
            _mutate_member(rng, members)
    return zipped(members, rng.choice((zipfile.ZIP_STORED,) * 9 + (zipfile.ZIP_DEFLATED,)))


def _mutate_member(rng: Random, members: list[tuple[str, bytes]]) -> None:
    index = rng.randrange(len(members))
    name, content = members[index]
    match rng.randrange(8):
        case 0:
            del members[index]
        case 1:
            members.append((name, mutated_bytes(rng, content)))
        case 2:
            members[index] = (rng.choice(_names(name)), content)
        case 3:
            members[index] = (name, rng.choice(members)[1])
        case _ if name.endswith(".json"):
            members[index] = (name, mutated_json(rng, content))
        case _:
            members[index] = (name, mutated_bytes(rng, content))


def _names(name: str) -> list[str]:
    top, _, rest = name.partition("/")
    return [
        rest, f"{name}/", f"../{name}", f"/tmp/{name}", name.upper(), f"{top}//{rest}", f"x/{rest}",
        f"{top}/../{name}", name.replace("/", "\\"), "a" * 300, f"{top}/\x1b[31m", "C:\\x", "/",
        f"{top}/data.pkl", f"{top}/version", f"{top}/constants.pkl", f"{top}/.data/version",
    ]  # fmt: skip


def zipped(members: list[tuple[str, bytes]], compression: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", compression) as archive:
        warnings.simplefilter("ignore")  # duplicate names are intended
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name or "x"), content)
    return buffer.getvalue()
