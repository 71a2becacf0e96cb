"""Extreme values at every place of a report: it is refused, or every format shows it.

`python -m tests.report.extremes` puts each extreme at each place alone, and shows each report that
is read in every format; the tests put an extreme at many places at once.
"""

from __future__ import annotations

import argparse
import copy
import json
import re
import resource
import signal
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

from hookcli.comparison.compare import compare
from hookcli.comparison.training.compare_trainings import compare_trainings
from hookcli.errors import HookcliError
from hookcli.formats.registry import FORMATS
from hookcli.formats.results import kind_of
from hookcli.formats.view import View
from hookcli.report.reading.validity import check_valid, check_valid_training
from hookcli.report.report import Report
from hookcli.report.schema import from_json, training_from_json
from hookcli.report.training import TrainingReport
from hookcli.rules.catalogue import with_safe_set
from hookcli.rules.judge import judge_report
from tests.report.schema_documents import Node, Path, documents, generic, values

NUMBERS = (
    "0", "-1", "1", "9007199254740991", "9007199254740992", "9223372036854775807",
    "9223372036854775808", "-9223372036854775808", "1e18", "1e308", "-1e308", "1e-320", "-0.0",
    "1.7976931348623157e308", "1e999", "NaN", "-Infinity", '"nan"', '"-inf"', "true", "null",
    "1" + "0" * 30, "1" + "0" * 31, "9" * 4000, '"9999999999"', "[]", "{}",
)  # fmt: skip
STRINGS = (
    '""', '"\\u0000"', '"\\ud800"', '"\\ud83d\\ude00"', '"' + "n" * 100_000 + '"',
    '"a\\nb\\u001b[31m"',
    '"%s{0}"', '"net.py:9999999999999999999999"', '"' + "a." * 2000 + '"',
)  # fmt: skip
_SECONDS, _MEMORY = 5.0, 1 << 30  # of one format
_LONGEST = 4_000_000  # characters of an output
_VIEW = View(root="/r", start="/r")
_READ = {"json": json.loads, "sarif": json.loads, "perfetto": json.loads, "junit": ET.fromstring}


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a document, its schema if it is a number with one, and its list if it is one."""

    path: Path
    node: Node | None = None
    rows: Any = None

    def allows(self, token: str) -> bool | None:
        """Whether the schema allows a value here; None if other checks decide."""
        value = json.loads(token)
        if self.node is None or value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None if self.node["type"] == "number" and isinstance(value, str) else False
        if self.node["type"] == "integer" and isinstance(value, float):
            return False
        if self.node["type"] == "number" and abs(value) > 10**30 and isinstance(value, int):
            return None  # a float is not written like this
        return self.node["minimum"] <= value <= self.node["maximum"]


Change = tuple[Place, str]


@dataclass(frozen=True, slots=True)
class Sample:
    """A valid document and its places."""

    name: str
    document: Node
    numbers: tuple[Place, ...]
    strings: tuple[Place, ...]
    lists: tuple[Place, ...]
    pieces: tuple[tuple[Path, str, str], ...]  # of the text: a place, its value, what follows

    def text(self, changes: Sequence[Change]) -> str:
        """The document with other values at some places."""
        changed = {place.path: token for place, token in changes}
        if any(place.rows is not None for place, _ in changes):
            return _with_rows(self.document, changes)
        return "".join(changed.get(piece[0], piece[1]) + piece[2] for piece in self.pieces)

    def every_change(self) -> Iterator[Change]:
        """Each extreme at each place; of places that are alike, at the first."""
        for places, tokens in ((self.numbers, NUMBERS), (self.strings, STRINGS)):
            for place in alike(places):
                yield from ((place, token) for token in tokens)
        for place in alike(self.lists):
            yield from ((place, token) for token in _lists(place.rows))


def alike(places: Sequence[Place]) -> list[Place]:
    """The first of the places whose paths end alike."""
    return list({generic(place.path)[-3:]: place for place in reversed(places)}.values())


def _lists(rows: Any) -> tuple[str, ...]:
    many = json.dumps(rows * 3000) if len(json.dumps(rows)) < 200 else "[]"
    return "[]", many, "[" * 5000 + "]" * 5000, "[null]", "{}"


def _with_rows(document: Node, changes: Sequence[Change]) -> str:
    changed = copy.deepcopy(document)
    for i, (place, _) in enumerate(changes):
        holder: Any = changed
        for key in place.path[:-1]:
            holder = holder[key]
        holder[place.path[-1]] = f"@{i}@"
    parts = re.split('"@([0-9]+)@"', json.dumps(changed))
    return "".join(changes[int(part)][1] if i % 2 else part for i, part in enumerate(parts))


def _pieces(document: Node) -> tuple[tuple[Path, str, str], ...]:
    """The text of a document, cut before each value."""
    held = list(values(document))
    marked = _with_rows(document, [(Place(path), f'"@{i}@"') for i, (path, _) in enumerate(held)])
    parts = re.split('"@[0-9]+@"', marked)
    rows = [
        (path, json.dumps(value), part) for (path, value), part in zip(held, parts[1:], strict=True)
    ]
    return (((), "", parts[0]), *rows)


def samples() -> list[Sample]:
    """The documents with every field."""
    found = []
    for name, document, filler, _ in documents():
        numbers, strings = [], []
        for path, value in values(document):
            free = generic(path) not in filler.fixed and path[-1] not in {"schema", "command"}
            if isinstance(value, str) and free:
                strings.append(Place(path))
            elif isinstance(value, int | float) and not isinstance(value, bool):
                numbers.append(Place(path, filler.ranges.get(generic(path))))
        lists = [Place(path, rows=rows) for path, rows in _all_lists(document)]
        places = (tuple(numbers), tuple(strings), tuple(lists))
        found.append(Sample(name, document, *places, _pieces(document)))
    return found


def _all_lists(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    items: Any = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list):
        yield path, value
        items = enumerate(value)
    for key, inner in items:
        yield from _all_lists(inner, (*path, key))


def read(name: str, text: str) -> Report | TrainingReport | None:
    """The report of a text; None if it is refused."""
    try:
        if name == "run":
            training = training_from_json(text)
            check_valid_training(training, text)
            return training
        report = from_json(text, strict=True)
        check_valid(report, text)
    except ValueError as error:
        assert len(str(error)) < 2000, str(error)[:200]
        return None
    return report


@contextmanager
def bounded() -> Iterator[None]:
    """Raise if the block takes much time or memory."""

    def late(*_: object) -> None:
        raise TimeoutError(f"more than {_SECONDS} s")

    with open("/proc/self/statm") as file:  # noqa: PTH123
        size = int(file.read().split()[0]) * resource.getpagesize()
    limits = resource.getrlimit(resource.RLIMIT_AS)
    previous = signal.signal(signal.SIGVTALRM, late)
    resource.setrlimit(resource.RLIMIT_AS, (size + _MEMORY, limits[1]))
    signal.setitimer(signal.ITIMER_VIRTUAL, _SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        resource.setrlimit(resource.RLIMIT_AS, limits)
        signal.signal(signal.SIGVTALRM, previous)


@cache
def _plain(is_training: bool) -> Any:
    """The report that others are compared with."""
    named = {name: document for name, document, _, _ in documents()}
    name = "run" if is_training else "grads"
    return read(name, json.dumps(named[name]))


def outputs(report: Report | TrainingReport) -> Iterator[tuple[str, Any]]:
    """The name of each output of a report, and the function that makes it."""
    is_training = isinstance(report, TrainingReport)
    other, kind = _plain(is_training), kind_of(report)
    compared, compare_ = ("rundiff", compare_trainings) if is_training else ("diff", compare)
    for name, form in FORMATS.items():
        if kind in form.kinds:
            draw = form.files if form.writes_folder else form.render
            yield name, lambda draw=draw: draw(report, _VIEW)
        if compared in form.kinds:
            yield f"diff {name}", lambda form=form: form.render(compare_(report, other), _VIEW)
            yield f"diff to {name}", lambda form=form: form.render(compare_(other, report), _VIEW)
    if is_training:
        return
    yield "checks", lambda: judge_report(report, with_safe_set((), together=True))


def faults(report: Report | TrainingReport) -> Iterator[str]:
    """What is wrong with each output of a report. An error of hookcli's own is none."""
    for name, make in outputs(report):
        try:
            with bounded():
                made = make()
                if isinstance(made, str):
                    made.encode()
                    _READ.get(name.rpartition(" ")[2], str)(made)
        except HookcliError:
            continue
        except Exception as error:
            yield f"{name}: {type(error).__name__}: {error}"[:300]
            continue
        if isinstance(made, str) and len(made) > _LONGEST:
            yield f"{name}: {len(made)} characters"


def joined(sample: Sample, changes: Sequence[Change]) -> Iterator[tuple[list[Change], Any]]:
    """Reports with as many changes at once as are read together, until each was tried."""
    if not changes:
        return
    report = read(sample.name, sample.text(changes))
    if report is not None:
        yield list(changes), report
    elif len(changes) > 1:
        middle = len(changes) // 2
        yield from joined(sample, changes[:middle])
        yield from joined(sample, changes[middle:])


def culprits(sample: Sample, changes: Sequence[Change]) -> list[Change]:
    """As few changes as still have a fault, of changes that have one together."""
    found = list(changes)
    half = max(1, len(found) // 2)
    while half:
        for start in range(0, len(found), half):
            fewer = found[:start] + found[start + half :]
            report = read(sample.name, sample.text(fewer)) if fewer else None
            if report is not None and next(faults(report), None):
                found = fewer
                break
        else:
            half //= 2
    return found


def changes_to(token: str, places: Sequence[Place]) -> list[Change]:
    """A token at each place that the schema allows it at, and at one of each kind of the others."""
    known = [place for place in places if place.allows(token)]
    return [
        (place, token) for place in (*known, *alike([p for p in places if p.allows(token) is None]))
    ]


def failures(sample: Sample, changes: Sequence[Change]) -> list[str]:
    """The faults of a document with these changes, each with the changes that cause one."""
    found = []
    for together, report in joined(sample, changes):
        if wrong := list(faults(report)):
            causes = [
                f"{'.'.join(map(str, place.path))} = {token[:40]}"
                for place, token in culprits(sample, together)[:5]
            ]
            found.append(f"{sample.name}: {wrong[:3]} with {causes}")
    return found


def mixed(sample: Sample, seed: int) -> list[Change]:
    """A random extreme that may be read at each of half of the places."""
    rng = Random(seed)
    changes = []
    for places, tokens in ((sample.numbers, NUMBERS), (sample.strings, STRINGS)):
        for place in places:
            token = rng.choice(tokens)
            is_short = len(token) < 1000
            if rng.random() < 0.5 and is_short and (place.node is None or place.allows(token)):
                changes.append((place, token))
    return changes


def main(arguments: Sequence[str]) -> int:
    """Try each extreme at each place, alone, and mixtures; print what fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.report.extremes", description=__doc__)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="end after these")
    parser.add_argument("--only", help="a document, such as check, or run")
    parser.add_argument("--mixed", type=int, default=100, help="mixtures of each document")
    parser.add_argument("--seed", type=int, default=0, help="of the order and of the mixtures")
    options = parser.parse_args(arguments)
    end = time.monotonic() + options.seconds
    kept = [sample for sample in samples() if options.only in {None, sample.name}]
    jobs = [(sample, [change]) for sample in kept for change in sample.every_change()]
    mixtures = range(options.seed, options.seed + options.mixed)
    jobs += [(sample, mixed(sample, seed)) for sample in kept for seed in mixtures]
    Random(options.seed).shuffle(jobs)
    tried = wrong = 0
    for sample, changes in jobs:
        if time.monotonic() > end:
            break
        tried += 1
        for failure in failures(sample, changes):
            wrong += 1
            print(failure, flush=True)
    print(f"{tried} of {len(jobs)} documents, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
