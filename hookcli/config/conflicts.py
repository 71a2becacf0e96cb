"""Hooks that cannot stand beside each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hookcli.catalogue.kinds import CATALOGUE
from hookcli.spec.hooks import HookSpec


@dataclass(frozen=True, slots=True)
class ConflictingHooks:
    """Two hooks of which one must go; `second` is an index into the hooks that were looked at."""

    second: int
    message: str
    hint: str


def conflicts(hooks: tuple[HookSpec, ...]) -> Iterator[ConflictingHooks]:
    """The conflicts that the hooks alone show, each with the place of the first."""
    seen: dict[tuple[str, str | None], HookSpec] = {}
    for i, hook in enumerate(hooks):
        where = None if hook.at is None else hook.at.text
        for conflict in CATALOGUE[hook.kind].conflicts:
            first = seen.get((conflict.kind, where))
            if first is not None:
                message = f"{conflict.message} (the other: {first.place})"
                yield ConflictingHooks(i, message, conflict.hint)
        seen.setdefault((hook.kind, where), hook)
