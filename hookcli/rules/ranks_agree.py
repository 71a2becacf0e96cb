"""`ranks_agree`: all ranks have the same gradients and parameters after backward."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.distributed import DifferenceRow, RankRow
from hookcli.report.report import Report
from hookcli.report.steps import TrainingInfo
from hookcli.rules.ranks_part import NOT_COMPARED, SAME, judge_joined, same_parameters
from hookcli.rules.rule import NPROC, Options, Rule, RuleFinding, RuleOption, passed, skipped
from hookcli.rules.select import matches, owner, places
from hookcli.spec.checks import BACKWARD
from hookcli.text import counted, join_names

_VALUES = {"gradient": "gradients", "parameter value": "values"}


def _apart(row: DifferenceRow) -> float:
    """Return the difference of two norms relative to the larger; infinite if one is missing."""
    norm, other = row.value, row.of_rank_0
    if norm is None or other is None:
        return float("inf")
    larger = max(abs(float(norm)), abs(float(other)))
    return abs(float(norm) - float(other)) / larger if larger else 0.0


def _counts(row: DifferenceRow, rtol: float | None) -> bool:
    return rtol is None or not _apart(row) <= rtol


def _of_rank(rank: RankRow, options: Options, where: dict[str, str]) -> Iterator[RuleFinding]:
    for what, noun in _VALUES.items():
        rows = [
            row for row in rank.differs if row.what == what and matches(options["at"], row.target)
        ]
        rows = [row for row in rows if _counts(row, options["rtol"])]
        if not rows:
            continue
        names = join_names([row.target for row in rows])
        message = f"rank {rank.rank} and rank 0 have different {noun} of {names}"
        worst = max(rows, key=_apart)
        if worst.value is not None and worst.of_rank_0 is not None:
            message += f" (norms of {worst.target}: {worst.value:.4g}, {worst.of_rank_0:.4g})"
        place = where.get(owner(rows[0].target))
        kind = f"{what} on rank {rank.rank}"
        yield RuleFinding("fail", rows[0].target, kind, message, len(rows), 0, place)


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield findings for the gradients and values of each rank, and for uneven use."""
    if report.training is not None:
        joined = report.training.joined
        if joined is None:
            yield _of_training(report, report.training)
        else:
            yield from judge_joined(report, report.training, joined)
        return
    distributed = report.distributed
    if distributed is None or distributed.world_size < 2:
        yield skipped(f"only one rank ran: {NPROC}")
        return
    where = places(report)
    findings = [finding for rank in distributed.ranks for finding in _of_rank(rank, options, where)]
    for row in distributed.unreached:
        if len(row.ranks) < distributed.world_size and matches(options["at"], row.parameter):
            on = join_names([str(rank) for rank in row.ranks])
            message = f"the loss reaches {row.parameter} on some ranks, but not on {on}"
            place = where.get(owner(row.parameter))
            findings.append(
                RuleFinding(
                    "fail", row.parameter, "uneven", message, len(row.ranks), 0, place, "warning"
                )
            )
    yield from findings
    if not findings and distributed.parallel == "fsdp":
        yield skipped("FSDP gives each rank a different part of the parameters")
    elif not findings:
        count = counted(len(report.parameters), "parameter")
        rtol = options["rtol"]
        how = "bitwise equal" if rtol is None else f"equal within {rtol:g}"
        message = f"{count} and their gradients are {how} on {distributed.world_size} ranks"
        yield passed(message, value=0, limit=0)


def _of_training(report: Report, training: TrainingInfo) -> RuleFinding:
    """Return whether ranks had the same parameters after sampled steps, in older reports."""
    digests = sorted((training.rank_digests or {}).items())
    compared = {step: ranks for step, ranks in digests if sum(map(bool, ranks)) > 1}
    if not compared:
        return skipped(NOT_COMPARED)
    for step, of_ranks in compared.items():
        known = [(rank, digest) for rank, digest in enumerate(of_ranks) if digest is not None]
        (rank, digest), *others = known
        apart = [str(other) for other, its in others if its != digest]
        if not apart:
            continue
        with_ddp = "DistributedDataParallel" in training.wrappers
        message = (
            f"the parameters of rank {join_names(apart)} differ from those of rank {rank} after "
            f"step {step:,}"
        )
        message += "" if with_ddp else ": nothing averages their gradients"
        return RuleFinding(
            "fail", "", "ranks part", message, len(apart), 0, report.model.place, step=step,
            severity="error" if with_ddp else "warning",
            advice=SAME if with_ddp else "wrap the model in `DistributedDataParallel`",
        )  # fmt: skip
    ranks = max(len(of_ranks) for of_ranks in compared.values())
    return passed(same_parameters(ranks, len(compared)))


RULE = Rule(
    name="ranks_agree",
    severity="error",
    ranks=True,
    of_training=True,
    says="all ranks have the same gradients and parameters after backward",
    computes="Each rank hashes the bits of every parameter and of its gradient after the last "
    "backward and optimizer step. A difference from rank 0 is an error. A parameter that the loss "
    "reaches on some ranks only is a warning. With `rtol`, norms are compared instead of bits. In "
    "a training, the parameters that ranks have copies of are compared after each step, by the "
    "sums of their bits, with learning rates, modes and the numbers of steps and backward passes. "
    "Ranks that are the same again at a later step are not reported.",
    formula="bits(grad on rank r) = bits(grad on rank 0), for every r",
    source="msprobe; DistributedDataParallel promises this but does not check it",
    fails="a communication hook that returns the rank's own gradients (noop); a parameter that is "
    "changed with a different seed on each rank",
    mend="run `hookcli grads --nproc 2` to see the buckets and the error of the hook",
    example="{rule: ranks_agree, rtol: 1e-6}",
    options=(
        RuleOption("at", "glob", "glob of parameter names", "*"),
        RuleOption(
            "rtol", "number", "largest relative difference of norms; bits are compared if omitted"
        ),
    ),
    needs=lambda options: (BACKWARD,),
    judge=judge,
)
