"""What is known of a model without a run of its own: its source, its values, equal units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from hookcli.engine.probes.code.user_code import (
    BACKWARDS,
    DISCARDED,
    LAST_STEPS,
    POSITIONS,
    REPEATED,
    SETTINGS,
    UNREAD,
    VARIANCES,
    UserCode,
)
from hookcli.engine.probes.module_values import (
    DROPOUT,
    MASKS,
    NORMS,
    UNITS,
    ModuleValues,
)
from hookcli.torch_private import disable_current_modes
from hookcli.training.observers.observer import Observer
from hookcli.training.record.records import Record

_IN_CODE = (
    DISCARDED, BACKWARDS, UNREAD, REPEATED, SETTINGS, POSITIONS, LAST_STEPS, VARIANCES,
)  # fmt: skip


class ModelLook(Observer):
    """Looks at each trained root once, when its optimizer makes the first step."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._looked: set[int] = set()  # numbers of roots

    def before_step(self, optimizer: Any, records: Sequence[Record]) -> None:
        """Look at the roots of a first step."""
        for record in records:
            root = record.root
            if root.number in self._looked:
                continue
            self._looked.add(root.number)
            if not root.compiled and root.calls:
                self._look(record)

    def _look(self, record: Record) -> None:
        root = record.root
        code = UserCode(
            (DISCARDED, BACKWARDS, UNREAD, REPEATED, SETTINGS, POSITIONS, LAST_STEPS, VARIANCES)
        )
        run = root.recent[-1] if root.recent else None
        code.read(root.root, None if run is None else (run.args, run.kwargs))
        values = ModuleValues((NORMS, MASKS, UNITS, DROPOUT))
        with torch.no_grad(), disable_current_modes():
            values.look_at(record.model)
        for measurement in (*code.measurements, *values.measurements):
            if measurement not in root.measured:
                root.measured.append(measurement)
