"""Whether a matrix of the model mixes dimension 0 of its inputs, as the adjacency of a graph does.

Dimension 0 then counts nodes, not samples, although the model may run with any number of them.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

import torch

from hookcli.models import module_tree
from hookcli.models.nested import leaves
from hookcli.torch_private import TorchDispatchMode

# The operators that multiply by a matrix from the left, and the position of that matrix.
_PRODUCTS = {"mm": 0, "bmm": 0, "addmm": 1, "baddbmm": 1, "_sparse_mm": 0, "matmul": 0}


class MatrixProducts(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Sees the square matrices that multiply values of the inputs from the left.

    `sizes` are those of matrices which only parameters and buffers determine.
    """

    def __init__(self, root: torch.nn.Module) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.sizes: set[int] = set()
        self._kept: list[Any] = []  # memory that is not reused while the model runs
        self._memory: set[int] = set()
        self._made: dict[int, weakref.ref[torch.Tensor]] = {}
        for module, _ in module_tree.modules(root):
            for tensor in (*module._parameters.values(), *module._buffers.values()):
                if tensor is not None:
                    self._note(tensor)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run the operator; note its result if all tensors that it gets are the model's own."""
        kwargs = kwargs or {}
        given = list(_tensors((args, kwargs)))
        own = [self._is_own(tensor) for tensor in given]
        left = _PRODUCTS.get(str(func.__name__).partition(".")[0])
        if left is not None and not all(own):
            self._multiply(args[left])
        result = func(*args, **kwargs)
        if given and all(own):
            for tensor in _tensors(result):
                self._note(tensor)
        return result

    def _multiply(self, matrix: torch.Tensor) -> None:
        rows, columns = matrix.shape[-2:]
        if rows == columns and self._is_own(matrix):
            self.sizes.add(rows)

    def _is_own(self, tensor: torch.Tensor) -> bool:
        made = self._made.get(id(tensor))
        return (made is not None and made() is tensor) or _memory_of(tensor) in self._memory

    def _note(self, tensor: torch.Tensor) -> None:
        """Note a tensor as the model's own; and its memory, which its views share."""
        self._made[id(tensor)] = weakref.ref(tensor)
        memory = _memory_of(tensor)
        if memory is not None:
            self._kept.append(tensor.untyped_storage())
            self._memory.add(memory)


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    for _, tensor, _ in leaves(value):
        yield tensor


def _memory_of(tensor: torch.Tensor) -> int | None:
    try:
        address: int = tensor.untyped_storage()._cdata
    except (RuntimeError, NotImplementedError):  # a tensor without a storage, as a sparse one
        return None
    return address
