"""Finds where the first value of a training that is not finite was made."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import torch
from torch import nn

from hookcli.models import module_tree, places
from hookcli.operators.finite import counts_of, described
from hookcli.text import counted, join_names
from hookcli.training.non_finite.forward_call import ForwardCall, NonFiniteValue
from hookcli.training.non_finite.isolated import obstacle, run_isolated
from hookcli.training.non_finite.loss_expression import bad_derivative
from hookcli.training.non_finite.plain_rows import facts_row
from hookcli.training.non_finite.script_loss import ScriptLossGraph
from hookcli.training.norms import local
from hookcli.training.script.own_imports import own_imports
from hookcli.training.source.frame_source import user_frame

PATIENCE = 60.0  # seconds for a replay, while training waits


def find(
    root: nn.Module,
    calls: Sequence[ForwardCall],
    *,
    what: Literal["loss", "gradient"],
    loss: float | None,
    gradients: Mapping[str, str],
    of_loss: ScriptLossGraph | None = None,
    may_change: bool = False,
    patience: float = PATIENCE,
) -> NonFiniteValue:
    """Return where the first value that is not finite was made, and why.

    It is called before the optimizer's step, so that the weights are those of the forward. `calls`
    are the forwards since the previous step. `gradients` are the statuses of the parameters'
    gradients by name. `of_loss` is the graph of the loss, if that was not finite. The training
    does not change, unless it `may_change` because it ends now: then a root that is not on the CPU
    is replayed in this process.
    """
    found = _parameter(root)
    if found is not None:
        return found
    if of_loss is not None and of_loss.found is not None:
        return of_loss.found
    finite = None if loss is None else math.isfinite(loss)
    given = _given_gradient(calls) if finite else None
    if given is not None:
        derivative = None if loss is None else _derivative(root, calls, loss, patience)
        return given if derivative is None else replace(derivative, call=given.call)
    why = obstacle_of(root, calls)
    note = None if why is None else f"the step was not replayed: {why}"
    if why is None:
        result = run_isolated(
            lambda: _replayed(root, calls, of_loss, finite=finite, isolated=True),
            patience=patience,
        )
        note = "the replay of the step failed, or took too long" if result is None else None
    elif calls and may_change and may_run_here(root):
        result = _replayed(root, calls, of_loss, finite=finite, isolated=False)
    else:
        result = None
    if result is not None:
        with own_imports():
            from hookcli.training.non_finite.replay import decode

        found = decode(result)
        if found is not None:
            return found
        note = None
    return _from_gradients(
        root, calls, what, finite, gradients, of_loss, note=note, replayed=result is not None
    )


def _derivative(
    root: nn.Module, calls: Sequence[ForwardCall], loss: float, patience: float
) -> NonFiniteValue | None:
    """Return the part of the loss whose derivative is not finite, if the script shows it.

    A loss that is computed of calls of the root in one expression needs their outputs again.
    """
    frame = user_frame(sys._getframe(1))
    place = next((call.backward_place for call in calls if call.backward_place), "")
    file, _, line = place.rpartition(":")
    if frame is None or not line.isdigit() or places.show(frame.f_code.co_filename) != file:
        return None
    found = bad_derivative(frame, int(line), loss)
    if found is not None or obstacle_of(root, calls) is not None:
        return found

    def again() -> bytes:
        with own_imports():
            from hookcli.models.eager import EagerModel
            from hookcli.training.non_finite.replay import encode, output_of, unshare

        unshare(root)
        model = EagerModel(root)
        outputs = {id(root): [output_of(model, call) for call in calls]}
        return encode(bad_derivative(frame, int(line), loss, outputs))

    result = run_isolated(again, patience=patience)
    if result is None:
        return None
    with own_imports():
        from hookcli.training.non_finite.replay import decode

    return decode(result)


def _replayed(
    root: nn.Module,
    calls: Sequence[ForwardCall],
    graph: ScriptLossGraph | None,
    *,
    finite: bool | None,
    isolated: bool,
) -> bytes:
    with own_imports():
        from hookcli.training.non_finite.replay import Replay, encode, unshare

    if isolated:
        unshare(root)
    return encode(Replay(root, loss_is_finite=finite, graph=graph).find(calls))


def _parameter(root: nn.Module) -> NonFiniteValue | None:
    """Return the first trainable parameter that contains NaN or Inf before the step."""
    bad: list[tuple[str, torch.Tensor]] = []
    for tensor, names, _ in module_tree.tensors(root, "_parameters"):
        own = local(tensor.detach())  # reading all of a sharded one would wait for other ranks
        if tensor.requires_grad and counts_of(own) is not None:
            bad.append((names[0], own))
    if not bad:
        return None
    name, tensor = bad[0]
    counts = counts_of(tensor) or {}
    kind = "NaN" if counts["nans"] else "Inf"
    others = len(bad) - 1
    also = f", and {counted(others, 'other parameter')} too" if others else ""
    return NonFiniteValue(
        layer=name.rpartition(".")[0],
        inputs=(facts_row(described(name, tensor)),),
        reason=f"the parameter {name} contained {kind} before the step{also}: the previous update "
        "or the loaded weights made it",
        found_by="parameters",
    )


def _given_gradient(calls: Sequence[ForwardCall]) -> NonFiniteValue | None:
    """Return the first gradient that the script's loss gave to an output and that is not finite."""
    for number, call in enumerate(calls):
        for gradient in call.gradients.values():
            counts = counts_of(gradient)
            if counts is None:
                continue
            kind = "NaN" if counts["nans"] else "Inf"
            return NonFiniteValue(
                "backward",
                place=call.backward_place,
                inputs=(facts_row(described("gradient of the output", gradient)),),
                reason=f"the gradient that the script's loss gives to the output contains {kind}",
                found_by="gradients",
                call=number,
            )
    return None


def _is_one_of_many() -> bool:
    distributed = torch.distributed
    together = distributed.is_available() and distributed.is_initialized()
    return together and distributed.get_world_size() > 1


def _tensors(root: nn.Module, calls: Sequence[ForwardCall]) -> list[torch.Tensor]:
    values = [value for call in calls for value in (*call.args, *call.kwargs.values())]
    given = [value for value in values if isinstance(value, torch.Tensor)]
    return [*root.parameters(), *root.buffers(), *given]


def obstacle_of(root: nn.Module, calls: Sequence[ForwardCall]) -> str | None:
    """Return why the forward cannot be repeated in a copy of the process; None if it can."""
    if not calls:
        return "no forward of the root was seen"
    for device in sorted({tensor.device.type for tensor in _tensors(root, calls)} - {"cpu"}):
        return f"a copy of the process cannot use {device}"
    return _sharded(root) or obstacle()


def _sharded(root: nn.Module) -> str | None:
    """Return why the forward needs the other ranks; None if it does not."""
    distributed: Any = sys.modules.get("torch.distributed.tensor")
    kind = getattr(distributed, "DTensor", None)
    if kind is not None and any(isinstance(p, kind) for p in root.parameters()):
        return "its parameters are shared among the ranks"
    if any(type(module).__name__ == "FullyShardedDataParallel" for module in root.modules()):
        return "its parameters are shared among the ranks"
    return None


def may_run_here(root: nn.Module) -> bool:
    """Whether the forward may run in this process: not if it may wait for other ranks."""
    distributed = torch.distributed
    together = distributed.is_available() and distributed.is_initialized()
    return _sharded(root) is None and not together


def _from_gradients(
    root: nn.Module,
    calls: Sequence[ForwardCall],
    what: str,
    finite: bool | None,
    gradients: Mapping[str, str],
    of_loss: ScriptLossGraph | None,
    *,
    note: str | None,
    replayed: bool,
) -> NonFiniteValue:
    """Return what the gradients of the parameters tell; backward computes the last ones first."""
    place = next((call.backward_place for call in calls if call.backward_place), None)
    notes = () if note is None else (note,)
    if replayed and what == "loss":
        return _of_script(of_loss, place)
    if replayed and finite is not None:
        reason = "a replay of the step was finite: "
        if _is_one_of_many():
            reason += "the step of another rank was not, or "
        known = all(call.gradients and call.has_all_gradients for call in calls)
        reason += (
            "its forward or backward differs each time"
            if known
            else "the gradient that the script's loss gives to the outputs is not finite, or large"
        )
        return NonFiniteValue("backward", place=place, reason=reason, found_by="replay")
    bad = [name for name, status in gradients.items() if status == "non_finite"]
    if not bad:
        return NonFiniteValue(place=place, reason=None, notes=notes)
    order = list(gradients)
    last = bad[-1]
    after = [name for name in order[order.index(last) + 1 :] if gradients[name] in {"ok", "zero"}]
    reason = f"the gradient of {last} is not finite"
    if after:
        reason += f", but those of {counted(len(after), 'later parameter')} are"
    phase: Literal["backward"] | None = "backward" if finite else None
    layer = last.rpartition(".")[0]
    return NonFiniteValue(phase, layer, None, place, (), reason, "gradients", notes)


def _of_script(graph: ScriptLossGraph | None, place: str | None) -> NonFiniteValue:
    """Return what is known of a loss that is not finite although the outputs are."""
    if graph is not None and graph.variable is not None:
        return graph.variable
    reason = "the outputs of the model are finite; what the script computes of them is not"
    if graph is not None and graph.operators:
        reason += f", by {join_names(graph.operators)}"
    place = place if graph is None else graph.place or place
    return NonFiniteValue("loss", None, None, place, (), reason, "replay")
