"""The interface of a loss: it runs the model's forward, and computes a scalar from the output."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeAlias

import torch

from hookcli.errors import ModelError
from hookcli.models.batch import Batch
from hookcli.models.model import Model
from hookcli.models.nested import dtype_name, leaves, shape_of
from hookcli.report.values import Tree

Loss: TypeAlias = Callable[..., torch.Tensor]  # a function that the user passed
Notes: TypeAlias = Callable[[str], None]


class Criterion(ABC):
    """Computes the tensor that backward starts from.

    `name` is as reports show it, and `place` the line of the user's function, if it is one.
    `made_target` describes the target that the last call made up. `forward_is_loss`: the user's
    code computes the loss while it runs forward.
    """

    forward_is_loss = False
    place: str | None = None
    made_target: Tree | None = None

    def __init__(self, name: str) -> None:
        self.name = name

    def forward(self, model: Model, batch: Batch) -> Any:
        """Run the model on a batch and return its output."""
        return model.call(batch.args, batch.kwargs)

    def name_for(self, output: Any) -> str:
        """Return what the report calls the loss of this output."""
        return self.name

    @abstractmethod
    def loss(self, output: Any, batch: Batch) -> torch.Tensor:
        """Return the loss, a tensor of one element.

        Raises
        ------
        RequestError : the loss needs something that the request does not give, such as a target.
        ModelError : the loss fails, or backward cannot start from what it returned.
        """


def checked(loss: Any, name: str, place: str) -> torch.Tensor:
    """Return what a loss returned, if backward can start from it.

    Raises
    ------
    ModelError : it is not a floating-point tensor of one element that requires grad.
    """
    if not isinstance(loss, torch.Tensor):
        raise ModelError(
            f"{name} must return a tensor, got {type(loss).__name__}",
            place=place,
            hint="return the loss itself, without `.item()` or `float()`",
        )
    if loss.numel() != 1:
        raise ModelError(
            f"{name} must return one element, got shape {list(shape_of(loss))}",
            place=place,
            hint="reduce it to a scalar, as in `loss.mean()` or `reduction='mean'`",
        )
    if not loss.is_floating_point():
        raise ModelError(
            f"{name} must return a floating-point tensor, got {dtype_name(loss.dtype)}",
            place=place,
            hint="compute the loss from the floating-point outputs of the model",
        )
    if not loss.requires_grad:
        raise ModelError(
            f"{name} returned a tensor that does not require grad",
            place=place,
            hint="compute the loss from the model's output, without detach() and no_grad()",
        )
    return loss.reshape(())


_MOST_NODES = 10_000


def depends_on(loss: torch.Tensor, output: Any) -> bool:
    """Return whether the graph of the loss contains a tensor of the output.

    Graphs with more nodes than any loss has are taken to contain one.
    """
    tensors = [tensor for _, tensor, _ in leaves(output) if tensor.requires_grad]
    ends = {t.grad_fn for t in tensors}
    leaf_ids = {id(t) for t in tensors if t.is_leaf}
    if any(tensor is loss for tensor in tensors):
        return True
    todo, seen = [loss.grad_fn], set()
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        if node in ends or id(getattr(node, "variable", None)) in leaf_ids:
            return True
        seen.add(node)
        if len(seen) > _MOST_NODES:
            return True
        todo += [following for following, _ in node.next_functions]
    return False
