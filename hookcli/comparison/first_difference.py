"""Find where two runs first differ, and describe it in a sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hookcli.catalogue.kind import Moment
from hookcli.catalogue.kinds import CATALOGUE
from hookcli.comparison.diff import CallRef, ExactDiff, First, StateDiff, TensorDiff
from hookcli.comparison.walk import CallMoment, Exact, Walk, ref
from hookcli.report.report import LayerRow, Report
from hookcli.report.values import Number
from hookcli.text import join_names, pluralize

_SHOWN = 3


def named(call: CallRef) -> str:
    """Return the name of a call in a sentence: "h.0.attn (Attention), call 1"."""
    name = f"{call.name} ({call.type})" if call.name else f"the model ({call.type})"
    if call.name is None:
        name = f"an unregistered {call.type}"
    return f"{name}, call {call.call}" if call.call else name


def by_how_much(difference: TensorDiff) -> str:
    """Return the size of a difference in words."""
    ours, theirs = difference.shapes
    if difference.how == "shape":
        return f"has shape {_list(ours)} in A and {_list(theirs)} in B"
    if difference.how == "dtype":
        return f"is {difference.dtypes[0]} in A and {difference.dtypes[1]} in B"
    if difference.how == "structure":
        return f"exists only in {'A' if ours is not None else 'B'}"
    if difference.how == "nonfinite":
        return "is NaN or infinite in different places"
    return f"differs by {figure(difference.relative)} of its norm"


def figure(value: Number | None) -> str:
    """Return a ratio in three digits."""
    return value if isinstance(value, str) else "?" if value is None else f"{value:.3g}"


def _list(shape: Sequence[int | None] | None) -> str:
    return f"[{', '.join('*' if s is None else str(s) for s in shape or ())}]"


@dataclass(frozen=True, slots=True)
class OwnHook:
    """A hook on a module that only one model has: "A" or "B". It fires before or after forward."""

    model: str
    moment: Moment
    module: str
    what: str


def own_hooks(a: Report, b: Report) -> list[OwnHook]:
    """Return the hooks on modules that the other model does not have at the same module."""
    found = {name: list(_hooks_of(name, report)) for name, report in (("A", a), ("B", b))}
    common = Counter((one.moment, one.module) for one in found["A"])
    common &= Counter((one.moment, one.module) for one in found["B"])
    return [one for some in found.values() for one in some if not common[one.moment, one.module]]


def _moment_of(name: str) -> Moment | None:
    """Return when hooks of a kind fire around a module's forward, None for other kinds."""
    kind = CATALOGUE.get(name)
    return None if kind is None else kind.moment


def _hooks_of(model: str, report: Report) -> Iterator[OwnHook]:
    """Yield the hooks that the model had, and those of a configuration that changed a value."""
    for hook in report.existing_hooks or ():
        moment = _moment_of(hook.kind)
        if moment is not None and hook.module is not None:
            at = f" at {hook.place}" if hook.place else ""
            yield OwnHook(model, moment, hook.module, f"the hook {hook.function}{at}")
    events = report.events if isinstance(report.events, tuple) else ()
    changed = dict.fromkeys((event.kind, event.target) for event in events if event.changed)
    for name, target in changed:
        moment = _moment_of(name)
        if moment is not None:
            yield OwnHook(model, moment, target, "the configured hook")


class Finder:
    """Finds the first start or end of a call in A at which A and B differ.

    `hooks` are those that only one of the models has.
    """

    def __init__(
        self,
        walk: Walk,
        moments: Sequence[CallMoment],
        pairs: Mapping[int, LayerRow],
        theirs: Sequence[LayerRow],
        exact: Exact,
        hooks: Sequence[OwnHook] = (),
    ) -> None:
        self._walk, self._moments, self._pairs = walk, moments, pairs
        self._theirs, self._exact, self._hooks = theirs, exact, hooks

    def first(self, state: Sequence[StateDiff]) -> First | None:
        """Return the first difference among the calls."""
        for index, moment in enumerate(self._moments):
            if self._walk.at(moment) == "different":
                return self._describe(index, moment, state)
        return None

    def first_inexact(self) -> CallRef | None:
        """Return the first call that is not bitwise equal."""
        for moment in self._moments:
            if self._walk.at(moment) not in {None, "same"}:
                return ref(moment.row)
        return None

    def _describe(self, index: int, moment: CallMoment, state: Sequence[StateDiff]) -> First:
        row, partner = moment.row, self._pairs[moment.row.order]
        worst = self._walk.largest(moment)
        size = "differs" if worst is None else by_how_much(worst)
        within = self._caller(row) if moment.kind == "enter" else None
        after = self._before(index, row if within is None else within)
        skipped = self._skipped(index, row if within is None else within, after)
        call = named(ref(row))
        if moment.kind == "leave":
            inside = self._has_inside(index, row)
            past = f" after {named(ref(after))}" if after else ""
            hook = self._hook_on(row, Moment.AFTER_FORWARD, partner)
            causes = [hook] if hook else []
            if inside:
                causes.append(f"in its own code{past}")
            sentence = f"the inputs of {call} agree, but its output {size}"
            if causes:
                sentence += f": the cause is {', or '.join(causes)}"
            sentence += _own_state(row, state)
        elif within is None:
            sentence = f"the inputs of {call} already differ: its input {size}"
        else:
            past = f" after {named(ref(after))}" if after else ""
            sentence = (
                f"all earlier calls agree, but the input of {call} {size}: the cause is in the "
                f"code of {named(ref(within))}{past}"
            )
            if hook := self._hook_on(row, Moment.BEFORE_FORWARD, partner):
                sentence += f", or {hook}"
        if skipped:
            sentence += f"; calls in between without a counterpart: {join_names(skipped, _SHOWN)}"
        return First(
            fault="output" if moment.kind == "leave" else "code" if within else "inputs",
            a=ref(row),
            b=ref(partner),
            within=None if within is None else ref(within),
            after=None if after is None else ref(after),
            sentence=sentence,
            relative=None if worst is None else worst.relative,
            limit=None if worst is None else worst.limit,
            skipped=tuple(skipped),
            inputs=self._known(row, "inputs"),
            outputs=self._known(row, "outputs"),
        )

    def _hook_on(self, row: LayerRow, moment: Moment, partner: LayerRow) -> str:
        """Return the hook that only one model has on a module at a moment; "" without one."""
        for hook in self._hooks:
            name = (row if hook.model == "A" else partner).name
            if hook.moment is moment and hook.module == name:
                return f"{hook.what} on it, which only {hook.model} has"
        return ""

    def _known(self, row: LayerRow, part: str) -> tuple[ExactDiff, ...] | None:
        return self._exact.get((row.order, part))

    def _caller(self, row: LayerRow) -> LayerRow | None:
        """Return the innermost enclosing call that has a counterpart."""
        rows = {moment.row.order: moment.row for moment in self._moments}
        parent = row.parent
        while parent is not None and parent not in self._pairs:
            parent = rows[parent].parent
        return None if parent is None else rows[parent]

    def _has_inside(self, index: int, row: LayerRow) -> bool:
        """Return whether calls ended inside the call that ends at this moment."""
        return self._moments[index - 1].row is not row

    def _before(self, index: int, around: LayerRow) -> LayerRow | None:
        """Return the last call inside `around` that ended before and has a counterpart."""
        for moment in reversed(self._moments[:index]):
            if moment.row is around:
                return None
            if moment.kind == "leave" and moment.row.order in self._pairs:
                return moment.row
        return None

    def _skipped(self, index: int, around: LayerRow, after: LayerRow | None) -> list[str]:
        """Return calls without a counterpart that ran inside `around` since `after` ended.

        `around` has a counterpart.
        """
        skipped = []
        for moment in reversed(self._moments[:index]):
            if moment.row is (around if after is None else after):
                break
            if moment.kind == "leave" and moment.row.order not in self._pairs:
                skipped.append(f"{named(ref(moment.row))} in A")
        skipped.reverse()
        taken = {row.order for row in self._pairs.values()}
        outer = self._pairs[around.order]
        start = outer.order if after is None else self._last_in(self._pairs[after.order])
        moment = self._moments[index]
        end = self._pairs[moment.row.order].order
        end = end if moment.kind == "enter" else self._last_in(outer) + 1
        skipped += [
            f"{named(ref(row))} in B"
            for row in self._theirs
            if start < row.order < end and row.order not in taken
        ]
        return skipped

    def _last_in(self, row: LayerRow) -> int:
        """Return the order of the last call of B inside a call, or its own order."""
        last = row.order
        for call in self._theirs:
            if call.order > row.order:
                if call.depth <= row.depth:
                    break
                last = call.order
        return last


def _own_state(row: LayerRow, state: Sequence[StateDiff]) -> str:
    """Return the part of the sentence about differing parameters and buffers of the module."""
    names = [
        difference.a or ""
        for difference in state
        if difference.status == "different"
        and difference.value is not None
        and difference.value.status == "different"
        and (difference.a or "").rpartition(".")[0] == row.name
    ]
    if not names:
        return ""
    return f" ({join_names(names, _SHOWN)} {pluralize(len(names), 'differs', 'differ')})"
