"""The backend of exported programs: live modules, with the places of their calls in the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any

from torch import nn

from hookcli.models.eager import EagerModel
from hookcli.models.model import Call, CallStack, Enter, Exit
from hookcli.report.recording import ModuleInfo


class ExportedModel(EagerModel):
    """Modules made from a program. `places` maps a module's path to the user's line of each call.

    The lines are those of the original source; the running code is torch's.
    """

    def __init__(self, root: nn.Module, places: dict[str, list[str | None]]) -> None:
        super().__init__(root)
        self._places = places

    def modules(self) -> tuple[ModuleInfo, ...]:
        """Registered modules, each with the line of its first call."""
        return tuple(
            replace(info, place=next(iter(self._places.get(info.name, ())), None))
            for info in super().modules()
        )

    @contextmanager
    def observe(
        self,
        enter: Enter,
        leave: Exit,
        *,
        calls: CallStack | None = None,
        between: AbstractContextManager[Any] | None = None,
    ) -> Iterator[None]:
        """Observe as for a live module, and set the place of each call."""

        def entering(call: Call, batch: tuple[tuple[Any, ...], dict[str, Any]]) -> Any:
            if call.name is not None:
                lines = self._places.get(call.name, ())
                call.place = lines[call.index] if call.index < len(lines) else None
            return enter(call, batch)

        with super().observe(entering, leave, calls=calls, between=between):
            yield
