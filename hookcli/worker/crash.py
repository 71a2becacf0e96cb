"""Describe a child process that ended without an answer."""

from __future__ import annotations

import platform
import shlex

from hookcli._version import __version__
from hookcli.errors import ModelError
from hookcli.interpreters.names import shown_executable
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
_START_HINTS = {
    "died": "run `{} -c 'import torch'` to see more",
    "timeout": "run `{} -c 'import torch'` to see how long it takes, or pass a longer `--timeout`",
    "memory": "use a machine with more memory, or run `{} -c 'import torch'` to see more",
}


def crash_error(spec: Spec, crash: Crash) -> ModelError:
    """Return the error for a child that ended before its model ran."""
    where = LastEvent(crash.phase, crash.layer, crash.call, crash.place).sentence()
    python = spec.run.python
    if crash.phase == "start" and python is not None:
        doing = "Python started" if crash.python is None else "Python imported torch"
        return ModelError(
            f"{crash.message}, while {doing}",
            place=python.place,
            hint=_START_HINTS[crash.reason].format(shlex.quote(python.path)),
        )
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
    python = spec.run.python
    return Report(
        schema=SCHEMA,
        command=spec.command,
        status="partial",
        environment=Environment(
            hookcli=__version__,
            torch=None,
            python=crash.python or "unknown",
            platform=f"{platform.system()}-{platform.machine()}".lower(),
            seconds=seconds,
            python_executable=None if python is None else shown_executable(python.path),
            python_source=None if python is None else python.source,
        ),
        model=ModelInfo(source=spec.model.source, format="python"),
        run=RunInfo.of(
            spec.run,
            tensors=attempt.tensors,
            fallback=attempt.fallback,
            mode=plan(spec).mode,
            loss=None,
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
