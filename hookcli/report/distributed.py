"""Results of a run by several ranks, in addition to the rows of rank 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from hookcli.report.values import Count, Index, Number, Shape, Size, absent

Differing: TypeAlias = Literal[
    "parameters",
    "gradients",
    "learning rate",
    "steps",
    "forwards",
    "backwards",
    "modes",
    "losses",
    "optimizer",
    "options",
]


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


@dataclass(frozen=True, slots=True)
class MeshPlace:
    """The place of a rank in the device mesh of a DTensor, with an entry for each dimension.

    `names` are the names of the dimensions, `sizes` their sizes, `at` the coordinates of the rank.
    `ranks` are the ranks of the mesh in the order of their coordinates, as spans: "0-3,8-11".
    """

    names: tuple[str, ...]
    sizes: tuple[Count, ...]
    at: tuple[Index, ...]
    ranks: str


@dataclass(frozen=True, slots=True)
class LocalPart:
    """The part of a parameter that a rank has. Figures are there if those of the whole are known.

    `stats` and `grad` are those of the part, as `ParameterRow` has those of the whole.
    """

    shape: Shape
    stats: dict[str, Any] | None = absent()  # noqa: RUF009  # it is a field()
    grad: dict[str, Any] | None = absent()  # noqa: RUF009  # it is a field()


@dataclass(frozen=True, slots=True)
class StagePlace:
    """A stage of a pipeline: its number, which counts from 0, and how many there are."""

    index: Index
    count: Count


@dataclass(frozen=True, slots=True)
class PartGroup:
    """The parameters of a record that are placed alike; plain tensors have no placements."""

    placements: tuple[str, ...]
    mesh: MeshPlace | None
    parameters: Count


@dataclass(frozen=True, slots=True)
class PartNorms:
    """Norms of the parts that a rank has, in one step: an entry for each `PartGroup`.

    `weight` and `update` are there in sampled steps.
    """

    grad: tuple[Number | None, ...]
    weight: tuple[Number | None, ...] | None = absent()  # it is a field()
    update: tuple[Number | None, ...] | None = absent()  # it is a field()


@dataclass(frozen=True, slots=True)
class StepDigests:
    """Digests of the parameters that a rank has, around steps: equal values have equal digests.

    `names` are the parameters of the optimizer. Those whose `turns` are more than 1 are large: each
    step reads a part of them, in turn. `moments` has a digest of all of them: 2n is before
    step n, when its gradients are there, 2n + 1 after it. `each` has those of each parameter, of
    eight characters in one string, for some of the moments. `unused` is the number of forwards
    after the last step.
    """

    names: tuple[str, ...]
    turns: tuple[Count, ...]
    moments: dict[Index, str]
    each: dict[Index, str]
    unused: Count = 0

    def known(self, moment: int) -> dict[str, str]:
        """Return the digests that are known at a moment, by the names of parameters."""
        row = self.each.get(moment, "")
        found = {name: row[8 * i : 8 * i + 8] for i, name in enumerate(self.names)}
        return {name: digest for name, digest in found.items() if digest.strip("-")}


@dataclass(frozen=True, slots=True)
class RankParting:
    """The first difference between two ranks that should agree.

    `what` tells what differs, such as "gradients". `target`
    is the first parameter that differs, or "". `value` is that of `rank` and `of_other` that of
    `other`. If `before`, it differs before the step, not only after it. `again` is the first later
    step before or after which both agree again, if they do so in turns. `apart` is the number of
    parameters that differ first, of `copies` that both ranks have.
    """

    what: Differing
    rank: Index
    other: Index
    step: Index | None
    target: str
    value: Any
    of_other: Any
    before: bool | None = absent()  # it is a field()
    again: Index | None = absent()  # noqa: RUF009  # it is a field()
    apart: Count | None = absent()  # noqa: RUF009  # it is a field()
    copies: Count | None = absent()  # noqa: RUF009  # it is a field()


@dataclass(frozen=True, slots=True)
class JoinedRanks:
    """The ranks whose files were joined, and those without one, as spans: "0-3,8-11".

    `count` is the number of the former. `steps` is the number of steps around which their
    parameters were compared, and `compared` the number of ranks that have a parameter in common
    with another one. `averaged`: at some step, the gradients of ranks whose losses differ were
    equal; None if that is not known.
    """

    ranks: str
    count: Count
    missing: str | None = absent()  # it is a field()
    steps: Count = 0
    compared: Count = 0
    averaged: bool | None = absent()  # it is a field()
