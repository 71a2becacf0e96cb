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


def ranks_in(spans: str) -> list[int]:
    """Return the numbers of spans, in their order.

    Raises
    ------
    ValueError : the text is not one of spans.
    """
    ranks: list[int] = []
    for span in spans.split(",") if spans else ():
        low, _, high = span.partition("-")
        ranks += range(int(low), int(high or low) + 1)
    return ranks
