"""Seeds that a script sets again in each step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hookcli.models import places
from hookcli.training.observers.observer import Observer, line_of
from hookcli.training.record.records import Record
from hookcli.training.script.watched_function import TorchCall

_MOST = 1_000  # lines and seeds
_LEAST = 10  # steps
_SHARE = 0.9
_EPOCHS = 4  # times that a seed is set again between steps of one optimizer


class Seeds(Observer):
    """Counts how often a line sets the same seed again, after a step."""

    kinds = ("repeated_seed", "epoch_seed")
    before = {"manual_seed_all": "seeded"}  # noqa: RUF012

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._steps = 0
        # By line and seed: its place, the steps with it, and the last of these.
        self._seeds: dict[Any, tuple[str | None, int, int]] = {}

    def before_step(self, optimizer: Any, records: Sequence[Record]) -> None:
        """Count a step."""
        self._steps += 1

    def seeded(self, call: TorchCall) -> None:
        """Note a seed."""
        self.facts.look(*self.kinds)
        seed, line = call.argument(0, "seed"), line_of(call)
        if not isinstance(seed, int) or line is None:
            return
        known = self._seeds.get((line, seed))
        if known is None:
            if len(self._seeds) < _MOST:
                self._seeds[line, seed] = places.of_frame(call.frame), 1, self._steps
        elif known[2] != self._steps:
            self._seeds[line, seed] = known[0], known[1] + 1, self._steps

    def finish(self) -> None:
        """Add the seeds that were set in nearly every step, or again in each epoch."""
        for (_, seed), (place, count, _) in self._seeds.items():
            if count >= max(_LEAST, _SHARE * self._steps):
                self.facts.add("repeated_seed", str(seed), place, times=count, steps=self._steps)
            elif count >= _EPOCHS and len(self.seen.optimizers) == 1:
                self.facts.add("epoch_seed", str(seed), place, times=count, steps=self._steps)
