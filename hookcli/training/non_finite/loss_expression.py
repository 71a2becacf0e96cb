"""Finds the part of a loss, in the source of the script, whose value or derivative is not finite.

Autograd's graph has no operators on values without a gradient: the log of a detached value, a sum
of weights, a division by a count. And after a backward pass it is freed. The source of the line
that computes the loss has all of it.
"""

from __future__ import annotations

import ast
import math
from types import FrameType
from typing import Any

import torch

from hookcli.operators.arguments import inputs
from hookcli.operators.finite import counts_of, described, first_place
from hookcli.operators.gradients import why_in_backward
from hookcli.operators.names import written
from hookcli.operators.nodes import node_name, operator_of
from hookcli.operators.reasons import why
from hookcli.refusals import raise_if_external
from hookcli.rules.first_operator import explanation
from hookcli.torch_private import disable_current_modes
from hookcli.training.non_finite.forward_call import NonFiniteValue
from hookcli.training.non_finite.plain_rows import facts_row
from hookcli.training.non_finite.pure_evaluation import (
    BadPart,
    FirstOperation,
    FrameScope,
    PureEvaluation,
)
from hookcli.training.source.frame_source import body_of, loss_expression

_MOST_ASSIGNMENTS = 8  # that are followed from one name to another
_MOST_TEXT = 60  # characters of an expression in a sentence
_ALIKE = 1e-4  # of a loss that was computed again


def bad_part(frame: FrameType) -> NonFiniteValue | None:
    """Return the first part of the loss whose value is not finite though its inputs are.

    `frame` is that of the line that calls backward. None if no such part is found, as where the
    outputs of the model are not finite.
    """
    node = loss_expression(frame)
    if node is None or body_of(frame) is None:
        return None
    evaluation = PureEvaluation()
    with torch.no_grad(), disable_current_modes():
        scope = FrameScope(frame, evaluation)
        bad = evaluation.of(node, scope, frame.f_lineno + 1, _MOST_ASSIGNMENTS).bad
        return None if bad is None else _found(bad)


def bad_derivative(
    frame: FrameType, line: int, loss: float, outputs: dict[int, list[Any]] | None = None
) -> NonFiniteValue | None:
    """Return the first part of a finite loss whose derivative is not finite.

    `frame` is that of the function whose `line` has called backward, and still has the variables of
    the loss. The loss is computed again from the outputs of the model, and its gradient from these:
    None if its value is not the same, or if its gradient is finite. `outputs` are those of models
    that the line itself calls: see `PureEvaluation`.
    """
    node = loss_expression(frame, line)
    if node is None or body_of(frame) is None:
        return None
    evaluation = PureEvaluation(graph=True, outputs=outputs or {})
    with torch.enable_grad(), disable_current_modes():
        scope = FrameScope(frame, evaluation)
        value = evaluation.of(node, scope, line + 1, _MOST_ASSIGNMENTS).value
        if not isinstance(value, torch.Tensor) or value.numel() != 1 or not value.requires_grad:
            return None
        if not math.isclose(float(value.detach()), loss, rel_tol=_ALIKE, abs_tol=_ALIKE):
            return None
        mode = FirstOperation()
        starts = [leaf for _, leaf in evaluation.inputs.values()]
        try:
            with mode:
                torch.autograd.grad(value, starts, allow_unused=True)
        except RuntimeError as error:
            raise_if_external(error)
            return None
        if mode.first is None or mode.node is None:
            return None
        made = evaluation.made_by(mode.node)
        if made is None:
            return None
        return _found(BadPart(made.node, made.file, mode.first, mode.node))


def _found(bad: BadPart) -> NonFiniteValue:
    place = f"{bad.file}:{getattr(bad.node, 'lineno', 0)}"
    if bad.operation is None:
        return _given(bad, place)
    operation, node = bad.operation, bad.backward
    found = why(operation)
    if node is not None:
        found = why_in_backward(node_name(node), found, from_inf=False)
    rows = tuple(facts_row(described(name, value)) for name, value in inputs(operation))
    name = written(operation.func) if node is None else _forward(node)
    row: dict[str, Any] = {
        "written": name,
        "reason": None if found is None else found[0],
        "facts": facts_row({} if found is None else found[1]),
        "inputs": rows,
        "node": None if node is None else node_name(node),
        "from": None,
        "becomes_nan": None,
        **(counts_of(operation.output) or {}),
    }
    text = " ".join(ast.unparse(bad.node).split())
    reason = explanation(row, inputs=False)
    if len(text) <= _MOST_TEXT:
        reason += f", in `{text}`"
    return NonFiniteValue(
        phase="loss" if node is None else "backward",
        operator=name,
        place=place,
        inputs=rows,
        reason=reason,
        found_by="source",
        cause=row["reason"],
    )


def _given(bad: BadPart, place: str) -> NonFiniteValue:
    """Return a variable of a loop that is not finite."""
    value = torch.zeros(()) if bad.value is None else bad.value
    counts = counts_of(value) or {}
    kind = "NaN" if counts.get("nans") else "Inf" if counts.get("infs") else "-Inf"
    return NonFiniteValue(
        "loss",
        place=place,
        inputs=(facts_row(described(bad.name or "", value)),),
        reason=f"`{bad.name}` of the loop contains {kind}{first_place(value)}",
        found_by="source",
        cause="input",
    )


def _forward(node: Any) -> str:
    """Return the function that a node of autograd is the backward of, as users write it."""
    name = operator_of(node)
    return f"torch.{name}" if hasattr(torch, name) else name
