"""Numbers at, below and above their ranges in saved reports, trainings and diffs."""

from __future__ import annotations

import json
from functools import cache
from random import Random
from typing import Any

from tests.fuzz import corpus
from tests.fuzz.case import Case
from tests.fuzz.targets.texts import FORMATS
from tests.report.extremes import NUMBERS, STRINGS, Change, Sample, samples

_TOKENS = (
    *NUMBERS, "9007199254740993", "9223372036854775809", "18446744073709551615",
    "18446744073709551616", "-9223372036854775809", "2147483647", "2147483648", "-2147483649",
    "4294967296", "1000000000.0", "1000000001", "-1e-300", "Infinity", '"NaN"', '"Infinity"',
    "1" + "0" * 30 + ".5", "0.1", "-0",
)  # fmt: skip
_SHOWN = (*FORMATS, "html", "svg", "jsonl")


@cache
def documents() -> tuple[Sample, ...]:
    return tuple(samples())


def numbers(rng: Random) -> Case:
    """A document with every field, in which one to four values are extreme."""
    if rng.random() < 0.1:
        return _diff(rng)
    sample = rng.choice(documents())
    data = sample.text(_changes(rng, sample)).encode("utf-8", "surrogatepass")
    match rng.randrange(6):
        case 0:
            arguments = ["diff", "r.json", "other.json", "-f", rng.choice(("json", "table"))]
        case 1:
            arguments = ["diff", "other.json", "r.json", "-f", rng.choice(("json", "html"))]
        case 2 if sample.name != "run":
            arguments = ["check", "--against", "r.json", "-f", rng.choice(("json", "sarif"))]
        case _:
            arguments = ["render", "r.json", "-f", rng.choice(_SHOWN)]
    files = {"r.json": data, "other.json": json.dumps(sample.document).encode()}
    return Case(tuple(arguments), files, "r.json")


def _changes(rng: Random, sample: Sample) -> list[Change]:
    """Most of them are values that are allowed there: others end the reading at once."""
    found: list[Change] = []
    for _ in range(rng.randint(1, 4)):
        place = rng.choice(sample.numbers)
        allowed = [token for token in _TOKENS if place.allows(token)]
        token = rng.choice(allowed if allowed and rng.random() < 0.8 else _TOKENS)
        found.append((place, token))
    if rng.random() < 0.2:
        found.append((rng.choice(sample.strings), rng.choice(STRINGS)))
    return found


def _diff(rng: Random) -> Case:
    """A saved diff, with an extreme number in the place of one of its own."""
    document = json.loads(rng.choice(corpus.diffs()))
    held = list(_held(document))
    holder, key = rng.choice(held)
    holder[key] = "@"
    data = json.dumps(document).replace('"@"', rng.choice(_TOKENS)).encode()
    command = rng.choice((["render", "r.json"], ["diff", "r.json", "r.json"]))
    return Case((*command, "-f", rng.choice(("json", "table", "html"))), {"r.json": data}, "r.json")


def _held(value: Any) -> Any:
    """Each number of a document, as what holds it and its key there."""
    items: Any = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list):
        items = enumerate(value)
    for key, inner in items:
        if isinstance(inner, int | float) and not isinstance(inner, bool):
            yield value, key
        yield from _held(inner)
