"""One configured hook at work: which firings count, what its actions do, what is noted of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from hookcli.actions.event import Event
from hookcli.catalogue.actions import CATALOGUE as ACTIONS, Reads
from hookcli.catalogue.kind import Returned
from hookcli.catalogue.kinds import CATALOGUE
from hookcli.hooks.context import Context
from hookcli.hooks.misuse.edits import Given
from hookcli.hooks.misuse.firings import unchanged_attributes
from hookcli.hooks.misuse.retention import Retention
from hookcli.hooks.misuse.returns import check_return
from hookcli.hooks.portable import Portable
from hookcli.hooks.values import tensors_in, value_notes
from hookcli.report.recording import EventNote, LeafNote
from hookcli.spec.hooks import HookSpec, is_average


@dataclass(slots=True)  # not frozen, which takes thrice as long: one is made for each firing
class Site:
    """Where a hook stands: a module's call, one tensor of it, a parameter, a node.

    `target` is how the report names it; `order` is that of the call, where it belongs to one.
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


class Hook(Portable):
    """A hook of one kind, for all of its targets.

    `looks_only` says that all it does is to note its firings, `norms_only` that it notes norms
    with them; `changing` that an action may give a new value, `foreign` that one is the user's.
    `kind` is its row of the catalogue.
    """

    def __init__(
        self, spec: HookSpec, actions: list[Callable[[Event], Any]], context: Context
    ) -> None:
        self.spec = spec
        self.kind = CATALOGUE[spec.kind]
        self._name, self._index = spec.kind, spec.index
        self.context = context
        self.fired: Counter[str] = Counter()
        self.again: Counter[str] = Counter()  # of these, in calls that a checkpoint ran again
        self.attached = 0
        self.on_wrappers = False  # on nothing but modules that torch.compile wrapped
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
    ) -> Any | None:
        """Do what the hook does; a value that is not None takes the place of `value`.

        `again` gives the value anew where a function may put another in its place without a return.
        """
        if self.looks_only:
            self.look(site, value, node)
            return None
        context = self.context
        if self.norms_only and type(value) is torch.Tensor:
            self.look(site, value, node, lambda: context.norm(value))
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
        )
        try:
            new = self._act(event, again)
        except BaseException as error:
            if context.raised is None:
                context.raised = (error, self.spec.place)
            raise
        notes = value_notes(event.value)
        stats = None if event.stats is None else [event.stats.get(note[0]) for note in notes]
        changed = self._changed(value, event) if self.changing else None
        if self.changing and not self.foreign and any(via for *_, via in notes):
            context.find(unchanged_attributes(self.spec, site.target))
        self._note(seq, site, node, notes, stats, changed)
        return new

    def look(
        self,
        site: Site,
        value: Any,
        node: str | None = None,
        measure: Callable[[], dict[str, Any] | None] | None = None,
    ) -> None:
        """What `fire` does where all actions are `record`, and nothing more.

        `measure` gives the figures of what stands there, a tensor of the same shape and dtype.
        """
        context = self.context
        if not context.open or (self._filtered and not self._wanted(site)):
            return
        target, fired = site.target, self.fired
        fired[target] = fired.get(target, 0) + 1  # Counter's own += is slower
        if site.recomputed:
            self.again[target] += 1
        stats = None if measure is None else [measure()]
        self._note(next(context.sequence), site, node, value_notes(value), stats, None)

    def _begin(self, site: Site) -> int | None:
        """The number of a firing; None where it does not count."""
        context = self.context
        if not context.open or (self._filtered and not self._wanted(site)):
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
        """Run the actions in order; the new value, or None where all only looked."""
        given = event.value
        before = None
        if self.foreign:
            before = Given(self.spec, event, self.context)
            self.retention.note(given, event.target)
        new = None
        for action in self._actions:
            result = action(event)
            if again is not None and self.foreign and result is None:
                event.value = again()
            if result is None or not check_return(self.spec, event, result, self.context):
                continue
            new = result
            if self.kind.returned is not Returned.ARGUMENTS:
                event.value = new
        if before is not None:
            self._edited = before.check(returned=new is not None)
        return new

    _edited: Any = None

    def _changed(self, given: Any, event: Event) -> float | None:
        """The 2-norm of the change over all tensors; None where values are not known."""
        old = tensors_in(given if self._edited is None else self._edited)
        self._edited = None
        new = tensors_in(event.value)
        if len(old) != len(new):
            return None
        total = 0.0
        for before, after in zip(old, new, strict=True):
            if before is after:
                continue
            size = self.context.difference(before, after)
            if size is None:
                return None
            total += size * size
        return float(total**0.5)

    def _note(
        self,
        seq: int,
        site: Site,
        node: str | None,
        values: tuple[LeafNote, ...],
        stats: list[dict[str, Any] | None] | None,
        changed: float | None,
    ) -> None:
        context = self.context
        # A named tuple's own constructor takes twice as long.
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
                ),
            )
        )
