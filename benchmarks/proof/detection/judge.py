"""Runs a command on a broken model, and judges the first sentence of the verdict."""

from __future__ import annotations

import re
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.proof.forks import run

QUOTED = re.compile(r"'([^']*)'")


@dataclass
class Judged:
    """The first sentence of a verdict, and whether it names the cause and the layer."""

    name: str
    sentence: str = ""
    cause: str = ""
    target: str = ""
    place: str = ""
    names_cause: bool = False
    names_layer: bool = False
    later: bool = False
    seconds: float = 0.0

    @property
    def hit(self):
        return self.names_cause and self.names_layer


def report_of(source, flags=(), config="", command="check"):
    """Return the report of a model's source as JSON, or the error of the command."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "model.py").write_text(source)
        words = [command, "model.py", *flags]
        if config:
            Path(folder, "hookcli.yaml").write_text(config)
            words += ["-c", "hookcli.yaml"]
        ended = run(*words, folder=folder)
    return ended.report, ended.error


def verdict(report):
    """Return the diagnoses of a report as dictionaries, worst first."""
    return report.get("diagnoses") or []


def judge(fault):
    """Run the command for a fault, and judge the first sentence."""
    started = time.monotonic()
    source, lines = fault.source()
    report, problem = report_of(source, fault.flags, fault.config)
    seconds = time.monotonic() - started
    if report is None:
        return Judged(fault.name, f"(no report) {problem}", seconds=seconds)
    return judge_report(fault, report, lines, seconds)


def judge_report(fault, report, lines, seconds=0.0):
    """Judge the first sentence of a report; without a verdict, the error of the model."""
    judged = Judged(fault.name, seconds=seconds)
    found = verdict(report) or _of_error(report)
    if not found:
        return judged
    first, *others = found
    judged.sentence, judged.cause = first["sentence"], first["cause"]
    judged.target, judged.place = first["target"], first["place"] or ""
    judged.names_cause = names_cause(fault, first)
    judged.names_layer = names_layer(fault, first, lines)
    judged.later = not judged.hit and any(
        names_cause(fault, other) and names_layer(fault, other, lines) for other in others
    )
    return judged


def _of_error(report):
    """Return the model's error, which a user reads if there is no verdict."""
    error = report.get("error")
    if error is None:
        return []
    sentence = f"{error['type']}: {error['message']}"
    target, place = error.get("module") or "", error.get("place")
    return [{"cause": "error", "sentence": sentence, "target": target, "place": place}]


def names_cause(fault, diagnosis):
    """Whether the sentence has the words of the fault's cause."""
    return bool(re.search(fault.says, diagnosis["sentence"], re.IGNORECASE))


def names_layer(fault, diagnosis, lines):
    """Whether the sentence, its target or its place tells where the fault is."""
    named = [name for name in QUOTED.findall(diagnosis["sentence"]) if name]
    first = diagnosis["target"] or (named[0] if named else "")
    inside = any(
        first == layer or first.startswith(f"{layer}.") or (layer and layer in named)
        for layer in fault.layers
    )
    told = f"{diagnosis['sentence']} {diagnosis['place'] or ''}"
    return inside or any(int(number) in lines for number in re.findall(r"\.py:(\d+)", told))
