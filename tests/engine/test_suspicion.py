"""Whether a run's recording shows a value that is not finite, and in which step first."""

from __future__ import annotations

import math

import pytest

from hookcli.engine.first_non_finite.suspicion import first_bad_step
from hookcli.report.findings import Measurement
from hookcli.report.recording import EventNote, ParameterStep, Recording


def event(step, *stats, phase="forward"):
    return EventNote(0, step, phase, "forward", "fc", 0, 0, None, 0, (), stats=list(stats) or None)


def found(step, at, nans=0, infs=0, minus_infs=0, probe="non_finite"):
    counts = {"nans": nans, "infs": infs, "minus_infs": minus_infs, "numel": 4}
    return Measurement(probe, "fc", 0, {"at": at, "step": step, **counts}, None)


def step(status):
    return {1: ParameterStep(None, None, "ok"), 2: ParameterStep(None, None, status)}


@pytest.mark.parametrize(
    ("recording", "expected"),
    [
        (Recording(), None),
        (Recording(losses=[0.5, math.nan, math.inf]), 1),
        (Recording(losses=[0.5, -0.5], gradients=[step("ok"), step("none")]), None),
        (Recording(gradients=[step("ok"), step("zero"), step("non_finite")]), 2),
        (Recording(events=[event(0), event(1, None, {"nans": 0, "infs": 0})]), None),
        (Recording(events=[event(3, {"nans": 0}, {"nans": 2})]), 3),
        # -Inf alone is a mask in forward, and no mask in backward
        (Recording(events=[event(1, {"infs": 2, "max": 3.0})]), None),
        (Recording(events=[event(1, {"infs": 2, "max": math.inf})]), 1),
        (Recording(events=[event(1, {"infs": 2, "max": 3.0}, phase="loss")]), None),
        (Recording(events=[event(1, {"infs": 2, "max": 3.0}, phase="backward")]), 1),
        (Recording(measured=[found(2, "output", nans=1)]), 2),
        (Recording(measured=[found(2, "output", minus_infs=1)]), None),
        (Recording(measured=[found(0, "parameter", nans=1), found(1, "updated", infs=1)]), None),
        (Recording(measured=[found(0, "output", nans=1, probe="values_read")]), None),
        # the earliest of all kinds
        (
            Recording(
                losses=[0.5, 0.5, 0.5, math.nan], events=[event(2, {"nans": 1})],
                measured=[found(1, "gradient", nans=1)],
            ),
            1,
        ),
    ],
)  # fmt: skip
def test_the_first_step_with_a_value_that_is_not_finite(recording, expected):
    assert first_bad_step(recording) == expected
