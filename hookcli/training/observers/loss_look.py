"""What some backward passes of each line start from: the graph of the loss, and its source."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from types import FrameType
from typing import Any

import torch
from torch import nn

from hookcli.engine.observe.node_owners import NodeOwners
from hookcli.engine.probes.arguments.graph_arguments import (
    in_graph as arguments_in_graph,
    number_of_samples,
)
from hookcli.engine.probes.arguments.settings import settings_of
from hookcli.engine.probes.losses.loss_nodes import negated, target_scale
from hookcli.engine.probes.losses.loss_values import ARGUMENTS, heads_of, in_graph
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
from hookcli.models.nested import argument_leaves
from hookcli.report.findings import Measurement
from hookcli.torch_private import disable_current_modes
from hookcli.training.backward import only_tensor
from hookcli.training.observers.observer import LookSchedule, Observer, line_of
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
# And these, unless one of several models is trained by them.
_OF_ONE = ("log_likelihood", "log_probability", "overlap")
SCALE = "target_scale"  # a measurement
_MOST_READ = 1 << 20  # elements of a tensor whose values are read
_LOOKS_AT_GRAPH = 2  # of each line
_PATTERNS = (
    AXES, NORMS, SIMILARITIES, MASKED, AFTER, SHARP, WEAK, POOLED, SCALES, NARROW,
    CHOICES, ROTARY,
)  # fmt: skip
_NO_INPUTS: CallInputs = ((), {})


class LossLook(Observer):
    """Looks at the loss when backward begins, before autograd frees what its nodes have saved."""

    kinds = ("constant_term", "loss_values", "function_arguments", "entropy_sign")
    before = {"backward": "backward", "grad": "gradient"}  # noqa: RUF012

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._schedule = LookSchedule()
        self._looks: dict[str | None, int] = {}
        self._known: set[int] = set()  # numbers of the roots whose settings were looked at
        # Where torch.autograd.grad was called without a graph of its results, since backward.
        self._without_graph: str | None = None

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
        self.facts.look("loss_values", "function_arguments")
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
                signs = (*_OF_KL, *(_OF_ONE if len(self.seen.constructed()) < 2 else ()))
                if measurement.probe != SIGNS or measurement.value["what"] in signs:
                    self._note(measurement, calls[-1][0])
        held = {id(p) for root in roots for p in root.root.parameters()}
        held |= {id(p) for one in self.seen.constructed() for p in parameters_of(one)}
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

    # The values that nodes have saved.

    def _look_at_values(self, start: torch.Tensor, place: str | None) -> None:
        nodes = list(nodes_behind(start))
        self._look_at_arguments(nodes, place)
        for node, what, values in in_graph(start, nodes):
            if what != "bootstrapped" or self._trains(node):
                self.facts.add("loss_values", what, place, **values)
        found = negated(start)
        if found is not None and not _moves_inputs(start):
            self.facts.add("loss_values", found[0], place, **found[1])

    def _look_at_arguments(self, nodes: list[Node], place: str | None) -> None:
        """Look at the dimensions of functions, of roots all of whose attentions have as many heads.

        The number of heads of a node's own module is not known here.
        """
        roots = [root for root in self.seen.roots.values() if root.recent]
        heads = heads_of(*(module for root in roots for module in root.root.modules()))
        samples = 0
        for root in roots[:1]:
            run = root.recent[-1]
            tensors = [tensor for _, tensor, _ in argument_leaves(run.args, run.kwargs)]
            samples = number_of_samples(tensors)
        known = heads if len(heads) == 1 else set()
        for _, what, values in arguments_in_graph(nodes, lambda _: known, samples):
            self.facts.add(ARGUMENTS, what, place, **values)
        for root in roots:
            if root.number not in self._known:
                self._known.add(root.number)
                for name, what, values in settings_of(root.root):
                    self.facts.add(ARGUMENTS, what, root.model.place(name), **values)

    def _trains(self, node: Any) -> bool:
        """Return whether an optimizer has a parameter of the target of a loss: else it stays."""
        held = {id(p) for one in self.seen.constructed() for p in parameters_of(one)}
        target = node.next_functions[1][0]
        return any(id(leaf) in held for leaf, _ in leaves_behind(target))

    # The source.

    def _look_at_source(self, frame: FrameType, without_graph: str | None) -> None:
        file = places.show(frame.f_code.co_filename)
        found = terms(frame)
        if found:
            self.facts.look("constant_term")
        for term in found:
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
        LossFormulas([], (LOGITS, NOISE, SIGNS), of_script=True),
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
