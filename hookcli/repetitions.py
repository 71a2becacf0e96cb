"""Consecutive repetitions in a sequence: a loop's calls, and hooks that fire in rounds."""

from __future__ import annotations

from collections.abc import Hashable, Sequence


def repetitions(items: Sequence[Hashable], longest: int) -> list[tuple[int, int, int]]:
    """Return (start, length, times) of consecutive groups that together are all items.

    At each start, the group of up to `longest` items is chosen whose repetitions cover the most
    items. An item that is not repeated is a group of one.
    """
    groups, i = [], 0
    while i < len(items):
        best = (1, 1)
        for length in range(1, min(longest, (len(items) - i) // 2) + 1):
            times, group = 1, items[i : i + length]
            while items[i + times * length : i + (times + 1) * length] == group:
                times += 1
            if times > 1 and times * length > best[0] * best[1]:
                best = (length, times)
        groups.append((i, *best))
        i += best[0] * best[1]
    return groups
