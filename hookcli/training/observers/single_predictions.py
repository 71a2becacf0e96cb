"""The class that a classifier predicts for all samples, where most labels are of that class."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

import torch

from hookcli.engine.probes.trainability.loss_graph import Node, nodes_behind
from hookcli.models import places
from hookcli.torch_private import disable_current_modes
from hookcli.training.backward import only_tensor
from hookcli.training.observers.observer import Observer, line_of
from hookcli.training.observers.token_match import NLL
from hookcli.training.script.watched_function import TorchCall
from hookcli.training.source.frame_source import user_frame

_LOGITS = "BinaryCrossEntropyWithLogitsBackward0"
_FIRST = 24  # backward passes of a line before a look
_KEPT = 4  # looks, the last ones
_MOST_NODES = 200
_MOST, _LEAST = 1 << 20, 64  # labels of a batch
_MAJORITY = 0.75  # the share of labels of one class


@dataclass(slots=True)
class _Line:
    """The last looks at a line: the only class that was predicted, and how often labels have it."""

    passes: int = 0
    place: str | None = None
    looks: deque[tuple[int, float] | None] = field(default_factory=lambda: deque(maxlen=_KEPT))
    labels: Counter[int] = field(default_factory=Counter)


class SinglePredictions(Observer):
    """Looks at the logits and labels that nodes of the graph have saved, fewer and fewer times."""

    kinds = ("single_prediction",)
    before = {"backward": "backward"}  # noqa: RUF012

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._lines: dict[Any, _Line] = {}

    def backward(self, call: TorchCall) -> None:
        """Look at the loss of every eighth of the passes so far."""
        line = line_of(call)
        known = self._lines.setdefault(line, _Line())
        known.passes += 1
        if known.passes < _FIRST or known.passes % (1 << max(0, known.passes.bit_length() - 4)):
            return
        start = only_tensor(call.argument(0, "tensors"))
        if start is None or start.grad_fn is None:
            return
        known.place = known.place or places.of_frame(user_frame(call.frame))
        with torch.no_grad(), disable_current_modes():
            self._look(start, known)

    def _look(self, start: torch.Tensor, known: _Line) -> None:
        found: list[Node] = []
        for number, node in enumerate(nodes_behind(start)):
            if node.name() in NLL or node.name() == _LOGITS:
                found.append(node)
            if number > _MOST_NODES:
                break
        if len(found) != 1:
            known.looks.append(None)
            return
        try:
            classes = _classes(found[0])
        except RuntimeError:  # changed in place
            classes = None
        if classes is None:
            known.looks.append(None)
            return
        self.facts.look(*self.kinds)
        predicted, labels = classes
        first = int(predicted.flatten()[0])
        single = bool((predicted == first).all())
        share = float((labels == first).double().mean())
        known.labels.update(torch.unique(labels).tolist())
        known.looks.append((first, share) if single and share >= _MAJORITY else None)

    def finish(self) -> None:
        """Add the lines whose last looks all had one prediction."""
        for known in self._lines.values():
            looks = [look for look in known.looks if look is not None]
            if len(looks) < _KEPT or len({label for label, _ in looks}) > 1:
                continue
            share = sum(share for _, share in looks) / len(looks)
            if share < 1 and len(known.labels) > 1:
                self.facts.add(
                    "single_prediction", "", known.place, label=looks[0][0], share=share,
                    classes=len(known.labels),
                )  # fmt: skip


def _classes(node: Node) -> tuple[torch.Tensor, torch.Tensor] | None:
    """Return the predicted classes of a loss, and the labels; None if there are too few or many."""
    scores, labels = node._saved_self, node._saved_target
    if node.name() == _LOGITS:
        several = scores.dim() > 1 and scores.shape[1] > 1 and scores.dim() <= 2
        if several or not bool(((labels == 0) | (labels == 1)).all()):
            return None  # several labels of one sample
        predicted, labels = (scores > 0).long(), labels.long()
    else:
        ignored = node._saved_ignore_index
        ignored = ignored - 2**64 if ignored >= 2**63 else ignored
        predicted = scores.argmax(1 if labels.dim() else 0)
        predicted, labels = predicted[labels != ignored], labels[labels != ignored]
    return (predicted, labels) if _LEAST <= labels.numel() <= _MOST else None
