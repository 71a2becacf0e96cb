"""What the loss functions of a model get, if the model computes its loss itself.

A model that returns only a loss hides its predictions. The first argument of each loss function of
torch is taken for one, as it was before its dimensions were joined, swapped or cut for the loss.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from hookcli.spec.losses import TABLE

_LOSSES = {row.function for row in TABLE}
# Functions that keep the values, or one value of each: the tensor before them has all dimensions.
_KEEPS = {
    "__getitem__", "contiguous", "flatten", "float", "log_softmax", "movedim", "permute", "reshape",
    "sigmoid", "softmax", "squeeze", "swapaxes", "t", "to", "transpose", "unsqueeze", "view",
}  # fmt: skip


class LossInputs(TorchFunctionMode):
    """Notes the inputs of loss functions: `found` has them by a path that names the function."""

    def __init__(self) -> None:
        self.found: dict[str, torch.Tensor] = {}
        self._sources: dict[int, tuple[Any, Any]] = {}  # kept: ids are not reused

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run the function, and note what it gets if it is a loss."""
        options, name = kwargs or {}, str(getattr(func, "__name__", ""))
        if name in _LOSSES:
            given = args[0] if args else options.get("input")
            if isinstance(given, torch.Tensor) and given.dim():
                self._note(name, given)
        made = func(*args, **options)
        if name in _KEEPS and args:
            self._keep(args[0], made)
        return made

    def _keep(self, source: Any, made: Any) -> None:
        are_tensors = isinstance(source, torch.Tensor) and isinstance(made, torch.Tensor)
        if are_tensors and made is not source:
            self._sources[id(made)] = (made, source)

    def _note(self, name: str, tensor: torch.Tensor) -> None:
        while id(tensor) in self._sources and not _is_apart(*self._sources[id(tensor)]):
            tensor = self._sources[id(tensor)][1]
        if any(tensor is one for one in self.found.values()):
            return
        number = sum(path.startswith(f" (input of {name}") for path in self.found)
        self.found[f" (input of {name}{f', call {number}' if number else ''})"] = tensor


def _is_apart(made: torch.Tensor, source: torch.Tensor) -> bool:
    """Return whether a view has taken joined dimensions of its source apart."""
    sizes = [sum(size > 1 for size in one.shape) for one in (made, source)]
    return made.numel() == source.numel() and sizes[0] > sizes[1]
