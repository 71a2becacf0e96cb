"""What loading gives, whatever the source was."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Literal

from torch import nn

from hookcli.models import places
from hookcli.models.batch import Batch
from hookcli.report.report import Format

if TYPE_CHECKING:
    from hookcli.models.model import Model


@dataclass(frozen=True, slots=True)
class Loaded:
    """A built module, the Python module it came from, and what to say of the choice.

    `batch` is one that the file holds beside the model, with its name for the report. `model` is
    its backend, where that is not the eager one; `mode` that in which it was exported, which
    cannot be changed.
    """

    root: nn.Module
    module: ModuleType | None
    note: str | None = None
    constructors: places.Constructors | None = None
    batch: tuple[str, Batch] | None = None
    format: Format = "python"
    model: Model | None = None
    mode: Literal["train", "eval", "mixed"] | None = None
