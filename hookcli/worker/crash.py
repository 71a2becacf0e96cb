"""Describe a child process that ended without an answer."""

from __future__ import annotations

import platform

from hookcli._version import __version__
from hookcli.errors import ModelError
from hookcli.report.report import (
    SCHEMA,
    Environment,
    ErrorInfo,
    ModelInfo,
    Report,
    RunInfo,
    Totals,
)
from hookcli.spec.plan import plan
from hookcli.spec.request import Attempt, Spec
from hookcli.worker.last_event import LastEvent
from hookcli.worker.protocol import Crash

_HINTS = {
    "died": "run the model by itself under `python -X faulthandler` to see more",
    "timeout": "pass a longer `--timeout`, or a smaller `--input`",
    "memory": "pass a smaller `--input`, or use a machine with more memory",
}


def crash_error(spec: Spec, crash: Crash) -> ModelError:
    """Return the error for a child that ended before its model ran."""
    where = LastEvent(crash.phase, crash.layer, crash.call, crash.place).sentence()
    return ModelError(
        f"{crash.message}, {where}",
        place=crash.place or spec.model.source,
        hint=_HINTS[crash.reason],
    )


def crash_hint(kind: str) -> str:
    """Return the hint for a crash of this kind."""
    return _HINTS[kind]


def crash_report(spec: Spec, attempt: Attempt, crash: Crash, seconds: float) -> Report:
    """Return a partial report that contains only the error."""
    return Report(
        schema=SCHEMA,
        command=spec.command,
        status="partial",
        environment=Environment(
            hookcli=__version__,
            torch=None,
            python=platform.python_version(),
            platform=f"{platform.system()}-{platform.machine()}".lower(),
            seconds=seconds,
        ),
        model=ModelInfo(source=spec.model.source, format="python"),
        run=RunInfo(
            tensors=attempt.tensors,
            fallback=attempt.fallback,
            mode=plan(spec).mode,
            device=spec.run.device,
            seed=spec.run.seed,
        ),
        inputs=None,
        totals=Totals(layers=0, calls=0, parameters=None),
        error=ErrorInfo(
            phase=crash.phase,
            layer=crash.layer,
            call=crash.call,
            inputs=(),
            type=crash.reason,
            message=crash.message,
            place=crash.place,
        ),
    )
