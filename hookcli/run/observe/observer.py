"""The protocol of observers: they see every call in addition to the hooks, and change nothing."""

from __future__ import annotations

from typing import Any, Protocol

import torch

from hookcli.models.model import Call, Model
from hookcli.run.observe.node_owners import NodeOwners


class Observer(Protocol):
    """An observer of a run. Its methods are called after the hooks of the configuration."""

    def begin(self, model: Model) -> None:
        """Handle the model before it runs."""
        ...

    def enter(self, call: Call, batch: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
        """Handle a call that starts."""
        ...

    def leave(self, call: Call, output: Any, error: BaseException | None) -> None:
        """Handle a call that ended, with its output or the error that it raised."""
        ...

    def graph(self, start: torch.Tensor, owners: NodeOwners) -> None:
        """Handle the graph behind the tensor that backward will start from, before it starts.

        `owners` finds the call that made a node. Saved results of operators can be read.
        """
        ...

    def gradients(self, model: Model) -> None:
        """Handle the end of backward: the parameters have their gradients."""
        ...
