"""Check a report's open values against their types: statistics, and measurements by their names.

The JSON Schema leaves them open. The keys that hookcli reads are checked strictly here; other keys
are ignored.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import FunctionType
from typing import Any

from pydantic import TypeAdapter

from hookcli.catalogue.probes import PROBES
from hookcli.report.measured.statistics import OperatorInput, Statistics, StepStatistics

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
