"""What looks on at a run beside the hooks: it may read every value and change none."""

from __future__ import annotations

from typing import Any, Protocol

from hookcli.models.model import Call, Model


class Observer(Protocol):
    """Told of every call, after the hooks of the configuration."""

    def begin(self, model: Model) -> None:
        """The model is ready, and has not run."""
        ...

    def enter(self, call: Call, batch: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
        """A call starts."""
        ...

    def leave(self, call: Call, output: Any, error: BaseException | None) -> None:
        """A call ended."""
        ...

    def gradients(self, model: Model) -> None:
        """Backward has ended: gradients stand on the parameters."""
        ...
