"""Sizes of inputs and of the first loss: before the first step, and in evaluations."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from hookcli.engine.probes.trainability.loss_graph import Node, nodes_behind
from hookcli.engine.probes.trainability.patterns.linear_maps import input_of, weight_of
from hookcli.models import places
from hookcli.torch_private import disable_current_modes
from hookcli.training.backward import only_tensor
from hookcli.training.forward_modes import InputSize, input_size
from hookcli.training.observers.first_losses import first_losses, wide_products, wide_weights
from hookcli.training.observers.observer import Observer, line_of
from hookcli.training.record.records import Record
from hookcli.training.script.watched_function import TorchCall
from hookcli.training.source.frame_source import user_frame

_MOST = 1 << 24  # elements of a tensor that is read
_MOST_LINES, _MOST_PASSES = 8, 64
_LARGE = 20.0  # root mean square of the inputs of a layer
_SMALL = 0.01  # the same, of inputs that are scaled twice
_MOST_SIZES = 3  # backward passes at which the inputs of a root are looked at
_APART, _UNIT = 20.0, 0.05  # times the size in training, which counts as 0.05 at least
_MOST_COLUMNS, _SAMPLES = 512, 24  # of inputs whose columns are compared
_FEW = 2  # columns that never vary
# Operators of layers, with the attribute that keeps the input.
_LAYERS = {
    "AddmmBackward0": "_saved_mat1",
    "MmBackward0": "_saved_self",
    "ConvolutionBackward0": "_saved_input",
}


class _Columns:
    """The columns of an input [samples, columns] that have one value in all of its samples."""

    def __init__(self) -> None:
        self._looks = 0
        self._samples = 0
        self._values: torch.Tensor | None = None
        self._same: torch.Tensor | None = None

    def look(self, given: torch.Tensor) -> None:
        """Look at a batch."""
        self._looks += 1
        if given.dim() != 2 or given.shape[1] > _MOST_COLUMNS:
            return
        with torch.no_grad(), disable_current_modes():
            values, same = given[0].detach().cpu(), (given == given[:1]).all(0).cpu()
            if self._values is None or self._same is None:
                self._values, self._same = values.clone(), same
            elif self._values.shape == values.shape:
                self._same &= same & (self._values == values)
            else:
                self._same = torch.zeros_like(self._same)
        self._samples += len(given)

    def constant(self) -> dict[str, Any] | None:
        """Return the first of few columns that never vary; one of 0 or 1 may be meant."""
        if self._values is None or self._same is None or self._looks < _MOST_SIZES:
            return None
        columns = [
            i
            for i in self._same.nonzero()[:, 0].tolist()
            if float(self._values[i]) not in (0.0, 1.0, -1.0)
        ]
        if not 0 < len(columns) <= _FEW or self._samples < _SAMPLES:  # many are a border
            return None
        return {
            "column": columns[0], "columns": len(columns), "value": float(self._values[columns[0]]),
            "samples": self._samples,
        }  # fmt: skip


class FirstSizes(Observer):
    """Looks at the first backward pass of each line, before its optimizer steps."""

    kinds = ("input_scale", "first_loss", "other_scale", "constant_column")
    before = {"backward": "backward"}  # noqa: RUF012

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._passes = 0  # backward passes
        self._lines: set[Any] = set()
        self._stepped: set[int] = set()  # ids of the models that were trained
        self._trained: dict[int, list[InputSize]] = {}  # by the numbers of roots: sizes of inputs
        self._columns: dict[int, _Columns] = {}  # by the numbers of roots: columns of inputs
        self._waiting: list[tuple[str, str, str | None, dict[str, Any]]] = []

    def backward(self, call: TorchCall) -> None:
        """Look at the loss of a line's first pass."""
        self._passes += 1
        for root in self.seen.roots.values() if self._passes <= _MOST_PASSES else ():
            sizes = self._trained.setdefault(root.number, [])
            if root.recent and len(sizes) < _MOST_SIZES:
                size = input_size(root.recent[-1].args)
                if size is not None:
                    sizes.append(size)
                    self._columns.setdefault(root.number, _Columns()).look(root.recent[-1].args[0])
        line = line_of(call)
        if line in self._lines or len(self._lines) >= _MOST_LINES:
            return
        self._lines.add(line)
        start = only_tensor(call.argument(0, "tensors"))
        if start is None or start.grad_fn is None:
            return
        self.facts.look(*self.kinds)
        with torch.no_grad(), disable_current_modes():
            self._look(list(nodes_behind(start)), places.of_frame(user_frame(call.frame)))

    def _look(self, nodes: Sequence[Node], place: str | None) -> None:
        names = {
            id(parameter): (root, name)
            for root in self.seen.roots.values()
            if root.number not in self._stepped
            for name, parameter in root.root.named_parameters()
        }
        first = next(first_losses(nodes), None)
        given = [one for one in _inputs(nodes) if one[0] in names]
        if given:
            parameter, values = max(given, key=lambda one: one[1]["size"])
            root, name = names[parameter]
            module = name.rpartition(".")[0]
            at = places.of_class(type(root.root))
            self._waiting.append(("input_scale", module, at, {**values, **(first or {})}))
        elif first is not None:
            roots = {root.number: root for root, _ in names.values()}
            wide = [one for root in roots.values() for one in wide_weights(root.root)]
            weight, std, usual = max(wide, key=lambda one: one[1] / one[2], default=("", 0.0, 0.0))
            found = {**first, "weight": weight, "std": std, "usual": usual}
            factors = next(wide_products(nodes), None)
            if factors is not None and not weight and all(f in names for f in factors["factors"]):
                factors["factors"] = [names[one][1] for one in factors["factors"]]
                found.update(factors)
            self._waiting.append(("first_loss", "", place, found))

    def before_step(self, optimizer: Any, records: Sequence[Record]) -> None:
        """Note which models step, and add what was seen of their loss."""
        self._stepped |= {record.root.number for record in records}
        waiting, self._waiting = self._waiting, []
        for kind, target, place, values in waiting:
            record = records[0] if records else None
            self.facts.add(kind, target, place, record=record, **values)

    def finish(self) -> None:
        """Add the inputs that have another size in evaluations, or columns that never vary."""
        for root in self.seen.roots.values():
            columns = self._columns.get(root.number)
            found = None if columns is None or root.is_part else columns.constant()
            if found is not None:
                place = places.of_class(type(root.root))
                self.facts.add("constant_column", root.name, place, **found)
            trained, other = self._trained.get(root.number, []), root.ungraded.sizes
            if len(trained) < _MOST_SIZES or not other or root.is_part:
                continue
            largest, least = (f(one.size for one in trained) for f in (max, min))
            far, later = _APART * max(largest, _UNIT), root.ungraded.larger
            is_all = all(one.size > far for one in other)
            is_all |= all(0 < _APART * one.size < least for one in other)
            if not is_all:
                if later is None or later.size <= far:
                    continue
                other = [later]
            if {one.width for one in other} != {one.width for one in trained}:
                continue
            first, usual = other[0], trained[0]
            self.facts.add(
                "other_scale", root.name, first.place, low=first.low, high=first.high,
                usual=[usual.low, usual.high], is_all=is_all,
            )  # fmt: skip


def _inputs(nodes: Sequence[Node]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the weight of each layer that gets unusual values without a gradient, and these."""
    for node in nodes:
        if node.name() not in _LAYERS:
            continue
        if node.next_functions[input_of(node)][0] is not None:
            continue
        weight = weight_of(node)
        try:
            given = getattr(node, _LAYERS[node.name()])
        except RuntimeError:  # it was changed in place
            continue
        if weight is None or given is None or not _is_read(given):
            continue
        values = given.detach().float()
        size = float(values.square().mean().sqrt())
        if math.isfinite(size) and (size > _LARGE or 0 < size < _SMALL):
            yield id(weight), {
                "size": size, "low": float(values.min()), "high": float(values.max()),
                "mean": float(values.mean()), "std": float(values.std(unbiased=False)),
            }  # fmt: skip


def _is_read(tensor: torch.Tensor) -> bool:
    plain = tensor.layout is torch.strided and not tensor.is_meta and tensor.is_floating_point()
    return plain and 1 < tensor.numel() <= _MOST
