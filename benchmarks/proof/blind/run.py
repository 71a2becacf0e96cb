"""Counts the faults that a verdict names, and the healthy models and trainings that it accuses.

`python -m benchmarks.proof.blind.run --part second [names]`. Rules may be changed after a look at
the first set, both halves of it by now. The second set is run to measure only.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import torch

from benchmarks.proof.blind.cases import PARTS, cases
from benchmarks.proof.forks import run as run_command
from hookcli.formats.training.findings import notes

NAMED, SEEN, NOTHING = "named", "seen", "nothing"
SILENT, NOTED, ACCUSED, WRONGED = "silent", "noted", "accused", "accused with an error"


@dataclass(frozen=True)
class Judged:
    """A case, what was said of it, and the first of these sentences."""

    case: object
    outcome: str
    first: str


@dataclass(frozen=True)
class Said:
    """One sentence of a report. Those of the verdict have a severity."""

    text: str
    place: str
    severity: str

    def is_about(self, case):
        """Return whether it names the cause of a case, or its place."""
        if case.cause.search(self.text) or (case.place and case.place.search(self.text)):
            return True
        line = re.search(r":(\d+)$", self.place)
        lines = {int(n) for n in re.findall(r"\.py:(\d+)", self.text)}
        return bool(case.lines & (lines | ({int(line[1])} if line else set())))


def _said(report):
    """Yield the sentences of a report as JSON, those of the verdict first."""
    for one in report.get("diagnoses") or []:
        yield Said(one["sentence"], one.get("place") or "", one["severity"])
    error = report.get("error")
    if error:
        yield Said(f"{error['type']}: {error['message']}", error.get("place") or "", "error")
    for part in (report, *report.get("records", [])):
        for row in part.get("checks") or []:
            if row["status"] == "fail":
                yield Said(row["message"], row["place"] or "", "")


def _model(case):
    ended = run_command("check", case.path.name, folder=case.path.parent)
    if ended.report is None:
        return [Said(ended.error or f"status {ended.status}", "", "error")]
    return [*_said(ended.report)]


def _training(case):
    from benchmarks.proof.training_alarms import observe
    from benchmarks.proof.training_scripts import run_script
    from hookcli.report.encode import training_to_json

    try:
        result = run_script(case.path, observe).report
    except FileNotFoundError:  # the script has raised, so that it left no report
        report = _report_of_failed(case.path)
        end = report["script"]
        return [*_said(report), Said(end["error"], end["place"] or "", "error")]
    return [*_said(json.loads(training_to_json(result))), *(Said(n, "", "") for n in notes(result))]


def _report_of_failed(path):
    """Return the report of a script that ends with an error."""
    with tempfile.TemporaryDirectory() as place:
        file = Path(place, "report.json")
        hookcli = Path(sys.executable).with_name("hookcli")
        command = [hookcli, "run", "-o", file, path.name]
        subprocess.run(command, cwd=path.parent, capture_output=True, timeout=300)
        return json.loads(file.read_text())


def judge(case):
    """Return what is said of a case."""
    said = (_training if case.is_training else _model)(case)
    verdict = [one for one in said if one.severity]
    if not case.is_broken:
        worst = {one.severity for one in verdict}
        calm = NOTED if said else SILENT
        outcome = WRONGED if "error" in worst else ACCUSED if "warning" in worst else calm
    elif verdict and verdict[0].is_about(case):
        outcome = NAMED
    else:
        outcome = SEEN if any(one.is_about(case) for one in said) else NOTHING
    return Judged(case, outcome, said[0].text if said else "")


def table(results):
    """Return the counts as lines of Markdown."""
    lines = []
    for kind in ("models", "trainings"):
        for word, outcomes in (
            ("broken", (NAMED, SEEN, NOTHING)),
            ("healthy", (SILENT, NOTED, ACCUSED, WRONGED)),
        ):
            mine = [r for r in results if r.case.path.parts[-3:-1] == (kind, word)]
            counts = Counter(one.outcome for one in mine)
            parts = [f"{counts[o]} {o} ({counts[o] / max(1, len(mine)):.0%})" for o in outcomes]
            lines.append(f"| {word} {kind} | {len(mine)} | {', '.join(parts)} |")
    return ["| cases | number | outcome |", "|---|--:|---|", *lines]


def main():
    """Print the outcome of each case and the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", "--half", choices=PARTS, required=True)
    parser.add_argument("--kind", choices=("models", "trainings"))
    parser.add_argument("--counts-only", action="store_true", help="show no case")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    torch.set_num_threads(1)
    kinds = (given.kind,) if given.kind else ("models", "trainings")
    results = []
    for case in cases(given.part, kinds):
        if given.names and not any(part in case.name for part in given.names):
            continue
        one = judge(case)
        results.append(one)
        if not given.counts_only:
            where = "/".join(case.path.parts[-3:-1])
            print(f"{one.outcome:22} {where} {case.name}: {one.first}", flush=True)
    print(*table(results), sep="\n")


if __name__ == "__main__":
    sys.exit(main())
