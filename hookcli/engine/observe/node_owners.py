"""Finds the call that made an autograd node, from the numbers that torch gives to nodes."""

from __future__ import annotations

import threading
from bisect import bisect_right
from typing import Any

from hookcli.engine.watcher import Watcher
from hookcli.hooks.attach.graph import ACCUMULATE
from hookcli.models.model import Call, CallInputs
from hookcli.torch_private import next_sequence_nr


class NodeOwners(Watcher):
    """The ranges of node numbers of calls, on the thread of the first call.

    Each thread numbers its nodes from 0, and a node does not tell its thread. So a number that a
    call on another thread has reached names no call.
    """

    def __init__(self) -> None:
        self._thread: int | None = None
        self._reached_elsewhere = 0
        self._starts: list[int] = []
        self._orders: list[int] = []
        self._ends: dict[int, int] = {}
        self._parents: dict[int, int | None] = {}

    def enter(self, call: Call, batch: CallInputs) -> None:
        """Add a call that starts; calls start in the order of their numbers."""
        if self._thread is None:
            self._thread = threading.get_ident()
        if self._is_elsewhere():
            return
        self._starts.append(call.sequence)
        self._orders.append(call.order)
        self._parents[call.order] = call.parent

    def leave(self, call: Call, output: Any, error: BaseException | None) -> None:
        """Note the number of the next node as the end of a call."""
        if self._is_elsewhere():
            self._reached_elsewhere = max(self._reached_elsewhere, next_sequence_nr())
        else:
            self.note_end(call, next_sequence_nr())

    def note_end(self, call: Call, number: int) -> None:
        """Note the number of the first node after a call."""
        self._ends[call.order] = number

    def _is_elsewhere(self) -> bool:
        return threading.get_ident() != self._thread

    def of(self, number: int) -> int | None:
        """Return the order of the innermost call that made the node with this number.

        None if no call made it, or if another thread may have made it.
        """
        if number >= ACCUMULATE or number < self._reached_elsewhere:
            return None
        i = bisect_right(self._starts, number) - 1
        order: int | None = self._orders[i] if i >= 0 else None
        while order is not None and number >= self._ends.get(order, ACCUMULATE):
            order = self._parents.get(order)
        return order
