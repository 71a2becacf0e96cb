"""What loading gives, whatever the source was."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING

from torch import nn

from hookcli.inputs.batch import Batch
from hookcli.models import places
from hookcli.report.model import Format

if TYPE_CHECKING:
    from hookcli.models.torchscript.tapped import Tapped


@dataclass(frozen=True, slots=True)
class Loaded:
    """A built module, the Python module it came from, and what to say of the choice.

    `batch` is one that the file holds beside the model, with its name for the report; `tapped` is
    what tells of the calls in a scripted one.
    """

    root: nn.Module
    module: ModuleType | None
    note: str | None = None
    constructors: places.Constructors | None = None
    batch: tuple[str, Batch] | None = None
    tapped: Tapped | None = None
    format: Format = "python"
