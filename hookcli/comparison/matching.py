"""Match rows of two reports: calls by name and number, parameters and buffers by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from hookcli.comparison.align import Alignment, align
from hookcli.comparison.tolerance import TensorSummary, distance
from hookcli.report.report import BufferRow, LayerRow, ParameterRow, Report
from hookcli.report.values import Leaf

_Key: TypeAlias = tuple[str, int, bool, int]


@dataclass(frozen=True, slots=True)
class Sketched:
    """The sketches in a report, by the order of the call or by name."""

    calls: dict[int, dict[str, Any]]
    parameters: dict[str, dict[str, Any]]
    buffers: dict[str, dict[str, Any]]
    gradients: dict[str, dict[str, Any]]

    @property
    def is_empty(self) -> bool:
        """Whether the report has no sketches of calls."""
        return not self.calls


def sketched(report: Report) -> Sketched:
    """Return the sketches among the measurements of a report."""
    sketches: dict[str, dict[Any, dict[str, Any]]] = {
        "sketch": {}, "sketch_parameter": {}, "sketch_buffer": {}, "sketch_gradient": {}
    }  # fmt: skip
    for measurement in report.measurements:
        if measurement.probe in sketches and isinstance(measurement.value, dict):
            key = (
                measurement.value.get("order")
                if measurement.probe == "sketch"
                else measurement.target
            )
            sketches[measurement.probe][key] = measurement.value
    return Sketched(*sketches.values())


def alignment(a: Report, b: Report) -> Alignment:
    """Return how names in A correspond to names in B."""
    return align(_names(a), _names(b))


def _names(report: Report) -> list[str]:
    called = [row.name for row in report.layers if row.name is not None]
    uncalled = [row.name for row in report.uncalled]
    return [*called, *uncalled, *(row.name for row in report.parameters)]


def paired_calls(a: Report, b: Report, names: Alignment) -> dict[int, LayerRow]:
    """Return the counterpart in B of each call in A, by the order in A."""
    pairs = names.pairs(_named(a), _named(b))
    _pair_aliases(pairs, a, b, names)
    there = dict(_keyed(b.layers))
    partners = {}
    for (name, *rest), row in _keyed(a.layers):
        partner = name if row.name is None else pairs.get(row.name)
        other = None if partner is None else there.get((partner, *rest))  # type: ignore[arg-type]
        if other is not None:
            partners[row.order] = other
    return partners


def _named(report: Report) -> dict[str, None]:
    return dict.fromkeys(row.name for row in report.layers if row.name is not None)


def _pair_aliases(pairs: dict[str, str], a: Report, b: Report, names: Alignment) -> None:
    """Pair shared modules that the two sides call by different names of theirs.

    A file of TorchScript keeps only one of the names.
    """
    aliases_a = {row.name: row.aliases for row in a.layers if row.name not in pairs}
    taken = set(pairs.values())
    canonical = {
        names.canonical_b(alias): row.name
        for row in b.layers
        for alias in (row.name, *row.aliases)
        if row.name is not None and alias is not None and row.name not in taken
    }
    for name, aliases in aliases_a.items():
        for alias in (name, *aliases):
            partner = None if alias is None else canonical.get(names.canonical_a(alias))
            if name is not None and partner is not None and partner not in pairs.values():
                pairs[name] = partner
                break


def _keyed(rows: Iterable[LayerRow]) -> Iterator[tuple[_Key, LayerRow]]:
    """Yield each call with a unique key; calls with the same name and number are counted.

    Calls of unregistered modules are counted by type.
    """
    seen: Counter[tuple[str, int, bool]] = Counter()
    for row in rows:
        named = row.name is not None
        key = (row.name or "", row.call, row.recomputed) if named else (f"<{row.type}>", 0, False)
        yield (*key, seen[key]), row
        seen[key] += 1


def leaves(row: LayerRow, part: str, values: Sketched) -> list[TensorSummary]:
    """Return the tensors of a call's `inputs` or `outputs`, with their sketches and norms."""
    rows: tuple[Leaf, ...] = row.inputs if part == "inputs" else row.outputs
    sketches = values.calls.get(row.order, {}).get(part) or []
    if len(sketches) != len(rows):
        sketches = [None] * len(rows)
    return [
        TensorSummary(
            leaf.path,
            leaf.shape,
            leaf.dtype,
            sketch,
            None if leaf.stats is None else leaf.stats.get("norm"),
        )
        for leaf, sketch in zip(rows, sketches, strict=True)
    ]


def pair_tensors(
    ours: list[TensorSummary], theirs: list[TensorSummary]
) -> list[tuple[TensorSummary | None, TensorSummary | None]]:
    """Pair the tensors of two values: by path if all paths are equal, else by content or position.

    Content comes first: a trace passes the parts of an object in its own order.
    """
    paths = {summary.path: summary for summary in theirs}
    if set(paths) == {summary.path for summary in ours}:
        return [(summary, paths[summary.path]) for summary in ours]
    same = _same_content(ours, theirs)
    if len(same) == len(ours) == len(theirs):
        return list(same)
    longer = max(len(ours), len(theirs))
    return [
        (ours[i] if i < len(ours) else None, theirs[i] if i < len(theirs) else None)
        for i in range(longer)
    ]


def state(row: ParameterRow | BufferRow, values: Sketched) -> TensorSummary:
    """Return a parameter or buffer with its sketch and norm."""
    if isinstance(row, BufferRow):
        return TensorSummary(row.name, row.shape, row.dtype, values.buffers.get(row.name))
    norm = None if row.stats is None else row.stats.get("norm")
    return TensorSummary(row.name, row.shape, row.dtype, values.parameters.get(row.name), norm)


def gradient(row: ParameterRow, values: Sketched) -> TensorSummary | None:
    """Return the gradient of a parameter, or None."""
    sketch = values.gradients.get(row.name)
    if sketch is None and row.grad is None:
        return None
    norm = None if row.grad is None else row.grad.get("norm")
    return TensorSummary(row.name, row.shape, row.dtype, sketch, norm)


def traced_tensors(
    ours: list[TensorSummary], theirs: list[TensorSummary]
) -> tuple[list[TensorSummary], list[TensorSummary]]:
    """Return inputs or outputs of a call, one side of which may be a graph, that both sides have.

    Tracing passes a module what its code takes from elsewhere, such as weights of a shared module.
    Tracing and exporting omit what nobody uses: a result that is used differs later, where it is
    used. If each side has a tensor that the other lacks, all are compared.
    """
    same = _same_content(ours, theirs)
    if len(same) == min(len(ours), len(theirs)):
        return [summary for summary, _ in same], [other for _, other in same]
    if len(ours) == len(theirs):
        return ours, theirs
    if len(ours) < len(theirs):
        partners = _nearest(ours, theirs)
        return (ours, theirs) if partners is None else (ours, partners)
    partners = _nearest(theirs, ours)
    return (ours, theirs) if partners is None else (partners, theirs)


def _nearest(few: list[TensorSummary], many: list[TensorSummary]) -> list[TensorSummary] | None:
    """Return the tensor of the same shape and the nearest values for each of the few.

    None if one has no such tensor left.
    """
    left, partners = list(many), []
    for summary in few:
        alike = [other for other in left if other.shape == summary.shape]
        if not alike:
            return None
        partners.append(min(alike, key=lambda other: distance(summary, other)))
        left.remove(partners[-1])
    return partners


def _same_content(
    ours: list[TensorSummary], theirs: list[TensorSummary]
) -> list[tuple[TensorSummary, TensorSummary]]:
    """Return the pairs of tensors that are bitwise equal, each tensor in at most one."""
    left = list(theirs)
    pairs = []
    for summary in ours:
        digest = (summary.values or {}).get("digest")
        for other in left:
            if digest is not None and digest == (other.values or {}).get("digest"):
                pairs.append((summary, other))
                left.remove(other)
                break
    return pairs
