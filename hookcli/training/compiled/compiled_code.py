"""What the watch of a script tells those that observe compiled code; by default nobody does."""

from __future__ import annotations

from typing import Any

from hookcli.training.non_finite.bad_layer import BadLayer
from hookcli.training.record.records import Record
from hookcli.training.root_watch import RootWatch


class CompiledCode:
    """Observes nothing inside of compiled code. What a subclass does not define does nothing."""

    def compiling(self, compiled: Any, *, sampled: bool) -> None:
        """The script compiles a module or a function; the step that runs is sampled or not."""

    def constructed(self, optimizer: Any) -> None:
        """The constructor of an optimizer begins."""

    def before_step(self, record: Record, step: int) -> None:
        """A sampled step of a record ends with the step of its optimizer, which begins now."""

    def after_step(self, root: RootWatch, *, sampled: bool) -> None:
        """A step of a root has ended; its next one is sampled or not."""

    def after_steps(self, *, sampled: bool) -> None:
        """The optimizer has stepped; the next step of a record is sampled or not."""

    def first_bad(self, record: Record, step: int) -> BadLayer | None:
        """Return the first layer of a step whose output is not finite, if compiled code tells."""
        return None

    def stop(self) -> None:
        """Remove everything."""

    def notes(self) -> list[str]:
        """Return notes about what is not observed."""
        return []
