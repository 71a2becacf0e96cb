"""The tensors of a few calls, kept to compare them exactly with those of another run."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable
from typing import Any

import torch

from hookcli.models.model import Call, Model
from hookcli.models.nested import argument_leaves, leaves
from hookcli.report.rows.events import number
from hookcli.run.statistics.sketch import dense

Tensors = dict[str, torch.Tensor]  # by their path: "[0]", ".logits"
_PARTS = ("inputs", "outputs")


class TensorCapture:
    """Copies the inputs and outputs of the calls of these orders, on the CPU."""

    def __init__(self, orders: Iterable[int]) -> None:
        self.calls: dict[int, dict[str, Tensors]] = {
            order: {part: {} for part in _PARTS} for order in orders
        }

    def begin(self, model: Model) -> None:
        """Nothing of an earlier try stays."""
        for kept in self.calls.values():
            for part in _PARTS:
                kept[part].clear()

    def enter(self, call: Call, batch: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
        """The inputs, before the call can write to them."""
        if call.order in self.calls:
            self._copy(call.order, "inputs", argument_leaves(*batch))

    def leave(self, call: Call, output: Any, error: BaseException | None) -> None:
        """The outputs."""
        if call.order not in self.calls or error is not None:
            return
        if call.late:
            self._copy(call.order, "inputs", argument_leaves((), call.late))
        self._copy(call.order, "outputs", leaves(output))

    def gradients(self, model: Model) -> None:
        """Gradients are not kept."""

    def _copy(self, order: int, part: str, tensors: list[tuple[str, torch.Tensor, bool]]) -> None:
        for path, tensor, _ in tensors:
            with contextlib.suppress(RuntimeError, TypeError):  # what has no elements
                plain = dense(tensor.detach()).to("cpu", copy=True).as_subclass(torch.Tensor)
                self.calls[order][part][path] = plain.resolve_conj().resolve_neg().contiguous()


def compare_tensors(ours: Tensors, theirs: Tensors) -> list[dict[str, Any]]:
    """A figure for each pair of tensors in their order: those that have the same place and shape.

    `max_abs`, `relative` (the norm of the difference over A's norm), `at` (the index of the
    largest difference) with both values there, and how many of `numel` elements differ.
    """
    rows = []
    for (path, one), (other, two) in zip(ours.items(), theirs.items(), strict=False):
        if one.shape == two.shape:
            with contextlib.suppress(RuntimeError):  # a dtype without numbers, as of packed bits
                rows.append({"path": path, "other_path": other, **_figures(one, two)})
    return rows


def _figures(one: torch.Tensor, two: torch.Tensor) -> dict[str, Any]:
    wide = torch.complex128 if one.is_complex() or two.is_complex() else torch.float64
    a, b = one.to(wide), two.to(wide)
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
