"""What a loss computes, read from its autograd graph before backward: no further forward is needed.

Losses are found by the names of their nodes, so that it does not matter whether the model, the
request or a function of the user's computes them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, TypeAlias

import torch
from torch.nn import functional

from hookcli.catalogue.kinds import CATALOGUE as KINDS
from hookcli.engine.observe.node_owners import NodeOwners
from hookcli.engine.probes.context import ProbeWatcher, Requests
from hookcli.models.model import Call, CallInputs, Model
from hookcli.report.findings import Measurement
from hookcli.report.rows.events import number
from hookcli.spec.request import Spec

TERMS, PROBABILITIES = "loss_terms", "loss_inputs"
Node: TypeAlias = Any  # torch's own class for it is abstract
Found: TypeAlias = tuple[Node, str, dict[str, Any]]  # a node, what is wrong with it, and values

_NLL = ("NllLossBackward0", "NllLoss2DBackward0")
_CTC = "CtcLossBackward0"
_LOGITS = "BinaryCrossEntropyWithLogitsBackward0"
_BCE = "BinaryCrossEntropyBackward0"
_LOSSES = (*_NLL, _LOGITS, _BCE)
_LOG_SOFTMAX, _SOFTMAX, _SIGMOID = "LogSoftmaxBackward0", "SoftmaxBackward0", "SigmoidBackward0"
# Nodes whose output has the values of their input, in another shape, dtype or selection.
SAME_VALUES = {
    f"{name}Backward0"
    for name in (
        "View", "UnsafeView", "ReshapeAlias", "Alias", "Transpose", "T", "Permute", "Squeeze",
        "Unsqueeze", "Clone", "ToCopy", "Slice", "Select", "Index", "IndexSelect", "MaskedSelect",
        "Movedim", "Contiguous", "Mt",
    )
} | {"SqueezeBackward1", "ToCopyBackward0", "TBackward0"}  # fmt: skip
_BOUNDED = {_SIGMOID: "sigmoid", "TanhBackward0": "tanh"}  # between 0 and 1, or -1 and 1
_PRODUCTS = ("MmBackward0", "BmmBackward0")
_ROUNDED = 1e-5  # how far a sum of shares may be from 1
_NOT_ONE = 1e-2  # the logarithm of a sum of probabilities that is not 1
_MOST_NODES = 200_000
_MOST_TERMS = 20
_ROWS = 4  # rows of a result that are compared


def nodes_behind(start: torch.Tensor) -> Iterator[Node]:
    """Yield the nodes behind a tensor, each once, those near the loss first."""
    todo = [] if start.grad_fn is None else [start.grad_fn]
    seen = set(todo)
    for node in todo:  # grows meanwhile
        yield node
        if len(seen) > _MOST_NODES:
            return
        for other, _ in node.next_functions:
            if other is not None and other not in seen:
                seen.add(other)
                todo.append(other)


def behind(node: Node, argument: int = 0) -> Node | None:
    """Return the node that computed an argument, before changes of shape and dtype."""
    current = node.next_functions[argument][0] if len(node.next_functions) > argument else None
    while current is not None and current.name() in SAME_VALUES:
        current = current.next_functions[0][0]
    return current


class GraphWatcher(ProbeWatcher):
    """Looks at the graph of the loss before backward, in the first step only."""

    def __init__(self, measurements: list[Measurement], probes: tuple[str, ...]) -> None:
        self.measurements = measurements
        self._probes = probes
        self._calls: dict[int, Call] = {}
        self._has_looked = False

    def begin(self, model: Model) -> None:
        """Forget an earlier run."""
        self.measurements.clear()
        self._calls.clear()
        self._has_looked = False

    def enter(self, call: Call, batch: CallInputs) -> None:
        """Note a call, to name it later."""
        self._calls[call.order] = call

    def graph(self, start: torch.Tensor, owners: NodeOwners) -> None:
        """Look at the graph of the first step."""
        calls, self._calls = self._calls, {}
        if not self._has_looked:
            self._has_looked = True
            self._look(start, owners, calls)

    def _look(self, start: torch.Tensor, owners: NodeOwners, calls: dict[int, Call]) -> None:
        """Add the measurements."""
        raise NotImplementedError


class LossGraph(GraphWatcher):
    """Observes the terms of the loss, and what they were computed from."""

    def _look(self, start: torch.Tensor, owners: NodeOwners, calls: dict[int, Call]) -> None:
        self._reported: set[Node] = set()
        found = 0
        for node in nodes_behind(start):
            if node.name() not in (*_LOSSES, _CTC, _LOG_SOFTMAX):
                continue
            try:
                found += self._loss(node, owners, calls)
            except RuntimeError:  # what it saved was changed in place, or cannot be read
                continue
            if found >= _MOST_TERMS:
                return

    def _loss(self, node: Node, owners: NodeOwners, calls: dict[int, Call]) -> int:
        """Add the measurements of one node, and return their number."""
        rows = []
        if TERMS in self._probes and node.name() in _LOSSES:
            rows.append((TERMS, *_named(node, owners, calls), term(node)))
        if PROBABILITIES in self._probes:
            made = _probabilities(node, in_model=owners.of(node._sequence_nr()) is not None)
            if made is not None and made[1] not in self._reported:
                what, source = made
                self._reported.add(source)
                name, index, kind = place_of(source, owners, calls)
                classes = None if what["gets"] == "logits" else _classes(source)
                what.setdefault("classes", classes)
                value = {**what, "module": kind[0], "place": kind[1]}
                rows.append((PROBABILITIES, name, index, value))
        self.measurements += [
            Measurement(probe, name, index, value, None) for probe, name, index, value in rows
        ]
        return len(rows)


def place_of(
    node: Node, owners: NodeOwners, calls: dict[int, Call]
) -> tuple[str, int | None, tuple[str | None, str | None]]:
    """Return name, number, type and place of the call that made a node; "" if none did."""
    order = owners.of(node._sequence_nr())
    call = None if order is None else calls.get(order)
    if call is None:
        return "", None, (None, None)
    return call.name or "", call.index, (call.type, call.place)


def shape_of_node(node: Node, result: int = 0) -> tuple[int, ...] | None:
    """Return the shape of a result of a node; None if it is not known."""
    described = getattr(node, "_input_metadata", None) or ()
    return tuple(map(int, described[result].shape)) if result < len(described) else None


def signed(dim: int) -> int:
    """Return a dimension; torch reads a negative one as unsigned."""
    return dim - 2**64 if dim >= 2**63 else dim


def _named(node: Node, owners: NodeOwners, calls: dict[int, Call]) -> tuple[str, int | None]:
    return place_of(node, owners, calls)[:2]


def _probabilities(node: Node, *, in_model: bool) -> tuple[dict[str, Any], Node] | None:
    """Return what a loss gets instead of logits or log-probabilities, and the node that made it.

    Only what is certain is returned: the values are those of a softmax, sigmoid or tanh.
    """
    name, given = node.name(), behind(node)
    if given is None:
        return None
    made = given.name()
    if name in _NLL and made == _LOG_SOFTMAX:
        source = behind(given)
        if source is not None and source.name() == _SOFTMAX and _normalised_again(given, source):
            return {"loss": "cross_entropy", "gets": "softmax"}, source
        classes = int(given._saved_result.shape[dimension_of(given)])
        if source is not None and source.name() in _BOUNDED:
            gets = _BOUNDED[source.name()]
            return {"loss": "cross_entropy", "gets": gets, "classes": classes}, source
        mixed = _mixed(given, source)
        if mixed is not None:
            return {"loss": "cross_entropy", "gets": "softmax", "classes": classes}, mixed
    if (
        name == _LOG_SOFTMAX
        and made == _SOFTMAX
        and not in_model
        and _normalised_again(node, given)
    ):
        return {"loss": "cross_entropy", "gets": "softmax"}, given
    if name in _NLL and made == _SOFTMAX:
        return {"loss": "nll_loss", "gets": "softmax"}, given
    if name in _NLL and made != _LOG_SOFTMAX and _are_logits(node):
        return {"loss": "nll_loss", "gets": "logits"}, given
    if name == _CTC and made != _LOG_SOFTMAX and _are_logits(node):
        return {"loss": "ctc_loss", "gets": "softmax" if made == _SOFTMAX else "logits"}, given
    if name == _LOGITS and made in (_SIGMOID, _SOFTMAX):
        gets = "sigmoid" if made == _SIGMOID else "softmax"
        return {"loss": "binary_cross_entropy_with_logits", "gets": gets}, given
    return None


def _are_logits(loss: Node) -> bool:
    """Return whether what a loss takes for log-probabilities cannot be such: they do not sum to 1.

    Some are positive, too.
    """
    if loss.name() == _CTC:
        logs, dim = loss._saved_log_probs.detach(), -1
    else:
        logs = loss._saved_self.detach()
        dim = 1 if logs.dim() > 1 else 0
    apart = logs.double().logsumexp(dim).abs()
    return bool((logs > 0).any()) and bool((apart > _NOT_ONE).all())


def _mixed(log_softmax: Node, product: Node | None) -> Node | None:
    """Return the softmax whose shares a product with a constant matrix adds up; None if none does.

    Each row of the matrix sums to 1, as of one-hot labels, so that the results are shares too.
    """
    if product is None or product.name() not in _PRODUCTS:
        return None
    softmax, matrix = behind(product), product.next_functions[1][0]
    if softmax is None or softmax.name() != _SOFTMAX or matrix is not None:
        return None
    weights, shares = product._saved_mat2, softmax._saved_result
    if bool((weights < 0).any()) or not bool((weights.sum(-1) - 1).abs().max() < _ROUNDED):
        return None
    results = log_softmax._saved_result.detach()
    mixed = (
        shares.detach().reshape(-1, weights.shape[-2]) @ weights.reshape(-1, *weights.shape[-2:])[0]
    )
    logs = mixed.log_softmax(-1)
    return softmax if logs.shape == results.shape and torch.allclose(logs, results) else None


def _classes(node: Node) -> int | None:
    """Return the number of shares that a softmax returns; None for a sigmoid."""
    return int(node._saved_result.shape[dimension_of(node)]) if node.name() == _SOFTMAX else None


def _rows(result: torch.Tensor, dim: int) -> torch.Tensor:
    """Return the vectors along a dimension, as rows."""
    last = result.detach().movedim(dim, -1)
    return last.reshape(-1, last.shape[-1]).double()


def dimension_of(node: Node) -> int:
    """Return the dimension that a softmax normalises; it may be negative."""
    return signed(int(node._saved_dim))


def _normalised_again(log_softmax: Node, softmax: Node) -> bool:
    """Whether a log_softmax is that of vectors which the softmax has normalised."""
    logs = _rows(log_softmax._saved_result, dimension_of(log_softmax))[:_ROWS]
    shares = _rows(softmax._saved_result, dimension_of(softmax))
    if not logs.numel() or logs.shape[1] != shares.shape[1]:
        return False
    rounding = 8 * torch.finfo(log_softmax._saved_result.dtype).eps
    for row in logs:
        # log_softmax(p) = p - logsumexp(p), so that differences of elements are those of p
        ours = row - row[0]
        apart = (shares - shares[:, :1] - ours).abs().amax(1).min()
        if not bool(apart <= 1e-3 * ours.abs().max() + rounding * row.abs().max()):
            return False
    return True


def term(node: Node) -> dict[str, Any]:
    """Return the mean of one term of a loss, and that of a guess, which knows no input.

    `loss` and `chance` are means per target. `random` and `spread` are the mean and the standard
    deviation of the loss of one target if the targets were random.
    """
    if node.name() in _NLL:
        return _nll(node)
    return _binary(node)


def _nll(node: Node) -> dict[str, Any]:
    logs, targets, weight = node._saved_self.detach(), node._saved_target, node._saved_weight
    ignored = int(node._saved_ignore_index)
    ignored = ignored - 2**64 if ignored >= 2**63 else ignored
    classes = logs.shape[1 if logs.dim() > 1 else 0]
    count = int((targets != ignored).sum())
    loss = functional.nll_loss(logs.double(), targets, _double(weight), ignore_index=ignored)
    rows = logs.double().reshape(-1, classes) if logs.dim() < 3 else logs.double().transpose(1, -1)
    spread = rows.var(-1, correction=0).mean().sqrt()
    return {
        "loss": number(loss.item()),
        "chance": math.log(classes),
        "random": number(-rows.mean().item()),
        "spread": number(spread.item()),
        "targets": count,
        "classes": classes,
        "kind": "nll_loss",
    }


def _binary(node: Node) -> dict[str, Any]:
    outputs, targets = node._saved_self.detach().double(), node._saved_target.detach().double()
    weight = _double(node._saved_weight)
    if node.name() == _LOGITS:
        factor = _double(node._saved_pos_weight)
        loss = functional.binary_cross_entropy_with_logits(
            outputs, targets, weight, pos_weight=factor
        )
        chance = functional.binary_cross_entropy_with_logits(
            torch.zeros_like(outputs), targets, weight, pos_weight=factor
        )
        blind = functional.binary_cross_entropy_with_logits(
            outputs, torch.full_like(outputs, 0.5), weight, pos_weight=factor
        )
        logits = outputs
    else:
        loss = functional.binary_cross_entropy(outputs, targets, weight)
        half = torch.full_like(outputs, 0.5)
        chance = functional.binary_cross_entropy(half, targets, weight)
        blind = functional.binary_cross_entropy(outputs, half, weight)
        logits = torch.logit(outputs, eps=1e-12)
    return {
        "loss": number(loss.item()),
        "chance": number(chance.item()),
        "random": number(blind.item()),
        "spread": number(logits.div(2).square().mean().sqrt().item()),
        "targets": targets.numel(),
        "classes": None,
        "kind": "binary_cross_entropy",
    }


def _double(tensor: torch.Tensor | None) -> torch.Tensor | None:
    return None if tensor is None else tensor.detach().double()


def observe(requests: Requests, spec: Spec) -> list[ProbeWatcher]:
    """Return the watcher of the graph; none if that would run a hook which unpacks a tensor."""
    if any(KINDS[hook.kind].pair for hook in spec.hooks):
        return []
    return [LossGraph([], tuple(request.name for request in requests))]
