"""What makes a loss large or predictions useless: sums, raw targets, dead units, rare classes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from hookcli.engine.probes.trainability.loss_graph import SAME_VALUES, Node, nodes_behind, signed
from hookcli.models import places
from hookcli.torch_private import disable_current_modes
from hookcli.training.backward import only_tensor
from hookcli.training.observers.observer import Observer, line_of
from hookcli.training.record.records import Record
from hookcli.training.root_watch import RootWatch
from hookcli.training.script.watched_function import TorchCall
from hookcli.training.source.frame_source import user_frame

_FIRST, _OFTEN = 3, 10  # looks at a line: the first ones, and then one in ten, in a hundred, …
_MOST = 1 << 20  # elements of a tensor that is read
_LEAST = 16  # elements that are compared
_LATE = 20  # backward passes of a line, after which its predictions are judged
_DIM = 8  # nodes between a ReLU and the parameter of the layer before it
_LOSSES = {
    "MseLossBackward0": "mse_loss",
    "SmoothL1LossBackward0": "smooth_l1_loss",
    "HuberLossBackward0": "huber_loss",
}
_CLASSES = ("NllLossBackward0", "NllLoss2DBackward0")
_SUM = 2  # the number of reduction="sum"


@dataclass(slots=True)
class _Line:
    """What was seen of the backward passes that a line of the script calls."""

    place: str | None
    count: int = 0
    elements: int | None = None  # of the tensor whose sum the loss is
    is_scaled: bool = False  # by a number
    is_erased: bool = False  # gradients are, between two passes of one step, as in closures
    inputs: tuple[float, float] | None = None
    targets: dict[str, Any] = field(default_factory=dict)
    constant: list[dict[str, Any] | None] = field(default_factory=list)  # of late looks
    labels: Counter[int] = field(default_factory=Counter)  # of all looks, by their class
    classes: int = 0  # of its logits
    predicted: list[int | None] = field(default_factory=list)  # of late looks: the only class
    dead: dict[str, list[tuple[int, int, int]]] = field(default_factory=dict)  # pass, dead, all


class LossSizes(Observer):
    """Looks at the loss of some backward passes of each line."""

    kinds = ("loss_size", "constant_prediction", "majority_class", "dying_units", "missing_class")
    before = {"backward": "backward"}  # noqa: RUF012

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._lines: dict[Any, _Line] = {}
        self._names: dict[int, str] = {}
        self._record: dict[Any, Record] = {}
        self._last: Any = None
        self._since = 0  # backward passes since the last step

    def backward(self, call: TorchCall) -> None:
        """Look at the loss, in few of the passes."""
        line = line_of(call)
        known = self._lines.get(line)
        if known is None:
            frame = user_frame(call.frame)
            if frame is None or len(self._lines) >= _MOST_LINES:
                return
            known = self._lines[line] = _Line(places.of_frame(frame))
        known.count += 1
        self._last = line
        earlier, self._since = self._since, self._since + 1
        if known.count > _FIRST and known.count % 10 ** (len(str(known.count)) - 1):
            return
        start = only_tensor(call.argument(0, "tensors"))
        if start is None or start.grad_fn is None:
            return
        self.facts.look(*self.kinds)
        with torch.no_grad(), disable_current_modes():
            if earlier:
                roots = [root for root in self.seen.roots.values() if root.recent]
                known.is_erased |= not any(root.has_gradients() for root in roots)
            self._look(known, start)

    def before_step(self, optimizer: Any, records: Sequence[Record]) -> None:
        """Note whose step follows a backward pass of a line."""
        if self._last is not None and records:
            self._record.setdefault(self._last, records[0])
        self._last, self._since = None, 0

    def _look(self, line: _Line, start: torch.Tensor) -> None:
        line.elements, line.is_scaled = _summed(start.grad_fn)
        if line.inputs is None:
            line.inputs = self._inputs()
        constant = predicted = None
        for node in nodes_behind(start):
            name = node.name()
            if not _is_as_saved(node):
                continue
            if name in _LOSSES:
                constant = constant or self._regression(line, node)
            elif name in _CLASSES:
                predicted = _classes_of(node, line.labels)
                line.classes = int(node._saved_self.shape[1 if node._saved_self.dim() > 1 else 0])
            elif name == "ReluBackward0":
                self._relu(line, node)
        if line.count >= _LATE:
            line.constant.append(constant)
            line.predicted.append(predicted)

    def _inputs(self) -> tuple[float, float] | None:
        """Return the least and largest value that the models got in this step."""
        tensors = [
            value
            for root in self.seen.roots.values()
            for run in list(root.recent)[-1:]
            for value in (*run.args, *run.kwargs.values())
            if isinstance(value, torch.Tensor) and value.layout is torch.strided
            if value.is_floating_point() and value.numel()
        ]
        small = [value for value in tensors if value.numel() <= _MOST and not value.is_meta]
        if not small:
            return None
        low = min(float(value.min()) for value in small)
        high = max(float(value.max()) for value in small)
        return (low, high) if math.isfinite(low) and math.isfinite(high) else None

    def _regression(self, line: _Line, node: Node) -> dict[str, Any] | None:
        """Note the range of targets; return the predictions if they are all nearly the same."""
        given, target = node._saved_self.detach(), node._saved_target.detach()
        if not _LEAST <= target.numel() <= _MOST or given.shape != target.shape:
            return None
        given, target = given.double(), target.double()
        spread, mean = float(target.std()), float(target.mean())
        own = float(given.std())
        if not all(map(math.isfinite, (own, mean, spread))):
            return None
        if not line.targets:
            line.targets = {"low": float(target.min()), "high": float(target.max()),
                            "mean": mean, "spread": spread}  # fmt: skip
        if not spread > 0 or own > _FLAT * spread or abs(mean) < _FAR * spread:
            return None
        return {
            "loss": _LOSSES[node.name()], "spread": spread, "mean": mean, "own": own,
            "step": line.count - 1,  # of the fact
        }  # fmt: skip

    def _relu(self, line: _Line, node: Node) -> None:
        """Count the units of a ReLU that are zero for the whole batch."""
        result = node._saved_result.detach()
        if not result.numel() <= _MOST or result.dim() < 2 or result.shape[1] < 2:
            return
        name = self._layer_behind(node)
        if name is None or result.shape[0] < _BATCH:
            return
        units = result.transpose(0, 1).reshape(result.shape[1], -1)
        if result.dim() == 3:  # a sequence of vectors
            units = result.reshape(-1, result.shape[-1]).T
        dead = int((units == 0).all(1).sum())
        line.dead.setdefault(name, []).append((line.count - 1, dead, units.shape[0]))

    def _layer_behind(self, node: Node) -> str | None:
        """Return the layer whose parameter is the next one behind a node."""
        current: Node | None = node
        for _ in range(_DIM):
            following = () if current is None else current.next_functions
            for other, _ in following:
                variable = getattr(other, "variable", None)
                if variable is not None:
                    return self._name_of(variable)
            left = [other for other, _ in following if other is not None]
            if len(left) != 1:
                weights = [one for one in left if one.name() not in SAME_VALUES]
                left = weights if len(weights) == 1 else []
            current = left[0] if left else None
        return None

    def _name_of(self, parameter: torch.Tensor) -> str | None:
        if id(parameter) not in self._names:
            for root in self.seen.roots.values():
                for name, one in root.root.named_parameters():
                    self._names.setdefault(id(one), name.rpartition(".")[0])
        return self._names.get(id(parameter))

    def forget(self, root: RootWatch, records: Sequence[Record]) -> None:
        """Forget the names of parameters: others may get their ids."""
        self._names.clear()

    def finish(self) -> None:
        """Add what was seen of each line."""
        for key, line in self._lines.items():
            record = self._record.get(key)
            if record is None:
                continue
            self.facts.add(
                "loss_size",
                "",
                line.place,
                record=record,
                elements=line.elements,
                scaled=line.is_scaled,
                erased=line.is_erased,
                inputs=line.inputs,
                targets=line.targets or None,
                passes=line.count,
            )
            late = line.constant
            if len(late) >= _LOOKS and all(late[-_LOOKS:]):
                constant = late[-1] or {}
                self.facts.add("constant_prediction", "", line.place, record=record, **constant)
            majority = _majority(line)
            if majority is not None:
                self.facts.add("majority_class", "", line.place, record=record, **majority)
            missing = _missing_class(line)
            if missing is not None:
                self.facts.add("missing_class", "", line.place, record=record, **missing)
            self._find_dead(line, record)

    def _find_dead(self, line: _Line, record: Record) -> None:
        """Add the layers whose units have died: nearly all of them, and few at first."""
        for name, looks in line.dead.items():
            (_, first, many), (step, last, _) = looks[0], looks[-1]
            before = looks[-2] if len(looks) > _LOOKS else None
            if first > _ALIVE * many or last < _DEAD * many or before is None:
                continue
            if before[1] >= _DEAD * many:
                since = next(at for at, dead, _ in looks if dead >= _DEAD * many)
                self.facts.add(
                    "dying_units", name, line.place, record=record, step=since, dead=last,
                    units=many, first=first, at=step,
                )  # fmt: skip


_MOST_LINES = 16
_FLAT, _FAR = 0.05, 20.0  # of the spread of targets: that of predictions, and the mean of targets
_SPECIAL = {0, 1}
_FEW, _EACH = 64, 20  # classes, and labels for each of them: those that none has are named
_SHARE = 0.85  # of the labels: the majority
_BATCH = 8  # samples
_LOOKS = 2  # late looks
_ALIVE, _DEAD = 0.5, 0.95  # of the units, at the first and at the last looks


def _classes_of(node: Node, seen: Counter[int]) -> int | None:
    """Count the labels of a batch; return the class that is predicted for all of its samples."""
    logits, target = node._saved_self.detach(), node._saved_target.detach()
    if not target.numel() >= _LEAST or logits.numel() > _MOST or logits.dim() < 2:
        return None
    if node._saved_weight is not None:
        return None
    labels = target[target != signed(node._saved_ignore_index)].flatten()
    classes, counts = labels.unique(return_counts=True)
    seen.update(dict(zip(classes.tolist(), counts.tolist(), strict=True)))
    first = int(logits.argmax(1).flatten()[0])
    return first if not bool((logits.argmax(1) != first).any()) else None


def _majority(line: _Line) -> dict[str, Any] | None:
    """Return the class of nearly all labels, if it is the prediction for all samples of late."""
    if not line.labels or len(line.predicted) < _LOOKS:
        return None
    (label, count), *others = line.labels.most_common()
    share = count / line.labels.total()
    if not others or share < _SHARE or {*line.predicted[-_LOOKS:]} != {label}:
        return None
    return {"label": label, "share": share}


def _missing_class(line: _Line) -> dict[str, Any] | None:
    """Return the first class that no label has, of few ones, and many labels."""
    absent = sorted(set(range(line.classes)) - set(line.labels))
    labels = line.labels.total()
    if not absent or not 2 < line.classes <= _FEW or labels < _EACH * line.classes:
        return None
    # The head may have more outputs than there are classes, and the first may be special tokens.
    if 2 * len(absent) > line.classes or set(absent) <= _SPECIAL:
        return None
    return {
        "class": absent[0], "missing": len(absent), "classes": line.classes, "labels": labels,
        "seen": [min(line.labels), max(line.labels)],
    }  # fmt: skip


def _summed(node: Node | None) -> tuple[int | None, bool]:
    """Return of how many elements a loss is the sum, and whether it is multiplied by a number."""
    found: list[int] = []
    scaled = node is not None and node.name() in ("DivBackward0", "MulBackward0")
    for one in _terms(node):
        name = one.name()
        if name == "SumBackward0":
            size = 1
            for length in one._saved_self_sym_sizes:
                size *= int(length)
            found.append(size)
        elif getattr(one, "_saved_reduction", None) == _SUM:
            found.append(int(one._saved_self.numel()))
    return max(found, default=None), scaled


def _terms(node: Node | None) -> Iterator[Node]:
    """Yield the nodes of the terms of a loss, up to sums, differences and factors."""
    todo = [] if node is None else [node]
    for one in todo:  # grows meanwhile
        if one.name() in ("AddBackward0", "SubBackward0", "NegBackward0", "MulBackward0"):
            todo += [other for other, _ in one.next_functions if other is not None]
        elif one.name() not in SAME_VALUES:
            yield one
        else:
            todo += [other for other, _ in one.next_functions if other is not None]
        if len(todo) > _MOST_TERMS:
            return


_MOST_TERMS = 64


def _is_as_saved(node: Node) -> bool:
    """Return whether what a node saved was not changed in place, nor freed."""
    try:
        for name in ("_saved_self", "_saved_target", "_saved_result", "_saved_weight"):
            getattr(node, name, None)
    except RuntimeError:
        return False
    return True
