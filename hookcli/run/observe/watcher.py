"""The protocol of watchers: what sees a run. They change nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from hookcli.models.model import Call, Model

if TYPE_CHECKING:
    from hookcli.run.observe.node_owners import NodeOwners


class Watcher:
    """Watches a run. A subclass defines the methods that it needs; these do nothing.

    The watchers of a run are in one ordered list, and each of these is called for all of them in
    this order.
    """

    def begin(self, model: Model) -> None:
        """Handle the model before it runs. A run may begin again with another batch."""

    def enter(self, call: Call, batch: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
        """Handle a call that starts."""

    def leave(self, call: Call, output: Any, error: BaseException | None) -> None:
        """Handle a call that ended, with its output or the error that it raised."""

    def phase(self, name: str, step: int) -> None:
        """Handle a phase that begins."""

    def graph(self, start: torch.Tensor, owners: NodeOwners) -> None:
        """Handle the graph behind the tensor that backward will start from, before it starts.

        `owners` finds the call that made a node. Saved results of operators can be read.
        """

    def gradients(self, model: Model) -> None:
        """Handle the end of backward: the parameters have their gradients."""
