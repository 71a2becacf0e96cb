"""The memory of a run: by call, and of a whole training step. All figures are in bytes."""

from __future__ import annotations

from dataclasses import dataclass

from hookcli.report.values import Size


@dataclass(frozen=True, slots=True)
class CallMemory:
    """The memory of one call.

    `saved_bytes` is what autograd keeps for the backward of the call's own operators, without the
    calls below; each storage counts once, for the operator that saved it first. `peak_bytes` is the
    most that was alive while the forward of the call ran, `backward_peak_bytes` the same for the
    backward of its operators; both include the calls below, and all that other calls left alive.
    """

    saved_bytes: Size | None = None
    peak_bytes: Size | None = None
    backward_peak_bytes: Size | None = None


@dataclass(frozen=True, slots=True)
class TrainingMemory:
    """The memory of a training step with an optimizer.

    `what_if` is the value of `--what-if`, None for the run itself. `batch` is the number of
    samples, None if it is unknown. The peaks are those of what the step makes in each phase;
    `step_peak_bytes` includes the gradients, but not the optimizer's state. `total_bytes` is the
    sum of parameters, buffers, inputs, state and the highest of the three peaks.
    """

    what_if: str | None
    optimizer: str
    batch: Size | None
    dtype: str | None
    autocast: str | None
    parameter_bytes: Size | None
    buffer_bytes: Size | None
    input_bytes: Size | None
    gradient_bytes: Size | None
    state_bytes: Size | None
    forward_peak_bytes: Size | None
    backward_peak_bytes: Size | None
    step_peak_bytes: Size | None
    total_bytes: Size | None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory of the whole run, and of training steps.

    The peaks are those of what the run made: parameters, buffers and inputs are not included.
    """

    saved_bytes: Size | None
    forward_peak_bytes: Size | None
    backward_peak_bytes: Size | None
    training: tuple[TrainingMemory, ...] = ()
