"""What came of trying a hypothesis."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import nn

from hookcli.spec.inferred import Hypothesis

Sizes = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Reached:
    """A call of a layer: what it is, and the shapes that it got."""

    module: nn.Module
    name: str
    shapes: tuple[Sizes, ...]
    dtypes: tuple[str, ...]
    slots: tuple[str | None, ...]  # the parameter of forward that each is, unchanged


@dataclass(slots=True)
class Trial:
    """One try. `ran`: to the end, or as far as fake tensors could tell.

    `failed` is the leaf layer that raised, or None where the model's own code did.
    """

    hypothesis: Hypothesis
    ran: bool
    lost: bool = False  # fake tensors could not tell, before any layer was reached
    why: str = ""  # what led to this hypothesis
    error: str = ""
    kind: str = ""  # the exception's type
    failed: Reached | None = None
    reached: list[Reached] = field(default_factory=list)
