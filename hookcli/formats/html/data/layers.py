"""The calls of modules, as the rows of a tree."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hookcli.console import escape
from hookcli.formats.html.data.columns import figures, rounded, sparse, text_column
from hookcli.formats.html.data.references import References
from hookcli.formats.parts.text import leaves_full, place, shape
from hookcli.report.report import LayerRow, Report
from hookcli.report.values import Leaf


def layers(report: Report, references: References) -> dict[str, Any]:
    """Return the columns of all calls, followed by those of the modules that were not called.

    `parent` is the row of the caller, -1 for the first call. A call of a module that was not called
    is -1. `status` has words: error, warning, raised, recomputed, shared, unregistered, uncalled.
    """
    calls, idle = report.layers, report.uncalled
    blank = [None] * len(idle)
    return {
        "count": len(calls) + len(idle),
        "name": text_column([*(r.name for r in calls), *(m.name for m in idle)]),
        "type": text_column([*(r.type for r in calls), *(m.type for m in idle)]),
        "call": [*(r.call for r in calls), *(-1 for _ in idle)],
        "order": [*(r.order for r in calls), *blank],
        "parent": [*_parents(calls, references), *(_above(m.name, references) for m in idle)],
        "training": [*(int(r.training) for r in calls), *blank],
        "place": text_column([*(_place(r.place) for r in calls), *(_place(m.place) for m in idle)]),
        "input": text_column([*(leaves_full(r.inputs, inputs=True) for r in calls), *blank]),
        "output": text_column([*(leaves_full(r.outputs) for r in calls), *blank]),
        "own": [*(r.own_parameters for r in calls), *blank],
        "parameters": [*(r.parameters for r in calls), *blank],
        "trainable": [*(r.trainable_parameters for r in calls), *blank],
        "flops": [*(r.flops for r in calls), *blank],
        "activation": [*(r.activation_bytes for r in calls), *blank],
        "saved": [*(r.memory and r.memory.saved_bytes for r in calls), *blank],
        "peak": [*(r.memory and r.memory.peak_bytes for r in calls), *blank],
        "output_norm": [*(_norm(r.stats) for r in calls), *blank],
        "grad_norm": [*(_norm(r.output_grad) for r in calls), *blank],
        "status": text_column(_statuses(report, references)),
        "notes": sparse([escape(n) for n in r.notes] for r in calls),
        "aliases": sparse([escape(n) for n in r.aliases] for r in calls),
        "shared_with": sparse([escape(n) for n in r.shared_with] for r in calls),
        "tensors": sparse(_tensors(r) for r in calls),
    }


def _parents(calls: Iterable[LayerRow], references: References) -> list[int]:
    return [-1 if r.parent is None else references.row_of.get(r.parent, -1) for r in calls]


def _above(name: str, references: References) -> int:
    """Return the row of the nearest module with a row that contains a module, -1 for the root."""
    return references.owner(name) if name else -1


def _place(text: str | None) -> str | None:
    return None if text is None else place(text)


def _norm(stats: dict[str, Any] | None) -> Any:
    return None if stats is None else rounded(stats.get("norm"))


def _statuses(report: Report, references: References) -> list[str]:
    words: list[list[str]] = [[] for _ in range(len(report.layers) + len(report.uncalled))]
    found = [(row.target, row.severity) for row in report.checks if row.status == "fail"]
    found += [(row.target, row.severity) for row in report.diagnoses or ()]
    for target, severity in found:
        layer = references.of(target).layer
        if layer >= 0 and severity not in words[layer]:
            words[layer].append(severity)
    for at, row in zip(words, report.layers, strict=False):
        facts = (
            ("raised", any(note.startswith("raised ") for note in row.notes)),
            ("recomputed", row.recomputed),
            ("shared", bool(row.shared_with)),
            ("unregistered", not row.registered),
        )
        at += [word for word, present in facts if present]
    for at in words[len(report.layers) :]:
        at.append("uncalled")
    return [" ".join(at) for at in words]


def tensor(leaf: Leaf) -> list[Any]:
    """Return [path, shape, dtype, figures of the values, figures of the gradient]."""
    return [
        escape(leaf.path),
        shape(leaf.shape),
        escape(leaf.dtype),
        figures(leaf.stats),
        figures(leaf.grad),
    ]


def _tensors(row: LayerRow) -> dict[str, list[Any]] | None:
    """Return the tensors of a call, if they have more than a shape; `input` and `output` do."""
    if not any(leaf.stats or leaf.grad for leaf in (*row.inputs, *row.outputs)):
        return None
    return {
        "input": [tensor(leaf) for leaf in row.inputs],
        "output": [tensor(leaf) for leaf in row.outputs],
    }
