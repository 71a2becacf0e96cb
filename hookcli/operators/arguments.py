"""The arguments of an operator: those that it writes to, and those that reach its result."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import torch

from hookcli.operators.finite import is_readable
from hookcli.operators.names import packet_name
from hookcli.operators.reasons import Operation
from hookcli.torch_private import disable_current_modes

UNINITIALIZED = {
    "empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided",
    "resize_",
}  # fmt: skip
LIFTS = {"lift_fresh", "lift_fresh_copy"}  # of Python's numbers and of foreign memory
_BATCH_NORM = re.compile(r"_?(native_|cudnn_|miopen_)?batch_norm\w*")
_WRITES_ALL = {"fill_", "zero_", "copy_", "normal_", "uniform_", "exponential_", "random_"}


def inputs(operation: Operation) -> Iterator[tuple[str, Any]]:
    """Yield the tensors and numbers among the arguments, with their names."""
    overwritten = packet_name(operation.func) in _WRITES_ALL
    for name, value in operation.arguments.items():
        if overwritten and name == "self":
            continue
        if isinstance(value, torch.Tensor) or type(value) in {int, float}:
            yield str(name), value
        elif isinstance(value, list | tuple):
            for i, item in enumerate(value):
                if isinstance(item, torch.Tensor) or type(item) is float:
                    yield f"{name}[{i}]", item


def contributes(operation: Operation, value: torch.Tensor) -> bool:
    """Whether values of this input that are not finite reach those of the output.

    False only if that is certain: an elementwise operator, one that selects others, or a batch norm
    in training, which writes running statistics, but does not read them.
    """
    if _BATCH_NORM.fullmatch(operation.name) and operation.get("training", "train"):
        statistics = (operation.get("running_mean"), operation.get("running_var"))
        if any(value is one for one in statistics):
            return False
    if not is_readable(value) or value.is_complex() or operation.output.is_complex():
        return True
    name = operation.name
    if name == "where" and value is not operation.get("condition"):
        condition = operation.get("condition")
        chosen = condition if value is operation.get("self") else ~condition
        at = operation.at_bad(chosen)
        bad = operation.at_bad(value)
        return at is None or bad is None or bool((at & ~torch.isfinite(bad)).any())
    if name == "masked_fill" and value is operation.get("self"):
        kept, bad = operation.at_bad(~operation.get("mask")), operation.at_bad(value)
        return kept is None or bad is None or bool((kept & ~torch.isfinite(bad)).any())
    if torch.Tag.pointwise not in getattr(operation.func, "tags", ()):
        return True
    bad = operation.at_bad(value)
    return bad is None or bool((~torch.isfinite(bad)).any())


def is_infinite(value: Any) -> bool:
    """Whether an argument is a number that is not finite."""
    return isinstance(value, float) and not math.isfinite(value)


def _mutated(func: Any) -> list[tuple[int, str]]:
    """Return the positions and names of the arguments that an operator writes to."""
    schema = getattr(func, "_schema", None)
    if schema is None or not schema.is_mutable:
        return []
    return [
        (i, argument.name)
        for i, argument in enumerate(schema.arguments)
        if argument.alias_info is not None and argument.alias_info.is_write
    ]


def before(
    func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments, with copies of those that the operator writes to."""
    changed = _mutated(func)
    if not changed or packet_name(func) in _WRITES_ALL:
        return args, kwargs
    positions, names = {i for i, _ in changed}, {name for _, name in changed}
    with torch.no_grad(), disable_current_modes():
        return (
            tuple(_copied(a) if i in positions else a for i, a in enumerate(args)),
            {name: _copied(v) if name in names else v for name, v in kwargs.items()},
        )


def _copied(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_copied(item) for item in value]
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def written_to(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[torch.Tensor]:
    """Return the arguments that an operator writes to."""
    found: list[torch.Tensor] = []
    for i, name in _mutated(func):
        value = args[i] if i < len(args) else kwargs.get(name)
        found += [t for t in (value if isinstance(value, list | tuple) else [value])
                  if isinstance(t, torch.Tensor)]  # fmt: skip
    return found
