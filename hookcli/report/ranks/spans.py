"""Numbers of ranks as spans: "0-3,8-11"."""

from __future__ import annotations

from collections.abc import Iterable


def spans_of(ranks: Iterable[int]) -> str:
    """Return numbers in their order as spans of successive ones."""
    spans: list[list[int]] = []
    for rank in ranks:
        if spans and rank == spans[-1][1] + 1:
            spans[-1][1] = rank
        else:
            spans.append([rank, rank])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in spans)
