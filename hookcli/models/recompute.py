"""Which call of the forward a recomputation repeats.

Activation checkpointing runs modules again in backward. Such a call carries the number of the one
that it repeats, and gradients reach only one of the two: the second where the first ran without
grad (use_reentrant=True), else the first.
"""

from __future__ import annotations

import inspect
import weakref
from typing import TYPE_CHECKING, Any, TypeAlias

import torch

if TYPE_CHECKING:
    from hookcli.models.model import Call


Segment: TypeAlias = weakref.ref[Any]  # equal to another of the same frame, dead or alive
_hooks_of_saved = torch._C._autograd._top_saved_tensors_default_hooks


def _segment(top: tuple[Any, Any] | None) -> Segment | None:
    """The checkpoint that runs, or that is run again (use_reentrant=False): its frame.

    Private to torch's checkpoint: its hooks of saved tensors close over the frame, or over a weak
    reference to it.
    """
    pack: Any = None if top is None else inspect.unwrap(top[0])
    if getattr(pack, "__module__", "") != "torch.utils.checkpoint":
        return None  # other hooks of saved tensors are no checkpoint
    names = pack.__code__.co_freevars
    cells = {name: cell.cell_contents for name, cell in zip(names, pack.__closure__, strict=True)}
    frame = cells.get("frame")
    return cells.get("target_frame_ref") if frame is None else weakref.ref(frame)


def _node_sequence() -> int | None:
    """The number of the autograd node that is running."""
    node: Any = torch._C._current_autograd_node()
    return None if node is None else int(node._sequence_nr())


class ForwardPasses:
    """The calls of one forward, and what was recomputed of them."""

    def __init__(self) -> None:
        self._by_key: dict[int, list[Call]] = {}
        self._first_of: dict[int, Call] = {}  # order of a recomputed call → what it repeats

    def note(self, call: Call, again: Call | None) -> None:
        """A call begins; `again` is the one that it repeats.

        A checkpoint runs its calls without grad, or under hooks of saved tensors: no other call
        is repeated. One inside another runs them without grad once more in the other's second run.
        """
        if again is not None:
            self._first_of[call.order] = again
            if not torch.is_grad_enabled():
                self._by_key.setdefault(call.key, []).append(call)
            return
        top: tuple[Any, Any] | None = _hooks_of_saved(True)
        if top is not None:
            call.segment = _segment(top)
        elif call.graded:
            return
        known = self._by_key.get(call.key)
        if known is None:
            self._by_key[call.key] = [call]
        else:
            known.append(call)

    def of_recomputation(self, key: int, within: int | None) -> Call | None:
        """The call of the module `key` that the one which begins now repeats; None where none."""
        known = self._by_key.get(key)
        if not known:
            return None
        caller = None if within is None else self._first_of.get(within)
        if caller is not None:
            candidates = [call for call in known if call.parent == caller.order]
        else:
            candidates = self._of_segment(known)
        if not candidates:
            return None
        fewest = min(call.repeats for call in candidates)
        first = next(call for call in candidates if call.repeats == fewest)
        first.repeats += 1
        return first

    def _of_segment(self, known: list[Call]) -> list[Call]:
        """Those of the checkpoint whose backward is running."""
        again = _segment(_hooks_of_saved(True))
        exact = [call for call in known if again is not None and call.segment == again]
        if exact:
            return exact
        sequence = _node_sequence()
        if sequence is None:
            return known
        # Without grad no nodes are made: calls of a reentrant checkpoint began right after its own.
        inside = [call for call in known if not call.graded and call.sequence == sequence + 1]
        if inside:
            return inside
        before = [call for call in known if call.sequence <= sequence and call.segment is not None]
        if not before:
            return [call for call in known if call.sequence <= sequence] or known
        last = before[-1].segment
        return [call for call in before if call.segment == last]
