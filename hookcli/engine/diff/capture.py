"""Keeps the tensors of some calls, to compare them element by element with another run."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch

from hookcli.engine.statistics.sketch import dense
from hookcli.engine.watcher import Watcher
from hookcli.models.model import Call, CallInputs, Model
from hookcli.models.nested import argument_leaves, leaves, shape_of
from hookcli.refusals import raise_if_external
from hookcli.report.rows.events import number

Tensors = dict[str, torch.Tensor]  # by their path: "[0]", ".logits"
_PARTS = ("inputs", "outputs")


class TensorCapture(Watcher):
    """Copies the inputs and outputs of the calls with these orders to the CPU."""

    def __init__(self, orders: Iterable[int]) -> None:
        self.calls: dict[int, dict[str, Tensors]] = {
            order: {part: {} for part in _PARTS} for order in orders
        }

    def begin(self, model: Model) -> None:
        """Clear the tensors of an earlier run."""
        for parts in self.calls.values():
            for part in _PARTS:
                parts[part].clear()

    def enter(self, call: Call, batch: CallInputs) -> None:
        """Copy the inputs, before the call can write to them."""
        if call.order in self.calls:
            self._copy(call.order, "inputs", argument_leaves(*batch))

    def leave(self, call: Call, output: Any, error: BaseException | None) -> None:
        """Copy the outputs."""
        if call.order not in self.calls or error is not None:
            return
        if call.late:
            self._copy(call.order, "inputs", argument_leaves((), call.late))
        self._copy(call.order, "outputs", leaves(output))

    def _copy(self, order: int, part: str, tensors: list[tuple[str, torch.Tensor, bool]]) -> None:
        for path, tensor, _ in tensors:
            try:
                plain = dense(tensor.detach()).to("cpu", copy=True).as_subclass(torch.Tensor)
                self.calls[order][part][path] = plain.resolve_conj().resolve_neg().contiguous()
            except (RuntimeError, TypeError) as error:  # a tensor without elements
                raise_if_external(error)


def compare_tensors(ours: Tensors, theirs: Tensors) -> list[dict[str, Any]]:
    """Return a row for each pair of tensors with the same position and shape.

    A row contains `max_abs`, `relative` (the norm of the difference divided by A's norm), `at` (the
    index of the largest difference) with both values there, `numel`, and how many elements differ.
    """
    rows = []
    for (path, our), (other_path, their) in zip(ours.items(), theirs.items(), strict=False):
        if shape_of(our) == shape_of(their):
            try:
                rows.append({"path": path, "other_path": other_path, **_figures(our, their)})
            except RuntimeError as error:  # a dtype without numbers, such as packed bits
                raise_if_external(error)
    return rows


def _figures(our: torch.Tensor, their: torch.Tensor) -> dict[str, Any]:
    wide = torch.complex128 if our.is_complex() or their.is_complex() else torch.float64
    a, b = our.to(wide), their.to(wide)
    same = (a == b) | (a.isnan() & b.isnan())
    difference = torch.where(same, torch.zeros((), dtype=wide), a - b).abs()
    figures: dict[str, Any] = {
        "numel": a.numel(), "differ": int((~same).sum()), "max_abs": 0.0, "relative": 0.0,
        "at": None, "a": None, "b": None,
    }  # fmt: skip
    if not figures["differ"]:
        return figures
    shown = difference.nan_to_num(nan=math.inf).reshape(-1)
    flat = int(shown.argmax())
    norm = a[a.isfinite()].norm().item()
    size = difference.norm().item()
    figures["max_abs"] = number(difference.max().item())
    figures["relative"] = number(size / norm if norm else math.inf)
    figures["at"] = [int(i) for i in torch.unravel_index(torch.tensor(flat), a.shape)]
    figures["a"], figures["b"] = _value(a.reshape(-1)[flat]), _value(b.reshape(-1)[flat])
    return figures


def _value(element: torch.Tensor) -> Any:
    value = element.item()
    return str(value) if isinstance(value, complex) else number(float(value))
