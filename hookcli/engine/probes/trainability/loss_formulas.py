"""What a loss is made of, read from its autograd graph: signs, scales of noise, targets, logits.

`logit_activations`: an activation directly before a softmax or sigmoid. `noise_scales`: a sample of
a normal distribution whose scale does not fit the KL term. `loss_signs`: terms that fall while the
predictions become worse. `token_targets`: targets that are the tokens of the input, and padding.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import torch
from torch import nn

from hookcli.catalogue.kinds import CATALOGUE as KINDS
from hookcli.engine.observe.node_owners import NodeOwners
from hookcli.engine.probes.context import ProbeWatcher, Requests, where_possible
from hookcli.engine.probes.trainability.divergences import (
    exponential_of,
    formulas,
    same_values,
    scaled_by,
    terms,
)
from hookcli.engine.probes.trainability.loss_graph import (
    GraphWatcher,
    Node,
    behind as before,
    nodes_behind,
    place_of,
)
from hookcli.models.model import Call, CallInputs
from hookcli.models.nested import argument_leaves
from hookcli.report.findings import Measurement
from hookcli.spec.request import Spec

LOGITS, NOISE, SIGNS, TOKENS = "logit_activations", "noise_scales", "loss_signs", "token_targets"
CAUSAL = "causal_code"  # what tells that later positions must be hidden

_TANH = "TanhBackward0"
_LOG_SOFTMAX, _SOFTMAX, _SIGMOID = "LogSoftmaxBackward0", "SoftmaxBackward0", "SigmoidBackward0"
_LOG_SIGMOID = "LogSigmoidBackward0"
_NORMALIZERS = {
    _LOG_SOFTMAX: "log_softmax",
    _SOFTMAX: "softmax",
    _SIGMOID: "sigmoid",
    "BinaryCrossEntropyWithLogitsBackward0": "binary_cross_entropy_with_logits",
}
_LIMITING = {
    "ReluBackward0": "relu", "HardtanhBackward0": "hardtanh", _SOFTMAX: "softmax",
    _SIGMOID: "sigmoid",
}  # fmt: skip
_NEVER_NEGATIVE = {
    "SoftplusBackward0": "softplus", "ReluBackward0": "relu", "AbsBackward0": "abs",
}  # fmt: skip
_NLL = {"NllLossBackward0", "NllLoss2DBackward0"}
# These are never negative.
_ERRORS = _NLL | {
    "MseLossBackward0", "SmoothL1LossBackward0", "HuberLossBackward0",
    "BinaryCrossEntropyBackward0", "BinaryCrossEntropyWithLogitsBackward0",
}  # fmt: skip
_MOST = 5  # findings of one kind
_EXACT = 1e-4  # relative
_LEAST = 3  # positions of a sequence, and distinct tokens


def _noise(nodes: list[Node], source: Node) -> tuple[Node, float | None] | None:
    """Return a product of random numbers with exp(a x), and a, or one with x itself, and None."""
    for node in nodes:
        inputs = [one for one, _ in node.next_functions]
        if node.name() != "MulBackward0" or inputs.count(None) != 1:
            continue
        numbers = node._saved_other if inputs[0] is not None else node._saved_self
        if numbers is None or numbers.numel() < 2 or not bool((numbers < 0).any()):
            continue
        scale = inputs[0] if inputs[0] is not None else inputs[1]
        exponential = exponential_of(scale)
        if exponential is not None and exponential[1] is source:
            return node, exponential[0]
        if exponential is None and scaled_by(scale)[1] is source:
            return node, None
    return None


def _floors(nodes: list[Node]) -> Iterator[tuple[Node, dict[str, Any]]]:
    """Yield the noise that is multiplied by exp(a x), where x is never negative: by 1 at least."""
    for node in nodes:
        inputs = [one for one, _ in node.next_functions]
        if node.name() != "MulBackward0" or inputs.count(None) != 1:
            continue
        numbers = node._saved_other if inputs[0] is not None else node._saved_self
        scale = exponential_of(inputs[0] if inputs[0] is not None else inputs[1])
        if scale is None or numbers is None or scale[0] <= 0:
            continue
        source = same_values(scale[1])
        by = _NEVER_NEGATIVE.get("" if source is None else source.name())
        if by is not None and numbers.numel() > 1 and bool((numbers < 0).any()):
            yield node, {
                "exponent": 2 * scale[0], "best": 1.0, "noise": scale[0], "linear": False,
                "floor": by,
            }  # fmt: skip


def _scales(start: torch.Tensor, nodes: list[Node]) -> Iterator[tuple[Node, dict[str, Any]]]:
    """Yield the KL terms that do not fit themselves, or the noise that is added."""
    for source, factor, linear, exponent in formulas(start):
        best = -linear / (factor * exponent)  # the variance at which the term is smallest
        node, scale = _noise(nodes, source) or (None, None)
        value = {
            "exponent": exponent, "best": best, "noise": None, "linear": False, "floor": None,
        }  # fmt: skip
        if node is not None and scale is None:
            yield node, {**value, "linear": True}
        elif scale is not None and abs(exponent - 2 * scale) > _EXACT:
            yield node, {**value, "noise": scale}
        elif any(abs(best - wrong) < _EXACT for wrong in (0.5, 2.0)):
            yield source, value
    yield from _floors(nodes)


def _signs(
    start: torch.Tensor, given: list[torch.Tensor] | None
) -> Iterator[tuple[Node, dict[str, Any]]]:
    """Yield the terms of a loss that are smallest for the worst predictions.

    Targets must be `given` in the batch, unless that is None.
    """
    for source, factor, linear, exponent in formulas(start):
        if factor < 0 < linear:
            yield source, {"what": "divergence"}
        elif factor > 0 and linear * exponent > 0:
            yield source, {"what": "log_variance"}
    found = list(terms(start.grad_fn))
    for factor, node in found:
        name = node.name()
        if name == "DivBackward0" and factor > 0 and _is_overlap(node, given):
            yield node, {"what": "overlap"}
        elif name == "GatherBackward0" and factor > 0:
            source = same_values(node.next_functions[0][0])
            if source is not None and source.name() == _LOG_SOFTMAX:
                yield node, {"what": "log_probability"}
    if found and all(factor > 0 and node.name() == _LOG_SIGMOID for factor, node in found):
        yield found[0][1], {"what": "log_likelihood"}
    if found and all(factor < 0 and node.name() in _ERRORS for factor, node in found):
        yield found[0][1], {"what": "error"}


def _is_overlap(quotient: Node, given: list[torch.Tensor] | None) -> bool:
    """Return whether a quotient is a share of predictions that agree with a target of 0 and 1."""
    if any(one is None for one, _ in quotient.next_functions):
        return False
    for factor, node in terms(quotient.next_functions[0][0]):
        inputs = [one for one, _ in node.next_functions]
        if node.name() != "MulBackward0" or inputs.count(None) != 1 or factor <= 0:
            continue
        target = node._saved_other if inputs[0] is not None else node._saved_self
        prediction = same_values(inputs[0] if inputs[0] is not None else inputs[1])
        if target is None or prediction is None or target.numel() < 2:
            continue
        known = given is None or _is_given(target, given)
        if prediction.name() in {_SIGMOID, _SOFTMAX} and known:
            return bool(((target == 0) | (target == 1)).all()) and bool(target.any())
    return False


def _is_given(tensor: torch.Tensor, given: list[torch.Tensor]) -> bool:
    """Return whether a tensor of the batch has the same values in the same order."""
    flat = tensor.detach().reshape(-1)
    return any(
        one.numel() == flat.numel() and bool((one.reshape(-1).to(flat.dtype) == flat).all())
        for one in given
    )


def _limited(nodes: list[Node]) -> Iterator[tuple[Node, dict[str, Any]]]:
    """Yield the activations whose result a softmax or sigmoid gets."""
    for node in nodes:
        by = _NORMALIZERS.get(node.name())
        source = None if by is None else before(node)
        what = None if source is None else _LIMITING.get(source.name())
        if source is None or what is None or (what == "hardtanh" and source._saved_min_val != 0):
            continue
        yield source, {"activation": what, "by": by}
    for node in nodes:
        source = _squashed(node) if node.name() == _TANH else None
        if source is not None and source.name() == _TANH:
            yield source, {"activation": "tanh", "by": "tanh"}


def _squashed(tanh: Node) -> Node | None:
    """Return what computes the argument of a tanh, without noise that is added."""
    source = before(tanh)
    if source is None or source.name() != "AddBackward0":
        return source
    given = [one for one, _ in source.next_functions if one is not None]
    return same_values(given[0]) if given else None


def _tokens(
    nodes: list[Node], embedded: list[tuple[torch.Tensor, int | None]]
) -> Iterator[tuple[Node, dict[str, Any]]]:
    """Yield the cross entropies whose targets are tokens of an input that is embedded.

    `shift` is 0 for those of the same position, 1 for the next. `padded` of the `targets` are
    padding that follows the text of a sample, and are counted in the loss.
    """
    for node in nodes:
        if node.name() not in _NLL:
            continue
        target, ignored = node._saved_target.reshape(-1), int(node._saved_ignore_index)
        ignored = ignored - 2**64 if ignored >= 2**63 else ignored
        for ids, pad in embedded:
            shift = _shift(target, ids)
            if shift is None or len(torch.unique(ids)) < _LEAST:
                continue
            counted = ids[:, len(ids[0]) - len(target) // len(ids) :]
            pads = 0 if pad is None or pad == ignored else _trailing(counted, pad)
            yield node, {"shift": shift, "padded": pads, "targets": len(target)}


def _next_tokens(
    nodes: list[Node], moved: list[torch.Tensor]
) -> Iterator[tuple[Node, dict[str, Any]]]:
    """Yield the cross entropies whose targets follow tokens that forward has moved, as by one."""
    for node, value in _tokens(nodes, [(ids, None) for ids in moved]):
        if value["shift"]:
            yield node, {**value, "padded": 0}


def _shift(target: torch.Tensor, ids: torch.Tensor) -> int | None:
    """Return how many positions after those of the input the targets are: 0 or 1."""
    if torch.equal(ids.reshape(-1), target):
        return 0
    if torch.equal(ids[:, 1:].reshape(-1), target):
        return 1
    if len(target) == ids.numel() and torch.equal(target.view(ids.shape)[:, :-1], ids[:, 1:]):
        return 1
    return None


def _trailing(ids: torch.Tensor, pad: int) -> int:
    """Return the number of padding tokens at the ends of rows, if there are other tokens too."""
    ends = (ids == pad).flip(1).cumprod(1)
    return int(ends.sum()) if bool((ids != pad).any()) else 0


class LossFormulas(GraphWatcher):
    """Looks at what the loss is made of."""

    def __init__(
        self, measurements: list[Measurement], probes: tuple[str, ...], *, of_script: bool = False
    ) -> None:
        super().__init__(measurements, probes)
        self._of_script = of_script  # its targets are not in the batch of the model
        self._batch: list[torch.Tensor] = []
        self._embedded: dict[int, int | None] = {}  # inputs, with the token of padding
        self._moved: list[torch.Tensor] = []  # embedded tokens that forward has made of its inputs

    def begin(self, model: Any) -> None:
        """Forget an earlier run."""
        super().begin(model)
        self._batch, self._moved = [], []
        self._embedded.clear()

    def enter(self, call: Call, batch: CallInputs) -> None:
        """Note the batch, and the inputs that are embedded."""
        super().enter(call, batch)
        if self._has_looked:
            return
        if call.parent is None and not self._batch:
            self._batch = [tensor for _, tensor, _ in argument_leaves(*batch)]
        elif TOKENS in self._probes and isinstance(call.module, nn.Embedding):
            with where_possible():
                self._note_embedded(call.module, batch)

    def _note_embedded(self, module: nn.Embedding, batch: CallInputs) -> None:
        """Note which input of the model an embedding gets, or a part of it.

        Inputs and targets may be two parts of one tensor, `ids[:, :-1]` and `ids[:, 1:]`.
        """
        given = batch[0][0]
        memory = given.untyped_storage().data_ptr()
        found = [
            number
            for number, tensor in enumerate(self._batch)
            if tensor.dim() == 2 and tensor.shape[1] >= _LEAST
            if tensor.untyped_storage().data_ptr() == memory
        ]
        if not found and given.dim() == 2 and given.shape[1] >= _LEAST:
            self._moved = [*self._moved, given][:_MOST]
            return
        same = [number for number in found if self._batch[number].data_ptr() == given.data_ptr()]
        for number in same or found:
            self._embedded[number] = module.padding_idx

    def _look(self, start: torch.Tensor, owners: NodeOwners, calls: dict[int, Call]) -> None:
        nodes = list(nodes_behind(start))
        moved, self._moved = self._moved, []
        found = {
            LOGITS: _limited(nodes),
            NOISE: _scales(start, nodes),
            SIGNS: _signs(start, None if self._of_script else self._batch),
            TOKENS: chain(
                _tokens(
                    nodes, [(self._batch[number], pad) for number, pad in self._embedded.items()]
                ),
                _next_tokens(nodes, moved),
            ),
        }
        for probe, rows in found.items():
            with where_possible():
                for _ in range(_MOST if probe in self._probes else 0):
                    node, value = next(rows)
                    name, index, (kind, place) = place_of(node, owners, calls)
                    value = {**value, "module": kind, "place": place}
                    self.measurements.append(Measurement(probe, name, index, value, None))
                    if value.get("shift"):
                        hint = {"what": "the targets are the next tokens", "place": place}
                        self.measurements.append(Measurement(CAUSAL, "", None, hint, None))
        self._batch = []


def observe(requests: Requests, spec: Spec) -> list[ProbeWatcher]:
    """Return the watcher of the graph; none if that would run a hook which unpacks a tensor."""
    if any(KINDS[hook.kind].pair for hook in spec.hooks):
        return []
    return [LossFormulas([], tuple(request.name for request in requests))]
