"""The labels of losses: batches of one class, padding, and how many samples a batch has."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.utils.data import SequentialSampler, default_collate

from hookcli.engine.probes.trainability.loss_graph import Node, nodes_behind, signed
from hookcli.models import module_tree, places
from hookcli.report.findings import Measurement
from hookcli.torch_private import disable_current_modes
from hookcli.training.backward import only_tensor
from hookcli.training.observers.observer import Observer, line_of
from hookcli.training.observers.token_match import NLL, matches_of, padding_of
from hookcli.training.script.watched_function import TorchCall
from hookcli.training.source.frame_source import user_frame

SAMPLES, CLASSES = "batch_samples", "loss_classes"  # measurements
_REGRESSION = ("MseLossBackward0", "SmoothL1LossBackward0", "HuberLossBackward0",
               "BinaryCrossEntropyWithLogitsBackward0", "BinaryCrossEntropyBackward0")  # fmt: skip
_SQUARED = {"MseLossBackward0", "SmoothL1LossBackward0", "HuberLossBackward0"}
_LOOKS, _PART = 5, 0.05  # at a loss that ignores a class, and its share of the labels
_FEW = 8  # classes
_LARGEST = 1 << 16  # targets of a batch
_SORTED = 0.2  # of the variance over all batches
_LEAST = 8  # samples in a batch, and looks
_DENSE = 16  # backward passes of a line that are looked at, one after another
_MOSTLY = 0.7  # of the batches
_MOST = 1 << 20
_SEQUENTIAL = (nn.RNNBase, nn.MultiheadAttention)


@dataclass(slots=True)
class _Line:
    """The labels of the backward passes of one line."""

    passes: int = 0
    looks: int = 0
    single: int = 0
    classes: Counter[int] = field(default_factory=Counter)
    place: str | None = None
    ignored: dict[int, _Ignored] = field(default_factory=dict)  # by the number of the loss
    values: list[torch.Tensor] = field(default_factory=list)  # targets of a regression


@dataclass(slots=True)
class _Ignored:
    """The labels of a loss whose ignore_index is one of its classes."""

    number: int
    share: float = 0.0  # of the labels, at the looks
    looks: int = 0
    others: set[int] = field(default_factory=set)


class LabelClasses(Observer):
    """Looks at the labels that nodes of the graph have saved, at the first passes of a line."""

    kinds = ("single_class", "padding", "ignored_class", "sorted_targets")
    before = {"backward": "backward"}  # noqa: RUF012
    after = {"iterate": "iterated"}  # noqa: RUF012

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._batch_size: int | None = None  # of the DataLoader that was iterated over last
        self._in_order = False  # whether that does not shuffle
        self._lines: dict[Any, _Line] = {}

    def iterated(self, call: TorchCall) -> None:
        """Note how many samples a loader puts together, in dimension 0 of what it returns."""
        loader = call.argument(0, "self")
        is_usual = loader.collate_fn is default_collate
        self._batch_size = loader.batch_size if is_usual else None
        self._in_order = type(loader.sampler) is SequentialSampler

    def backward(self, call: TorchCall) -> None:
        """Look at the loss."""
        line = line_of(call)
        known = self._lines.get(line)
        if known is None:
            known = self._lines[line] = _Line()
        known.passes += 1
        if known.passes > _DENSE:
            return
        start = only_tensor(call.argument(0, "tensors"))
        if start is None or start.grad_fn is None:
            return
        known.looks += 1
        known.place = known.place or places.of_frame(user_frame(call.frame))
        with torch.no_grad(), disable_current_modes():
            self._look(start, known)

    def _look(self, start: torch.Tensor, known: _Line) -> None:
        found = []
        for number, node in enumerate(nodes_behind(start)):
            if node.name() in NLL or node.name() in _REGRESSION:
                found.append(node)
            if number > 200 or len(found) > 1:
                break
        try:
            targets = [node._saved_target for node in found]
        except RuntimeError:  # changed in place
            return
        if known.looks == 1 and len(found) == 1:
            self._note_samples(targets[0])
        for number, node in enumerate(found):
            if node.name() in NLL:
                self._note_ignored(node, targets[number], known.ignored, number)
        if len(found) == 1 and found[0].name() in _SQUARED and self._in_order:
            self._note_values(targets[0], known)
        if len(found) != 1 or found[0].name() not in NLL:
            known.looks -= 1
            return
        target = targets[0]
        self.facts.look("single_class")
        if target.dim() == 1 and _LEAST <= target.numel() <= _MOST:
            classes = torch.unique(target).tolist()
            known.single += len(classes) == 1
            known.classes.update(classes)
        if known.looks == 1:
            classes = int(found[0]._saved_self.shape[1 if target.dim() else 0])
            for root in self.seen.roots.values():
                if root.recent and not root.is_part:
                    root.measured.append(Measurement(CLASSES, "", None, classes, None))
            self._look_for_padding(found[0], target, known)

    def _note_ignored(
        self, node: Node, target: torch.Tensor, losses: dict[int, _Ignored], number: int
    ) -> None:
        """Note what is left of labels if one of their classes is ignored."""
        ignored = signed(node._saved_ignore_index)
        classes = int(node._saved_self.shape[1 if target.dim() else 0])
        if not 0 <= ignored < classes or not _LEAST <= target.numel() <= _MOST:
            return
        self.facts.look("ignored_class")
        known = losses.setdefault(number, _Ignored(ignored))
        known.looks += 1
        known.share += float((target == ignored).float().mean())
        if len(known.others) < _FEW:
            known.others.update(torch.unique(target[target != ignored]).tolist()[:_FEW])

    def _note_values(self, target: torch.Tensor, known: _Line) -> None:
        """Note the targets of a regression, one for each sample of a loader that is in order."""
        values = target.detach().flatten().double()
        if values.numel() == len(target) and _LEAST <= len(values) <= _LARGEST:
            self.facts.look("sorted_targets")
            known.values.append(values.cpu())

    def _note_samples(self, target: torch.Tensor) -> None:
        """Note how many samples the targets have, for the layers along a sequence.

        Targets of each place of a sequence have the samples of a DataLoader's batches.
        """
        is_alone = target.dim() == 1 or (target.dim() == 2 and target.shape[1] == 1)
        of_loader = target.dim() > 1 and target.shape[0] == self._batch_size
        if not is_alone and not of_loader:
            return
        for root in self.seen.roots.values():
            if not root.recent or root.is_part:
                continue
            layers = {
                names[0]: bool(module.batch_first)
                for module, names in module_tree.modules(root.root)
                if isinstance(module, _SEQUENTIAL)
            }
            if layers:
                value = {"samples": int(target.shape[0]), "layers": layers}
                value |= {} if is_alone else {"of": "loader"}
                root.measured.append(Measurement(SAMPLES, "", None, value, None))

    def _look_for_padding(self, node: Node, target: torch.Tensor, known: _Line) -> None:
        ignored = node._saved_ignore_index
        ignored = ignored - 2**64 if ignored >= 2**63 else ignored
        labels = target.flatten()
        for root in self.seen.roots.values():
            if not root.recent or root.is_part or labels.numel() > _MOST:
                continue
            for match in matches_of(root.recent[-1], labels, ignored):
                self.facts.look("padding")
                shape = (-1, match.length) if match.time else (match.length, -1)
                table = labels.reshape(shape)
                padded = padding_of(table if match.time else table.t(), ignored)
                if padded is not None:
                    token, share = padded
                    self.facts.add(
                        "loss_values", "padding", known.place, token=token, share=share,
                        ignored=ignored,
                    )  # fmt: skip
                return

    def finish(self) -> None:
        """Add the lines whose batches have one class each."""
        for known in self._lines.values():
            self._add_ignored(known)
            self._add_sorted(known)
            mostly = known.looks >= _LEAST and known.single >= _MOSTLY * known.looks
            if mostly and len(known.classes) > 1:
                self.facts.add(
                    "single_class",
                    "",
                    known.place,
                    classes=len(known.classes),
                    single=known.single,
                    looks=known.looks,
                )

    def _add_ignored(self, known: _Line) -> None:
        """Add the losses to which one class alone is left."""
        for one in known.ignored.values():
            share = one.share / one.looks
            if one.looks >= _LOOKS and share >= _PART and len(one.others) == 1:
                self.facts.add(
                    "ignored_class", "", known.place, ignored=one.number, share=share,
                    left=next(iter(one.others)),
                )  # fmt: skip

    def _add_sorted(self, known: _Line) -> None:
        """Add the targets that differ between batches, and hardly in them."""
        if len(known.values) < _LEAST:
            return
        within = sum(float(one.var(correction=0)) for one in known.values) / len(known.values)
        over = float(torch.cat(known.values).var(correction=0))
        if math.isfinite(over) and over > 0 and within < _SORTED * over:
            self.facts.add("sorted_targets", "", known.place, share=within / over)
