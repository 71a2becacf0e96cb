"""Compares what all ranks recorded with the reference, tensor by tensor."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping
from fnmatch import fnmatchcase
from math import prod
from typing import Any

import torch

from hookcli.engine.parallel.layouts import (
    COPY,
    MEAN,
    PARTIAL,
    Joined,
    combined,
    distance,
    join,
    whole_of_dtensors,
)
from hookcli.engine.parallel.recorder import (
    GRADIENT,
    INPUTS,
    OUTPUT_GRADIENT,
    OUTPUTS,
    RESULT,
    VALUE,
)
from hookcli.engine.parallel.records import REFERENCE, file_of, read_records
from hookcli.models.nested import dtype_name
from hookcli.refusals import raise_if_external
from hookcli.report.rows.events import number
from hookcli.spec.compared.parallel import ParallelRun

LIMITS = {"float64": 1e-9, "float32": 1e-4, "float16": 2e-2, "bfloat16": 5e-2, "complex64": 1e-4}
"""The largest difference, relative to the norm. Sums over ranks are rounded in another order; a
fault of a plan changes values by a share of the norm that is not small."""
_SMALL = 1e-2  # of the norm of all gradients: smaller gradients may be zero except for rounding

_Key = tuple[str, str, int, str]  # what, name, index, path
_Entries = dict[int, dict[str, Any]]  # by rank


class Judge:
    """The records of the reference and of all ranks."""

    def __init__(self, run: ParallelRun) -> None:
        self._mesh, self._tolerances = run.plan.mesh, run.tolerances
        self._order: list[tuple[str, str, int]] = []
        self._reference: dict[_Key, torch.Tensor] = {}
        self._paths: dict[tuple[str, str, int], list[str]] = defaultdict(list)
        self._ranks: dict[_Key, _Entries] = defaultdict(dict)
        for record in read_records(file_of(run.folder, REFERENCE)):
            key = (record["what"], record.get("name", ""), record.get("index", 0))
            if "tensors" in record:
                self._order.append(key)
            for tensor in _tensors(record):
                self._reference[key[0], key[1], key[2], tensor["path"]] = tensor["local"]
                self._paths[key].append(tensor["path"])
        for rank in range(self._mesh.ranks):
            for record in read_records(file_of(run.folder, rank)):
                key = (record["what"], record.get("name", ""), record.get("index", 0))
                for tensor in _tensors(record):
                    self._ranks[key[0], key[1], key[2], tensor["path"]][rank] = tensor

    def compare(self) -> dict[str, Any]:
        """Return the comparison as plain values: calls in the order in which they ended."""
        inputs: dict[tuple[str, int], list[dict[str, Any]]] = {}
        calls = []
        result: list[dict[str, Any]] = []
        for what, name, index in self._order:
            rows = self._rows(what, name, index)
            if what == INPUTS:
                inputs[name, index] = rows
            elif what == OUTPUTS:
                gradients = self._rows(OUTPUT_GRADIENT, name, index)
                calls.append({"name": name, "index": index, "inputs": inputs.get((name, index), []),
                              "outputs": rows, "gradients": gradients})  # fmt: skip
            elif what == RESULT:
                result = rows
        return {
            "mesh": [list(pair) for pair in zip(self._mesh.names, self._mesh.sizes, strict=True)],
            "calls": calls,
            "result": result,
            "parameters": self._parameters(),
        }

    def _limit(self, name: str, dtype: torch.dtype) -> float:
        for glob, limit in reversed(self._tolerances):
            if fnmatchcase(name, glob):
                return limit
        return LIMITS.get(dtype_name(dtype), 0.0)

    def _rows(self, what: str, name: str, index: int) -> list[dict[str, Any]]:
        rows = []
        for path in self._paths.get((what, name, index), ()):
            reference = self._reference[what, name, index, path]
            entries = self._ranks.get((what, name, index, path), {})
            if what == OUTPUT_GRADIENT:
                entries = self._averaged(entries, reference)
            limit = self._limit(name, reference.dtype)
            if len(entries) < self._mesh.ranks:
                joined = None
            else:
                joined = join(entries, reference, self._mesh, limit,
                              floor=1e-6 * reference.numel() ** 0.5)  # fmt: skip
            rows.append(_row(path, reference, joined, limit))
        return rows

    def _averaged(self, entries: _Entries, reference: torch.Tensor) -> _Entries:
        """Return gradients of outputs as parts of the whole: ranks of data average later."""
        count = prod(self._mesh.sizes[d] for d in self._mesh.of_data)
        if count == 1 or not reference.dim():
            return entries
        return {rank: {**entry, "local": entry["local"] / count}
                for rank, entry in entries.items()}  # fmt: skip

    def _parameters(self) -> list[dict[str, Any]]:
        names = [name for what, name, _, _ in self._reference if what == VALUE]
        total = sum(
            float(t.to(torch.float64).norm() ** 2) if not t.is_complex() else 0.0
            for (what, *_), t in self._reference.items()
            if what == GRADIENT
        )
        floor = _SMALL * total**0.5
        return [self._parameter(name, floor) for name in names]

    def _parameter(self, name: str, floor: float) -> dict[str, Any]:
        value = self._reference[VALUE, name, 0, ""]
        entries = self._ranks.get((VALUE, name, 0, ""), {})
        limit = self._limit(name, value.dtype)
        whole = len(entries) == self._mesh.ranks
        joined = join(entries, value, self._mesh, 1e-6) if whole else None
        found: dict[str, Any] = {
            "name": name,
            "value": _row("", value, joined, limit),
            "gradient": None,
        }
        found["sharded"] = any(entry["placements"] is not None for entry in entries.values())
        gradient = self._reference.get((GRADIENT, name, 0, ""))
        if gradient is None or joined is None:
            return found
        parts = self._ranks.get((GRADIENT, name, 0, ""), {})
        if len(parts) < self._mesh.ranks:
            found["gradient"] = _row("", gradient, None, limit)
            found["why"] = {"kind": "missing", "ranks": [
                rank for rank in range(self._mesh.ranks) if rank not in parts]}  # fmt: skip
            return found
        words = joined.layout if joined.fits else None
        row = join(parts, gradient, self._mesh, limit, words=words, floor=floor)
        found["gradient"] = _row("", gradient, row, limit)
        if not row.fits:
            found["why"] = self._why(parts, gradient, row, limit, floor)
        return found

    def _why(
        self, entries: _Entries, gradient: torch.Tensor, row: Joined, limit: float, floor: float
    ) -> dict[str, Any]:
        """Return how a gradient differs: what sum, mean or multiple of the parts fits."""
        parts, declared = whole_of_dtensors(entries, self._mesh)
        open_ = [
            d for d, size in enumerate(self._mesh.sizes)
            if d not in declared and size > 1 and not row.layout[d].startswith("shard")
        ]  # fmt: skip
        for choice in itertools.product((COPY, PARTIAL, MEAN), repeat=len(open_)):
            if set(choice) <= {COPY}:
                continue
            words = {d: w for d, w in enumerate(row.layout) if d not in declared}
            words |= dict(zip(open_, choice, strict=True))
            whole = _whole(parts, words)
            if whole is not None and distance(whole, gradient, floor) <= limit:
                names = [self._mesh.names[d] for d, w in zip(open_, choice, strict=True)
                         if w != COPY]  # fmt: skip
                return {"kind": next(w for w in choice if w != COPY), "dimensions": names}
        plain = {d: w for d, w in enumerate(row.layout) if d not in declared}
        whole = _whole(parts, plain)
        if row.alike and whole is not None and whole.shape == gradient.shape:
            a, b = whole.to(torch.float64).reshape(-1), gradient.to(torch.float64).reshape(-1)
            factor = float(a @ b / (b @ b)) if float(b @ b) else 0.0
            if factor and distance(a / factor, b, floor) <= 10 * limit:
                return {"kind": "scaled", "factor": number(factor)}
        return {"kind": "apart" if not row.alike else "differs"}


def _whole(parts: Mapping[tuple[int, ...], torch.Tensor], words: Mapping[int, str]) -> Any:
    joined = dict(parts)
    for d in sorted(words, reverse=True):
        try:
            joined = combined(joined, d, words[d])
        except (RuntimeError, IndexError, ValueError) as error:
            raise_if_external(error)
            return None
    return next(iter(joined.values())) if len(joined) == 1 else None


def _tensors(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    if "tensors" in record:
        return list(record["tensors"])
    return [record["tensor"]] if "tensor" in record else []


def _row(path: str, reference: torch.Tensor, joined: Joined | None, limit: float) -> dict[str, Any]:
    """Return a tensor's row: "unknown" if some rank has none, or no layout has its shape."""
    row: dict[str, Any] = {
        "path": path, "shape": list(reference.shape), "dtype": dtype_name(reference.dtype),
        "limit": limit, "status": "unknown", "ranks_shape": None, "relative": None,
        "layout": None, "plain": None,
    }  # fmt: skip
    if joined is None:
        return row
    row["ranks_shape"] = list(joined.shape)
    row["layout"] = list(joined.layout)
    row["plain"] = [not declared for declared in joined.declared]
    if joined.relative is not None:
        row["relative"] = number(joined.relative)
        row["status"] = "different"
    if joined.fits:
        row["status"] = "same" if joined.exact else "close"
    return row
