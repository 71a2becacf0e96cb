"""What becomes of the gradients of a backward pass: an optimizer uses them, or they are erased."""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from hookcli.engine.probes.trainability.unregistered import leaves_of_graph
from hookcli.models import places
from hookcli.training.backward import only_tensor
from hookcli.training.norms import gradient_norm, local, outside_modes
from hookcli.training.observers.clipping import clipped_parameters
from hookcli.training.observers.observer import (
    LookSchedule,
    Observer,
    line_of,
    variable_of,
)
from hookcli.training.record.optimizer_groups import parameters_of
from hookcli.training.record.records import Record
from hookcli.training.root_watch import RootWatch
from hookcli.training.script.watched_function import TorchCall
from hookcli.training.source.frame_source import user_frame
from hookcli.training.source.loss_source import Term, new_leaf, terms

_MOST = 64  # uses that are waited for
_LEAST = 2  # times that something was looked at
_LEFT, _STEPS = 6, 20  # backward passes that begin with old gradients, and steps of the optimizer
_SCALED = 0.1  # of the norm that clipping has left
_READ = 4  # parameters whose values are compared
_MOST_PARAMETERS = 4_096  # of a model that is looked at: each look takes their number


class WeightValues:
    """The values of some parameters, to see whether the script changes them without a step."""

    def __init__(self, parameters: Sequence[torch.Tensor]) -> None:
        chosen = [p for p in parameters if not p.is_meta][:_READ]
        self._parameters = [weakref.ref(p) for p in chosen]
        self._sums = self._now()

    def _now(self) -> list[float | None]:
        """Return the sum of each parameter; None if the script has dropped it."""
        with torch.no_grad(), outside_modes():
            return [
                None if p is None else float(local(p.detach()).abs().sum())
                for p in (reference() for reference in self._parameters)
            ]

    def have_changed(self) -> bool:
        """Return whether a parameter has other values now; NaN is one value."""
        pairs = (pair for pair in zip(self._now(), self._sums, strict=True) if None not in pair)
        return any(now != before and (now == now or before == before) for now, before in pairs)


@dataclass(slots=True, eq=False)
class _Use:
    """Gradients that an optimizer is to use: of one term of a loss, or those that are clipped.

    `left` are the ids of the parameters whose gradients are still there.
    """

    kind: str
    text: str
    place: str | None
    left: set[int]
    whole: set[int]
    others: list[_Use] = field(default_factory=list)  # terms of the same backward pass
    detached: tuple[str, str] | None = None  # the source of what it is computed from, and its place
    values: WeightValues | None = None
    tensors: list[torch.Tensor] = field(default_factory=list)  # of clipped gradients
    norm: float = 0.0  # of them, after they were clipped
    state: str = "waits"  # "used", "erased"


@dataclass(slots=True)
class _Outcomes:
    """How often the gradients of a line were used, and how often they were erased."""

    used: int = 0
    erased: int = 0
    changed: int = 0  # the parameters were changed by something that is no step
    last: _Use | None = None
    at: str | None = None


@dataclass(slots=True)
class _Known:
    """An optimizer from its construction on. `parameters` are ids, if it erases gradients."""

    optimizer: weakref.ref[Any]
    place: str | None
    type: str
    variable: str | None = None
    erasures: int = 0
    steps: int = 0
    parameters: set[int] = field(default_factory=set)
    values: WeightValues | None = None
    name: str = ""
    lines: set[Any] = field(default_factory=set)  # that erase its gradients
    left: int = 0  # backward passes that began with gradients of its last step
    clean: int = 0  # those that began without, or steps with gradients that the script has replaced
    gradient: weakref.ref[torch.Tensor] | None = None  # of the first parameter, at the last step


class GradientUse(Observer):
    """Finds terms, clipping and optimizers whose gradients are erased before a step uses them."""

    kinds = ("unused_term", "unused_clipping", "erased_gradient", "never_steps", "detached_loss",
             "wrapped_loss", "never_erased", "clipped_then_scaled")  # fmt: skip
    before = {  # noqa: RUF012
        "backward": "backward",
        "zero_grad": "zero_grad",
        "module_zero_grad": "module_zero_grad",
        "clip_grad_norm_": "clip",
        "clip_grad_value_": "clip",
    }
    after = {"clip_grad_norm_": "clipped"}  # noqa: RUF012

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._known: dict[int, _Known] = {}
        self._waiting: list[_Use] = []
        self._erased_first: list[tuple[_Use, str | None]] = []  # before other terms were used
        self._outcomes: dict[tuple[str, str, str | None], _Outcomes] = {}
        self._schedule, self._clips = LookSchedule(), LookSchedule()
        self._erased: dict[int, tuple[str | None, str | None]] = {}  # by the key of an optimizer
        self._stepped: set[int] = set()  # ids of parameters of optimizers that step
        # The place of the last backward pass, if its loss is computed from a detached tensor: what
        # that is, and where.
        self._last: tuple[str | None, str, int] | None = None
        self._clipping: tuple[_Use, Any] | None = None  # that runs now
        self._wrapped: str | None = None  # that of one whose only leaf belongs to nobody

    def constructed(self, optimizer: Any, place: str | None) -> None:
        """Note an optimizer."""
        self.facts.look("never_steps")
        if len(self._known) < _MOST:
            kind = type(optimizer).__name__
            self._known[self.seen.key_of(optimizer)] = _Known(weakref.ref(optimizer), place, kind)

    def backward(self, call: TorchCall) -> None:
        """Note which parameters get gradients, from each term of the loss."""
        if self._erased:
            self._erased.clear()
        self._wrapped = None
        if not self._schedule.is_due(line_of(call)):
            return
        start = only_tensor(call.argument(0, "tensors"))
        frame = user_frame(call.frame)
        if frame is None or start is None or call.argument(4, "inputs"):
            return
        place = places.of_frame(frame)
        self.facts.look("unused_term", "erased_gradient")
        self._look_at_left()
        given = [term for term in terms(frame) if term.value.requires_grad]
        self._last = None
        if len(given) == 1 and given[0].detached is not None:
            self._last = (place, *given[0].detached)
        parts = given if len(given) > 1 else [Term("", start, None, frame.f_lineno)]
        if len(given) == 1 and given[0].value is not start:  # the others have no name
            parts = [given[0], *parts]
        file = places.show(frame.f_code.co_filename)
        uses = [self._use_of(term, place, file) for term in parts]
        for use in uses:
            use.others = [other for other in uses if other is not use]
        self._waiting += uses
        self._wrapped = place if place and self._is_wrapped(start) else None
        del self._waiting[:-_MOST]

    def _look_at_left(self) -> None:
        """Note which optimizers left gradients that nothing has erased, when backward begins."""
        for known in self._known.values():
            is_gone = known.optimizer() is None
            if known.erasures or not known.steps or len(self._known) < _LEAST or is_gone:
                continue
            given = [p for p in _held_by(known.optimizer()) if p.grad is not None][:_READ]
            if given and float(gradient_norm(given)):
                known.left += 1
            else:
                known.clean += 1

    def _is_wrapped(self, start: torch.Tensor) -> bool:
        """Return whether a loss depends on one tensor alone, which is a parameter of nothing."""
        leaves = [leaf for leaf, _ in leaves_of_graph(start)] if start.grad_fn else [start]
        if len(leaves) != 1 or isinstance(leaves[0], torch.nn.Parameter):
            return False
        held = (p for one in self._known.values() for p in _held_by(one.optimizer()))
        return all(p is not leaves[0] for p in held)

    def _use_of(self, term: Term, place: str | None, file: str) -> _Use:
        found = {id(leaf) for leaf, _ in leaves_of_graph(term.value) if leaf.requires_grad}
        use = _Use("term", term.text, place, set(found), found)
        if term.detached is not None:
            use.detached = term.detached[0], f"{file}:{term.detached[1]}"
        return use

    def clip(self, call: TorchCall) -> None:
        """Note which gradients are clipped."""
        self._clipping = None
        if not self._clips.is_due(line_of(call)):
            return
        place = places.of_frame(call.frame)
        given = clipped_parameters(call)
        limit = call.argument(1, "max_norm", call.kwargs.get("clip_value"))
        if given is None or len(given) > _MOST_PARAMETERS:
            return
        if isinstance(limit, int | float) and math.isinf(limit):  # only the norm is computed
            return
        self.facts.look("unused_clipping")
        tensors = [p for p in given if isinstance(p, torch.Tensor) and p.grad is not None]
        use = _Use("clip", "", place, {id(p) for p in tensors}, {id(p) for p in tensors})
        use.values, use.tensors = WeightValues(tensors), tensors
        self._clipping = use, limit
        if tensors:
            self._waiting = [*self._waiting[-_MOST:], use]

    def clipped(self, call: TorchCall) -> None:
        """Note the norm that clipping has left."""
        clipping, self._clipping = self._clipping, None
        if clipping is None:
            return
        use, limit = clipping
        with torch.no_grad(), outside_modes():
            norm = float(call.result)
        use.norm = min(norm, limit) if isinstance(limit, int | float) else norm

    def zero_grad(self, call: TorchCall) -> None:
        """Note that an optimizer erases gradients."""
        optimizer = call.argument(0, "self")
        known = self._known.get(self.seen.key_of(optimizer))
        if known is not None and known.optimizer() is optimizer:
            known.erasures += 1
            if known.erasures <= _LEAST:
                known.lines.add(line_of(call))
            if known.erasures == _LEAST + 1:
                known.variable = variable_of(optimizer, call.frame)
                held = parameters_of(optimizer)
                known.parameters = {id(p) for p in held}
                known.values = WeightValues(held)
                known.name = self.name_of_parameters(known.parameters)
        if self._waiting:
            self._erase(parameters_of(optimizer), call, self.seen.key_of(optimizer))

    def module_zero_grad(self, call: TorchCall) -> None:
        """Note that a module erases gradients."""
        if self._waiting:
            self._erase(list(call.argument(0, "self").parameters()), call, None)

    def _erase(self, given: list[torch.Tensor], call: TorchCall, optimizer: int | None) -> None:
        if len(given) > _MOST_PARAMETERS:
            self._waiting.clear()
            return
        ids = {id(p) for p in given}
        for use in list(self._waiting):
            if use.left.isdisjoint(ids):
                continue
            use.left -= ids
            if use.left:
                continue
            self._waiting.remove(use)
            use.state = "erased"
            changed = use.values is not None and use.values.have_changed()
            self._count(use, places.of_frame(call.frame), changed=changed)
            if use.kind == "term" and optimizer is not None:
                self._erased[optimizer] = use.place, places.of_frame(call.frame)

    def _count(self, use: _Use, at: str | None, *, changed: bool = False) -> None:
        outcomes = self._outcomes.setdefault((use.kind, use.text, use.place), _Outcomes())
        outcomes.last = use
        waits = use.text and any(other.state == "waits" for other in use.others)
        if use.state == "erased" and not changed and waits and not self._is_partly_used(use):
            self._erased_first = [*self._erased_first[-_MOST:], (use, at)]
        elif use.state == "used":
            outcomes.used += 1
        elif changed or (use.kind == "term" and not self._is_partly_used(use)):
            outcomes.changed += 1
        else:
            outcomes.erased += 1
            outcomes.at = at

    def _is_partly_used(self, use: _Use) -> bool:
        """Return whether another term of the same backward pass was used."""
        return bool(use.text) and any(other.state == "used" for other in use.others)

    def _compare_gradient(self, known: _Known, optimizer: Any) -> None:
        """Note that a gradient is another tensor than at the last step, as the script assigns it.

        A backward pass adds to the tensor that is there.
        """
        grads = (p.grad for group in optimizer.param_groups for p in group["params"])
        first = next((grad for grad in grads if grad is not None), None)
        before = None if known.gradient is None else known.gradient()
        known.clean += known.gradient is not None and first is not before
        known.gradient = None if first is None else weakref.ref(first)

    def before_step(self, optimizer: Any, records: Sequence[Record]) -> None:
        """Note that an optimizer uses gradients."""
        known = self._known.get(self.seen.key_of(optimizer))
        if known is not None:
            known.steps += 1
            if not known.erasures:
                self._compare_gradient(known, optimizer)
        erased = self._erased.pop(self.seen.key_of(optimizer), None)
        idle = not self._waiting and erased is None and self._wrapped is None
        if idle and (known is None or known.steps > 1):
            return
        given = parameters_of(optimizer)
        ids = {id(p) for p in given}
        self._stepped |= ids
        wrapped, self._wrapped = self._wrapped, None
        if wrapped is not None and not any(p.grad is not None for p in given):
            self._note_wrapped(wrapped, optimizer, records)
        last, self._last = self._last, None
        if last is not None and not any(p.grad is not None for p in given):
            self._note_detached(last, optimizer, records)
        for use in list(self._waiting):
            if not use.left.isdisjoint(ids):
                self._waiting.remove(use)
                use.state = "used"
                self._count(use, None)
                self._compare_clipped(use, ids)
                self._decide_after(use)
        if erased is not None and not float(gradient_norm(given)):
            record = records[0] if records else None
            step = None if record is None else record.steps.total
            self.facts.add("erased_gradient", "", erased[0], record=record, step=step, at=erased[1])

    def _decide_after(self, used: _Use) -> None:
        """Count the terms whose gradients were erased before this term of their loss was used."""
        for use, at in [one for one in self._erased_first if used in one[0].others]:
            self._erased_first.remove((use, at))
            self._count(use, at)

    def _compare_clipped(self, use: _Use, ids: set[int]) -> None:
        """Note gradients that were clipped, and then made much smaller in front of the step."""
        if use.kind == "clip" and use.norm and {id(p) for p in use.tensors} <= ids:
            now = float(gradient_norm(use.tensors))
            if 0 < now < _SCALED * use.norm:
                self.facts.add("clipped_then_scaled", "", use.place, scale=use.norm / now)

    def _note_wrapped(self, place: str, optimizer: Any, records: Sequence[Record]) -> None:
        """Note a step without gradients, right after a loss that begins at a tensor of nobody."""
        made = new_leaf(place)
        self.facts.add(
            "wrapped_loss",
            type(optimizer).__name__,
            place if made is None else made[1],
            record=records[0] if records else None,
            source=None if made is None else made[0],
        )

    def _note_detached(
        self, last: tuple[str | None, str, int], optimizer: Any, records: Sequence[Record]
    ) -> None:
        """Note a step without gradients, right after a loss that is computed from `x.detach()`."""
        place, source, line = last
        file = (place or "").rpartition(":")[0]
        self.facts.add(
            "detached_loss",
            type(optimizer).__name__,
            f"{file}:{line}",
            record=records[0] if records else None,
            source=source,
        )

    def _find_never_erased(self) -> None:
        """Add the optimizers whose gradients are never erased, next to others that erase theirs."""
        if not any(known.erasures for known in self._known.values()):
            return
        for known in self._known.values():
            if known.erasures or known.clean or known.left < _LEFT or known.steps < _STEPS:
                continue
            if known.optimizer() is None:  # the script has dropped it
                continue
            name, record = _name_of_held(self, known)
            self.facts.add(
                "never_erased", known.type, known.place, record=record, of=name, steps=known.steps
            )

    def forget(self, root: RootWatch, records: Sequence[Record]) -> None:
        """Forget the parameters of a root that the script has dropped."""
        ids = root.parameter_ids()
        self._stepped -= ids
        self._waiting = [use for use in self._waiting if use.whole.isdisjoint(ids)]
        for use in (one.last for one in self._outcomes.values()):
            if use is not None and not use.whole.isdisjoint(ids):
                use.tensors = []

    def finish(self) -> None:
        """Add what was always erased, and the optimizers that never step."""
        for (kind, text, place), outcomes in self._outcomes.items():
            if outcomes.used or outcomes.changed or outcomes.erased < _LEAST:
                continue
            use = outcomes.last
            if use is None:
                continue
            name = self.name_of_parameters(use.whole)
            if kind == "clip":
                record = self.record_of(use.whole)
                self.facts.add("unused_clipping", name, place, record=record, at=outcomes.at)
                continue
            trained = [self.name_of_parameters(other.whole - use.whole) for other in use.others]
            source, at = use.detached or (None, place)
            self.facts.add(
                "unused_term",
                text,
                at,
                of=name,
                at=outcomes.at,
                trained=next((name for name in trained if name), ""),
                source=source,
            )
        self._find_never_erased()
        stepping = set[Any]().union(*(one.lines for one in self._known.values() if one.steps))
        for known in self._known.values():
            if known.steps or not known.parameters or known.parameters & self._stepped:
                continue
            if known.values is None or known.values.have_changed():
                continue
            self.facts.add(
                "never_steps",
                known.variable or known.type,
                known.place,
                type=known.type,
                of=known.name,
                erasures=known.erasures,
                together=not stepping.isdisjoint(known.lines),
            )


def _name_of_held(observer: Observer, known: _Known) -> tuple[str, Record | None]:
    ids = {id(p) for p in _held_by(known.optimizer())}
    return observer.name_of_parameters(ids), observer.record_of(ids)


def _held_by(optimizer: Any) -> list[torch.Tensor]:
    return [] if optimizer is None else parameters_of(optimizer)
