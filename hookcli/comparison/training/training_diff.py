"""The differences of two trainings as plain data: `hookcli.rundiff/1`.

JSON keys have the order of fields. "same" is equal to the last digit; "close" is within the limit;
"unknown" could not be compared. A figure that is not known is None, never 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from hookcli.comparison.diff import RowStatus, Status
from hookcli.report.report import Environment
from hookcli.report.training import ScriptInfo, Tracking
from hookcli.report.values import Count, Index, Number, Real, Shape

RUN_DIFF: Literal["hookcli.rundiff/1"] = "hookcli.rundiff/1"

StepPhase: TypeAlias = Literal["weights", "forward", "loss", "backward", "optimizer"]
FigureKind: TypeAlias = Literal[
    "weight_norm", "weight", "forwards", "shape", "output", "event", "loss", "backwards",
    "output_gradient", "gradient", "grad_norm", "scale", "skipped", "lr", "update_ratio",
    "update_norm",
]  # fmt: skip
Value: TypeAlias = Number | str | bool | None
Pair: TypeAlias = tuple[Number | None, Number | None]


@dataclass(frozen=True, slots=True)
class FigureDiff:
    """One figure of one step in A and B.

    `phase` is the part of the step in which it arises; "weights" is before the forward. `name` is a
    parameter, a layer or the target of a hook; None for a figure of the whole model. `a` and `b`
    are norms, except for a loss, a learning rate, a count, a shape, or "none" and "frozen" instead
    of the norm of a gradient that a parameter does not have. `relative` is the difference divided
    by the size of `a`, and `limit` its largest allowed value.
    """

    step: Index
    phase: StepPhase
    kind: FigureKind
    name: str | None
    a: Value
    b: Value
    relative: Number | None
    limit: Real | None
    status: Status


@dataclass(frozen=True, slots=True)
class SettingDiff:
    """A property of the runs, a record or a layer that differs: as text; None if it is missing."""

    name: str
    record: str | None
    a: str | None
    b: str | None


@dataclass(frozen=True, slots=True)
class StepDiff:
    """One step that both trainings have: the values of A and of B.

    `compared` is the number of figures, `different` the number of those that differ. `sampled`:
    both observed the step in detail. `largest` is the largest relative difference of a figure.
    """

    step: Index
    sampled: bool
    status: Status
    loss: Pair
    grad_norm: Pair
    lr: Pair
    compared: Count
    different: Count
    largest: Number | None


@dataclass(frozen=True, slots=True)
class GradientDiff:
    """A parameter in A and its counterpart in B, and its gradients in the steps of both.

    `steps` is the number of steps in which both have its gradient, `different` the number of those
    in which they differ. `first` is the first of those, `largest` the largest relative difference.
    """

    a: str | None
    b: str | None
    status: RowStatus
    shapes: tuple[Shape | None, Shape | None]
    steps: Count
    different: Count
    first: FigureDiff | None
    largest: Number | None


@dataclass(frozen=True, slots=True)
class RecordDiff:
    """A record of A and its counterpart in B; one of the two may be None.

    `matched` tells how they were found: by their name, by the types of root and optimizer, by the
    type of the root, or because no other was left. `steps` are the numbers of steps of A and B,
    `compared` that of the steps that both have and contain; `sampled` are those observed in detail
    by both. `first` is the first figure that differs, `follows` the first of each other kind, and
    `first_inexact` the first that is not equal to the last digit. `largest_before` is the largest
    relative difference before `first`. `parameters` are in the order of backward.
    """

    a: str | None
    b: str | None
    matched: Literal["name", "type", "root", "rest"] | None
    status: RowStatus
    steps: tuple[Count | None, Count | None]
    compared: Count
    sampled: tuple[Index, ...]
    figures: Count
    different: Count
    first: FigureDiff | None
    follows: tuple[FigureDiff, ...]
    first_inexact: FigureDiff | None
    largest_before: Number | None
    rows: tuple[StepDiff, ...]
    parameters: tuple[GradientDiff, ...]


@dataclass(frozen=True, slots=True)
class Parting:
    """Where two trainings part: the first figure that differs, in the order of the computation.

    `record` is its record in A. `layer` is the module of the figure in A, and `place` its line;
    `other_place` is the line in B. `meaning` tells what follows from the figures before, and
    `advice` how to see more.
    """

    record: str
    figure: FigureDiff
    layer: str | None
    place: str | None
    other_place: str | None
    sentence: str
    meaning: str | None
    advice: str | None


@dataclass(frozen=True, slots=True)
class LostItem:
    """A part of the state that differs: its fingerprints or its values; None if it is missing."""

    name: str
    a: str | None
    b: str | None


@dataclass(frozen=True, slots=True)
class ResumeDiff:
    """One training goes on from a checkpoint of the other.

    `resumed` is the side that does. The other one had saved it at the line `place` before its
    `step`, and the first step of the resumed one is `start`: steps are compared so shifted.
    `compared` are the groups of the state that both have, or one has. `lost` is the first of them
    that was not restored, and `items` are its parts that differ; None if no such group is known.
    """

    record: str
    resumed: Literal["a", "b"]
    step: Index
    start: Index
    place: str | None
    compared: tuple[str, ...]
    lost: str | None
    items: tuple[LostItem, ...]
    sentence: str
    advice: str | None


@dataclass(frozen=True, slots=True)
class TrainingSide:
    """The script of A or B, and how it ran."""

    script: ScriptInfo
    tracking: Tracking
    environment: Environment
    records: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TrainingDiff:
    """The comparison of two trainings.

    `reasons` tell why they are different, the most important first. `settings` differ, which alone
    does not make the trainings different. `resume` is of the first record in which one of the two
    goes on from the other.
    """

    schema: Literal["hookcli.rundiff/1"]
    verdict: Literal["same", "different"]
    reasons: tuple[str, ...]
    a: TrainingSide
    b: TrainingSide
    settings: tuple[SettingDiff, ...]
    first: Parting | None
    records: tuple[RecordDiff, ...]
    warnings: tuple[str, ...] = ()
    resume: ResumeDiff | None = None
