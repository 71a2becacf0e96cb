"""What a hook changed: the tensors of its value before and after it ran."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import torch

from hookcli.hooks.context import Context
from hookcli.hooks.values import PathTensors
from hookcli.models.bits import same_bits
from hookcli.models.nested import dtype_name, shape_of
from hookcli.report.recording import ChangeNote, Sort
from hookcli.torch_private import disable_current_modes

_Pair: TypeAlias = tuple[str, torch.Tensor | None, torch.Tensor | None]

_PLAIN = {torch.Tensor, torch.nn.Parameter}


def compare(
    old: PathTensors, new: PathTensors, context: Context
) -> tuple[float | None, list[ChangeNote]]:
    """Return the 2-norm of the change over all tensors, and a note of each changed tensor.

    The norm is None if it is not known: without values, or if shapes or tensors differ. A note
    needs a difference that is known: of values, of the shape or of the dtype.
    """
    total: float | None = 0.0
    changes: list[ChangeNote] = []
    for path, before, after in _pairs(old, new):
        if before is after:
            continue
        size = None if before is None or after is None else _difference(before, after, context)
        total = None if total is None or size is None else total + size * size
        sorts = _sort(before), _sort(after)
        if size == 0 and sorts[0] == sorts[1]:
            continue
        figures = tuple(None if t is None else context.statistics(t) for t in (before, after))
        if sorts[0] != sorts[1] or figures != (None, None):
            changes.append(ChangeNote(path, figures[0], figures[1], *sorts))
    return (None if total is None else float(total**0.5)), changes


def _pairs(old: PathTensors, new: PathTensors) -> Iterator[_Pair]:
    """Yield each path with its tensors before and after, None if there is none.

    Tensors are paired by path, or in their order if the new value has another structure: a hook
    may return a tensor instead of a tuple of one.
    """
    before, after = dict(old), dict(new)
    unique = len(before) == len(old) and len(after) == len(new)
    if len(old) == len(new) and not (unique and before.keys() & after.keys()):
        for (_, tensor), (path, other) in zip(old, new, strict=True):
            yield path, tensor, other
        return
    for path in dict.fromkeys((*before, *after)):
        yield path, before.get(path), after.get(path)


def _difference(before: torch.Tensor, after: torch.Tensor, context: Context) -> float | None:
    """Return the 2-norm of the difference; 0 if both are equal bit by bit, even if NaN or inf."""
    size = context.difference(before, after)
    if size is None or size == size or not {type(before), type(after)} <= _PLAIN:
        return size
    with torch.no_grad(), disable_current_modes():
        return 0.0 if same_bits(before.detach(), after.detach()) else size


def _sort(tensor: torch.Tensor | None) -> Sort | None:
    return None if tensor is None else (shape_of(tensor), dtype_name(tensor.dtype))
