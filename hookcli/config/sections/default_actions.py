"""What a hook does beside what it was given to do."""

from __future__ import annotations

from hookcli.catalogue.kind import Kind
from hookcli.spec.hooks import ActionSpec, is_average


def with_defaults(kind: Kind, given: tuple[ActionSpec, ...], place: str) -> tuple[ActionSpec, ...]:
    """The actions: `record` where there are none; where none averages and one must, one more."""
    actions = given or (ActionSpec("record", None, place),)
    if kind.average is not None and not any(map(is_average, actions)):
        return (ActionSpec("comm", {"name": kind.average}, place), *actions)
    return actions
