"""What `--watch` compares of two results: facts with names, and their differences in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

from hookcli.report.report import Report
from hookcli.report.weights.weights_report import WeightsReport
from hookcli.text import counted

if TYPE_CHECKING:
    from hookcli.comparison.diff import Diff
    from hookcli.formats.results import Result
    from hookcli.report.values import Leaf

# The name of a thing, such as "layer fc1", and its properties in words.
Facts: TypeAlias = Mapping[str, Mapping[str, str]]
_TEXT = "text"  # the property of a thing that is one sentence
_VERDICT = "verdict"


def facts_of(result: Result) -> Facts:
    """Return the facts of a result: its findings, its layers, its parameters or tensors."""
    if isinstance(result, Report):
        return dict([*_findings(result), *_layers(result), *_parameters(result)])
    if isinstance(result, WeightsReport):
        return {
            f"tensor {row.name}": {"shape": str(list(row.shape)), "dtype": row.dtype}
            for row in result.tensors
        }
    verdict = {_VERDICT: {_TEXT: str(getattr(result, "verdict", ""))}}
    return {**verdict, **_first(result)}


def _first(diff: Diff | object) -> Facts:
    first = getattr(diff, "first", None)
    sentence = getattr(first, "sentence", None)
    return {} if sentence is None else {"first difference": {_TEXT: sentence}}


def _findings(report: Report) -> Iterator[tuple[str, Mapping[str, str]]]:
    explained: set[str] = set()
    for diagnosis in report.diagnoses or ():
        explained.update(diagnosis.fingerprints)
        yield (
            f"{diagnosis.severity} {diagnosis.cause} {diagnosis.target}",
            {_TEXT: diagnosis.sentence},
        )
    for row in report.checks:
        if row.status == "fail" and row.fingerprint not in explained:
            yield f"{row.severity} {row.rule} {row.target}", {_TEXT: row.message}


def _layers(report: Report) -> Iterator[tuple[str, Mapping[str, str]]]:
    calls: dict[str, int] = {}
    for row in report.layers:
        name = row.name if row.name is not None else f"<{row.type}>"
        calls[name] = calls.get(name, 0) + 1
        call = "" if calls[name] == 1 else f" call {calls[name]}"
        yield (
            f"layer {name or row.type}{call}",
            {
                "type": row.type,
                "input": _shapes(row.inputs),
                "output": _shapes(row.outputs),
                "parameters": "0" if row.own_parameters is None else f"{row.own_parameters:,}",
            },
        )
    for uncalled in report.uncalled:
        yield f"uncalled layer {uncalled.name}", {"type": uncalled.type}


def _parameters(report: Report) -> Iterator[tuple[str, Mapping[str, str]]]:
    for row in report.parameters:
        yield (
            f"parameter {row.name}",
            {
                "shape": str(list(row.shape)),
                "dtype": row.dtype,
                "gradient": row.status or "",
            },
        )


def _shapes(leaves: Iterable[Leaf]) -> str:
    return ", ".join(str(list(leaf.shape)) for leaf in leaves) or "-"


def differences(before: Facts, after: Facts) -> list[str]:
    """Return a sentence for each thing that was added, removed or changed.

    Parameters are omitted if a layer or a finding tells the change already.
    """
    added = [_added(name, after[name]) for name in after if name not in before]
    removed = [f"{name} removed" for name in before if name not in after]
    changed = [
        f"{name}: {_changed(before[name], after[name])}"
        for name in after
        if name in before and dict(before[name]) != dict(after[name])
    ]
    sentences = [*added, *removed, *changed]
    main = [text for text in sentences if not text.startswith("parameter ")]
    return main or sentences


def _added(name: str, properties: Mapping[str, str]) -> str:
    if _TEXT in properties:
        return f"{name}: {properties[_TEXT]}"
    told = ", ".join(f"{key} {value}" for key, value in properties.items() if value)
    return f"{name} added ({told})"


def _changed(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    keys = [key for key in after if before.get(key) != after[key]]
    if keys == [_TEXT]:
        return after[_TEXT]
    return ", ".join(f"{key} {before.get(key, '-')} is now {after[key]}" for key in keys)


def in_short(facts: Facts) -> str:
    """Return what a result has, in counts: "3 layers, 2 findings"."""
    words = [name.partition(" ")[0] for name in facts]
    parts = [counted(words.count(noun), noun) for noun in ("layer", "tensor") if noun in words]
    if _VERDICT in facts:
        parts.append(facts[_VERDICT][_TEXT])
    else:
        findings = sum(word in {"error", "warning"} for word in words)
        parts.append(counted(findings, "finding"))
    return ", ".join(parts)
