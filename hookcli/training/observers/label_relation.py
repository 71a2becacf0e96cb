"""Whether the targets of a loss have to do with the inputs of the model: by nearest neighbours.

Samples that are shuffled without their labels cannot be learned. Then the sample that is nearest to
another one has its label as often as any.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import torch

from hookcli.engine.probes.trainability.loss_graph import nodes_behind
from hookcli.models.nested import argument_leaves
from hookcli.report.findings import Measurement
from hookcli.report.rows.events import number
from hookcli.torch_private import disable_current_modes
from hookcli.training.backward import only_tensor
from hookcli.training.observers.observer import Observer, line_of
from hookcli.training.root_watch import RootWatch
from hookcli.training.script.watched_function import TorchCall

RELATION, COPIED = "label_relation", "copied_label"  # measurements
_CLASSES = ("NllLossBackward0",)
_VALUES = ("MseLossBackward0", "SmoothL1LossBackward0", "HuberLossBackward0")
_MOST_PASSES, _MOST_SAMPLES, _LEAST_SAMPLES = 64, 1024, 200
_MOST_FEATURES, _MOST_TARGETS = 256, 16  # of a sample
_NEAREST_NODES = 100  # of a loss that are searched
_MOST_ELEMENTS = 1 << 22  # of a batch


@dataclass(slots=True)
class _Samples:
    """Samples of one root, a row each, with their targets."""

    root: RootWatch
    are_classes: bool
    step: int = 1  # every so many values of a sample are kept; 0 for tokens, which are counted
    passes: int = 0
    count: int = 0
    inputs: list[torch.Tensor] = field(default_factory=list)
    targets: list[torch.Tensor] = field(default_factory=list)


class LabelRelation(Observer):
    """Keeps parts of the first samples of each loss, and compares them at the end."""

    before = {"backward": "backward"}  # noqa: RUF012

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._lines: dict[Any, _Samples | None] = {}

    def backward(self, call: TorchCall) -> None:
        """Keep the samples of a backward pass."""
        line = line_of(call)
        known = self._lines.get(line)
        if line in self._lines and (known is None or known.passes >= _MOST_PASSES):
            return
        start = only_tensor(call.argument(0, "tensors"))
        if start is None or start.grad_fn is None:
            return
        with torch.no_grad(), disable_current_modes():
            self._lines[line] = self._keep(start, known)

    def _keep(self, start: torch.Tensor, known: _Samples | None) -> _Samples | None:
        """Keep the samples of a loss; return None if it is not one of classes or values."""
        near = islice(nodes_behind(start), _NEAREST_NODES)
        losses = [node for node in near if node.name() in _CLASSES + _VALUES]
        roots = [r for r in self.seen.roots.values() if r.recent and not r.is_part]
        if len(losses) != 1 or len(roots) != 1:
            return None
        (loss,), (root,) = losses, roots
        if known is not None and known.root is not root:
            return None
        try:
            target = loss._saved_target
        except RuntimeError:  # changed in place
            return known
        run = root.recent[-1]
        given = [t for _, t, _ in argument_leaves(run.args, run.kwargs)]
        if known is None:
            known = _Samples(root, loss.name() in _CLASSES)
        known.passes += 1
        rows = _targets(target, known.are_classes)
        if rows is None or len(given) != 1 or len(given[0]) != len(rows):
            return None
        features = _features(given[0])
        if features is not None and known.passes == 1:
            known.step = _step_of(given[0])
        if features is None or known.count >= _MOST_SAMPLES:
            known.passes = _MOST_PASSES
            return known
        known.inputs.append(features)
        known.targets.append(rows)
        known.count += len(rows)
        return known

    def finish(self) -> None:
        """Measure each loss whose samples were kept."""
        for known in self._lines.values():
            if known is None or known.count < _LEAST_SAMPLES:
                continue
            if len({one.shape[1:] for one in known.inputs}) > 1:
                continue
            with torch.no_grad(), disable_current_modes():
                inputs, targets = torch.cat(known.inputs), torch.cat(known.targets)
                value = _compare(inputs, targets, known.are_classes)
                column = _copied(inputs, targets) if known.step else None
            if column is not None:
                found = {"column": column * known.step, "samples": known.count}
                known.root.measured.append(Measurement(COPIED, "", None, found, None))
            if value is not None:
                known.root.measured.append(Measurement(RELATION, "", None, value, None))
        self._lines.clear()


def _targets(target: torch.Tensor, are_classes: bool) -> torch.Tensor | None:
    """Return the targets as rows, one for each sample; None if they are no few values each."""
    if target.dim() == 0 or target.is_meta or target.numel() > _MOST_ELEMENTS:
        return None
    if are_classes:
        known = target.dim() == 1 and bool((target >= 0).all())  # none is ignored
        return target.detach().cpu()[:, None] if known else None
    rows = target.detach().reshape(len(target), -1)
    return rows.float().cpu() if 0 < rows.shape[1] <= _MOST_TARGETS else None


def _features(given: torch.Tensor) -> torch.Tensor | None:
    """Return few values of each sample: of tokens, how often they are there."""
    if given.is_meta or given.layout is not torch.strided or given.is_complex():
        return None
    if not 0 < given.numel() <= _MOST_ELEMENTS:
        return None
    rows = given.detach().reshape(len(given), -1)
    step = _step_of(given)
    if step:
        return rows[:, ::step].float().cpu().clone()
    counts = torch.zeros(len(rows), _MOST_FEATURES)
    return counts.scatter_add_(1, rows.long().cpu() % _MOST_FEATURES, torch.ones(rows.shape))


def _step_of(given: torch.Tensor) -> int:
    """Return every how many values of a sample are kept; 0 if they are tokens."""
    if given.is_floating_point() or given.dtype in (torch.bool, torch.uint8):
        return -(-(given.numel() // max(1, len(given))) // _MOST_FEATURES)
    return 0


def _copied(inputs: torch.Tensor, targets: torch.Tensor) -> int | None:
    """Return the value of each sample that is the target itself, in all samples; else None."""
    if targets.shape[1] != 1 or bool((targets == targets[0]).all()):
        return None
    equal = (inputs == targets.to(inputs.dtype)).all(0)
    return int(equal.int().argmax()) if bool(equal.any()) else None


def _compare(
    inputs: torch.Tensor, targets: torch.Tensor, are_classes: bool
) -> dict[str, Any] | None:
    """Return how well the inputs of samples tell their targets, and how well a guess does.

    `near` is the share of samples with the class of the nearest other one, and `linear` the share
    that a linear map finds, which is fitted to the other half. Of values they are parts of the
    variance that are explained. `usual` is what a guess gets: for `near` and `linear`.
    """
    if not bool(inputs.isfinite().all() & targets.isfinite().all()):
        return None
    inputs, first = _different(inputs)
    targets = targets[first]
    if len(inputs) < _LEAST_SAMPLES:
        return None
    scale = inputs.std(0)
    inputs = (inputs - inputs.mean(0)) / scale.where(scale > 0, 1)
    nearest = _nearest(inputs)
    count = {"samples": len(inputs), "are_classes": are_classes}
    if are_classes:
        shares = torch.bincount(targets[:, 0]).double() / len(targets)
        near = float((targets == targets[nearest]).float().mean())
        one_hot = torch.nn.functional.one_hot(targets[:, 0]).float()
        given, found = _fitted(inputs, one_hot)
        linear = float((given.argmax(1) == found.argmax(1)).float().mean())
        usual = float(shares.square().sum()), float(shares.max())
        return {**count, "near": near, "linear": linear, "usual": usual}
    spread = float(targets.var(0).mean())
    if not spread > 0:
        return None
    near = 1 - float((targets - targets[nearest]).square().mean()) / (2 * spread)
    given, found = _fitted(inputs, targets)
    linear = 1 - float((given - found).square().mean()) / spread
    return {**count, "near": number(near), "linear": number(linear), "usual": (0.0, 0.0)}


def _different(inputs: torch.Tensor) -> tuple[torch.Tensor, list[int]]:
    """Return the samples without repetitions, as of a second epoch, and their places."""
    seen: dict[bytes, int] = {}
    for i, row in enumerate(inputs[: 2 * _MOST_SAMPLES]):
        seen.setdefault(row.numpy().tobytes(), i)
    first = list(seen.values())[:_MOST_SAMPLES]
    return inputs[first], first


def _nearest(inputs: torch.Tensor) -> torch.Tensor:
    """Return the place of the nearest other sample of each."""
    distance = torch.cdist(inputs, inputs)
    distance.fill_diagonal_(torch.inf)
    return distance.argmin(1)


def _fitted(inputs: torch.Tensor, targets: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the targets of every second sample, and what a ridge regression of the others finds.

    The penalty is the number of features, so that noise is not fitted.
    """
    known, unknown = inputs[::2].double(), inputs[1::2].double()
    mean = targets[::2].double().mean(0)
    penalty = inputs.shape[1] * torch.eye(inputs.shape[1], dtype=torch.float64)
    product = known.T @ (targets[::2].double() - mean)
    weight = torch.linalg.solve(known.T @ known + penalty, product)
    return targets[1::2].double(), unknown @ weight + mean
