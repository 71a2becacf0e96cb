"""Shrink columns until a table fits."""

from __future__ import annotations

from collections.abc import Sequence


def shrink(widths: list[int], least: Sequence[int], excess: int) -> int:
    """Take `excess` characters from the widest columns that may shrink; return what is left of it.

    Of equally wide columns the first shrinks first. The work does not depend on the widths, as a
    name may be a million characters long.
    """
    while excess > 0:
        free = [i for i, width in enumerate(widths) if width > least[i]]
        if not free:
            break
        most = max(widths[i] for i in free)
        level = [i for i in free if widths[i] == most]
        # All widest columns shrink in turn, down to the next width or limit.
        below = [widths[i] for i in free if widths[i] < most]
        floor = max([least[i] for i in level] + below)
        rounds = min(most - floor, excess // len(level))
        if rounds:
            for i in level:
                widths[i] -= rounds
            excess -= rounds * len(level)
        else:
            for i in level[:excess]:
                widths[i] -= 1
            excess -= min(excess, len(level))
    return excess
