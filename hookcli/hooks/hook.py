"""One configured hook during a run: filters its firings, runs its actions, notes the events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any, TypeAlias

import torch

from hookcli.actions.call import function_of
from hookcli.actions.event import Event
from hookcli.actions.observe import NotFiniteError
from hookcli.catalogue.actions import CATALOGUE as ACTIONS, Reads
from hookcli.catalogue.kind import Returned
from hookcli.catalogue.kinds import CATALOGUE
from hookcli.hooks.context import Context
from hookcli.hooks.misuse.edits import ArgumentSnapshot, unchanged_attributes
from hookcli.hooks.misuse.faults import raised
from hookcli.hooks.misuse.retention import Retention
from hookcli.hooks.misuse.returns import check_return, check_unpacked
from hookcli.hooks.portable import Portable
from hookcli.hooks.values import PathTensors, leaf_notes, tensors_by_path, value_notes
from hookcli.models.bits import same_bits
from hookcli.models.nested import dtype_name, shape_of
from hookcli.operators.operator_run import OperatorRun
from hookcli.report.recording import ChangeNote, EventNote, LeafNote, Sort
from hookcli.spec.hooks import HookSpec, is_average
from hookcli.torch_private import disable_current_modes


@dataclass(slots=True)  # not frozen: that takes three times as long, and each firing makes one
class Site:
    """Where a hook fires: at a module's call, a tensor of the call, a parameter or a node.

    `target` is its name in the report; `order` is the order of the call that it belongs to, if any.
    """

    target: str
    module: Any = None
    call: int | None = None
    order: int | None = None
    recomputed: bool = False
    part: str | None = None
    path: str = ""


_tuple = tuple.__new__
Native = Callable[[Any], tuple[Any, ...]]


def _is_closed(context: Context) -> bool:
    """Return whether hooks do nothing: after the run, or in a call that is not observed."""
    return not context.open or (context.calls.full and context.calls.skips())


class Hook(Portable):
    """A hook of one kind, for all of its targets.

    `kind` is its row of the catalogue. `looks_only` is True if it only notes its firings,
    `norms_only` if it notes norms with them, `changing` if an action may return a new value,
    `foreign` if an action is the user's function, `reads_inputs` if one reads those of operators.
    """

    def __init__(
        self, spec: HookSpec, actions: list[Callable[[Event], Any]], context: Context
    ) -> None:
        self.spec = spec
        self.kind = CATALOGUE[spec.kind]
        self._name, self._index = spec.kind, spec.index
        self.context = context
        self.fired: Counter[str] = Counter()
        self.again: Counter[str] = Counter()  # firings in calls that a checkpoint ran again
        self.attached = 0
        self.targets: tuple[str, ...] = ()  # names of the modules or parameters it was set on
        self.on_wrappers = False  # whether all its targets are wrappers of torch.compile
        self._actions = actions
        averages = self.kind.average is not None
        rows = [
            (ACTIONS[action.name], action.argument)
            for action in spec.actions
            if not (averages and is_average(action))
        ]
        self.looks_only = all(row.reads is Reads.NOTHING for row, _ in rows)
        figures = {argument for row, argument in rows if row.reads is Reads.FIGURES}
        no_event = all(row.reads is not Reads.EVENT for row, _ in rows)
        self.norms_only = no_event and figures == {"norm"}
        self.changing = any(row.changes for row, _ in rows)
        self.foreign = any(row.foreign for row, _ in rows)
        self.reads_inputs = any(row.reads_inputs for row, _ in rows)
        self._filtered = bool(spec.calls or spec.steps or spec.every)
        self._offered: Counter[str] = Counter()
        self.retention = Retention()

    def fire(
        self,
        site: Site,
        value: Any,
        native: Native,
        *,
        node: str | None = None,
        again: Callable[[], Any] | None = None,
        operator: OperatorRun | None = None,
    ) -> Any | None:
        """Run the hook's actions and note the event. A result that is not None replaces `value`.

        `native` turns the value into the arguments of PyTorch's hook. `again` reads the value
        again, for kinds whose functions may replace it without returning it. `operator` is what
        ran, for actions that read the inputs of operators.
        """
        failed = self.context.failed
        if failed is None:
            return self._fire(site, value, native, node, again, operator)
        began = perf_counter()
        try:
            return self._fire(site, value, native, node, again, operator)
        except Exception as error:
            if not failed(error):
                raise
            return None
        finally:
            self.context.spent += perf_counter() - began

    def _fire(
        self,
        site: Site,
        value: Any,
        native: Native,
        node: str | None,
        again: Callable[[], Any] | None,
        operator: OperatorRun | None,
    ) -> Any | None:
        if self.looks_only:
            self._look(site, value, node, None)
            return None
        context = self.context
        if self.norms_only and type(value) is torch.Tensor:
            self._look(site, value, node, lambda: context.norm(value))
            return None
        seq = self._begin(site)
        if seq is None:
            return None
        event = Event(
            kind=self.spec.kind,
            target=site.target,
            call=site.call,
            step=context.step,
            phase=context.phase,
            node=node,
            seq=seq,
            module=site.module,
            value=value,
            native=native,
            operator=operator,
        )
        try:
            new = self._act(event, again)
        except BaseException as error:
            if context.raised is None:
                context.raised = (error, raised(self.spec, site.target, error, self._running))
            if self._running is not None or isinstance(error, NotFiniteError):
                context.intended = error
            raise
        notes = _notes_with_measured(event)
        stats = None if event.stats is None else [event.stats.get(note[0]) for note in notes]
        changed, changes = self._changes(value, event) if self.changing else (None, None)
        if self.changing and not self.foreign and any(via for *_, via in notes):
            context.find(unchanged_attributes(self.spec, site.target))
        self._note(seq, site, node, notes, stats, changed, changes)
        return new

    def look(
        self,
        site: Site,
        value: Any,
        node: str | None = None,
        measure: Callable[[], dict[str, Any] | None] | None = None,
    ) -> None:
        """Note an event without running actions: the short path of `fire` if all are `record`.

        `measure` returns the statistics to note, of a tensor with the shape and dtype of `value`.
        """
        failed = self.context.failed
        if failed is None:
            self._look(site, value, node, measure)
            return
        began = perf_counter()
        try:
            self._look(site, value, node, measure)
        except Exception as error:
            if not failed(error):
                raise
        finally:
            self.context.spent += perf_counter() - began

    def _look(
        self,
        site: Site,
        value: Any,
        node: str | None,
        measure: Callable[[], dict[str, Any] | None] | None,
    ) -> None:
        context = self.context
        if _is_closed(context) or (self._filtered and not self._wanted(site)):
            return
        target, fired = site.target, self.fired
        fired[target] = fired.get(target, 0) + 1  # faster than += of a Counter
        if site.recomputed:
            self.again[target] += 1
        stats = None if measure is None else [measure()]
        self._note(next(context.sequence), site, node, value_notes(value), stats, None)

    def _begin(self, site: Site) -> int | None:
        """Count a firing and return its event number; None if the hook's filters exclude it."""
        context = self.context
        if _is_closed(context) or (self._filtered and not self._wanted(site)):
            return None
        target = site.target
        self.fired[target] += 1
        if site.recomputed:
            self.again[target] += 1
        return next(context.sequence)

    def _wanted(self, site: Site) -> bool:
        spec = self.spec
        if spec.calls is not None and site.call not in spec.calls:
            return False
        if spec.steps is not None and self.context.step not in spec.steps:
            return False
        if spec.every is None:
            return True
        count = self._offered[site.target]
        self._offered[site.target] += 1
        return count % spec.every == 0

    def _act(self, event: Event, again: Callable[[], Any] | None) -> Any | None:
        """Run the actions in order; return the new value, or None if no action changed it."""
        original = event.value
        before = None
        if self.foreign:
            before = ArgumentSnapshot(self.spec, event, self.context)
            self.retention.note(original, event.target)
        new = None
        returned = self.kind.returned
        keeps_value = returned is Returned.ARGUMENTS
        for action in self._actions:
            self._running = function_of(action, event)
            result = action(event)
            if self._running is not None and again is not None and (result is None or keeps_value):
                event.value = again()
            if result is None or not check_return(
                self.spec, event, result, self._running, self.context
            ):
                continue
            new = result
            if returned is Returned.ENTRIES:  # those that it does not name are kept
                event.value = {**event.value, **new}
            elif not keeps_value:
                event.value = new
        if before is not None:
            self._edited = before.check(returned=new is not None)
        if self.kind.pair and event.node == "unpack":
            check_unpacked(self.spec, event, self._running, self.context)
        return new

    _edited: PathTensors | None = None  # the value's tensors before, if the function edited them
    _running: Callable[..., Any] | None = None  # the user's function, while it runs

    def _changes(self, original: Any, event: Event) -> tuple[float | None, list[ChangeNote] | None]:
        """Return the 2-norm of the change over all tensors, and what changed."""
        old, self._edited = self._edited, None
        if old is None:
            if original is event.value:
                return 0.0, None
            old = tensors_by_path(original)
        return _compare(old, tensors_by_path(event.value), self.context)

    def _note(
        self,
        seq: int,
        site: Site,
        node: str | None,
        values: tuple[LeafNote, ...],
        stats: list[dict[str, Any] | None] | None,
        changed: float | None,
        changes: list[ChangeNote] | None = None,
    ) -> None:
        context = self.context
        # The constructor of a named tuple takes twice as long.
        context.note(
            _tuple(
                EventNote,
                (
                    seq,
                    context.step,
                    context.phase,
                    self._name,
                    site.target,
                    site.call,
                    site.order,
                    node,
                    self._index,
                    values,
                    site.part,
                    site.path,
                    stats,
                    changed,
                    site.recomputed,
                    changes,
                ),
            )
        )


def _notes_with_measured(event: Event) -> tuple[LeafNote, ...]:
    """Return the tensors of the value, and those that an action dropped after `stats` read them."""
    notes = value_notes(event.value)
    dropped = {path for path, _, _ in event.measured}.difference(note[0] for note in notes)
    if not dropped:
        return notes
    return (*notes, *leaf_notes(leaf for leaf in event.measured if leaf[0] in dropped))


# What a hook changed: the tensors of its value before and after it ran.

_Pair: TypeAlias = tuple[str, torch.Tensor | None, torch.Tensor | None]

_PLAIN = {torch.Tensor, torch.nn.Parameter}


def _compare(
    old: PathTensors, new: PathTensors, context: Context
) -> tuple[float | None, list[ChangeNote]]:
    """Return the 2-norm of the change over all tensors, and a note of each changed tensor.

    The norm is None if it is not known: without values, or if shapes or tensors differ. A note
    needs a difference that is known: of values, of the shape or of the dtype.
    """
    total: float | None = 0.0
    changes: list[ChangeNote] = []
    for path, before, after in _pairs(old, new):
        if before is after:
            continue
        size = None if before is None or after is None else _difference(before, after, context)
        total = None if total is None or size is None else total + size * size
        sorts = _sort(before), _sort(after)
        if size == 0 and sorts[0] == sorts[1]:
            continue
        figures = tuple(None if t is None else context.statistics(t) for t in (before, after))
        if sorts[0] != sorts[1] or figures != (None, None):
            changes.append(ChangeNote(path, figures[0], figures[1], *sorts))
    return (None if total is None else float(total**0.5)), changes


def _pairs(old: PathTensors, new: PathTensors) -> Iterator[_Pair]:
    """Yield each path with its tensors before and after, None if there is none.

    Tensors are paired by path, or in their order if the new value has another structure: a hook
    may return a tensor instead of a tuple of one.
    """
    before, after = dict(old), dict(new)
    unique = len(before) == len(old) and len(after) == len(new)
    if len(old) == len(new) and not (unique and before.keys() & after.keys()):
        for (_, tensor), (path, other) in zip(old, new, strict=True):
            yield path, tensor, other
        return
    for path in dict.fromkeys((*before, *after)):
        yield path, before.get(path), after.get(path)


def _difference(before: torch.Tensor, after: torch.Tensor, context: Context) -> float | None:
    """Return the 2-norm of the difference; 0 if both are equal bit by bit, even if NaN or inf."""
    size = context.difference(before, after)
    if size is None or size == size or not {type(before), type(after)} <= _PLAIN:
        return size
    with torch.no_grad(), disable_current_modes():
        return 0.0 if same_bits(before.detach(), after.detach()) else size


def _sort(tensor: torch.Tensor | None) -> Sort | None:
    return None if tensor is None else (shape_of(tensor), dtype_name(tensor.dtype))
