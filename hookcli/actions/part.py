"""An action on a part of each tensor: the rest keeps its values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import torch

from hookcli.actions.event import Event
from hookcli.actions.tools import Tools
from hookcli.errors import RequestError
from hookcli.models.nested import map_tensors, shape_of
from hookcli.spec.part import TensorPart

Do: TypeAlias = Callable[[Event], Any]


def on_part(action: Do, part: TensorPart, tools: Tools) -> Do:
    """Return an action that keeps what it changes outside of `part` as it was.

    The action gets whole tensors, so that noise, for one, is the same as without a part. Gradients
    flow through the kept values as before, and through the part as the action lets them.

    Raises
    ------
    RequestError : when it runs, a tensor that it changes has no such part.
    """

    def changed(event: Event) -> Any:
        new = action(event)
        if new is None:
            return None
        before = iter(_tensors(event.value))

        def merged(tensor: torch.Tensor) -> torch.Tensor:
            old = next(before)
            return old if tensor is old else _merge(old, tensor, part, event.target, tools.place)

        return map_tensors(new, merged)

    return changed


def _merge(
    old: torch.Tensor, new: torch.Tensor, part: TensorPart, target: str, place: str
) -> torch.Tensor:
    if old.layout is not torch.strided or old.is_nested:
        raise _no_part(target, old, part, "it is not a dense tensor", place)
    try:
        indices = part.indices(tuple(old.shape))
        kept = old.clone()
        kept[indices] = new[indices]
    except (IndexError, ValueError) as error:
        raise _no_part(target, old, part, str(error), place) from None
    return kept


def _no_part(
    target: str, tensor: torch.Tensor, part: TensorPart, why: str, place: str
) -> RequestError:
    shape = list(shape_of(tensor))
    return RequestError(
        f"{target} of shape {shape} has no {part}: {' '.join(why.split())}",
        place=place,
        hint="run `hookcli trace` with `do: record` to see the shapes",
    )


def _tensors(value: Any) -> list[torch.Tensor]:
    tensors: list[torch.Tensor] = []
    map_tensors(value, lambda t: tensors.append(t) or t)  # type: ignore[func-returns-value]
    return tensors
