"""A set of names → few globs that match all of it and nothing else: `encoder.*`, `*.bias`."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator

from hookcli.snapshot.globs import Names, exactly, folded


def _wide(name: str) -> Iterator[str]:
    """The globs by what a name begins with, and by what it ends with."""
    parts = name.split(".")
    for i in range(1, len(parts)):
        yield f"{exactly('.'.join(parts[:i]))}.*"
        yield f"*.{exactly('.'.join(parts[i:]))}"


def cover(meant: Collection[str], everything: Collection[str]) -> list[str]:
    """Globs in the order of the first name that each was taken for; `*` where all is meant."""
    inside = dict.fromkeys(meant)
    outside = [name for name in everything if name not in inside]
    if not inside:
        return []
    if not outside:
        return ["*"]
    taken = {glob for name in outside for glob in _wide(name)}
    globs: dict[str, list[str]] = {}
    for name in inside:
        for glob in _wide(name):
            if glob not in taken:
                globs.setdefault(glob, []).append(name)
    chosen: dict[str, str] = {}  # name → the glob that it was taken for
    queue = [(-len(names), len(glob), glob) for glob, names in globs.items() if len(names) > 1]
    heapq.heapify(queue)
    while queue:
        count, length, glob = heapq.heappop(queue)
        left = [name for name in globs[glob] if name not in chosen]
        if len(left) < 2:
            continue
        if len(left) < -count:  # others took some since
            heapq.heappush(queue, (-len(left), length, glob))
            continue
        chosen |= dict.fromkeys(left, glob)
    rest = {name: True for name in inside if name not in chosen}
    found = {glob: None for name in inside for glob in [chosen.get(name)] if glob is not None}
    narrow = (glob for glob, _ in folded(rest, Names([*outside, *rest])))
    return [*found, *narrow]
