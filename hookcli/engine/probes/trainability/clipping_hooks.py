"""The hooks of a request that clip."""

from __future__ import annotations

from hookcli.catalogue.actions import CATALOGUE as ACTIONS
from hookcli.report.findings import Measurement
from hookcli.spec.request import Spec

PROBE = "clipping"


def clipping_hooks(spec: Spec) -> list[Measurement]:
    """Return a measurement for each action that clips."""
    clips = (
        (hook, action)
        for hook in spec.hooks
        for action in hook.actions
        if ACTIONS[action.name].clips
    )
    return [
        Measurement(
            PROBE, "", None,
            {"hook": hook.index, "action": action.name, "limit": str(action.argument),
             "place": hook.place},
            None,
        )
        for hook, action in clips
    ]  # fmt: skip
