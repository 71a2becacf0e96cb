"""Where values that are not finite were made, and which of them led to another one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from hookcli.models.model import Call
from hookcli.operators.reasons import Found


@dataclass(slots=True, eq=False)
class Birth:
    """An operator that returned NaN or Inf where its inputs had none of that kind.

    `number` orders births by time. `given` values are not computed: constants, parameters, inputs.
    `sources` are the births of the infinities from which it made NaN. In backward, `node` is the
    node that ran, and `forward` the place of the operator that made it.
    """

    number: int
    operator: str
    written: str
    counts: dict[str, int]
    reason: Found | None = None
    inputs: list[dict[str, Any]] = field(default_factory=list)
    phase: str = "forward"
    step: int = 0
    call: Call | None = None
    place: str | None = None
    node: str | None = None
    own_line: bool = False  # in backward: `place` is a line of the user's own backward
    given: bool = False
    sources: tuple[Birth, ...] = ()

    @property
    def has_nan(self) -> bool:
        """Whether the operator returned NaN."""
        return bool(self.counts.get("nans"))


def _behind(births: Iterable[Birth]) -> list[Birth]:
    """Return these births and all that they come from, in order of time."""
    seen: dict[int, Birth] = {}
    todo = list(births)
    while todo:
        birth = todo.pop()
        if birth.number not in seen:
            seen[birth.number] = birth
            todo += birth.sources
    return [seen[number] for number in sorted(seen)]


def first_of(births: Sequence[Birth]) -> tuple[Birth, Birth | None] | None:
    """Return the birth that led to these, and the one that made NaN of it, if it made Inf.

    What was computed from finite values comes first, then NaN that was made of a given Inf, such
    as a mask, and last what was given: an input before a buffer that it may have changed.
    """
    behind = _behind(births)
    if not behind:
        return None
    computed = [birth for birth in behind if not birth.given and not birth.sources]
    made_nan = [birth for birth in behind if not birth.given and birth.sources]
    given = sorted(behind, key=lambda birth: birth.reason is None or birth.reason[0] != "input")
    first = (computed or made_nan or given)[0]
    if first.has_nan:
        return first, None
    then = next((b for b in made_nan if first in _behind([b]) and b is not first), None)
    return first, then
