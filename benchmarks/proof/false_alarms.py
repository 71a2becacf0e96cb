"""Counts false sentences of the verdict on healthy models.

`python -m benchmarks.proof.false_alarms [names] [--python PATH] [--markdown FILE]` runs
`hookcli check` on the models of benchmarks/proof/cases.py. Those of timm and torchvision need the
interpreter of an environment that has them. Each sentence was reviewed and has a verdict in
benchmarks/proof/verdicts.py. A sentence without a verdict, or a verdict without a sentence, fails.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from benchmarks.proof.alarms_page import page, summary
from benchmarks.proof.cases import APART, Case, cases, imports
from benchmarks.proof.forks import ROOT, run
from benchmarks.proof.verdicts import FAULTS, SOMETIMES, VERDICTS, verdict_of


@dataclass
class Judged:
    """One case: its checks, the verdict's sentences, and why the command failed."""

    case: Case
    rows: list = field(default_factory=list)
    diagnoses: list = field(default_factory=list)
    failure: str | None = None
    seconds: float = 0.0

    @property
    def verdicts(self):
        """Pairs of a diagnosis and its verdict, which is None if it was not reviewed."""
        return [(one, verdict_of(self.case.model, one)) for one in self.diagnoses]


def judge(case, loaded):
    """Run `hookcli check` as a user does; status 0 is a passed check."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        words = ["check", *case.words]
        if case.config:
            Path(place, "training.yaml").write_text(case.config)
            words += ["-c", str(Path(place, "training.yaml"))]
        ended = run(*words, folder=ROOT, imports=loaded)
    report = ended.report or {}
    failure = None if ended.status == 0 else f"status {ended.status}: {ended.error}"
    rows, found = report.get("checks", []), report.get("diagnoses", [])
    return Judged(case, rows, found, failure, time.monotonic() - started)


def unjudged(results):
    """Return the sentences without a verdict."""
    return [
        (one.case.name, diagnosis["cause"], diagnosis["target"], diagnosis["sentence"])
        for one in results
        for diagnosis, verdict in one.verdicts
        if verdict is None
    ]


def stale(results):
    """Return the verdicts without a sentence."""
    found = []
    for key in {**VERDICTS, **FAULTS}.keys() - SOMETIMES:
        ours = [one for one in results if fnmatchcase(one.case.model, key[0])]
        told = any(
            verdict_of(one.case.model, diagnosis, keys=(key,)) is not None
            for one in ours
            for diagnosis in one.diagnoses
        )
        if ours and not told:
            found.append(key)
    return sorted(found)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", metavar="name", help="names or groups of cases")
    parser.add_argument("--python", help="interpreter with timm and torchvision")
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--keep", type=Path, help="write the results to a file, or read them")
    given = parser.parse_args()
    known = cases(given.python)
    wanted = [
        case
        for case in known
        if not given.names or {case.name, case.model, case.group} & set(given.names)
    ]
    results = [] if given.keep is None or not given.keep.exists() else read(given.keep, known)
    done = {one.case.name for one in results}
    loaded = imports()
    for case in wanted:
        if case.name not in done:
            results.append(judge(case, loaded))
            told(results[-1])
    if given.keep:
        write(given.keep, results)
    new, old = unjudged(results), stale(results)
    failed = [one for one in results if one.failure is not None and one.case.group not in APART]
    for line in (*(f"not reviewed: {one}" for one in new), *(f"stale: {one}" for one in old)):
        print(line)
    print(*(f"failed: {one.case.name}: {one.failure}" for one in failed), sep="\n")
    print(summary(results))
    if given.markdown:
        given.markdown.write_text(page(results))
    return int(bool(new or old or failed))


def read(file, known):
    """Return the results of an earlier run of this script for the cases that are known."""
    cases = {case.name: case for case in known}
    kept = json.loads(file.read_text())
    return [Judged(cases[name], *values) for name, values in kept.items() if name in cases]


def write(file, results):
    """Keep the results for a later run."""
    kept = {one.case.name: [one.rows, one.diagnoses, one.failure, one.seconds] for one in results}
    file.write_text(json.dumps(kept))


def told(one):
    print(
        f"{one.case.group:12} {one.case.name:28} {one.seconds:5.1f} s  {one.failure or ''}",
        flush=True,
    )
    for diagnosis, verdict in one.verdicts:
        word = (verdict or ("NOT REVIEWED",))[0]
        said = f"    {diagnosis['severity']} {diagnosis['cause']} '{diagnosis['target']}'"
        print(f"{said}: {diagnosis['sentence']} [{word}]", flush=True)


if __name__ == "__main__":
    sys.exit(main())
