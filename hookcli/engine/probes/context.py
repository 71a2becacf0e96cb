"""What the functions of probes are given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from hookcli.engine.probes.lost_gradients import LostGradients
from hookcli.engine.probes.rerun import Rerun
from hookcli.report.findings import Measurement
from hookcli.spec.checks import ProbeRequest
from hookcli.spec.request import Spec

Requests: TypeAlias = Sequence[ProbeRequest]  # those of the probes that name one function


@dataclass(frozen=True, slots=True)
class RerunContext:
    """What a probe that runs the model again is given.

    `lost` are the parameters that got no gradient in the run. `measured` is what the probes before
    this one measured.
    """

    spec: Spec
    again: Rerun
    lost: LostGradients
    measured: Sequence[Measurement]


def single(probe: str, value: Any) -> list[Measurement]:
    """Return a measurement without a target."""
    return [Measurement(probe, "", None, value, None)]
