"""A watch without torch."""

import os
import sys

from hookcli.report.report import Environment
from hookcli.report.training import Tracking, TrainingReport

CALLS = []
others = children = ()  # reports of other processes


def start(job):
    assert "torch" in sys.modules
    CALLS.append(os.getpid())
    return sys.modules[__name__]


def finish(script):
    return TrainingReport(
        schema="hookcli.run/1",
        status="complete",
        environment=Environment("0", None, "3", "linux", 0.0),
        script=script,
        tracking=Tracking("grads", "0", None, None, False),
        records=(),
        warnings=tuple(map(str, CALLS)),
    )


def abandon():
    CALLS.append("abandoned")
    os.write(1, b"abandoned\n")  # at once: the parent writes too


def start_fails(job):
    raise ValueError("no\nwatch")


class FinishFails:
    def finish(self, script):
        raise ValueError("no report")

    def abandon(self):
        raise ValueError("never called")


def finish_fails(job):
    return FinishFails()
