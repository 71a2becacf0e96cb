"""The report of a training script, as plain data. JSON keys have the order of fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from hookcli.report.findings import CheckRow, Diagnosis, Unexamined
from hookcli.report.measured.compiler import CompilerAccount
from hookcli.report.report import Environment, Report
from hookcli.report.values import Count, ExitStatus, Index, Leaf, Number, Size, absent

TRAINING_SCHEMA: Literal["hookcli.run/1"] = "hookcli.run/1"


@dataclass(frozen=True, slots=True)
class ScriptInfo:
    """The script, and how it ended.

    `name` is its path as typed, or a module if `is_module`. `ended` tells how: "completed" at its
    last line, "exit" by sys.exit or os._exit, "exception", "interrupted" by Ctrl-C, "max_steps",
    "stopped" by --stop-on, "signal" whose name is the `error`. In a report that was made of a
    journal it is "running", or "unknown" if no end was recorded, as of a run that was killed.
    `status` is its exit status; None if that is not known. `error` is the last line of its
    traceback, and `place` the line in the user's source.
    """

    name: str
    arguments: tuple[str, ...]
    is_module: bool
    ended: Literal[
        "completed",
        "exit",
        "exception",
        "interrupted",
        "max_steps",
        "stopped",
        "signal",
        "running",
        "unknown",
    ]
    status: ExitStatus | None
    error: str | None = absent()  # it is a field()
    place: str | None = absent()  # it is a field()


@dataclass(frozen=True, slots=True)
class Tracking:
    """How the training was observed. `steps` is the selection as typed, or the default.

    `detached` is the reason why hookcli stopped observing, after an error of its own. `job` names
    the start of all ranks, and `started` is its time on this rank, in seconds since 1970, if there
    are several. `compiled` is how layers inside of compiled code were observed, if they were.
    """

    preset: str
    steps: str
    max_steps: Count | None
    stop_on: str | None
    eager: bool
    rank: Index = 0
    world_size: Count = 1
    detached: str | None = absent()  # it is a field()
    job: str | None = absent()  # it is a field()
    started: Count | None = absent()  # noqa: RUF009  # it is a field()
    compiled: str | None = absent()  # it is a field()


@dataclass(frozen=True, slots=True)
class OtherModule:
    """A module that was called outermost, and that no optimizer trains."""

    name: str
    type: str
    calls: Count | None
    parameters: Size
    place: str | None


@dataclass(frozen=True, slots=True)
class FirstNonFinite:
    """The first value of a training that is not finite.

    `what` is what was seen first: "loss" or "gradient". `layer`, `operator` and `place` name where
    it was made, as far as that could be found; `found_by` tells how: "replay" of the step, "graph"
    from the nodes of autograd between the outputs and the loss, "parameters" whose values were not
    finite before the step, "gradients" of parameters that are not finite, "source" for the line of
    the script that computes the loss, or "compiled" code, which hooks made write figures of layers.
    The layer is "" if it is the root. `phase` is the phase in which it was made. `inputs` are the
    operator's, each with its finite range. `reason` is a sentence, and `cause` the name of a row of
    `hookcli.catalogue.reasons` if the inputs prove it. `batch` is the file with the batch of the
    step.
    """

    record: str
    step: Index
    what: Literal["loss", "gradient"]
    phase: Literal["forward", "loss", "backward"] | None
    layer: str | None
    operator: str | None
    place: str | None
    inputs: tuple[dict[str, Any], ...]
    reason: str | None
    found_by: Literal["replay", "source", "graph", "parameters", "gradients", "compiled"] | None
    batch: str | None = absent()  # it is a field()
    leaves: tuple[Leaf, ...] = ()
    cause: str | None = None


@dataclass(frozen=True, slots=True)
class SampleNorm:
    """The norm of the gradient of one sample: what it adds to that of the step.

    `forward` is the number of the forward of the step, and `sample` that of the sample in its
    batch.
    """

    forward: Index
    sample: Index
    norm: Number


@dataclass(frozen=True, slots=True)
class SpikeSamples:
    """The gradient of a step by its samples, from a replay; or `why` it is not known.

    `count` samples were looked at, with norms up to those of the `largest`. `dominant` are the
    fewest of them without which the gradient norm of the step is less than half, and the next ones
    as long as each halves it again, and has a quarter of the largest norm: it is `without` then.
    There is none if that takes more than a tenth of the samples.
    """

    count: Count = 0
    median: Number | None = None
    largest: tuple[SampleNorm, ...] = ()
    dominant: tuple[SampleNorm, ...] = ()
    without: Number | None = None
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Spike:
    """A step whose gradient norm or loss left what the steps before it were.

    `what` tells which of them has the `value`. `usual` is the trend of the `window` values before
    it, and `limit` the largest value that is not a spike. `loss` and `grad_norm` are those of the
    step. `gradients` are the largest norms of the gradients of parameters, and `weights` is the
    digest of the weights before the step, both if they were seen before the update. `inputs` are
    the tensors of the batch, each with its finite range, and `batch` is the file that has it.
    """

    record: str
    step: Index
    what: Literal["loss", "gradient"]
    value: Number
    usual: Number
    limit: Number
    window: Count
    loss: Number | None
    grad_norm: Number | None
    gradients: tuple[tuple[str, Number], ...] = ()
    weights: str | None = None
    inputs: tuple[dict[str, Any], ...] = ()
    samples: SpikeSamples | None = None
    batch: str | None = None


@dataclass(frozen=True, slots=True)
class ScriptFact:
    """Something that a script did `count` times with PyTorch, between or around its steps.

    `kind` tells what, `target` with which model, parameter or optimizer. `place` is the line of the
    script, `record` the record that it belongs to, and `step` the step of that in which it was seen
    first. What `values` has depends on the kind.
    """

    kind: str
    target: str
    place: str | None
    record: str | None
    step: Index | None
    count: Count
    values: dict[str, Any]


@dataclass(frozen=True, slots=True)
class TrainingState:
    """Fingerprints of what a training goes on from, before a step of a record.

    `after` is what was before: the "start" of the script, or a "save" by torch.save, at the line
    `place`. `loads` tells whether weights were loaded before. `groups` has the fingerprint of each
    part of the state, by its group and its name; short numbers are their own fingerprint. `chances`
    are the states of torch's generator that were seen since, of which a training that goes on from
    here has one.
    """

    record: str
    step: Index
    after: Literal["start", "save"]
    place: str | None
    loads: bool
    groups: dict[str, dict[str, str]]
    chances: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TrainingReport:
    """One run of one script: a record for each root and optimizer.

    Each record is a `hookcli.report/1` whose `training` has the steps. `looked_for` are the kinds
    of facts that were looked for, each with how often there was something to look at, and `facts`
    those that were found. `unexamined` are the rules that would have been in `examined`, and were
    skipped. `compiler` is what torch.compile did, if the script compiles. `spikes` are the first
    steps that left what the steps before them were; None if no step was judged. `states` are those
    at the start of each record, and at its first and last saves.
    """

    schema: Literal["hookcli.run/1"]
    status: Literal["complete", "partial"]
    environment: Environment
    script: ScriptInfo
    tracking: Tracking
    records: tuple[Report, ...]
    others: tuple[OtherModule, ...] = ()
    first_non_finite: FirstNonFinite | None = None
    checks: tuple[CheckRow, ...] = ()
    diagnoses: tuple[Diagnosis, ...] | None = absent()  # it is a field()
    examined: tuple[str, ...] | None = absent()  # it is a field()
    unexamined: tuple[Unexamined, ...] | None = absent()  # it is a field()
    warnings: tuple[str, ...] = ()
    facts: tuple[ScriptFact, ...] | None = absent()  # it is a field()
    looked_for: dict[str, Count] | None = absent()  # noqa: RUF009  # it is a field()
    compiler: CompilerAccount | None = absent()  # noqa: RUF009  # it is a field()
    spikes: tuple[Spike, ...] | None = absent()  # it is a field()
    states: tuple[TrainingState, ...] | None = absent()  # it is a field()
