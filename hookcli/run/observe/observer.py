"""The protocol of observers: they see every call in addition to the hooks, and change nothing."""

from __future__ import annotations

from typing import Any, Protocol

from hookcli.models.model import Call, Model


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

    def gradients(self, model: Model) -> None:
        """Handle the end of backward: the parameters have their gradients."""
        ...
