"""Whether the ranks of a training that were joined agree: what `ranks_agree` says of them.

One cause is one finding: of what differs of a rank, the earliest is told, and of several in one
step that from which the others follow. Nothing is said of ranks whose parameters are equal again
later, as with local SGD, or whose parameters were never copies of each other.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from hookcli.report.distributed import JoinedRanks, RankParting
from hookcli.report.report import Report
from hookcli.report.steps import TrainingInfo
from hookcli.rules.rule import RuleFinding, passed, skipped
from hookcli.text import counted

NOT_COMPARED = "the parameters of several ranks were not compared"
_SHARDED = "ranks have parts of parameters, and no copies: learning rates and steps were compared"
SAME = "find the code that changes parameters or gradients on some ranks, such as `if rank == 0`"
_AVERAGE = "wrap the model in `DistributedDataParallel`"
_IN_PLAN = "add its module to the parallel plan, or sum its gradients up over the ranks"
# In one step, from the cause to what follows.
_ORDER = (
    "optimizer", "learning rate", "options", "forwards", "backwards", "modes", "losses",
    "gradients", "parameters", "steps",
)  # fmt: skip
_ADVICE = {
    "learning rate": "set the learning rate on all ranks in the same way",
    "optimizer": "give the optimizers of all ranks the same parameters",
    "options": "construct the optimizer on all ranks with the same options",
    "forwards": "make each step of the optimizer on all ranks",
    "backwards": "make each step of the optimizer on all ranks",
    "steps": "make each step of the optimizer on all ranks",
    "modes": "call `model.train()` and `model.eval()` on all ranks alike",
    "gradients": "run each backward pass inside DistributedDataParallel, without `no_sync`",
    "losses": "give the ranks of one tensor parallel group the same batch",
}


def judge_joined(report: Report, info: TrainingInfo, joined: JoinedRanks) -> list[RuleFinding]:
    """Return a finding for each rank that parted, or one that none did."""
    partings = info.partings or ()
    counted_ones = [one for one in partings if _counts(one, partings, report, info, joined)]
    first: dict[int, RankParting] = {}
    for one in sorted(counted_ones, key=_rank_of):
        first.setdefault(one.rank, one)
    _add_options(first, partings, joined)
    found = [_finding(one, partings, report, info, joined) for one in first.values()]
    if found:
        return found
    if not joined.compared or not joined.steps:
        sharded = joined.count > 1 and any(group.placements for group in info.groups or ())
        return [skipped(_SHARDED if sharded else NOT_COMPARED)]
    again = [one for one in partings if one.what == "parameters" and one.again is not None]
    ranks = joined.compared
    if again:
        return [
            passed(
                f"the parameters of {ranks} ranks differ after step {again[0].step:,} and are the "
                f"same again after step {again[0].again:,}"
            )
        ]
    own = [one for one in partings if one.what == "parameters"]
    if own:
        return [passed(f"{own[0].target} never was the same on {ranks} ranks, others are")]
    return [passed(same_parameters(ranks, joined.steps))]


def same_parameters(ranks: int, steps: int) -> str:
    """Return the sentence about ranks that agree."""
    return f"the parameters of {ranks} ranks are the same after {counted(steps, 'step')}"


def _rank_of(one: RankParting) -> tuple[int, int]:
    order = -1 if one.what == "parameters" and one.before else _ORDER.index(one.what)
    return (-1 if one.step is None else one.step, order)


def _add_options(
    first: dict[int, RankParting], partings: Sequence[RankParting], joined: JoinedRanks
) -> None:
    """Put other options of an optimizer in the place of what follows from them.

    They are those at the end: where parameters cannot be compared, the step is not known.
    """
    for one in partings:
        if one.what != "options":
            continue
        told = first.get(one.rank)
        if told is None and not joined.compared:
            first[one.rank] = one
        elif told is not None and told.what == "parameters" and not told.before:
            first[one.rank] = dataclasses.replace(one, step=told.step)


def _counts(
    one: RankParting,
    partings: Sequence[RankParting],
    report: Report,
    info: TrainingInfo,
    joined: JoinedRanks,
) -> bool:
    """Return whether a difference is a fault, or only the sign of one."""
    mine = [other for other in partings if other.rank == one.rank]
    apart = any(other.what == "parameters" and other.again is None for other in mine)
    if one.what == "options":
        return False  # see `_add_options`
    if one.what == "parameters":
        return one.again is None and not _is_own(one, report, info, joined)
    if one.what == "losses":
        return _is_tensor_parallel(info)
    if one.what in {"modes", "optimizer", "steps"}:
        return True
    if one.what == "learning rate":
        return apart or not joined.compared
    if one.what in {"forwards", "backwards"} and any(other.what == "steps" for other in mine):
        return True
    return apart  # else ranks may have more forwards, and gradients that are averaged later


def _are_averaged(info: TrainingInfo, joined: JoinedRanks) -> bool:
    return "DistributedDataParallel" in info.wrappers or joined.averaged is True


def _is_own(one: RankParting, report: Report, info: TrainingInfo, joined: JoinedRanks) -> bool:
    """Return whether some parameters never were copies, as the experts of each rank are not.

    Normalizations that begin as copies are no experts: sequence parallelism splits their inputs.
    """
    if one.apart is None or one.copies is None or any(g.placements for g in info.groups or ()):
        return False
    if _are_averaged(info, joined):
        return False
    norms = [row.name for row in report.parameters if "Norm" in (row.module_type or "")]
    if not one.before and one.target in norms and one.apart <= len(norms):
        return False
    return one.step == min((row.step for row in info.steps), default=0) and one.apart < one.copies


def _is_tensor_parallel(info: TrainingInfo) -> bool:
    """Return whether ranks have parts of layers, so that all must get the same batch."""
    if info.root_type.startswith("FSDP") or "FullyShardedDataParallel" in info.wrappers:
        return False
    return any(group.placements for group in info.groups or ())


def _finding(
    one: RankParting,
    partings: Sequence[RankParting],
    report: Report,
    info: TrainingInfo,
    joined: JoinedRanks,
) -> RuleFinding:
    average = _are_averaged(info, joined)
    message, advice = _sentence(one), _ADVICE.get(one.what, SAME)
    if one.what == "parameters" and not average and not _is_tensor_parallel(info):
        if joined.averaged is False:
            message, advice = f"{message}: nothing averages their gradients", _AVERAGE
    elif one.what == "parameters" and _is_tensor_parallel(info) and not one.before:
        advice = _IN_PLAN
    elif one.what != "parameters":
        later = [p for p in partings if p.what == "parameters" and p.rank == one.rank]
        if later and one.what != "optimizer":
            message = f"{message}; its parameters differ {_when(later[0])}{_first(later[0])}"
    elif one.step == 0 and one.before:
        advice = "give all ranks the same weights first: one seed, or `broadcast` from rank 0"
    sharded = any(group.placements for group in info.groups or ())
    mild = one.what == "modes" or not (average or sharded or one.what != "parameters")
    return RuleFinding(
        "fail",
        one.target,
        "ranks part" if one.what == "parameters" else f"ranks part: {one.what}",
        message,
        1,
        0,
        report.model.place,
        step=one.step,
        severity="warning" if mild else "error",
        advice=advice,
    )


def _sentence(one: RankParting) -> str:
    rank, other, step = f"rank {one.rank}", f"rank {one.other}", f"{one.step or 0:,}"
    mine, theirs = _figure(one.value), _figure(one.of_other)
    if one.what == "parameters":
        return f"the parameters of {rank} differ from those of {other} {_when(one)}{_first(one)}"
    if one.what == "learning rate":
        return f"{rank} has the learning rate {mine} at step {step}, and {other} {theirs}"
    if one.what in {"forwards", "backwards"}:
        noun = "backward passes" if one.what == "backwards" else "forwards"
        skipped_one = ": it skipped a step" if one.value > one.of_other else ""
        return f"{rank} has {mine} {noun} in step {step}, and {other} {theirs}{skipped_one}"
    if one.what == "steps":
        return f"{rank} makes no step from step {step} on, and {other} makes {theirs} steps"
    if one.what == "optimizer":
        has, lacks = (rank, other) if one.value else (other, rank)
        return f"the optimizer of {has} has {one.target}, and that of {lacks} does not"
    if one.what == "options" and one.target == "type":
        return f"the optimizer of {rank} is of type {mine}, and that of {other} {theirs}"
    if one.what == "options":
        return f"the optimizer of {rank} has {one.target} {mine}, and that of {other} {theirs}"
    if one.what == "modes":
        return (
            f"{rank} runs dropout or batch normalization in {mine} mode at step {step}, and "
            f"{other} in {theirs} mode"
        )
    if one.what == "gradients":
        return (
            f"the gradients of {rank} and {other} differ at step {step}: their norms are {mine} "
            f"and {theirs}"
        )
    return f"the loss of {rank} is {mine} at step {step}, and that of {other} {theirs}"


def _when(one: RankParting) -> str:
    return f"{'before' if one.before else 'after'} step {one.step or 0:,}"


def _first(one: RankParting) -> str:
    return f", first {one.target}" if one.target else ""


def _figure(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else f"{value}"
