"""Hooks that cannot be attached together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hookcli.catalogue.kinds import CATALOGUE
from hookcli.spec.hooks import HookSpec


@dataclass(frozen=True, slots=True)
class ConflictingHooks:
    """Two hooks that exclude each other. `second` is an index into the hooks that were checked."""

    second: int
    message: str
    hint: str


def conflicts(hooks: tuple[HookSpec, ...]) -> Iterator[ConflictingHooks]:
    """Yield the conflicts that can be found without a model, with the place of the first hook."""
    seen: dict[tuple[str, str | None], HookSpec] = {}
    for i, hook in enumerate(hooks):
        at = None if hook.at is None else hook.at.text
        for conflict in CATALOGUE[hook.kind].conflicts:
            first = seen.get((conflict.kind, at))
            if first is not None:
                message = f"{conflict.message} (other hook: {first.place})"
                yield ConflictingHooks(i, message, conflict.hint)
        seen.setdefault((hook.kind, at), hook)
