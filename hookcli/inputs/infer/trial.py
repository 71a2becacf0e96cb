"""The result of trying a hypothesis."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import nn

from hookcli.spec.inferred import Hypothesis

Sizes = tuple[int, ...]


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
    why: str = ""  # what led to this hypothesis
    error: str = ""
    kind: str = ""  # the exception's type
    failed: Reached | None = None
    reached: list[Reached] = field(default_factory=list)
