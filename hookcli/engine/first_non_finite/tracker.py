"""Follows values that are not finite through the operators of a run, back to where they were made.

Values are followed by the memory they are in, so that views and in-place operators are too. Only
operators whose result is not finite are looked at closely.
"""

from __future__ import annotations

import linecache
import math
import re
import sys
from collections.abc import Callable
from typing import Any, TypeAlias

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from hookcli.engine.first_non_finite.birth import Birth
from hookcli.hooks.context import Context
from hookcli.models import places
from hookcli.models.bits import sized_storage
from hookcli.models.fake.dispatch_mode import UncompiledMode
from hookcli.models.nested import leaves
from hookcli.models.scripted import OURS, lost
from hookcli.operators.arguments import (
    LIFTS,
    UNINITIALIZED,
    before,
    contributes,
    inputs,
    is_infinite,
    written_to,
)
from hookcli.operators.finite import counts_of, described, is_readable
from hookcli.operators.gradients import why_in_backward
from hookcli.operators.names import operator_name, packet_name, written
from hookcli.operators.nodes import NodeLines, node_name
from hookcli.operators.reasons import Operation, why, why_from_inf
from hookcli.torch_private import current_autograd_node, disable_current_modes

_MOST = 8  # births that are followed for one storage
_SIGNS = {"softmax_of_inf": "infs", "all_masked": "minus_infs"}  # what made NaN, by the reason
_PHASES = {"forward", "loss", "backward"}

_Known: TypeAlias = tuple[StorageWeakRef, tuple[Birth, ...]]
NameOf: TypeAlias = Callable[[torch.Tensor], tuple[str, str] | None]


class Tracker(UncompiledMode):  # type: ignore[no-untyped-call]
    """The dispatch mode that notes births. `given` names a tensor that exists before the run."""

    supports_higher_order_operators = True

    def __init__(self, context: Context, given: NameOf) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._context = context
        self._given = given
        self._known: dict[int, _Known] = {}
        self._lines = NodeLines()
        self._items: list[Birth] = []  # whose values Python has read
        self._next = 0
        self.done = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if self.done or self._context.phase not in _PHASES or func.namespace in {OURS, "prim"}:
            return func(*args, **kwargs)
        earlier = before(func, args, kwargs)
        try:
            out = func(*args, **kwargs)
        except BaseException as error:
            lost.note(error)
            raise
        frame = sys._getframe(1)
        with torch.no_grad(), disable_current_modes():
            self._lines.note(func, frame, self._context.calls.running())
            self._look(func, earlier, out, written_to(func, args, kwargs), frame)
        return out

    def births_of(self, tensor: torch.Tensor) -> tuple[Birth, ...]:
        """Return where the values of a tensor that is not finite were made."""
        known = self._in_memory(tensor)
        if known:
            return known
        return (self._outside(tensor),)

    def _in_memory(self, tensor: torch.Tensor) -> tuple[Birth, ...]:
        sized = sized_storage(tensor)
        if sized is None:
            return ()
        known = self._known.get(sized[0]._cdata)
        return () if known is None or known[0].expired() else known[1]  # type: ignore[no-untyped-call]

    def _outside(self, tensor: torch.Tensor) -> Birth:
        """Return the birth of values that no operator of the run has made."""
        kind, name = self._given(tensor) or ("outside", "")
        birth = Birth(-1, name, name, counts_of(tensor) or {}, (kind, {"name": name}), given=True)
        self._remember(tensor, (birth,))
        return birth

    def _remember(self, tensor: torch.Tensor, births: tuple[Birth, ...]) -> None:
        sized = sized_storage(tensor)
        if sized is not None:
            distinct = {id(birth): birth for birth in births}
            kept = tuple(sorted(distinct.values(), key=lambda b: b.number)[:_MOST])
            reference = StorageWeakRef(sized[0])  # type: ignore[no-untyped-call]
            self._known[sized[0]._cdata] = (reference, kept)

    def _look(
        self,
        func: Any,
        earlier: tuple[tuple[Any, ...], dict[str, Any]],
        out: Any,
        changed: list[torch.Tensor],
        frame: Any,
    ) -> None:
        name = packet_name(func)
        if name == "_local_scalar_dense":
            if isinstance(out, float) and not math.isfinite(out):
                self._items += self.births_of(earlier[0][0])
            return
        if name in UNINITIALIZED or name in LIFTS:
            if isinstance(out, torch.Tensor):
                reason = "uninitialized"
                if name in LIFTS:
                    reason = "array" if _is_foreign_memory(out) else "constant"
                birth = self._birth(func, counts_of(out) or {}, frame, (reason, {}))
                if name in LIFTS:
                    birth.written = _lift_written(frame) or birth.written
                birth.given = True
                self._remember(out, (birth,))
            return
        outputs = [tensor for _, tensor, _ in leaves(out)]
        seen = {id(tensor) for tensor in outputs}
        for tensor in (*outputs, *(t for t in changed if id(t) not in seen)):
            counts = counts_of(tensor)
            if counts is not None:
                self._note(func, earlier, tensor, counts, frame)

    def _note(
        self,
        func: Any,
        earlier: tuple[tuple[Any, ...], dict[str, Any]],
        tensor: torch.Tensor,
        counts: dict[str, int],
        frame: Any,
    ) -> None:
        operation = Operation(func, *earlier, tensor)
        sources: list[Birth] = []
        nan_inside, finite = False, True
        for _, value in inputs(operation):
            bad = None if not isinstance(value, torch.Tensor) else counts_of(value)
            if bad is None or not contributes(operation, value):
                continue
            finite = False
            nan_inside = nan_inside or bool(bad["nans"])
            sources += self.births_of(value)
        for _, value in inputs(operation):
            if is_infinite(value):
                finite = False
                nan_inside = nan_inside or math.isnan(value)
                sources += self._items or [self._constant(func, counts, frame)]
        if finite:
            birth = self._birth(func, counts, frame, self._why(operation, from_inf=False))
            birth.inputs = [described(name, v) for name, v in inputs(operation)]
            self._remember(tensor, (birth,))
            return
        births = tuple(sources)
        if counts["nans"] and not nan_inside:
            found = self._why(operation, from_inf=True)
            birth = self._birth(func, counts, frame, found)
            birth.inputs = [described(name, v) for name, v in inputs(operation)]
            birth.sources = _of_sign(births, found)
            births = (birth,)
        elif _computed_too(operation):
            birth = self._birth(func, counts, frame, self._why(operation, from_inf=False))
            birth.inputs = [described(name, v) for name, v in inputs(operation)]
            births = (*births, birth)
        self._remember(tensor, births)

    def _why(self, operation: Operation, *, from_inf: bool) -> Any:
        found = why_from_inf(operation) if from_inf else why(operation)
        node: Any = current_autograd_node()
        if node is None or self._context.phase != "backward":
            return found
        return why_in_backward(node_name(node), found, from_inf=from_inf)

    def _constant(self, func: Any, counts: dict[str, int], frame: Any) -> Birth:
        birth = self._birth(func, counts, frame, ("constant", {}))
        birth.given = True
        return birth

    def _birth(self, func: Any, counts: dict[str, int], frame: Any, reason: Any) -> Birth:
        self._next += 1
        context = self._context
        call = context.calls.running()
        birth = Birth(
            self._next, operator_name(func), written(func, call), counts, reason,
            phase=context.phase, step=context.step, call=call, place=places.of_frame(frame),
        )  # fmt: skip
        node: Any = current_autograd_node()
        if context.phase == "backward" and node is not None and call is None:
            birth.node = node_name(node)
            birth.own_line = birth.place is not None
            made = self._lines.of(node)
            if made is not None:
                birth.call = made[2]
                if made[0] and not birth.own_line:
                    birth.written, birth.place = made[0], made[1]
        return birth


_LIFTING = re.compile(
    r"\b((?:torch\.)?(?:as_tensor|asarray|from_numpy|frombuffer|tensor)|\w+\.new_tensor)\s*\("
)


def _lift_written(frame: Any) -> str:
    """The function that a line calls to make a tensor of values; "" if it calls several, or none.

    They all run the same operator.
    """
    if frame is None:
        return ""
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
    names = {name.rpartition(".")[2] for name in _LIFTING.findall(line)}
    if len(names) != 1:
        return ""
    [name] = names
    return f"Tensor.{name}" if name == "new_tensor" else f"torch.{name}"


def _is_foreign_memory(tensor: torch.Tensor) -> bool:
    """Whether a tensor uses memory of another library, as that of a NumPy array."""
    sized = sized_storage(tensor)
    return sized is not None and not sized[0].resizable()


def _computed_too(operation: Operation) -> bool:
    """Whether an elementwise operator also returned Inf or NaN for inputs that are finite."""
    if torch.Tag.pointwise not in getattr(operation.func, "tags", ()):
        return False
    fine: torch.Tensor | None = None
    for _, value in inputs(operation):
        if is_infinite(value):
            return False
        if not isinstance(value, torch.Tensor) or not is_readable(value):
            continue
        at = operation.at_bad(value)
        if at is None:
            return False
        fine = torch.isfinite(at) if fine is None else fine & torch.isfinite(at)
    return fine is not None and bool(fine.any())


def _of_sign(births: tuple[Birth, ...], found: Any) -> tuple[Birth, ...]:
    """Return the births that fit the reason for NaN: those of Inf, or those of -Inf."""
    sign = None if found is None else _SIGNS.get(found[0])
    fitting = tuple(b for b in births if sign and b.counts.get(sign))
    return fitting or births
