"""The report of a file of weights (`hookcli.weights/1`): its tensors as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from hookcli.report.report import Environment
from hookcli.report.values import Count, Shape, Size, absent

WEIGHTS_SCHEMA: Literal["hookcli.weights/1"] = "hookcli.weights/1"


@dataclass(frozen=True, slots=True)
class WeightsFile:
    """A file that was read, its size, and how many tensors it has."""

    path: str
    bytes: Size
    tensors: Count


@dataclass(frozen=True, slots=True)
class WeightsRow:
    """One tensor.

    `bytes` is the size of its elements. `part` tells the state of an optimizer from weights.
    `layout` describes what is not a plain tensor. `shared_with` names other tensors with elements
    in the same bytes of a file: at most 16. `stats` has the statistics that reports of runs have
    (`numel`, `norm`, `mean`, `std`, `min`, `max`, `abs_max`, `zeros`, `nans`, `infs`, `finite`);
    None if the values were not read, and `unread` then tells why if they cannot be.
    """

    name: str
    shape: Shape
    dtype: str
    numel: Size
    bytes: Size
    file: str
    part: Literal["weights", "optimizer"]
    stats: dict[str, Any] | None
    layout: str | None = absent()  # it is a field()
    shared_with: tuple[str, ...] | None = absent()  # it is a field()
    unread: str | None = absent()  # it is a field()


@dataclass(frozen=True, slots=True)
class DtypeTotal:
    """The tensors of one dtype. Shared elements count once in `elements` and `bytes`."""

    dtype: str
    tensors: Count
    elements: Size
    bytes: Size


@dataclass(frozen=True, slots=True)
class WeightsTotals:
    """Totals over all tensors. Shared elements count once in `elements` and `bytes`."""

    tensors: Count
    elements: Size
    bytes: Size
    optimizer_tensors: Count
    optimizer_bytes: Size
    shared_bytes: Size


@dataclass(frozen=True, slots=True)
class WeightsReport:
    """A file or folder of weights.

    `format` is that of the files: safetensors, torch (the zip files of torch.save), torch_legacy,
    distributed (torch.distributed.checkpoint) or gguf. `values` tells whether values were read.
    `metadata` has what is no tensor, as strings.
    """

    schema: Literal["hookcli.weights/1"]
    command: Literal["inspect"]
    environment: Environment
    source: str
    format: str
    values: bool
    totals: WeightsTotals
    dtypes: tuple[DtypeTotal, ...]
    files: tuple[WeightsFile, ...]
    metadata: dict[str, str]
    tensors: tuple[WeightsRow, ...]
    warnings: tuple[str, ...] = ()
