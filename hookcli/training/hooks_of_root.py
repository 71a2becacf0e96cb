"""Which of the configured hooks stand on a root: one of several may lack a hook's targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from hookcli.errors import RequestError
from hookcli.hooks.resolve import Known, resolve
from hookcli.models.model import Model
from hookcli.spec.hooks import HookSpec, Match


@dataclass(slots=True)
class UnmatchedHooks:
    """The hooks that match nothing in the roots so far, with the messages, by place."""

    found: set[str] = field(default_factory=set)
    messages: dict[str, str] = field(default_factory=dict)

    def warnings(self) -> list[str]:
        """Return a warning for each hook that no root had targets for."""
        return [
            f"{place}: {message}"
            for place, message in self.messages.items()
            if place not in self.found
        ]


def is_of_root(match: Match | None, name: str, kind: str) -> bool:
    """Return whether `root` of a hook selects a root with this name and type."""
    if match is None:
        return True
    if match.type is not None:
        return fnmatchcase(kind, match.type)
    return match.pattern is not None and fnmatchcase(name, match.pattern)


def hooks_of_root(
    hooks: Sequence[HookSpec], model: Model, name: str, unmatched: UnmatchedHooks
) -> tuple[HookSpec, ...]:
    """Return the hooks that select this root and have targets in it."""
    kind = type(model.root).__name__
    known: Known | None = None
    chosen = []
    for hook in hooks:
        if not is_of_root(hook.root, name, kind):
            unmatched.messages.setdefault(hook.place, f"no root matches, such as {name}")
            continue
        if hook.at is not None:
            known = known or Known.of(model)
            try:
                resolve(hook, known)
            except RequestError as error:
                unmatched.messages.setdefault(hook.place, error.message)
                continue
        unmatched.found.add(hook.place)
        chosen.append(hook)
    return tuple(chosen)
