"""Repeats a forward of a root, and its backward, operator by operator.

It changes buffers, runs the script's hooks, and takes the time of every operator twice: it is made
for a copy of the process.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import nn

from hookcli.engine.first_non_finite.birth import Birth
from hookcli.engine.first_non_finite.second_run import TensorNames, measurement_of
from hookcli.engine.first_non_finite.tracker import Tracker
from hookcli.engine.first_non_finite.triggers import Trigger
from hookcli.engine.neutrality.model_state import room_for_hooks
from hookcli.engine.probes.rerun import copied
from hookcli.hooks.context import Context
from hookcli.models.batch import Batch, forward_signature
from hookcli.models.converted.compiled import run_eagerly
from hookcli.models.eager import EagerModel
from hookcli.models.model import Call
from hookcli.models.nested import argument_leaves, leaves
from hookcli.operators.finite import counts_of, described, first_place
from hookcli.rules.first_operator import explanation, kind_of
from hookcli.torch_private import disable_current_modes
from hookcli.training.non_finite.forward_call import ForwardCall, NonFiniteValue
from hookcli.training.non_finite.plain_rows import facts_row
from hookcli.training.non_finite.script_loss import ScriptLossGraph, run_again

_MADE_UP = "the gradients of the outputs were not kept: the replay used random ones"
_CHANGED = "the batch was changed in place after the forward"


class Replay:
    """Repeats calls of one root; `loss` is the value that training had, None if not known."""

    def __init__(
        self, root: nn.Module, *, loss_is_finite: bool | None, graph: ScriptLossGraph | None = None
    ) -> None:
        self._root = root
        self._loss_is_finite = loss_is_finite
        self._graph = graph

    def find(self, calls: Sequence[ForwardCall]) -> NonFiniteValue | None:
        """Return where the first value that is not finite was made; None if all were finite."""
        outputs: list[list[torch.Tensor]] = []
        inner: NonFiniteValue | None = None
        for number, call in enumerate(calls):
            once = _Once(self._root, call, self._loss_is_finite)
            found = once.find()
            if found is not None:
                found.call = number
                return found
            outputs.append(once.outputs)
            inner = inner or once.inner
        found = None
        if self._graph is not None and self._loss_is_finite is False:
            found = run_again(self._graph, outputs)
        return found or inner


class _Once:
    """One call and its backward, under a mode that follows values."""

    def __init__(self, root: nn.Module, call: ForwardCall, loss_is_finite: bool | None) -> None:
        self._call = call
        self._finite = loss_is_finite
        self._model = EagerModel(root)
        self._context = Context(lambda _: None, _nothing, _nothing, _nothing, _nothing)
        self._batch = copied(Batch(call.args, call.kwargs))
        names = TensorNames(self._model, self._batch)
        self._tracker = Tracker(self._context, names.of)
        self._inner: Trigger | None = None  # the first value that is not finite inside the root
        self.outputs: list[torch.Tensor] = []
        self._notes = [_CHANGED] if call.is_changed() else []

    def find(self) -> NonFiniteValue | None:
        context = self._context
        self._call.generators.restore()
        with self._observed():
            context.phase = "forward"
            with torch.enable_grad(), self._call.autocast.again():
                output = self._model.call(self._batch.args, self._batch.kwargs)
            found = self._in_forward(output)
            if found is None and self._finite is not False:
                found = self._in_backward(output)
        return found

    @contextmanager
    def _observed(self) -> Iterator[None]:
        with ExitStack() as stack:
            stack.enter_context(run_eagerly())
            stack.enter_context(room_for_hooks())
            calls = self._context.calls
            stack.enter_context(self._model.observe(self._enter, self._leave, calls=calls))
            stack.enter_context(self._tracker)
            yield

    def _enter(self, call: Call, batch: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
        self._look(call, "input", argument_leaves(*batch))

    def _leave(self, call: Call, output: Any, error: BaseException | None) -> None:
        if error is None:
            self._look(call, "output", leaves(output))

    def _look(self, call: Call, at: str, tensors: list[tuple[str, torch.Tensor, bool]]) -> None:
        """Keep the first NaN or Inf at a call; -Inf alone is taken for a mask."""
        if self._inner is not None or self._context.phase != "forward":
            return
        for _, tensor, _ in tensors:
            counts = self._counts(tensor)
            if counts is not None and (counts["nans"] or counts["infs"]):
                self._inner = Trigger(at, call.name or "", self._births(tensor))
                return

    def _counts(self, tensor: torch.Tensor) -> dict[str, int] | None:
        with torch.no_grad(), disable_current_modes():
            return counts_of(tensor)

    def _births(self, tensor: torch.Tensor) -> tuple[Birth, ...]:
        with torch.no_grad(), disable_current_modes():
            return self._tracker.births_of(tensor)

    def _in_forward(self, output: Any) -> NonFiniteValue | None:
        """Return what made the outputs not finite, unless the loss of training was finite.

        If the loss was not, -Inf in outputs is named too if they have nothing worse.
        """
        if self._finite is True:
            return None
        births: list[Birth] = []
        masks: list[Birth] = []
        self.outputs = [tensor.detach() for _, tensor, _ in leaves(output)]
        for tensor in self.outputs:
            counts = self._counts(tensor)
            if counts is not None:
                worse = bool(counts["nans"] or counts["infs"])
                (births if worse else masks).extend(self._births(tensor))
        if self._finite is None:
            masks = []
        if births or masks:
            return self._found(Trigger("output", "", tuple(births or masks)))
        return None

    @property
    def inner(self) -> NonFiniteValue | None:
        """The first value inside the root that is not finite: the loss may use it as well."""
        if self._finite is not False or self._inner is None:
            return None
        return self._found(self._inner)

    def _in_backward(self, output: Any) -> NonFiniteValue | None:
        """Return what made gradients of parameters not finite."""
        graded = {
            i: tensor
            for i, (_, tensor, _) in enumerate(leaves(output))
            if tensor.requires_grad and (tensor.is_floating_point() or tensor.is_complex())
        }
        infos = [info for info in self._model.parameters() if info.tensor.requires_grad]
        if not graded or not infos:
            return None
        with disable_current_modes():
            start = self._start(graded)
        self._context.phase = "backward"
        gradients = torch.autograd.grad(
            list(graded.values()), [info.tensor for info in infos], start, allow_unused=True
        )
        births: list[Birth] = []
        target = ""
        for info, grad in zip(reversed(infos), reversed(gradients), strict=True):
            if grad is not None and self._counts(grad) is not None:
                births += self._births(grad)
                target = target or info.name
        if not births:
            return None
        return self._found(Trigger("parameter_gradient", target, tuple(births)))

    def _start(self, graded: dict[int, torch.Tensor]) -> list[torch.Tensor]:
        """Return the gradients of the outputs: those of training, or random ones.

        A single number among the outputs is taken for the loss, whose gradient is 1.
        """
        kept = self._call.gradients
        if kept and self._call.has_all_gradients and kept.keys() <= graded.keys():
            zeros = {i: torch.zeros_like(t) for i, t in graded.items() if i not in kept}
            return [kept[i].detach() if i in kept else zeros[i] for i in graded]
        scalars = [i for i, tensor in graded.items() if tensor.numel() == 1]
        if len(scalars) == 1:
            return [
                torch.ones_like(t) if i == scalars[0] else torch.zeros_like(t)
                for i, t in graded.items()
            ]
        self._notes.append(_MADE_UP)
        generator = torch.Generator().manual_seed(0)
        return [
            torch.randn(t.shape, generator=generator).to(t.device, t.dtype) / max(1, t.numel())
            for t in graded.values()
        ]

    def _found(self, trigger: Trigger) -> NonFiniteValue | None:
        row = measurement_of(trigger)
        if row is None:
            return None
        value = row.value
        if value["reason"] in {"input", "buffer", "parameter"}:
            return self._given(value)
        return NonFiniteValue(
            value["phase"] if value["phase"] in {"forward", "backward"} else None,
            row.target if value["layer"] is None else value["layer"],
            value["written"] or value["operator"],
            value["place"],
            tuple(value["inputs"]),
            explanation(value, inputs=False),
            "replay",
            tuple(self._notes),
            cause=value["reason"],
        )

    def _given(self, value: dict[str, Any]) -> NonFiniteValue:
        """Return what is found if a value was not computed, but is in the batch or the model."""
        kind, name = value["reason"], value["facts"]["name"]
        if kind == "input":
            tensors = {path: t for path, t, _ in argument_leaves(*self._arguments)}
            where = f"the argument {self._argument(name)} of the batch"
        else:
            infos = self._model.buffers() if kind == "buffer" else self._model.parameters()
            tensors = {info.name: info.tensor for info in infos}
            where = f"the {kind} {name}"
        tensor = tensors.get(name)
        with disable_current_modes():
            rows = () if tensor is None else (facts_row(described(name, tensor)),)
            at = "" if tensor is None else first_place(tensor)
        return NonFiniteValue(
            "forward",
            name.rpartition(".")[0] if kind != "input" else "",
            inputs=rows,
            reason=f"{where} contains {kind_of(value)}{at}",
            found_by="replay",
            notes=tuple(self._notes),
            cause=kind,
        )

    @property
    def _arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return self._batch.args, self._batch.kwargs

    def _argument(self, path: str) -> str:
        """Return the name of an argument of forward: x for [0]."""
        position = re.match(r"\[(\d+)\]", path)
        signature = forward_signature(self._model.root)
        if position is None or signature is None:
            return path.removeprefix(".")
        names = list(signature.parameters)
        number = int(position[1])
        return (names[number] if number < len(names) else position[0]) + path[position.end() :]


def output_of(model: EagerModel, call: ForwardCall) -> Any:
    """Return the output of a call that is repeated, from the generators' states of then."""
    batch = copied(Batch(call.args, call.kwargs))
    call.generators.restore()
    with run_eagerly(), room_for_hooks(), torch.enable_grad(), call.autocast.again():
        return model.call(batch.args, batch.kwargs)


def _nothing(*_: torch.Tensor) -> None:
    return None


_NAMES = ("phase", "layer", "operator", "place", "inputs", "reason", "found_by", "notes", "call",
          "cause")  # fmt: skip


def encode(found: NonFiniteValue | None) -> bytes:
    """Return what was found as JSON."""
    if found is None:
        return b"null"
    return json.dumps({name: getattr(found, name) for name in _NAMES}).encode()


def decode(text: bytes) -> NonFiniteValue | None:
    """Return what `encode` wrote."""
    value = json.loads(text)
    if value is None:
        return None
    value["inputs"], value["notes"] = tuple(value["inputs"]), tuple(value["notes"])
    return NonFiniteValue(**value)


def unshare(root: nn.Module) -> None:
    """Give parameters and buffers memory of their own, where processes share it."""
    for tensor in (*root.parameters(), *root.buffers()):
        if tensor.is_shared():  # type: ignore[no-untyped-call]
            tensor.data = tensor.data.clone()
