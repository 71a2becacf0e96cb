"""Builds the report from a recording and the facts about the model and the run."""

from __future__ import annotations

import platform
import sys
from dataclasses import replace
from time import perf_counter  # imported early: a model may replace the functions of `time`

import torch

from hookcli._version import __version__
from hookcli.interpreters.names import shown_executable
from hookcli.models.model import Model
from hookcli.models.scripted import type_of
from hookcli.report.existing_hook import ExistingHook
from hookcli.report.recording import Recording
from hookcli.report.report import (
    SCHEMA,
    Environment,
    Format,
    Inputs,
    ModelInfo,
    Report,
    RunInfo,
    Tensors,
)
from hookcli.report.rows import layers
from hookcli.report.rows.events import number
from hookcli.report.rows.gradients import parameter_rows
from hookcli.report.rows.measurements import checks, events, measurements
from hookcli.report.rows.memory import memory, memory_notes
from hookcli.spec.request import Mode, Spec

_EXECUTABLE = shown_executable(sys.executable)  # a model may change it, and the working folder


def environment(started: float, python_source: str) -> Environment:
    """Return the versions, and the seconds since `started` (a value of `time.perf_counter`)."""
    return Environment(
        hookcli=__version__,
        torch=torch.__version__,
        python=platform.python_version(),
        platform=f"{platform.system()}-{platform.machine()}".lower(),
        seconds=round(perf_counter() - started, 3),
        python_executable=_EXECUTABLE,
        python_source=python_source,
    )


def run_info(
    spec: Spec,
    mode: Mode,
    recording: Recording,
    *,
    tensors: Tensors,
    device: str,
    fallback: str | None = None,
) -> RunInfo:
    """Return how the model was run."""
    return RunInfo.of(
        spec.run,
        tensors=tensors,
        fallback=fallback,
        mode=mode,
        device=device,
        loss=recording.loss,
        losses=tuple(number(loss) for loss in recording.losses),
        loss_place=recording.loss_place,
        compiler=recording.compiler,
        method=spec.model.method,
    )


def assemble(
    model: Model,
    recording: Recording,
    *,
    command: str,
    source: str,
    run: RunInfo,
    inputs: Inputs | None,
    hooks: tuple[ExistingHook, ...],
    warnings: list[str],
    started: float,
    backend: Format = "python",
    python_source: str = "own",
) -> Report:
    """Return the report of one run; it is partial if the model raised.

    `hooks` are those that the model had before the run. `python_source` tells what named the
    interpreter, as in `Environment`.
    """
    failure = recording.failure
    return Report(
        schema=SCHEMA,
        command=command,
        status="complete" if failure is None else "partial",
        environment=environment(started, python_source),
        model=ModelInfo(
            source=source,
            format=backend,
            type=type_of(model.root),
            place=model.place(""),
            **layers.parameter_sizes(recording),
        ),
        run=run,
        inputs=_with_made_target(inputs, recording),
        layers=layers.layer_rows(recording),
        edges=layers.edge_rows(recording),
        uncalled=() if failure else layers.uncalled_rows(recording),
        parameters=parameter_rows(recording),
        buffers=layers.buffer_rows(recording),
        existing_hooks=hooks,
        events=events(recording),
        measurements=measurements(recording),
        checks=checks(recording),
        distributed=recording.distributed,
        timings=recording.timings,
        memory=memory(recording),
        totals=layers.totals(recording),
        warnings=(
            *warnings,
            *recording.warnings,
            *layers.partial_count(recording),
            *memory_notes(recording),
        ),
        error=None if failure is None else layers.error_row(failure, recording.modules),
    )


def _with_made_target(inputs: Inputs | None, recording: Recording) -> Inputs | None:
    if inputs is None or recording.made_target is None:
        return inputs
    return replace(inputs, target=recording.made_target, target_origin="made")
