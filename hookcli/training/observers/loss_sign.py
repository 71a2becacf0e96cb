"""The sign of what a loss makes small: reversed gradients, and scores that were to become large."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch

from hookcli.engine.probes.trainability.loss_graph import SAME_VALUES, Node, nodes_behind
from hookcli.models import places
from hookcli.torch_private import disable_current_modes
from hookcli.training.backward import only_tensor
from hookcli.training.observers.observer import LookSchedule, Observer, line_of
from hookcli.training.record.records import Record
from hookcli.training.script.watched_function import TorchCall
from hookcli.training.source.frame_source import user_frame
from hookcli.training.source.loss_source import called_functions

_REVERSAL = re.compile(r"revers|grl", re.IGNORECASE)
_LEAST = 2  # looks
_MOST = 8  # functions in a graph that are watched at one look
_DEEPEST = 12  # nodes from a loss to its minus sign
_SUMS = {"MeanBackward0", "MeanBackward1", "SumBackward0"}
# Words in the name of a function that computes a score: a loss is 1 minus it, or minus it.
_SCORE = re.compile(r"dice|iou|jaccard|tversky|ssim|psnr|f1|overlap", re.IGNORECASE)


@dataclass(slots=True)
class _Reversal:
    """The factor with which an autograd Function passes a gradient on, at the looks."""

    place: str | None
    positive: int = 0
    negative: int = 0
    factor: float = 0.0


class LossSign(Observer):
    """Looks at the gradients that pass a reversal layer, and at the sign of scores in a loss."""

    kinds = ("reversal", "score_sign", "double_negation")
    before = {"backward": "backward"}  # noqa: RUF012

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._schedule = LookSchedule()
        self._reversals: dict[str, _Reversal] = {}
        self._scores: dict[tuple[str, str | None], int] = {}
        self._negated: str | None = None  # the line of the last backward, of a negated loss

    def backward(self, call: TorchCall) -> None:
        """Look at the loss."""
        self._negated = None
        if not self._schedule.is_due(line_of(call)):
            return
        start = only_tensor(call.argument(0, "tensors"))
        frame = user_frame(call.frame)
        if start is None or start.grad_fn is None or frame is None:
            return
        self.facts.look("score_sign")
        watched = 0
        for node in nodes_behind(start):
            name = node.name()
            if name.endswith("Backward") and _REVERSAL.search(name) and watched < _MOST:
                watched += 1
                self.facts.look("reversal")
                self._watch(node, name.removesuffix("Backward"), frame)
        if _is_negated(start.grad_fn):
            self._negated = places.of_frame(frame)
        if start.numel() == 1:
            self._look_at_score(start, frame)

    def before_step(self, optimizer: Any, records: Sequence[Record]) -> None:
        """Note a step that maximizes a loss which the script has negated."""
        place, self._negated = self._negated, None
        if place is None:
            return
        self.facts.look("double_negation")
        if all(group.get("maximize") is True for group in optimizer.param_groups):
            record = records[0] if records else None
            self.facts.add("double_negation", type(optimizer).__name__, place, record=record)

    def _watch(self, node: Node, name: str, frame: FrameType) -> None:
        place = places.of_frame(frame)
        known = self._reversals.setdefault(name, _Reversal(place))

        def passed(given: Any, got: Any) -> None:
            inner, outer = (one[0] if one else None for one in (given, got))
            if inner is None or outer is None or inner.shape != outer.shape:
                return
            with torch.no_grad(), disable_current_modes():
                size = float((outer.double() * outer.double()).sum())
                along = float((inner.double() * outer.double()).sum())
            if size > 0 and along != 0:
                known.positive += along > 0
                known.negative += along < 0
                known.factor = along / size

        node.register_hook(passed)

    def _look_at_score(self, start: torch.Tensor, frame: FrameType) -> None:
        """Note a score that the loss makes small: the result of the function is not subtracted."""
        with torch.no_grad():
            value = float(start)
        if not 0 <= value <= 1 or not _is_plain_quotient(start.grad_fn):
            return
        for function in called_functions(frame):
            if _SCORE.search(_name_of(function)):
                key = _name_of(function), places.of_frame(frame)
                self._scores[key] = self._scores.get(key, 0) + 1
                return

    def finish(self) -> None:
        """Add the reversals that never reverse, and the scores that were made small each time."""
        for name, known in self._reversals.items():
            if known.positive >= _LEAST and not known.negative:
                self.facts.add("reversal", name, known.place, factor=known.factor)
        for (name, place), looks in self._scores.items():
            if looks >= _LEAST:
                self.facts.add("score_sign", name, place, looks=looks)


def _is_negated(node: Node | None) -> bool:
    """Return whether a loss is the negative of something, as far as a mean, a sum or a product."""
    for _ in range(_DEEPEST):
        if node is None:
            return False
        name = node.name()
        if name == "NegBackward0":
            return True
        if name in ("MulBackward0", "DivBackward0"):
            factors = [one for one, _ in node.next_functions if one is not None]
            negated = [one for one in factors if one.name() == "NegBackward0"]
            if negated or len(factors) != 1:
                return len(negated) == 1
            node = factors[0]
        elif name in SAME_VALUES or name in _SUMS:
            node = node.next_functions[0][0]
        else:
            return False
    return False


def _name_of(function: Any) -> str:
    owner = getattr(function, "__self__", None)
    name = getattr(function, "__qualname__", type(function).__name__)
    return name if owner is None else f"{type(owner).__name__}.{function.__name__}"


def _is_plain_quotient(node: Node | None) -> bool:
    """Return whether a loss is the mean of quotients, with no minus and no 1 - x in between."""
    for _ in range(12):
        if node is None:
            return False
        name = node.name()
        if name == "DivBackward0":
            numbers = [one for one, _ in node.next_functions]
            if len(numbers) == 2 and all(one is not None for one in numbers):
                return _is_overlap(numbers[0])
            node = numbers[0]
        elif name in SAME_VALUES or name in _SUMS:
            node = node.next_functions[0][0]
        else:
            return False
    return False


def _is_overlap(node: Node | None) -> bool:
    """Return whether the numerator of a score is a sum of products, and not a difference."""
    for _ in range(8):
        if node is None:
            return False
        name = node.name()
        if name in ("SumBackward0", "SumBackward1"):
            return True
        if name not in SAME_VALUES and name not in ("MulBackward0", "AddBackward0"):
            return False
        graded = [one for one, _ in node.next_functions if one is not None]
        node = graded[0] if len(graded) == 1 else None
    return False
