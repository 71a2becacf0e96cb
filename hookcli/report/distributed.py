"""Results of a run by several ranks, in addition to the rows of rank 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from hookcli.report.values import Count, Index, Number, Size


@dataclass(frozen=True, slots=True)
class BucketRow:
    """One bucket of gradients in one step, as passed to the communication hook.

    `order` is the order in which buckets became ready in the step, `index` is torch's index of the
    bucket. Norms are 2-norms: `norms_before` of each rank's own gradients, by rank, `norm_after` of
    the result of the hook on rank 0, `norm_exact` of the mean over the ranks in float64. `error` is
    the 2-norm of the difference from that mean divided by its norm, the largest of all ranks.
    `wire_bytes` is the number of bytes that a rank sends if the hook's collectives use ring
    algorithms, None if it is not known; `plain_bytes` is the same for one plain all-reduce.
    """

    step: Index
    index: Index
    order: Index
    last: bool
    bytes: Size
    dtype: str
    parameters: tuple[str, ...]
    norms_before: tuple[Number | None, ...]
    norm_after: Number | None
    norm_exact: Number | None
    error: Number | None
    wire_bytes: Size | None
    plain_bytes: Size


@dataclass(frozen=True, slots=True)
class UnitRow:
    """A unit that FSDP shards: module, parameters, their bytes, and the bytes of rank 0's shard."""

    module: str
    parameters: tuple[str, ...]
    bytes: Size
    shard_bytes: Size


@dataclass(frozen=True, slots=True)
class UnreachedRow:
    """A trainable parameter that the loss does not reach on these ranks."""

    parameter: str
    ranks: tuple[Index, ...]


@dataclass(frozen=True, slots=True)
class DifferenceRow:
    """A difference from rank 0; `what` is "gradient", "parameter" and so on."""

    what: str
    target: str
    value: Any
    of_rank_0: Any


@dataclass(frozen=True, slots=True)
class RankRow:
    """A rank other than 0: its differences from rank 0, and its error."""

    rank: Index
    status: Literal["complete", "partial", "dead"]
    losses: tuple[Number, ...]
    differs: tuple[DifferenceRow, ...]
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Distributed:
    """How several ranks ran the model. `rebuilt` is the step at which buckets changed."""

    backend: str
    parallel: Literal["ddp", "fsdp"]
    world_size: Count
    hook: str | None
    options: dict[str, Any]
    rebuilt: Index | None = None
    buckets: tuple[BucketRow, ...] = ()
    units: tuple[UnitRow, ...] = ()
    unreached: tuple[UnreachedRow, ...] = ()
    ranks: tuple[RankRow, ...] = ()
