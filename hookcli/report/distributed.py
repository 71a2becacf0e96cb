"""What a run by several ranks found beside the rows of rank 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from hookcli.report.values import Number


@dataclass(frozen=True, slots=True)
class BucketRow:
    """One bucket of gradients in one step, as the communication hook was given it.

    `order` is that of readiness within the step, `index` torch's number of the bucket. Norms are
    2-norms: `norms_before` of each rank's own gradients, by rank, `norm_after` of what the hook
    gave on rank 0, `norm_exact` of the mean over the ranks in float64. `error` is the 2-norm of the
    difference from that mean over its norm, the largest of all ranks'. `wire_bytes` is what a rank
    sends where the hook's collectives are carried out by ring algorithms, `plain_bytes` the same
    for one plain all-reduce; None where it is not known.
    """

    step: int
    index: int
    order: int
    last: bool
    bytes: int
    dtype: str
    parameters: tuple[str, ...]
    norms_before: tuple[Number | None, ...]
    norm_after: Number | None
    norm_exact: Number | None
    error: Number | None
    wire_bytes: int | None
    plain_bytes: int


@dataclass(frozen=True, slots=True)
class UnitRow:
    """What FSDP shards as one: its module, parameters, their bytes, and those of rank 0's shard."""

    module: str
    parameters: tuple[str, ...]
    bytes: int
    shard_bytes: int


@dataclass(frozen=True, slots=True)
class UnreachedRow:
    """A trainable parameter that the loss does not reach on these ranks."""

    parameter: str
    ranks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DifferenceRow:
    """What is another on a rank than on rank 0; `what` is "gradient", "parameter" or the like."""

    what: str
    target: str
    value: Any
    of_rank_0: Any


@dataclass(frozen=True, slots=True)
class RankRow:
    """A rank other than 0: what differs from rank 0, and its own error."""

    rank: int
    status: Literal["complete", "partial", "dead"]
    losses: tuple[Number, ...]
    differs: tuple[DifferenceRow, ...]
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Distributed:
    """How the model was run by several ranks. `rebuilt` is the step at which buckets changed."""

    backend: str
    parallel: Literal["ddp", "fsdp"]
    world_size: int
    hook: str | None
    options: dict[str, Any]
    rebuilt: int | None = None
    buckets: tuple[BucketRow, ...] = ()
    units: tuple[UnitRow, ...] = ()
    unreached: tuple[UnreachedRow, ...] = ()
    ranks: tuple[RankRow, ...] = ()
