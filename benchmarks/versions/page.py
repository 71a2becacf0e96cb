"""Writes docs/versions.md: what passed with each version, and what hookcli cannot do there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from benchmarks.versions.environments import Version
from benchmarks.versions.suite import NEEDS, PACKAGES, PARTS, Outcome
from hookcli.catalogue.kinds import CATALOGUE
from hookcli.reference.markdown import page_name
from hookcli.torch_private import NAMES, NEWEST, OLDEST, as_numbers, unavailable

HEAD = f"""\
# Versions

Written by `make versions`.

hookcli needs torch {OLDEST} or newer and Python 3.10 or newer. It was tried with these versions.
With an older torch, every command that runs a model ends with status 2 before it imports the model,
and so does a kind of hook that this torch lacks:

```text
error: kind NAME {NEEDS}2.9 or newer, this is 2.6.0
  --> hooks.yaml:2: hooks[0]
hint: remove the hook, or install a newer torch
```

hookcli uses private names of torch, all of them in `hookcli/torch_private.py`. If a torch that is
newer than {NEWEST} has removed one, the command says which, also with status 2.

## Tests

Each version has a virtual environment, in which pytest runs the folders of `tests/` that do not
compare texts with the pages of this documentation. *Skipped* are the tests that this torch cannot
run, and no others."""
MISSING = """\
## What is not available

From the tables of hookcli: kinds of hooks, and what depends on a private name."""
NOTHING = "Nothing: every kind of hook, every format and every figure is available in all of them."
SKIPPED = """\
## Skipped tests

The models of these tests need functions that the version of torch does not have."""


def page(outcomes: Mapping[Version, Outcome]) -> str:
    """Return the page."""
    sections = [HEAD, _tests(outcomes), _packages(outcomes)]
    failed = _failed(outcomes)
    sections += [failed] if failed else []
    sections += [MISSING, _missing(outcomes), SKIPPED, _skipped(outcomes), _names()]
    return "\n\n".join(sections) + "\n"


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def _tests(outcomes: Mapping[Version, Outcome]) -> str:
    rows = []
    for outcome in outcomes.values():
        parts = outcome.parts.values()
        run = [name for name in PARTS if name in outcome.parts]
        rows.append(
            (
                outcome.torch,
                outcome.python,
                f"{sum(part.passed for part in parts):,}",
                sum(len(part.failed) for part in parts),
                sum(sum(part.skipped.values()) for part in parts),
                "all" if len(run) == len(PARTS) else ", ".join(n.removesuffix(".py") for n in run),
            )
        )
    return _table(("torch", "Python", "passed", "failed", "skipped", "folders of tests"), rows)


def _packages(outcomes: Mapping[Version, Outcome]) -> str:
    rows = [(o.torch, *(o.packages[name] for name in PACKAGES)) for o in outcomes.values()]
    return _table(("torch", *PACKAGES), rows)


def _failed(outcomes: Mapping[Version, Outcome]) -> str:
    lines = [
        f"- torch {outcome.torch}: `{test}`"
        for outcome in outcomes.values()
        for part in outcome.parts.values()
        for test in part.failed
    ]
    return "\n".join(["Failed:", "", *lines]) if lines else ""


def _missing(outcomes: Mapping[Version, Outcome]) -> str:
    rows = []
    for outcome in outcomes.values():
        together: dict[str, list[str]] = {}
        for what, since in unavailable(outcome.torch).items():
            together.setdefault(since, []).append(what)
        rows += [
            (outcome.torch, ", ".join(_by_family(names)), f"torch {since}")
            for since, names in sorted(together.items(), key=lambda item: as_numbers(item[0]))
        ]
    return _table(("torch", "not available", "since"), rows) if rows else NOTHING


def _by_family(names: list[str]) -> list[str]:
    """Return the names, with one for all kinds of a family that is not available as a whole."""
    families: dict[str, list[str]] = {}
    for kind in CATALOGUE.values():
        families.setdefault(kind.family, []).append(f"kind {kind.name}")
    whole = {family: kinds for family, kinds in families.items() if {*kinds} <= {*names}}
    gone = {kind for kinds in whole.values() for kind in kinds}
    pages = [f"[{family} hooks](hooks/{page_name(family)})" for family in whole]
    return [*(name for name in names if name not in gone), *pages]


def _skipped(outcomes: Mapping[Version, Outcome]) -> str:
    rows = []
    for outcome in outcomes.values():
        reasons: Counter[str] = Counter()
        for part in outcome.parts.values():
            reasons.update(part.skipped)
        rows += [(outcome.torch, count, reason) for reason, count in sorted(reasons.items())]
    return _table(("torch", "tests", "reason"), rows) if rows else "None."


def _names() -> str:
    rows = [
        (f"`{row.place.replace(':', '.').rstrip('.')}`", row.since, row.why)
        for row in NAMES.values()
        if row.since != OLDEST
    ]
    table = _table(("name", "since torch", "needed for"), rows)
    return (
        f"## Private names that came later\n\nEvery other one is in torch {OLDEST} too.\n\n{table}"
    )
