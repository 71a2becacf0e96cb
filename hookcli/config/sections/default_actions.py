"""The actions that a hook gets in addition to those that the user gave."""

from __future__ import annotations

from hookcli.catalogue.kind import Kind
from hookcli.spec.hooks import ActionSpec, is_average


def with_defaults(kind: Kind, given: tuple[ActionSpec, ...], place: str) -> tuple[ActionSpec, ...]:
    """Return the given actions, or `record`; plus one that averages, if the kind requires one."""
    actions = given or (ActionSpec("record", None, place),)
    if kind.average is not None and not any(map(is_average, actions)):
        return (ActionSpec("comm", {"name": kind.average}, place), *actions)
    return actions
