"""The result of loading a model, the same for every kind of source."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Literal

from torch import nn

from hookcli.models import places
from hookcli.models.batch import Batch
from hookcli.report.existing_hook import ExistingHook
from hookcli.report.report import Format

if TYPE_CHECKING:
    from hookcli.models.model import Model


@dataclass(frozen=True, slots=True)
class Loaded:
    """A built module, the Python module that it came from, and notes for the report.

    `batch` is a batch that the file contains in addition to the model, with its name for the
    report. `model` is the backend if it is not the eager one. `mode` is the mode in which the
    model was exported, which cannot be changed. `hooks` are those that the model had when it was
    loaded. `compiled` is the wrapper of torch.compile that is called instead of the root.
    """

    root: nn.Module
    module: ModuleType | None
    notes: tuple[str, ...] = ()
    constructors: places.Constructors | None = None
    batch: tuple[str, Batch] | None = None
    format: Format = "python"
    model: Model | None = None
    mode: Literal["train", "eval", "mixed"] | None = None
    hooks: tuple[ExistingHook, ...] = ()
    compiled: nn.Module | None = None
