"""The steps of a training: what `Report.training` contains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hookcli.report.distributed import (
    JoinedRanks,
    PartGroup,
    PartNorms,
    RankParting,
    StagePlace,
    StepDigests,
)
from hookcli.report.values import Count, Index, Number, Positive, absent


@dataclass(frozen=True, slots=True)
class StepRow:
    """One step of an optimizer, or one backward pass if no optimizer steps.

    `step` counts from 0. `forwards` and `backwards` are those since the previous step: the
    micro-steps of gradient accumulation. A root that is never called, because its `forward` is
    called directly, has no forwards, and in its first step no backwards. `loss` is the sum of the
    values that these backwards started from, without the factor of a GradScaler, which is `scale`.
    An optimizer that calls a closure, such as LBFGS, runs backward inside its step: `loss` is then
    that of its first backward, and `grad_norm` is of the last one.
    `grad_norm` is the 2-norm of all gradients of the optimizer when it steps; if it trains several
    roots, of those of this root. `unclipped_norm` is that norm before `clip_grad_norm_`, if the
    script calls it. `lr` is the learning rate of its first group, and `largest_lr` the
    largest of several groups, or of several optimizers that step inside backward. A step that
    GradScaler `skipped` did not run the optimizer.

    Only `sampled` steps, which are observed in detail, have the other figures. `weight_norm` is the
    2-norm of all parameters before the step, `update_norm` that of their change in the step, and
    `update_ratio` is update_norm / weight_norm. `missing`, `zero` and `non_finite` are numbers of
    parameters whose gradient is None, all zero, or has a NaN or infinity.

    If some parameters are DTensors, `local` has the norms of the rank's parts, and the other norms
    are those of whole tensors as far as the ranks were joined. `mean_loss` is the mean of the
    losses of all joined ranks, if they differ.
    """

    step: Index
    forwards: Count
    backwards: Count
    loss: Number | None
    grad_norm: Number | None
    lr: Number | None
    sampled: bool = False
    unclipped_norm: Number | None = absent()  # noqa: RUF009  # it is a field()
    skipped: bool | None = absent()  # it is a field()
    scale: Number | None = absent()  # noqa: RUF009  # it is a field()
    largest_lr: Number | None = absent()  # noqa: RUF009  # it is a field()
    weight_norm: Number | None = absent()  # noqa: RUF009  # it is a field()
    update_norm: Number | None = absent()  # noqa: RUF009  # it is a field()
    update_ratio: Number | None = absent()  # noqa: RUF009  # it is a field()
    missing: Count | None = absent()  # noqa: RUF009  # it is a field()
    zero: Count | None = absent()  # noqa: RUF009  # it is a field()
    non_finite: Count | None = absent()  # noqa: RUF009  # it is a field()
    local: PartNorms | None = absent()  # noqa: RUF009  # it is a field()
    mean_loss: Number | None = absent()  # noqa: RUF009  # it is a field()


@dataclass(frozen=True, slots=True)
class OptimizerInfo:
    """The optimizer of a record.

    `parameters` is the number of its tensors, and `elsewhere` the number of those that are not
    parameters of the root; `elsewhere_idle` counts those of them that are parameters of no other
    root of the same steps, and whose gradient was None at every sampled step. `merged` is the
    number of optimizers that step inside backward and are counted as one. `options` are the
    numbers of its first group, such as lr and weight_decay; `largest_weight_decay` is that of all
    groups, if there are several.
    """

    type: str
    parameters: Count
    elsewhere: Count
    groups: Count
    options: dict[str, Number | bool]
    merged: Count = 1
    elsewhere_idle: Count | None = absent()  # noqa: RUF009  # it is a field()
    largest_weight_decay: Number | None = absent()  # noqa: RUF009  # it is a field()


@dataclass(frozen=True, slots=True)
class UpdateRow:
    """What the optimizer did to one parameter, over all sampled steps.

    `ratios` are the norms of its updates divided by its norm before, one for each sampled step.
    `changed`: its values differ from those of the first sampled step; None if that is not known.
    `restored`: a step changed it, and at the beginning of each later sampled step it had its first
    values again. `kept`, of a parameter in bfloat16 or float16, is the share of its elements with a
    gradient that a step left as they were, in the sampled step where that is smallest. `local`, of
    a DTensor, has the norms of the update and of the values before it, of the rank's part, by
    sampled step.
    """

    name: str
    ratios: tuple[Number | None, ...]
    changed: bool | None
    restored: bool | None = absent()  # it is a field()
    kept: Number | None = absent()  # noqa: RUF009  # it is a field()
    local: tuple[tuple[Number | None, Number | None], ...] | None = absent()  # it is a field()


@dataclass(frozen=True, slots=True)
class ModesInfo:
    """The modes in the forwards of a training, of every step whose calls are seen.

    `steps` counts those. In `eval_steps` of them, a module with dropout (p > 0) or batch
    normalization was in eval mode; `eval_spans` are their first and last numbers, as far as there
    are not too many. In `called_in_eval` of them, the module that the script called was itself.
    """

    steps: Count
    eval_steps: Count
    eval_spans: tuple[tuple[Index, Index], ...]
    called_in_eval: Count


@dataclass(frozen=True, slots=True)
class RateChange:
    """A learning rate that changed by far between few of its changes, in one group.

    It was `before` at step `first`, and `after` at step `last`. `base` is the rate of the first
    step, or the larger one that a schedule multiplies. A fall is the first one below 1e-8 of
    `before`, and `low` is the number of steps with such a rate since then. A rise, of which `low`
    is None, is the first one to 0.5 or more and to 1000 times `base` and `before`.
    """

    group: Index
    first: Index
    before: Number
    last: Index
    after: Number
    base: Number
    low: Count | None


@dataclass(frozen=True, slots=True)
class StepSettings:
    """The settings of every step, also of those that are not watched.

    `steps` is their number. `rates` has the learning rate of each group of the optimizer, and
    `trainable` the number of parameters that require grad, each with the step from which on it is
    so: at most a hundred, and then every second, fourth … change. `rate_changes` counts all changes
    of rates. `far` has the falls and rises of rates by large factors. `thawed` are the parameters
    that were frozen when the training began, and that got gradients later, though no optimizer has
    them, each with the first step in which it requires grad.
    """

    steps: Count
    rates: tuple[tuple[Index, tuple[Number | None, ...]], ...]
    rate_changes: Count
    trainable: tuple[tuple[Index, Count], ...]
    far: tuple[RateChange, ...] | None = absent()  # it is a field()
    thawed: tuple[tuple[str, Index], ...] | None = absent()  # it is a field()


@dataclass(frozen=True, slots=True)
class ScriptLines:
    """Lines of a script, such as "train.py:12"; None for one that is not known.

    One of a library that makes them, such as a trainer, is that of the script's own call of it.
    `detached` is the line that takes an output of the model without its graph, with the expression:
    "train.py:12: net(x).detach()".
    """

    optimizer: str | None
    backward: str | None
    step: str | None
    loss: str | None = None  # that of backward, if the one that computes the loss is not known
    detached: str | None = absent()  # it is a field()


@dataclass(frozen=True, slots=True)
class TrainingInfo:
    """One root, one optimizer, and their steps. It is a record of a training.

    `record` is a unique name such as "netG" or "Net (SGD)"; `root` is the variable or type of the
    root. `wrappers` are the types around it, the outermost first, such as
    DistributedDataParallel. `unit` tells what a step is. `total` counts all steps; `steps` has one
    in `every` of them, all sampled ones, and the last. `sampled` are the steps that were observed
    in detail.

    `unheld` are trainable parameters of the root that no optimizer of the script holds. `compiled`
    are the modules inside compiled regions, whose calls are not seen. `eval_modules` are modules
    with dropout (p > 0) or batch normalization that ran in eval mode in a sampled step, and
    `train_modules` those that ran in train mode, in forwards that a backward pass for the
    parameters reached; `eval_steps` are the sampled steps of the former. `modes` counts all steps.
    `losses` is the number of backward passes whose graph was looked at when they began.
    `graphless` counts calls of the root in train mode under no_grad; `evaluations` those in eval
    mode, and `samples` those of the former that get one tensor several times in a row, as to draw
    samples with dropout. `never_zeroed`: at every step that was compared, each gradient of the
    previous step was still there, unchanged, when backward began; False if none was there at one of
    them, and None if neither was seen, as of gradients that are scaled down. `together` are the
    records that made steps between two steps of this record, as the parts of a GAN do.

    `digests` has a digest of all parameters after each sampled step, and `rank_digests` those of
    all ranks, by step and then by rank; None for a rank that did not reach the step.

    `partly` has the sampled steps with so many calls that only the first were observed in detail,
    each with the number of forwards that were observed whole; the figures of parameters are those
    of the whole step.
    `omitted` is the number of steps that `--steps` selects and that were not observed in detail,
    because the earlier ones took too much time. `shared` are the records of other roots that the
    same steps train, because one optimizer has the parameters of several roots. `calls` are the
    calls of the root, and of parts of it that are called alone with gradients; None if some calls
    were not counted: those inside transforms of torch.func, and after torch.compile.

    `unwatched` is the number of steps of which nothing is known but that the optimizer made them,
    because they are so small that watching takes much of their time. `settings` are those of every
    step, with these.

    `groups` are the groups of parameters that `local` of a step has norms of, if some are DTensors.
    `step_digests` are those of one rank of several; `joined` tells which ranks were joined, and
    `partings` where they differ, though they should agree. `stage` is that of a pipeline; a joined
    record has the parameters and norms of all stages. `lines` are those of the script that make the
    optimizer, the backward pass and the step, as they are when the first step begins.
    """

    record: str
    root: str
    root_type: str
    wrappers: tuple[str, ...]
    optimizer: OptimizerInfo | None
    unit: Literal["optimizer", "backward"]
    total: Count
    skipped: Count
    every: Positive
    sampled: tuple[Index, ...]
    steps: tuple[StepRow, ...]
    updates: tuple[UpdateRow, ...]
    calls: Count | None
    evaluations: Count
    graphless: Count
    never_zeroed: bool | None
    unheld: tuple[str, ...] = ()
    compiled: tuple[str, ...] = ()
    eval_modules: tuple[str, ...] = ()
    digests: dict[Index, str] | None = absent()  # noqa: RUF009  # it is a field()
    samples: Count | None = absent()  # noqa: RUF009  # it is a field()
    train_modules: tuple[str, ...] | None = absent()  # it is a field()
    eval_steps: tuple[Index, ...] = ()
    together: tuple[str, ...] | None = absent()  # it is a field()
    rank_digests: dict[Index, tuple[str | None, ...]] | None = absent()  # noqa: RUF009  # it is a field()
    partly: dict[Index, Count] | None = absent()  # noqa: RUF009  # it is a field()
    omitted: Count | None = absent()  # noqa: RUF009  # it is a field()
    shared: tuple[str, ...] | None = absent()  # it is a field()
    modes: ModesInfo | None = absent()  # noqa: RUF009  # it is a field()
    losses: Count | None = absent()  # noqa: RUF009  # it is a field()
    groups: tuple[PartGroup, ...] | None = absent()  # it is a field()
    step_digests: StepDigests | None = absent()  # noqa: RUF009  # it is a field()
    joined: JoinedRanks | None = absent()  # noqa: RUF009  # it is a field()
    partings: tuple[RankParting, ...] | None = absent()  # it is a field()
    stage: StagePlace | None = absent()  # noqa: RUF009  # it is a field()
    unwatched: Count | None = absent()  # noqa: RUF009  # it is a field()
    settings: StepSettings | None = absent()  # noqa: RUF009  # it is a field()
    lines: ScriptLines | None = absent()  # noqa: RUF009  # it is a field()
