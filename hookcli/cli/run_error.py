"""The three lines for the error of a partial report."""

from __future__ import annotations

from hookcli.errors import ModelError
from hookcli.formats.parts.summary import tree
from hookcli.formats.parts.text import leaves_full
from hookcli.inputs.refused_input import RefusedInput
from hookcli.known_failures import hint_for
from hookcli.report.report import ErrorInfo, LayerRow, Report
from hookcli.report.values import Shape
from hookcli.worker.crash import crash_hint

_FAKE_LIMITS = {
    "DataDependentOutputException",
    "DynamicOutputShapeException",
    "UnsupportedOperatorException",
    "UnsupportedFakeTensorException",
    "FakeDoubtError",
}
_OF_SHAPES = {"RuntimeError", "ValueError", "AssertionError"}  # that torch raises for them
_CRASHES = {"died", "timeout", "memory"}


def _row(report: Report, error: ErrorInfo) -> LayerRow | None:
    return next(
        (
            row
            for row in report.layers
            if row.name == error.layer and row.call == error.call and error.layer is not None
        ),
        None,
    )


def _own_parameters(report: Report, layer: str) -> dict[str, Shape]:
    """Return the shapes of the layer's own parameters."""
    prefix = f"{layer}." if layer else ""
    return {
        name.removeprefix(prefix): parameter.shape
        for parameter in report.parameters
        for name in (parameter.name, *parameter.shared_with)
        if name.startswith(prefix) and "." not in name[len(prefix) :]
    }


def _weights(report: Report, layer: str) -> str:
    """Return the shapes of the layer's own parameters: "weight [10, 4], bias [10]"."""
    own = list(_own_parameters(report, layer).items())
    return ", ".join(f"{name} [{', '.join(map(str, shape))}]" for name, shape in own[:3])


def _refused_input(report: Report, error: ErrorInfo) -> RefusedInput | None:
    """Return the call of the layer that raised; None if that is the model itself."""
    if not error.layer or report.inputs is None:
        return None
    root = next((row for row in report.layers if row.parent is None), None)
    args = report.inputs.args
    return RefusedInput(
        layer=error.layer,
        weight=_own_parameters(report, error.layer).get("weight"),
        inputs=error.inputs,
        batch=() if root is None else root.inputs,
        origin=report.inputs.origin,
        is_one=len(args) == 1 and "shape" in args[0] and not report.inputs.kwargs,
    )


def run_error(report: Report) -> ModelError:
    """Return the error of a failed run: what failed, in which layer, with which inputs."""
    error = report.error
    if error is None:
        raise ValueError("the report has no error")
    where = f"in {error.phase}"
    if error.phase == "loss" and report.run.loss not in {None, "probe"}:
        where = f"in loss {report.run.loss}"
    if error.layer is not None:
        row = _row(report, error)
        name = f"'{error.layer}'" if error.layer else "the model itself"
        kind = f" ({row.type})" if row is not None else ""
        call = f", call {error.call}" if error.call else ""
        where = f"in {error.phase}, in {name}{kind}{call}"
    place = error.place or report.model.place or report.model.source
    if error.type in _CRASHES:
        return ModelError(f"{error.message}, {where}", place=place, hint=crash_hint(error.type))
    what = f"{where}: " if error.type == ModelError.__name__ else f"{error.type} {where}: "
    return ModelError(
        f"{what}{' '.join(error.message.split())}",
        place=place,
        hint=_hint(report, error),
    )


_CHANGED = "modified by an inplace operation"  # in the message of torch


def _hint(report: Report, error: ErrorInfo) -> str:
    if error.hook is not None:
        return error.hook.advice
    if report.run.tensors == "fake" and error.type in _FAKE_LIMITS:
        return "remove `--tensors fake`: this model needs the values of its tensors"
    if error.hint is not None:
        return error.hint
    if error.phase == "loss":
        return _loss_hint(report)
    if error.phase == "backward" and _CHANGED in error.message:
        return (
            "look for in-place changes of this layer's inputs or outputs, which its backward "
            "needs: +=, mul_(), inplace=True"
        )
    if error.phase == "package" and error.type == ModelError.__name__:
        return (
            "remove what pickle refuses (a lambda, a local class, an open file), or define "
            "__getstate__ in its class"
        )
    known = hint_for(f"{error.type}: {error.message}")
    if known is not None:
        return known
    if not error.inputs or error.phase != "forward":
        return "run with `-v` for the traceback"
    if refused := _refused_input(report, error):
        hint = refused.hint(error.message)
        if hint is not None:
            return hint
    inputs = leaves_full(error.inputs, inputs=True)
    parameters = _weights(report, error.layer) if error.layer is not None else ""
    against = f" with the parameters {parameters}" if parameters else ""
    origin = report.inputs.origin if report.inputs is not None else "given"
    if not parameters or error.type not in _OF_SHAPES:
        return (
            f"look at this line with its inputs {inputs}, or replace the batch, which was "
            f"{origin}, with `--input`"
        )
    return (
        f"compare the layer's inputs {inputs}{against}, or replace the batch, which was {origin}, "
        "with `--input`"
    )


def _loss_hint(report: Report) -> str:
    """Return the hint for a loss that raised: what it got."""
    row = next((row for row in report.layers if row.parent is None), None)
    output = leaves_full(row.outputs, inputs=False) if row is not None else "of the model"
    target = None if report.inputs is None else report.inputs.target
    got = "" if target is None else f" and the target {tree(target)}"
    return f"compare the output {output}{got}, or pass another `--target` or `--loss`"
