"""What some backward passes of each line start from: the graph of the loss, and its source."""

from __future__ import annotations

import ast
import weakref
from collections.abc import Sequence
from functools import partial
from types import FrameType
from typing import Any

import torch
from torch import nn

from hookcli.engine.observe.node_owners import NodeOwners
from hookcli.engine.probes.trainability.loss_formulas import LOGITS, NOISE, SIGNS, LossFormulas
from hookcli.engine.probes.trainability.loss_graph import (
    PROBABILITIES,
    GraphWatcher,
    LossGraph,
    Node,
    nodes_behind,
)
from hookcli.engine.probes.trainability.patterns.graph_patterns import (
    AFTER,
    AXES,
    CHAINS,
    CHOICES,
    MASKED,
    NARROW,
    NORMS,
    POOLED,
    ROTARY,
    SCALES,
    SHARP,
    SIMILARITIES,
    WEAK,
    GraphPatterns,
)
from hookcli.engine.probes.trainability.patterns.linear_maps import (
    linear_model,
    linear_pairs,
    weight_of,
)
from hookcli.engine.probes.trainability.shapes.graph_shapes import (
    BROADCASTS,
    CLASSES,
    RESHAPED,
    GraphShapes,
)
from hookcli.engine.probes.trainability.unregistered import (
    PROBE,
    leaves_behind,
    leaves_of_graph,
    unregistered,
)
from hookcli.models import module_tree, places
from hookcli.models.model import Call, CallInputs
from hookcli.report.findings import Measurement
from hookcli.torch_private import disable_current_modes
from hookcli.training.backward import only_tensor
from hookcli.training.observers.loss_inputs import (
    LOOKS,
    are_bits,
    negated,
    over_samples,
    target_scale,
)
from hookcli.training.observers.loss_terms import (
    bare_returns,
    crossed_advantages,
    divergence_weight,
)
from hookcli.training.observers.observer import LookSchedule, Observer, line_of
from hookcli.training.observers.surrogate import surrogate
from hookcli.training.record.optimizer_groups import parameters_of
from hookcli.training.root_watch import RootWatch
from hookcli.training.script.watched_function import TorchCall
from hookcli.training.source.frame_source import current_value, loss_place, user_frame
from hookcli.training.source.loss_source import (
    Term,
    calls_in,
    graded_weight,
    loss_function,
    sign_of_entropy,
    terms,
    unread_terminal,
)

_OF_KL = ("divergence", "log_variance")  # signs that are looked at
_LIKELIHOOD = "log_likelihood"  # and this one, unless a generator is trained by it
SCALE = "target_scale"  # a measurement
_MOST_READ = 1 << 20  # elements of a tensor whose values are read
_APART, _MOSTLY = 0.1, 0.9  # of sums of probabilities from 1, and for how many rows
_LOOKS_AT_GRAPH = 2  # of each line
# Losses whose targets are -1 and 1.
_SIGNED = {
    "HingeEmbeddingLoss", "hinge_embedding_loss", "MarginRankingLoss", "margin_ranking_loss",
    "CosineEmbeddingLoss", "cosine_embedding_loss",
}  # fmt: skip
_PATTERNS = (
    AXES, NORMS, SIMILARITIES, MASKED, AFTER, SHARP, WEAK, POOLED, SCALES, NARROW,
    CHOICES, ROTARY,
)  # fmt: skip
_NO_INPUTS: CallInputs = ((), {})


class LossLook(Observer):
    """Looks at the loss when backward begins, before autograd frees what its nodes have saved."""

    kinds = ("constant_term", "loss_values", "entropy_sign")
    before = {"backward": "backward", "grad": "gradient"}  # noqa: RUF012

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._schedule = LookSchedule()
        self._looks: dict[str | None, int] = {}
        self._optimizers: weakref.WeakSet[Any] = weakref.WeakSet()
        # Where torch.autograd.grad was called without a graph of its results, since backward.
        self._without_graph: str | None = None

    def constructed(self, optimizer: Any, place: str | None) -> None:
        """Note an optimizer, to know the parameters that it has."""
        self._optimizers.add(optimizer)

    def gradient(self, call: TorchCall) -> None:
        """Note a call of torch.autograd.grad that makes no graph, for something else than weights.

        The gradients of weights may be those of a step.
        """
        inputs = call.argument(1, "inputs")
        first = inputs[0] if isinstance(inputs, list | tuple) and inputs else inputs
        graph = call.argument(4, "create_graph")
        if not graph and isinstance(first, torch.Tensor) and not isinstance(first, nn.Parameter):
            self._without_graph = places.of_frame(call.frame)

    def backward(self, call: TorchCall) -> None:
        """Look at the loss."""
        without_graph, self._without_graph = self._without_graph, None
        if not self._schedule.is_due(line_of(call)):
            return
        start = only_tensor(call.argument(0, "tensors"))
        frame = user_frame(call.frame)
        if frame is None or start is None or start.grad_fn is None:
            return
        place = loss_place(frame)
        looks = self._looks[place] = self._looks.get(place, 0) + 1
        self.facts.look("loss_values")
        with torch.no_grad(), disable_current_modes():
            if looks <= _LOOKS_AT_GRAPH:
                self._look_at_graph(start)
            self._look_at_values(start, place)
            self._look_at_source(frame, without_graph)

    # The graph.

    def _look_at_graph(self, start: torch.Tensor) -> None:
        roots = [root for root in self.seen.roots.values() if root.recent and not root.is_part]
        owners, calls = NodeOwners(), []
        runs = [(root, run) for root in roots for run in root.recent]
        for order, (root, run) in enumerate(sorted(runs, key=lambda pair: pair[1].first_node)):
            made = _call_of(root, order, run.first_node)
            owners.enter(made, _NO_INPUTS)
            if run.next_node is not None:
                owners.note_end(made, run.next_node)
            calls.append((root, made, (run.args, run.kwargs)))
        for watcher in _watchers() if calls else ():
            watcher.begin(calls[-1][0].model)
            for _, made, batch in calls:
                watcher.enter(made, batch)
            watcher.graph(start, owners)
            for measurement in watcher.measurements:
                signs = (*_OF_KL, *([_LIKELIHOOD] if len(self._optimizers) < 2 else ()))
                if measurement.probe != SIGNS or measurement.value["what"] in signs:
                    self._note(measurement, calls[-1][0])
        held = {id(p) for root in roots for p in root.root.parameters()}
        held |= {id(p) for one in self._optimizers for p in parameters_of(one)}
        strange = [leaf for leaf, _ in leaves_of_graph(start) if id(leaf) not in held]
        for root in roots:
            for name, kind, count in unregistered(root.root, strange):
                value = {"kind": kind, "count": count}
                self._note(Measurement(PROBE, name, None, value, None), root)
        if not self._look_at_whole(start, roots):
            self._look_for_pairs(start, roots)
        scale = target_scale(start)
        for root in roots:
            if scale is not None and not any(m.probe == SCALE for m in root.measured):
                self._note(Measurement(SCALE, "", None, scale, None), root)
            root.losses += 1

    def _look_for_pairs(self, start: torch.Tensor, roots: list[RootWatch]) -> None:
        """Note the linear layers of torch that follow each other without an activation."""
        layers = {
            id(weight): (names[0], root)
            for root in roots
            for module, names in module_tree.modules(root.root)
            if type(module) is nn.Linear
            and (weight := module_tree.own_parameter(module, "weight")) is not None
        }
        for first, second in linear_pairs(start):
            if id(first) in layers and id(second) in layers:
                (one, other), (name, root) = layers[id(first)], layers[id(second)]
                if other is not root:  # as a projection behind an encoder
                    continue
                place = places.of_class(type(root.root))
                value = {"first": one, "hidden": len(first), "module": "Linear", "place": place}
                self._note(Measurement(CHAINS, name, None, value, None), root)

    def _look_at_whole(self, start: torch.Tensor, roots: Sequence[RootWatch]) -> bool:
        """Note a root that computes one linear map of several layers; return whether one does."""
        found = linear_model(start)
        if found is None:
            return False
        weights = [id(weight_of(node)) for node in found[0]]
        for root in roots:
            names = {id(p): name for name, p in root.root.named_parameters()}
            if all(weight in names for weight in weights):
                last, first = (names[weights[i]].rpartition(".")[0] for i in (0, -1))
                value = {
                    "first": first, "hidden": found[1], "layers": len({*weights}),
                    "whole": True, "module": "Linear", "place": places.of_class(type(root.root)),
                }  # fmt: skip
                self._note(Measurement(CHAINS, last, None, value, None), root)
                return True
        return False

    def _note(self, measurement: Measurement, root: RootWatch | None) -> None:
        """Add a measurement to a root, unless it has it."""
        if root is not None and measurement not in root.measured:
            root.measured.append(measurement)

    # WeightValues that nodes have saved.

    def _look_at_values(self, start: torch.Tensor, place: str | None) -> None:
        nodes = list(nodes_behind(start))
        for node in nodes:
            try:
                found = _VALUES[node.name()](node) if node.name() in _VALUES else None
            except RuntimeError:  # what it saved was changed in place
                continue
            if found is not None:
                what, values = found
                self.facts.add("loss_values", what, place, **values)
            for look in LOOKS.get(node.name(), ()):
                try:
                    more = look(node)
                except RuntimeError:
                    continue
                if more is not None and (more[0] != "bootstrapped" or self._trains(node)):
                    self.facts.add("loss_values", more[0], place, **more[1])
        wholes = (
            partial(negated, start), partial(over_samples, nodes), partial(surrogate, start),
            partial(divergence_weight, start), partial(bare_returns, nodes),
            partial(crossed_advantages, nodes),
        )  # fmt: skip
        for look_at_whole in wholes:
            try:
                one = look_at_whole()
            except RuntimeError:  # what a node saved was changed in place
                continue
            if one is not None and (one[0] != "negated" or not _moves_inputs(start)):
                self.facts.add("loss_values", one[0], place, **one[1])

    def _trains(self, node: Any) -> bool:
        """Return whether an optimizer has a parameter of the target of a loss: else it stays."""
        held = {id(p) for one in self._optimizers for p in parameters_of(one)}
        target = node.next_functions[1][0]
        return any(id(leaf) in held for leaf, _ in leaves_behind(target))

    # The source.

    def _look_at_source(self, frame: FrameType, without_graph: str | None) -> None:
        file = places.show(frame.f_code.co_filename)
        found = terms(frame)
        if found:
            self.facts.look("constant_term")
        for term in found:
            for call in calls_in(term.made_by):
                self._look_at_call(call, frame, f"{file}:{call.lineno}")
            if _is_constant(term.value):
                self._note_constant(term, frame, without_graph, f"{file}:{term.line}")
        terminal = unread_terminal(frame)
        if terminal is not None:
            self.facts.add("loss_values", "terminal", f"{file}:{terminal[1]}", name=terminal[0])
        weight = graded_weight(frame)
        if weight is not None:
            self.facts.add("loss_values", "advantage", f"{file}:{weight[1]}", name=weight[0])
        entropy = sign_of_entropy(frame)
        if entropy is not None:
            self.facts.look("entropy_sign")
            text, line, sign = entropy
            mean = current_value(text, frame)
            self.facts.add(
                "entropy_sign", text, f"{file}:{line}", sign=sign,
                value=None if mean is None else float(mean.float().mean()),
            )  # fmt: skip

    def _look_at_call(self, node: ast.Call, frame: FrameType, place: str) -> None:
        """Look at what losses get that are no nodes of their own in the graph."""
        function = loss_function(node, frame)
        name = (
            type(function).__name__
            if isinstance(function, nn.Module)
            else (getattr(function, "__name__", ""))
        )
        if name in _SIGNED:
            last = [k.value for k in node.keywords if k.arg == "target"] or node.args[-1:]
            target = current_value(last[0], frame, node.lineno) if last else None
            if target is not None and are_bits(target.detach()):
                self.facts.add("loss_values", "signs", place, loss=name)
        if name not in ("KLDivLoss", "kl_div") or not node.args:
            return
        given = current_value(node.args[0], frame, node.lineno)
        if given is not None and _are_probabilities(given):
            self.facts.add("loss_values", "kl_div", place, input=ast.unparse(node.args[0]))
        aim = current_value(node.args[1], frame, node.lineno) if len(node.args) > 1 else None
        if given is not None and aim is not None and aim.requires_grad > given.requires_grad:
            self.facts.add("loss_values", "kl_reversed", place)
        default = not any(k.arg == "reduction" for k in node.keywords) and len(node.args) < 3
        mean = function.reduction == "mean" if isinstance(function, nn.Module) else default
        if mean and given is not None and given.dim() > 1:
            size = given.numel() // given.shape[0]
            self.facts.add("loss_values", "kl_mean", place, size=size)

    def _note_constant(
        self, term: Term, frame: FrameType, without_graph: str | None, place: str
    ) -> None:
        for call in calls_in(term.made_by):
            if loss_function(call, frame) is None:
                continue
            names = [ast.unparse(one) for one in call.args[:2]]
            given = [current_value(one, frame, call.lineno) for one in call.args[:2]]
            if len(given) == 2 and all(one is not None and not one.requires_grad for one in given):
                first, second = given
                same = first is not None and second is not None and _are_equal(first, second)
                self.facts.add(
                    "constant_term", term.text, place, inputs=names, equal=same, grad=None
                )
                return
        if term.detached is not None:
            source, line = term.detached
            at = f"{place.rpartition(':')[0]}:{line}"
            self.facts.add(
                "constant_term", term.text, at, inputs=[], equal=False, grad=None, detached=source
            )
            return
        if without_graph is not None and term.made_by is not None:
            self.facts.add(
                "constant_term", term.text, without_graph, inputs=[], equal=False,
                grad=without_graph,
            )  # fmt: skip


def _moves_inputs(start: torch.Tensor) -> bool:
    """Return whether a loss has a gradient for a tensor that is no parameter, as of an attack."""
    return any(not isinstance(leaf, nn.Parameter) for leaf, _ in leaves_of_graph(start))


def _watchers() -> tuple[GraphWatcher, ...]:
    """Return what looks at the graph of a loss as in the run of a model.

    Of signs, only that of a divergence is taken over: this script may have several losses.
    """
    return (
        LossGraph([], (PROBABILITIES,)),
        GraphShapes([], (BROADCASTS, RESHAPED, CLASSES)),
        GraphPatterns([], _PATTERNS),
        LossFormulas([], (LOGITS, NOISE, SIGNS)),
    )


def _call_of(root: RootWatch, order: int, first_node: int) -> Call:
    kind = type(root.root)
    return Call(
        order=order,
        key=id(root.root),
        name="",
        type=kind.__name__,
        index=0,
        parent=None,
        depth=0,
        training=root.root.training,
        recomputed=False,
        module=root.root,
        graded=True,
        sequence=first_node,
        place=places.of_class(kind),
    )


def _is_constant(value: torch.Tensor) -> bool:
    return not value.requires_grad and value.is_floating_point() and value.numel() == 1


def _are_equal(first: torch.Tensor, second: torch.Tensor) -> bool:
    same = first.shape == second.shape and first.dtype == second.dtype
    return same and first.numel() <= _MOST_READ and bool(torch.equal(first, second))


def _are_probabilities(values: torch.Tensor) -> bool:
    """Return whether values are between 0 and 1, and add up to 1 along a dimension."""
    if not values.is_floating_point() or not 0 < values.numel() <= _MOST_READ:
        return False
    values = values.detach().float()
    if not bool(((values >= 0) & (values <= 1)).all()):
        return False
    return any(
        bool(((values.sum(dim) - 1).abs() < 1e-2).all())
        for dim in range(values.dim())
        if values.shape[dim] > 1
    )


def _sums_that_are_not_one(logs: torch.Tensor, dim: int) -> dict[str, float] | None:
    """Return the range of the sums of probabilities, if most of them are not 1."""
    sums = logs.float().exp().sum(dim)
    if float(((sums - 1).abs() > _APART).float().mean()) < _MOSTLY:
        return None
    return {"low": float(sums.min()), "high": float(sums.max())}


def _ctc(node: Node) -> tuple[str, dict[str, Any]] | None:
    """Return that CTC gets no log-probabilities, or how many of its labels are the blank."""
    logs = node._saved_log_probs.detach()
    sums = _sums_that_are_not_one(logs, -1) if 0 < logs.numel() <= _MOST_READ else None
    if sums is not None:
        return "ctc_input", sums
    targets, lengths, blank = node._saved_targets, node._saved_target_lengths, node._saved_blank
    sizes = torch.as_tensor(lengths).flatten().tolist()
    if targets.dim() == 2:
        targets = torch.cat([row[:size] for row, size in zip(targets, sizes, strict=True)])
    count = int((targets == blank).sum())
    return ("ctc_loss", {"blank": int(blank), "labels": count}) if count else None


def _binary(node: Node) -> tuple[str, dict[str, Any]] | None:
    """Return the range of the targets of a binary cross entropy, if it is not in 0 to 1."""
    target = node._saved_target
    if not target.numel():
        return None
    low, high = float(target.min()), float(target.max())
    if low >= 0 and high <= 1:
        return None
    if node._saved_reduction == 0:  # one value outside may mark elements that a mask leaves out
        outside = target[(target < 0) | (target > 1)]
        if bool((outside == outside[0]).all()):
            return None
    return "binary_cross_entropy_with_logits", {"low": low, "high": high}


def _nll(node: Node) -> tuple[str, dict[str, Any]] | None:
    """Return that nll_loss gets no log-probabilities: these add up to 1 over the classes."""
    logs = node._saved_self.detach()
    behind = node.next_functions[0][0]
    if not 0 < logs.numel() <= _MOST_READ or logs.dim() < 2:
        return None
    if behind is not None and behind.name() == "SoftmaxBackward0":  # double_softmax tells it
        return None
    sums = _sums_that_are_not_one(logs, 1)
    if sums is None:
        return None
    found: dict[str, Any] = {**sums, "over": None}
    if behind is not None and behind.name() == "LogSoftmaxBackward0":
        dim = int(behind._saved_dim)
        found["over"] = dim - 2**64 if dim >= 2**63 else dim
    return "nll_loss", found


_VALUES = {
    "NllLossBackward0": _nll,
    "NllLoss2DBackward0": _nll,
    "CtcLossBackward0": _ctc,
    "BinaryCrossEntropyWithLogitsBackward0": _binary,
}
