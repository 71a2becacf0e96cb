"""Makes the report of weights: a row for each tensor, with the statistics of its values."""

from __future__ import annotations

import platform
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from hookcli._version import __version__
from hookcli.report.report import Environment
from hookcli.report.weights.weights_report import (
    WEIGHTS_SCHEMA,
    DtypeTotal,
    WeightsFile,
    WeightsReport,
    WeightsRow,
    WeightsTotals,
)
from hookcli.weights.stored import StoredTensor, StoredWeights, Strided, shared

_MOST_NAMES = 16  # other names of a tensor


def inspect(weights: StoredWeights, *, values: bool) -> WeightsReport:
    """Return the report of weights. Without `values` only what their headers say.

    Raises
    ------
    OSError, ValueError : a file changed or cannot be read.
    """
    begun = time.perf_counter()
    groups = list(shared(weights.tensors))
    names = _other_names(groups)
    stats = _statistics(weights.tensors) if values else {}
    rows = tuple(_row(tensor, stats, names) for tensor in weights.tensors)
    dtypes, totals = _totals(weights.tensors, groups)
    return WeightsReport(
        schema=WEIGHTS_SCHEMA,
        command="inspect",
        environment=environment(time.perf_counter() - begun),
        source=weights.source,
        format=weights.format,
        values=values,
        totals=totals,
        dtypes=dtypes,
        files=_files(weights),
        metadata=weights.metadata,
        tensors=rows,
        warnings=tuple(weights.notes),
    )


def environment(seconds: float) -> Environment:
    """Return the environment of a comparison or inspection: this process, without torch."""
    return Environment(
        hookcli=__version__,
        torch=None,
        python=".".join(map(str, sys.version_info[:3])),
        platform=f"{platform.system()}-{platform.machine()}".lower(),
        seconds=seconds,
    )


def _other_names(groups: Sequence[Sequence[StoredTensor]]) -> dict[int, tuple[str, ...]]:
    """Return the names that share elements with a tensor, by its id."""
    found = {}
    for group in groups:
        first = [tensor.name for tensor in group[: _MOST_NAMES + 1]]
        for tensor in group:
            others = [name for name in first if name != tensor.name]
            found[id(tensor)] = tuple(others[:_MOST_NAMES])
    return found


def _statistics(tensors: Sequence[StoredTensor]) -> Mapping[int, dict[str, Any]]:
    """Return the statistics of each tensor whose values can be read, by its id.

    Values are read in the order of the files, each once for tensors that are the same elements.
    """
    from hookcli.weights.figures import statistics
    from hookcli.weights.threads import moments_of

    users: dict[Any, list[StoredTensor]] = {}
    for tensor in tensors:
        if tensor.values is not None:
            key = tensor.values if isinstance(tensor.values, Strided) else id(tensor)
            users.setdefault(key, []).append(tensor)
    read = sorted(users.values(), key=lambda group: _position(group[0]))
    found: dict[int, dict[str, Any]] = {}
    for group, sums in zip(read, moments_of([group[0] for group in read]), strict=True):
        stats = statistics(sums, group[0].numel)
        found.update((id(tensor), stats) for tensor in group)
    return found


def _position(tensor: StoredTensor) -> tuple[str, int, int]:
    values = tensor.values
    if not isinstance(values, Strided):
        return tensor.file, 0, 0
    return str(values.storage.path), values.storage.start, values.offset


def _row(
    tensor: StoredTensor,
    stats: Mapping[int, dict[str, Any]],
    names: Mapping[int, tuple[str, ...]],
) -> WeightsRow:
    return WeightsRow(
        name=tensor.name,
        shape=tensor.shape,
        dtype=tensor.dtype,
        numel=tensor.numel,
        bytes=tensor.size,
        file=tensor.file,
        part=tensor.part,
        stats=stats.get(id(tensor)),
        layout=tensor.layout or None,
        shared_with=names.get(id(tensor)),
        unread=tensor.unread or None,
    )


def _totals(
    tensors: Sequence[StoredTensor], groups: Sequence[Sequence[StoredTensor]]
) -> tuple[tuple[DtypeTotal, ...], WeightsTotals]:
    repeated = _repeated(groups)
    by_dtype: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    optimizer = [0, 0]
    for tensor in tensors:
        own = max(tensor.size - repeated.get(id(tensor), 0), 0)
        elements = tensor.numel * own // tensor.size if tensor.size else tensor.numel
        total = by_dtype[tensor.dtype]
        total[0] += 1
        total[1] += elements
        total[2] += own
        if tensor.part == "optimizer":
            optimizer[0] += 1
            optimizer[1] += own
    rows = [DtypeTotal(dtype, *numbers) for dtype, numbers in by_dtype.items()]
    rows.sort(key=lambda row: (-row.bytes, row.dtype))
    return tuple(rows), WeightsTotals(
        tensors=len(tensors),
        elements=sum(row.elements for row in rows),
        bytes=sum(row.bytes for row in rows),
        optimizer_tensors=optimizer[0],
        optimizer_bytes=optimizer[1],
        shared_bytes=sum(repeated.values()),
    )


def _repeated(groups: Sequence[Sequence[StoredTensor]]) -> dict[int, int]:
    """Return how many bytes of a tensor are those of an earlier one of its group, by its id."""
    found: dict[int, int] = {}
    for group in groups:
        end = -1
        for tensor in sorted(group, key=lambda one: _span(one)):
            start, stop = _span(tensor)
            found[id(tensor)] = min(max(min(end, stop) - start, 0), tensor.size)
            end = max(end, stop)
    return found


def _span(tensor: StoredTensor) -> tuple[int, int]:
    return tensor.values.span if isinstance(tensor.values, Strided) else (0, 0)


def _files(weights: StoredWeights) -> tuple[WeightsFile, ...]:
    counts: defaultdict[str, int] = defaultdict(int)
    for tensor in weights.tensors:
        counts[tensor.file] += 1
    return tuple(WeightsFile(file.path, file.size, counts[file.path]) for file in weights.files)
