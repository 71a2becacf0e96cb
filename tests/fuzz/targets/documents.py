"""Hostile JSON: saved reports of each schema, diffs and baselines."""

from __future__ import annotations

import json
from random import Random

from tests.fuzz import corpus
from tests.fuzz.case import Case
from tests.fuzz.mutations import as_json, mutated_json
from tests.fuzz.targets.texts import FORMATS

BASELINE = as_json(
    {
        "schema": "hookcli.baseline/1",
        "findings": [
            {"fingerprint": "0123456789abcdef", "rule": "finite", "target": "fc", "message": "x"},
            {"fingerprint": "fedcba9876543210", "rule": "budget", "target": "", "message": "y"},
        ],
    }
)
VIEWS = ["--depth", "1", "--only", "*", "--columns", "name", "--sort", "name", "--kinds", "all"]


def report(rng: Random) -> Case:
    """Reports of hookcli.report/1: rendered, judged, and compared."""
    whole = rng.choice(corpus.reports())
    data = mutated_json(rng, whole)
    match rng.randrange(10):
        case 0:
            return _piped(rng, data)
        case 1:
            arguments = ["check", "--against", "r.json", "-f", "json"]
        case 2:
            arguments = ["diff", "r.json", "other.json", "-f", rng.choice(("json", "table"))]
        case 3:
            arguments = ["diff", "other.json", "r.json", "-f", rng.choice(("json", "markdown"))]
        case 4:
            arguments = ["check", "m.py", "-i", "2x4", "--against", "r.json", "-f", "json"]
        case _:
            arguments = ["render", "r.json", *_view(rng)]
    files = {"r.json": data, "other.json": whole, "m.py": corpus.MODEL}
    return Case(tuple(arguments), files, "r.json")


def _piped(rng: Random, data: bytes) -> Case:
    return Case(("render", "-", *_view(rng)), piped=data)


def _view(rng: Random) -> list[str]:
    found = ["-f", rng.choice((*FORMATS, "html", "html", "html"))]
    for _ in range(rng.choice((0, 0, 0, 1, 2))):
        start = rng.randrange(0, len(VIEWS), 2)
        found += VIEWS[start : start + 2]
    return found


def training(rng: Random) -> Case:
    """Reports of hookcli.run/1: rendered and compared."""
    whole = rng.choice(corpus.trainings())
    data = mutated_json(rng, whole)
    arguments = ["render", "r.json", *_view(rng)]
    if rng.random() < 0.3:
        names = ["r.json", "other.json"]
        rng.shuffle(names)
        arguments = ["diff", *names, "-f", rng.choice(("json", "table", "markdown"))]
    return Case(tuple(arguments), {"r.json": data, "other.json": whole}, "r.json")


def diff(rng: Random) -> Case:
    """Documents of hookcli.diff/1 and hookcli.rundiff/1, and others with a wrong schema."""
    data = mutated_json(rng, rng.choice(corpus.diffs()))
    if rng.random() < 0.3:
        document = json.loads(rng.choice([*corpus.reports(), *corpus.trainings()]))
        document["schema"] = rng.choice(("hookcli.diff/1", "hookcli.run/1", "hookcli.report/1", 3))
        data = as_json(document)
    command = rng.choice((["render", "r.json"], ["diff", "r.json", "r.json"]))
    return Case((*command, "-f", rng.choice(("json", "table"))), {"r.json": data}, "r.json")


def baseline(rng: Random) -> Case:
    """Baselines, of a saved report so that no model runs."""
    files = {"b.json": mutated_json(rng, BASELINE), "r.json": rng.choice(corpus.reports())}
    arguments = ["check", "--against", "r.json", "--baseline", "b.json", "-f", "json"]
    if rng.random() < 0.3:
        files["m.py"] = corpus.MODEL
        arguments = ["check", "m.py", "-i", "2x4", "--baseline", "b.json", "-f", "json"]
    return Case(tuple(arguments), files, "b.json")
