"""Find the call of the forward that a recomputation repeats.

Activation checkpointing runs modules again in backward. Such a call gets the number of the call
that it repeats, and gradients reach only one of the two: the second if the first ran without grad
(use_reentrant=True), else the first.
"""

from __future__ import annotations

import inspect
import sys
import weakref
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeAlias

import torch
import torch.utils.checkpoint

from hookcli.torch_private import current_autograd_node, top_saved_tensors_hooks

if TYPE_CHECKING:
    from hookcli.models.model import Call


Segment: TypeAlias = weakref.ref[Any]  # equals any other reference to the same frame, dead or alive
_CHECKPOINT = torch.utils.checkpoint.__file__


def _innermost() -> tuple[bool, Segment | None]:
    """Return whether saved-tensor hooks are active, and the checkpoint to which they belong."""
    if top_saved_tensors_hooks is None:
        segment = _segment_on_stack()
        return segment is not None, segment
    top = top_saved_tensors_hooks(True)
    return top is not None, _segment(top)


def _segment_on_stack() -> Segment | None:
    """Return the same as `_segment` where torch does not tell which hooks are active.

    The frame of a checkpoint that runs is a local variable of a generator, which is one of
    `checkpoint`. That of a checkpoint that is recomputed is a variable of `unpack_hook`.
    """
    caller: FrameType | None = sys._getframe(1)
    while caller is not None:
        code = caller.f_code
        if code.co_filename == _CHECKPOINT:
            frame: Any = None
            if code.co_name == "unpack_hook":
                frame = caller.f_locals.get("frame")
            elif code.co_name == "checkpoint" and inspect.isgenerator(caller.f_locals.get("gen")):
                inside = caller.f_locals["gen"].gi_frame
                frame = None if inside is None else inside.f_locals.get("new_frame")
            if frame is not None:
                return weakref.ref(frame)
        caller = caller.f_back
    return None


def _segment(top: tuple[Any, Any] | None) -> Segment | None:
    """Return the frame of the checkpoint that runs or is recomputed (use_reentrant=False).

    This relies on a private detail of torch's checkpoint: its saved-tensor hooks are closures over
    the frame, or over a weak reference to it.
    """
    pack: Any = None if top is None else inspect.unwrap(top[0])
    if getattr(pack, "__module__", "") != "torch.utils.checkpoint":
        return None  # other saved-tensor hooks do not belong to a checkpoint
    names = pack.__code__.co_freevars
    cells = {name: cell.cell_contents for name, cell in zip(names, pack.__closure__, strict=True)}
    frame = cells.get("frame")
    return cells.get("target_frame_ref") if frame is None else weakref.ref(frame)


def _node_sequence() -> int | None:
    """Return the sequence number of the autograd node that is running."""
    node: Any = current_autograd_node()
    return None if node is None else int(node._sequence_nr())


class ForwardPasses:
    """The calls of one forward, and those that repeat them."""

    def __init__(self) -> None:
        self._by_key: dict[int, list[Call]] = {}
        self._first_of: dict[int, Call] = {}  # order of a recomputed call → the first call

    def note(self, call: Call, again: Call | None) -> None:
        """Note that a call begins; `again` is the call that it repeats, if any.

        A checkpoint runs its calls without grad, or under saved-tensor hooks: no other call is
        repeated. A nested checkpoint runs its calls without grad once more when the outer one is
        recomputed.
        """
        if again is not None:
            self._first_of[call.order] = again
            if not torch.is_grad_enabled():
                self._by_key.setdefault(call.key, []).append(call)
            return
        hooked, segment = _innermost()
        if hooked:
            call.segment = segment
        elif call.graded:
            return
        known = self._by_key.get(call.key)
        if known is None:
            self._by_key[call.key] = [call]
        else:
            known.append(call)

    def of_recomputation(self, key: int, within: int | None) -> Call | None:
        """Return the call that a call of the module `key`, which begins now, repeats; or None."""
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
        """Return the calls of the checkpoint whose backward is running."""
        _, again = _innermost()
        exact = [call for call in known if again is not None and call.segment == again]
        if exact:
            return exact
        sequence = _node_sequence()
        if sequence is None:
            return known
        # Without grad no nodes are created: calls of a reentrant checkpoint follow its node.
        inside = [call for call in known if not call.graded and call.sequence == sequence + 1]
        if inside:
            return inside
        before = [call for call in known if call.sequence <= sequence and call.segment is not None]
        if not before:
            return [call for call in known if call.sequence <= sequence] or known
        last = before[-1].segment
        return [call for call in before if call.segment == last]
