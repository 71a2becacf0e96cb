"""Compares what the compiled model gave with what the eager one gave, tensor by tensor.

A tensor differs only if its difference is beyond the limit of its dtype, and beyond what rounding
explains: `FACTOR` times the change that rounding noise makes in eager runs, and an error against
float64 that is `FACTOR` times that of the eager model.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from math import hypot
from typing import Any

import torch

from hookcli.engine.compiled.recording import CallEnd, Recorded
from hookcli.engine.parallel.judge import LIMITS
from hookcli.engine.parallel.layouts import distance
from hookcli.models.nested import dtype_name
from hookcli.report.rows.events import number

FACTOR = 10.0
_SMALL = 1e-2  # of the norm of all gradients: smaller gradients may be zero except for rounding
_FEW = 0.01  # the share of integers that may differ: ties that rounding decides
_BEFORE = 0.1  # of the limit: a layer may be the origin of a larger difference from here on


class Yardsticks:
    """How far rounding moves each tensor, by its key; and how far eager is from float64.

    A key is ("moment", kind, name, index, i), ("result", i), ("gradient", name), ("buffer", name).
    """

    def __init__(self, eager: Recorded) -> None:
        self.eager = dict(keyed(eager))
        self.floor = _SMALL * total_norm(eager.gradients.values())
        self.noise: dict[Any, float] = {}
        self.precise: dict[Any, torch.Tensor] = {}
        self.runs = 0

    def add_noise(self, run: Recorded) -> None:
        """Note how far a run with rounding noise is from the eager one."""
        self.runs += 1
        for key, tensor in keyed(run):
            base = self.eager.get(key)
            if base is not None and base.shape == tensor.shape:
                away = self.away(key, tensor, base)
                self.noise[key] = max(self.noise.get(key, 0.0), away)

    def add_precise(self, run: Recorded) -> None:
        """Note the values of a float64 run."""
        for key, tensor in keyed(run):
            base = self.eager.get(key)
            if base is not None and base.shape == tensor.shape:
                self.precise[key] = tensor

    def away(self, key: Any, value: torch.Tensor, base: torch.Tensor) -> float:
        """Return the distance of two tensors: relative, or the share of integers that differ."""
        if not (base.is_floating_point() or base.is_complex()):
            if value.shape != base.shape or not base.numel():
                return 0.0 if value.shape == base.shape else float("inf")
            return float((value != base).sum()) / base.numel()
        floor: float = self.floor if key[0] == "gradient" else 1e-6 * base.numel() ** 0.5
        return distance(value.to(base.device), base, floor)

    def allowed(self, key: Any) -> float:
        """Return the distance from eager that rounding explains."""
        explained = FACTOR * self.noise.get(key, 0.0)
        precise, eager = self.precise.get(key), self.eager.get(key)
        if precise is not None and eager is not None:
            explained = max(explained, FACTOR * self.away(key, eager, precise))
        return explained

    def is_nearer(self, key: Any, value: torch.Tensor) -> bool:
        """Return whether a value is hardly farther from float64 than the eager one is."""
        precise, eager = self.precise.get(key), self.eager.get(key)
        if precise is None or eager is None or value.shape != eager.shape:
            return False
        return self.away(key, value, precise) <= FACTOR * self.away(key, eager, precise)


def total_norm(tensors: Iterable[torch.Tensor]) -> float:
    """Return the norm of all tensors together, without those that are complex."""
    return hypot(*(float(t.to(torch.float64).norm()) for t in tensors if not t.is_complex()))


def keyed(run: Recorded) -> Iterable[tuple[Any, torch.Tensor]]:
    """Yield all tensors of a run with their keys."""
    for moment in run.moments:
        for i, tensor in enumerate(moment.tensors):
            yield ("moment", *moment.key, i), tensor
    for i, tensor in enumerate(run.result):
        yield ("result", i), tensor
    for name, tensor in run.gradients.items():
        yield ("gradient", name), tensor
    for name, tensor in run.buffers.items():
        yield ("buffer", name), tensor


class CompiledJudge:
    """Makes rows of the tensors of a compiled run beside the eager one."""

    def __init__(self, marks: Yardsticks, tolerances: Sequence[tuple[str, float]]) -> None:
        self._marks, self._tolerances = marks, tolerances

    def row(self, key: Any, value: torch.Tensor | None, *, name: str, path: str) -> dict[str, Any]:
        """Return the row of one tensor. Its `status` is "unknown" if the compiled run has none."""
        eager = self._marks.eager[key]
        limit = self._limit(name, eager.dtype)
        row: dict[str, Any] = {
            "path": path, "shape": list(eager.shape), "dtype": dtype_name(eager.dtype),
            "limit": limit, "status": "unknown", "other_shape": None, "other_dtype": None,
            "relative": None, "explained": None, "origin": False,
        }  # fmt: skip
        if value is None:
            return row
        row["other_shape"], row["other_dtype"] = list(value.shape), dtype_name(value.dtype)
        if value.shape != eager.shape or value.dtype != eager.dtype:
            row["status"], row["origin"] = "different", True
            return row
        away = self._marks.away(key, value, eager)
        row["relative"] = number(away)
        if away == 0.0 and torch.equal(value.nan_to_num(), eager.nan_to_num()):
            row["status"] = "same"
            return row
        allowed = self._marks.allowed(key)
        is_beyond = away > allowed and not self._marks.is_nearer(key, value)
        row["status"] = "different" if away > limit and is_beyond else "close"
        row["origin"] = away > _BEFORE * limit and is_beyond
        if self._marks.runs:
            row["explained"] = number(allowed)
            if row["status"] == "close":
                row["limit"] = max(limit, number(allowed) or 0.0)
        return row

    def _limit(self, name: str, dtype: torch.dtype) -> float:
        for glob, limit in reversed(self._tolerances):
            if fnmatchcase(name, glob):
                return limit
        if not (dtype.is_floating_point or dtype.is_complex):
            return _FEW
        return LIMITS.get(dtype_name(dtype), 0.0)

    def exceeds(self, run: Recorded) -> bool:
        """Return whether any tensor of a run is beyond its limit, whatever explains it."""
        eager = self._marks.eager
        for key, tensor in keyed(run):
            base = eager.get(key)
            if base is None or base.shape != tensor.shape or base.dtype != tensor.dtype:
                return True
            name = str(key[2]) if key[0] == "moment" else ""
            if self._marks.away(key, tensor, base) > _BEFORE * self._limit(name, base.dtype):
                return True
        return False

    def ends(self, run: Recorded, paths: Sequence[str]) -> dict[str, Any]:
        """Return the rows of the results, gradients and buffers of a run."""
        count = len(run.result)
        result = [
            self.row(("result", i), run.result[i] if i < count else None, name="", path=path)
            for i, path in enumerate(paths)
        ]
        gradients, buffers = [], []
        for key in self._marks.eager:
            if key[0] == "gradient":
                value = run.gradients.get(key[1])
                gradients.append(
                    {"name": key[1], "gradient": self.row(key, value, name=key[1], path="")}
                )
            elif key[0] == "buffer":
                value = run.buffers.get(key[1])
                row = self.row(key, value, name=key[1], path="")
                buffers.append({"name": key[1], "value": row})
        return {"result": result, "parameters": gradients, "buffers": buffers}

    def calls(self, eager: Recorded, compiled: Recorded) -> list[dict[str, Any]]:
        """Return the rows of the calls, in the order in which they started."""
        there = {moment.key: moment for moment in compiled.moments}
        ends = {(m.name, m.index): m for m in eager.moments if m.kind == "out"}
        found = []
        for moment in eager.moments:
            if moment.kind != "in":
                continue
            end = ends.get((moment.name, moment.index))
            found.append(
                {
                    "name": moment.name,
                    "index": moment.index,
                    "is_called": moment.key in there,
                    "inputs": self._rows(moment, there.get(moment.key)),
                    "outputs": [] if end is None else self._rows(end, there.get(end.key)),
                }
            )
        return found

    def _rows(self, moment: CallEnd, other: CallEnd | None) -> list[dict[str, Any]]:
        values = [] if other is None else other.tensors
        many = len(moment.tensors) > 1 or moment.kind == "in"
        return [
            self.row(
                ("moment", *moment.key, i),
                values[i] if i < len(values) else None,
                name=moment.name,
                path=f"[{i}]" if many else "",
            )
            for i in range(len(moment.tensors))
        ]
