"""Check that hookcli can have written a report that was read from a file.

Types are checked while reading. This checks what the types leave open: the size of numbers, values
of any type, and references between rows. Formats and rules rely on it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import import_module
from types import FunctionType
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json

from hookcli.catalogue.probes import PROBES
from hookcli.report.measured.statistics import OperatorInput, Statistics, StepStatistics
from hookcli.report.report import LayerRow, Report
from hookcli.report.steps import TrainingInfo
from hookcli.report.training import FirstNonFinite, TrainingReport
from hookcli.report.values import LARGEST_SIZE, path_of
from hookcli.report.weights.weights_report import WeightsReport

# The measurements that no rule requires: those of a diff, and the memory of training.
_OTHERS = {
    "sketch": "compared:CallSketch",
    "sketch_parameter": "compared:SKETCH",
    "sketch_buffer": "compared:SKETCH",
    "sketch_gradient": "compared:SKETCH",
    "weights": "compared:WEIGHTS",
    "passes": "runs:CountedPasses",
    "backward_flops": "runs:COUNT_OR_NULL",
    "backward_flops_total": "runs:COUNT_OR_NULL",
    "saved_for_backward": "runs:COUNT_OR_NULL",
    "training_memory_estimate": "runs:COUNT_OR_NULL",
}
_TYPES: dict[str, str] = {
    **_OTHERS,
    **{name: kind for probe in PROBES.values() for name, kind in probe.results.items()},
}


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def check_statistics(*values: Any) -> None:
    """Check the statistics of tensors.

    Raises
    ------
    pydantic.ValidationError : hookcli does not write such statistics.
    """
    _check_each(Statistics, values)


def check_step(*values: Any) -> None:
    """Check the figures of parameters in a step; raises as above."""
    _check_each(StepStatistics, values)


def check_input(*values: Any) -> None:
    """Check the inputs of an operator; raises as above."""
    _check_each(OperatorInput, values)


def _check_each(kind: Any, values: tuple[Any, ...]) -> None:
    if len(values) == 1:  # the path of the error then begins in the value
        _adapter(kind).validate_python(values[0], strict=True)
    elif values:
        _adapter(tuple[kind, ...]).validate_python(values, strict=True)


@cache
def _named(reference: str) -> Any:
    """Return a type below `hookcli.report.measured`, or a function of target and value."""
    file, _, name = reference.partition(":")
    return getattr(import_module(f"hookcli.report.measured.{file}"), name)


def type_of(name: str, target: str, value: Any) -> Any:
    """Return the type that the value of a measurement must have; None if its name is unknown."""
    reference = _TYPES.get(name)
    if reference is None:
        return None
    kind = _named(reference)
    return kind(target, value) if isinstance(kind, FunctionType) else kind


def check_measured(name: str, target: str, value: Any) -> None:
    """Check the value of a measurement if its name is known; raises as above."""
    kind = type_of(name, target, value)
    if kind is not None:
        _adapter(kind).validate_python(value, strict=True)


# Digits become 0, and a plus sign is dropped: a plain search for bytes is ten times as fast as a
# regular expression.
_DIGITS = bytes.maketrans(b"123456789E", b"000000000e")
_EXPONENT = re.compile(rb"[:,\[\s]-?[0-9.]+[eE]\+?[0-9]{3}")
_PIECE, _OVERLAP = 1 << 20, 128  # bytes that are searched at once, and those searched twice
_MANY_DIGITS, _LARGE_EXPONENT = b"0" * 30, b"0e000"

_Checks = Iterator[tuple[str, Callable[..., None], tuple[Any, ...]]]


def check_valid(report: Report, text: str | bytes) -> None:
    """Check a report and the text that it was read from.

    Raises
    ------
    ValueError : hookcli does not write such a value; the message begins with its path.
    """
    _check_numbers(text.encode() if isinstance(text, str) else text)
    _check_report(report)


def check_valid_training(report: TrainingReport, text: str | bytes) -> None:
    """Check the report of a training script and the text that it was read from; raises as above."""
    _check_numbers(text.encode() if isinstance(text, str) else text)
    known: set[str] = set()
    for i, record in enumerate(report.records):
        try:
            _check_report(record)
            if record.training is None:
                raise ValueError("training: Field required")
            if record.training.record in known:
                raise ValueError(f"training.record: duplicate name '{record.training.record}'")
        except ValueError as error:
            raise ValueError(f"records.{i}.{error}") from None
        known.add(record.training.record)
    if report.first_non_finite is not None:
        _check_open(_of_first(report.first_non_finite))


def check_valid_weights(report: WeightsReport, text: str | bytes) -> None:
    """Check the report of weights and the text that it was read from; raises as above."""
    _check_numbers(text.encode() if isinstance(text, str) else text)
    _check_open(
        (f"tensors.{i}.stats", check_statistics, (row.stats,))
        for i, row in enumerate(report.tensors)
        if row.stats is not None
    )


def _check_open(checks: _Checks | tuple[()]) -> None:
    for path, check, values in checks:
        try:
            check(*values)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join([path, *path_of(first["loc"])])
            raise ValueError(f"{where}: {first['msg']}") from None


def _check_report(report: Report) -> None:
    """Check the open values, the order of the calls, and the steps of a training."""
    _check_open(() if _are_valid(report) else _open_values(report))
    check_order(report)
    _check_edges(report)
    if report.training is not None:
        _check_steps(report.training)


def _check_edges(report: Report) -> None:
    """Check that each edge leads from a call to a later one, or to the end of one around it."""
    if not report.edges:
        return
    ends = _ends(report.layers)
    for i, edge in enumerate(report.edges):
        source, target = edge.source, edge.target
        for name, order in (("source", source), ("target", target)):
            if order is not None and order not in ends:
                raise ValueError(f"edges.{i}.{name}: there is no call {order}")
        if source is None or source < target:
            continue
        if edge.end == "input":
            raise ValueError(f"edges.{i}.source: {source} must be less than {target}")
        if not ends[target][0] < ends[source][0] < ends[target][1]:
            raise ValueError(f"edges.{i}.source: {source} must be a call before or inside {target}")


def _ends(rows: Sequence[LayerRow]) -> dict[int, tuple[int, int]]:
    """Return numbers by call, such that a call is inside another one if the first is between."""
    inside: dict[int, list[int]] = {row.order: [] for row in rows}
    for row in rows:
        if row.parent is not None:
            inside[row.parent].append(row.order)
    starts: dict[int, int] = {}
    ends: dict[int, tuple[int, int]] = {}
    clock = 0
    todo = [row.order for row in reversed(rows) if row.parent is None]
    while todo:  # without recursion: calls may be nested deeply
        order = todo[-1]
        clock += 1
        if order in starts:
            ends[todo.pop()] = (starts[order], clock)
        else:
            starts[order] = clock
            todo += inside[order]
    return ends


def _check_steps(training: TrainingInfo) -> None:
    """Check that the steps are in order and within the total, as `hookcli run` writes them."""
    before = -1
    for i, row in enumerate(training.steps):
        if not before < row.step < training.total:
            raise ValueError(
                f"training.steps.{i}.step: {row.step} must be greater than {before} "
                f"and less than {training.total}"
            )
        before = row.step


def _check_numbers(text: bytes) -> None:
    """Check that every number is finite, and that no integer is too large, also in open values.

    Only texts with many digits in a row or a large exponent are searched.
    """
    if b"NaN" not in text and b"Infinity" not in text and not _has_large_numbers(text):
        return
    todo: list[tuple[str, Any]] = [("", from_json(text))]
    while todo:
        path, value = todo.pop()
        if isinstance(value, dict):
            todo += [(f"{path}.{key}", child) for key, child in value.items()]
        elif isinstance(value, list):
            todo += [(f"{path}.{i}", child) for i, child in enumerate(value)]
        elif isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{path[1:]}: Input should be a finite number")
        elif isinstance(value, int) and abs(value) > LARGEST_SIZE:
            raise ValueError(f"{path[1:]}: Input should be an integer of at most 30 digits")


def _has_large_numbers(text: bytes) -> bool:
    """Whether there may be a number with 30 digits or a large exponent. No copy is as long."""
    for start in range(0, len(text), _PIECE):
        piece = text[start : start + _PIECE + _OVERLAP].translate(_DIGITS, delete=b"+")
        if _MANY_DIGITS in piece:
            return True
        if _LARGE_EXPONENT in piece:  # a fingerprint may look like one: 07e12345ab
            around = text[max(0, start - _OVERLAP) : start + _PIECE + _OVERLAP]
            if _EXPONENT.search(around):
                return True
    return False


def _are_valid(report: Report) -> bool:
    """Whether all open values are valid, in one check of all statistics instead of millions."""
    rows, parameters = report.layers, report.parameters
    leaves = [leaf for row in rows for leaf in (*row.inputs, *row.outputs)]
    events = report.events if isinstance(report.events, tuple) else ()
    leaves += [leaf for event in events for leaf in event.values]
    leaves += () if report.error is None else report.error.inputs
    changes = [row for event in events for row in event.changes or ()]
    parts = [parameter.local for parameter in parameters if parameter.local is not None]
    statistics = [
        value
        for value in (
            *(one for row in rows for one in (row.output_grad, row.input_grad, row.stats)),
            *(one for leaf in leaves for one in (leaf.stats, leaf.grad)),
            *(one for parameter in parameters for one in (parameter.stats, parameter.grad)),
            *(one for part in parts for one in (part.stats, part.grad)),
            *(one for row in changes for one in (row.before, row.after)),
        )
        if value is not None
    ]
    try:
        check_statistics(*statistics)
        check_step(*(step for parameter in parameters for step in parameter.steps))
        for one in report.measurements:
            check_measured(one.probe, one.target, one.value)
    except ValidationError:
        return False
    return True


def _open_values(report: Report) -> _Checks:
    """Yield the path, the check and its arguments of each value of an open type."""
    for i, row in enumerate(report.layers):
        for name in ("output_grad", "input_grad", "stats"):
            yield from _statistics(f"layers.{i}.{name}", getattr(row, name))
        yield from _leaves(f"layers.{i}.inputs", row.inputs)
        yield from _leaves(f"layers.{i}.outputs", row.outputs)
    if report.error is not None:
        yield from _leaves("error.inputs", report.error.inputs)
    for i, parameter in enumerate(report.parameters):
        for name in ("stats", "grad"):
            yield from _statistics(f"parameters.{i}.{name}", getattr(parameter, name))
            if parameter.local is not None:
                figures = getattr(parameter.local, name)
                yield from _statistics(f"parameters.{i}.local.{name}", figures)
        for k, step in enumerate(parameter.steps):
            yield f"parameters.{i}.steps.{k}", check_step, (step,)
    for i, event in enumerate(report.events if isinstance(report.events, tuple) else ()):
        yield from _leaves(f"events.{i}.values", event.values)
        for k, change in enumerate(event.changes or ()):
            yield from _statistics(f"events.{i}.changes.{k}.before", change.before)
            yield from _statistics(f"events.{i}.changes.{k}.after", change.after)
    for i, measurement in enumerate(report.measurements):
        yield (
            f"measurements.{i}.value",
            check_measured,
            (measurement.probe, measurement.target, measurement.value),
        )


def _of_first(first: FirstNonFinite) -> _Checks:
    for i, value in enumerate(first.inputs):
        yield f"first_non_finite.inputs.{i}", check_input, (value,)
    yield from _leaves("first_non_finite.leaves", first.leaves)


def _leaves(path: str, leaves: Any) -> _Checks:
    for i, leaf in enumerate(leaves):
        if leaf.stats is not None or leaf.grad is not None:
            yield from _statistics(f"{path}.{i}.stats", leaf.stats)
            yield from _statistics(f"{path}.{i}.grad", leaf.grad)


def _statistics(path: str, value: Any) -> _Checks:
    if value is not None:
        yield path, check_statistics, (value,)


def check_order(report: Report) -> None:
    """Check that each call comes after its caller, as in every report that hookcli writes.

    Raises
    ------
    ValueError : a call does not, as in a report that was edited.
    """
    before = -1
    known: set[int] = set()
    for row in report.layers:
        if row.order <= before:
            raise ValueError(f"layers: order {row.order} must be greater than {before}")
        if row.parent is not None and row.parent not in known:
            raise ValueError(
                f"layers: the parent {row.parent} of call {row.order} must come before it"
            )
        known.add(row.order)
        before = row.order
