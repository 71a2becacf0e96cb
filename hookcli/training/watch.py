"""A stand-in: it counts the steps of all optimizers, and observes nothing else."""

from __future__ import annotations

import os
import sys
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from hookcli.report.report import Environment
from hookcli.report.training.training import (
    TRAINING_SCHEMA,
    ScriptInfo,
    Tracking,
    TrainingReport,
)
from hookcli.script.ending import EndOfRun
from hookcli.spec.training import RunJob


class Watch:
    """Counts steps."""

    def __init__(self, job: RunJob) -> None:
        self.job, self.steps = job, 0
        self.handle = register_optimizer_step_post_hook(self._after)

    def _after(self, *_: Any) -> None:
        self.steps += 1
        if self.steps == self.job.training.max_steps:
            raise EndOfRun("max_steps")

    def finish(self, script: ScriptInfo) -> TrainingReport:
        """Return a report without records."""
        training = self.job.training
        return TrainingReport(
            schema=TRAINING_SCHEMA,
            status="complete",
            environment=Environment(
                "0", str(torch.__version__), sys.version.split()[0], sys.platform, 0.0
            ),
            script=script,
            tracking=Tracking(
                self.job.spec.command,
                training.steps.text,
                training.max_steps,
                training.stop_on,
                training.eager,
                int(os.environ.get("RANK", "0")),
            ),
            records=(),
            warnings=(f"{self.steps} steps",),
        )

    def abandon(self) -> None:
        """Remove the hook."""
        self.handle.remove()


def start(job: RunJob) -> Watch:
    """Start to observe."""
    return Watch(job)
