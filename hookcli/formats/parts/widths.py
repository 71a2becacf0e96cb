"""Columns that give way until a table fits."""

from __future__ import annotations

from collections.abc import Sequence


def shrink(widths: list[int], least: Sequence[int], excess: int) -> int:
    """Take `excess` from the widest that may shrink, one character after another; what is left.

    Of the widest the first gives first. The work does not depend on how wide they are: a name may
    be a million characters long.
    """
    while excess > 0:
        free = [i for i, width in enumerate(widths) if width > least[i]]
        if not free:
            break
        most = max(widths[i] for i in free)
        level = [i for i in free if widths[i] == most]
        # Down to the next width or limit all of these give in turn.
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
