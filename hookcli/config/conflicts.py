"""Hooks that cannot stand beside each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hookcli.spec.hooks import HookSpec

_LEGACY = {"backward": "full_backward", "global_backward": "global_full_backward"}


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two hooks of which one must go; `second` is an index into the hooks that were looked at."""

    second: int
    message: str
    hint: str


def conflicts(hooks: tuple[HookSpec, ...]) -> Iterator[Conflict]:
    """The conflicts that the hooks alone show, each with the place of the first."""
    seen: dict[tuple[str, str | None], HookSpec] = {}
    for i, hook in enumerate(hooks):
        where = None if hook.at is None else hook.at.text
        for kind, message, hint in _against(hook):
            first = seen.get((kind, None if kind == "ddp_comm" else where))
            if first is not None:
                yield Conflict(i, f"{message} (the other: {first.place})", hint)
        seen.setdefault((hook.kind, where), hook)


def _against(hook: HookSpec) -> Iterator[tuple[str, str, str]]:
    """The kinds that a hook cannot stand beside, with the reason and the way out."""
    legacy = "torch takes no legacy backward hook where there is a full one"
    for old, full in _LEGACY.items():
        if hook.kind in (old, full):
            other = full if hook.kind == old else old
            yield other, legacy, f"take {full} alone"
    if hook.kind == "ddp_comm":
        yield (
            "ddp_comm",
            "a model has one communication hook, and this is a second",
            "leave one out",
        )
    if hook.kind == "saved_tensors":
        yield (
            "saved_tensors",
            "one pair of saved_tensors acts at a time, and this is a second over the same modules",
            "leave one out, or put both into one pair of functions",
        )
