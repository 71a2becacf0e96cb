"""The result of trying a hypothesis."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

from torch import nn

from hookcli.inputs.infer.failed_line import NO_LINE, FailedLine
from hookcli.spec.inferred import Hypothesis

Sizes = tuple[int, ...]
_NUMBERS = re.compile(r"(?<!at )(?<!at -)(?<!dimension )\[?-?\d[\dx, -]*\]?")  # not an axis


@dataclass(frozen=True, slots=True)
class Reached:
    """A call of a layer: the layer, and the shapes of its inputs."""

    module: nn.Module
    name: str
    shapes: tuple[Sizes, ...]
    dtypes: tuple[str, ...]
    slots: tuple[str | None, ...]  # the parameter of forward that each input is, unchanged


@dataclass(slots=True)
class Trial:
    """One trial. `ran`: to the end, or as far as fake tensors can run.

    `failed` is the leaf layer that raised, or None if the model's own code did.
    """

    hypothesis: Hypothesis
    ran: bool
    lost: bool = False  # fake tensors failed before any layer was called
    mixed: bool = False  # a fake tensor met a real one, so real tensors may run
    why: str = ""  # what led to this hypothesis
    error: str = ""
    kind: str = ""  # the exception's type
    failed: Reached | None = None
    reached: list[Reached] = field(default_factory=list)
    calls: int = 0  # of leaf layers: how far it got
    line: FailedLine = NO_LINE
    outputs: tuple[Sizes, ...] = ()
    parent: Trial | None = None  # the trial that this one repairs

    @property
    def key(self) -> str:
        """Where and how it failed, without the numbers: equal for the same failure."""
        if self.ran:
            return ""
        where = self.failed.name if self.failed is not None else str(self.line.number)
        return f"{where}|{self.kind}|{_NUMBERS.sub('#', self.error)[:200]}"

    @property
    def recursed(self) -> bool:
        """Whether it exceeded the limit of recursion."""
        return self.kind == RecursionError.__name__

    def passes(self, failure: Trial) -> bool:
        """Whether this trial got past the place where another one failed."""
        further = self.calls > failure.calls  # a layer that is shared may fail again
        return self.ran or further or (self.calls == failure.calls and self.key != failure.key)

    def reasons(self) -> list[str]:
        """Why this hypothesis is what it is: the first guess, and then each repair."""
        before = [] if self.parent is None else self.parent.reasons()
        return [*before, self.why]

    def keeps_samples(self, batch: int) -> bool:
        """Whether its outputs may have one row for each sample; False if there are more rows.

        A hard-coded `view(-1, 400)` runs with images of many sizes, and makes several rows of one
        image.
        """
        rows = self.outputs[0][0] if self.outputs and len(self.outputs[0]) > 1 else batch
        known = {batch}
        for _, spec in self.hypothesis.tensors():
            known |= {*spec.shape[:2]}
            if len(spec.shape) in (2, 3, 5):
                known.add(math.prod(spec.shape[:2]))
        sizes = {size for s in self.outputs for size in s[: 2 if len(s) > 2 else 1]}
        return rows <= batch or bool(known & sizes)
