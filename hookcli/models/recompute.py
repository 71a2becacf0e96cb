"""Which call of the forward a recomputation repeats.

Activation checkpointing runs modules again in backward. Such a call carries the number of the one
that it repeats, and gradients reach only one of the two: the second where the first ran without
grad (use_reentrant=True), else the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch


@dataclass(slots=True)
class Pass:
    """One call, as far as a later one may repeat it. `within` is the order of its caller."""

    key: int
    order: int
    index: int
    within: int | None
    sequence: int
    graded: bool
    segment: int | None = None  # identity of the checkpoint that it ran in
    repeats: int = 0


def _segment() -> int | None:
    """The innermost checkpoint that is running (use_reentrant=False): its pack hook's identity."""
    top = torch._C._autograd._top_saved_tensors_default_hooks(True)
    if top is None or getattr(top[0], "__module__", "") != "torch.utils.checkpoint":
        return None  # other hooks of saved tensors are no checkpoint
    return id(top[0])


def _node_sequence() -> int | None:
    """The number of the autograd node that is running."""
    node: Any = torch._C._current_autograd_node()
    return None if node is None else int(node._sequence_nr())


class Passes:
    """The calls of one forward, and what was recomputed of them."""

    def __init__(self) -> None:
        self._by_key: dict[int, list[Pass]] = {}
        self._first_of: dict[int, Pass] = {}  # order of a recomputed call → what it repeats

    def note(self, one: Pass, *, again: Pass | None) -> None:
        """A call begins; `again` is the one that it repeats."""
        if again is not None:
            self._first_of[one.order] = again
            return
        one.segment = _segment()
        self._by_key.setdefault(one.key, []).append(one)

    def of_recomputation(self, key: int, within: int | None) -> Pass | None:
        """The call of the module `key` that the one which begins now repeats; None where none."""
        if torch._C._current_graph_task_id() == -1:
            return None
        known = self._by_key.get(key)
        if not known:
            return None
        caller = None if within is None else self._first_of.get(within)
        if caller is not None:
            found = [one for one in known if one.within == caller.order]
        else:
            found = self._of_segment(known)
        if not found:
            return None
        fewest = min(one.repeats for one in found)
        first = next(one for one in found if one.repeats == fewest)
        first.repeats += 1
        return first

    def _of_segment(self, known: list[Pass]) -> list[Pass]:
        """Those of the checkpoint whose backward is running."""
        sequence = _node_sequence()
        if sequence is None:
            return known
        # Without grad no nodes are made: calls of a reentrant checkpoint began right after its own.
        inside = [one for one in known if not one.graded and one.sequence == sequence + 1]
        if inside:
            return inside
        before = [one for one in known if one.sequence <= sequence and one.segment is not None]
        if not before:
            return [one for one in known if one.sequence <= sequence] or known
        last = before[-1].segment
        return [one for one in before if one.segment == last]
