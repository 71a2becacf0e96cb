"""Finds the layer or parameter at which a parallel plan first differs from its reference.

Only outputs of the model, parameters and their gradients decide whether a plan differs: inside, a
plan may lay tensors out as it likes. What is inside only tells where the difference begins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hookcli.comparison.diff import CallRef, Fault
from hookcli.comparison.walk import ref
from hookcli.report.path_ends.end_rows import backward_order
from hookcli.report.report import ErrorInfo, LayerRow, Report
from hookcli.report.values import Number
from hookcli.spec.compared.parallel import Mesh
from hookcli.text import first_line, join_names, shorten

_PARTIAL = "partial"
_COPY = "replicate"
_ENDED = {"died", "timeout", "memory"}  # types of errors of a process that was ended
_LONGEST = 120  # characters of what a rank raised


@dataclass(frozen=True, slots=True)
class PlanCause:
    """Where a plan first differs. `named` are the modules and parameters, the likeliest first.

    `place` is the line at which a rank failed.
    """

    fault: Fault
    call: CallRef | None
    sentence: str
    named: tuple[str, ...]
    relative: Number | None = None
    limit: float | None = None
    place: str | None = None


def is_off(row: Mapping[str, Any]) -> bool:
    """Whether the ranks have a tensor that is not that of the reference in any layout."""
    return row["status"] == "different" or (
        row["status"] == "unknown" and row["ranks_shape"] is not None
    )


class Evidence:
    """What is known: the reference's report, the judge's rows, and the error of a rank."""

    def __init__(
        self, reference: Report, compared: Mapping[str, Any], error: ErrorInfo | None, mesh: Mesh
    ) -> None:
        self.reference, self.compared, self.error, self.mesh = reference, compared, error, mesh
        self._calls = {(call["name"], call["index"]): call for call in compared["calls"]}
        self._rows = {(row.name, row.call): row for row in reference.layers}
        self.by_order = {row.order: row for row in reference.layers}
        self.sharded = {
            p["name"].rpartition(".")[0] for p in compared["parameters"] if p.get("sharded")
        }

    @property
    def alone(self) -> list[str]:
        """Parameters that the plan's model does not have."""
        rows = self.compared["parameters"]
        return [p["name"] for p in rows if p["value"]["ranks_shape"] is None]

    def call(self, row: LayerRow) -> Mapping[str, Any] | None:
        """Return the judge's rows of a call."""
        return self._calls.get((row.name or "", row.call))

    def row(self, call: Mapping[str, Any]) -> LayerRow | None:
        """Return the reference's row of a call."""
        return self._rows.get((call["name"], call["index"]))

    def layout(self, row: Mapping[str, Any]) -> str:
        """Return a layout in words: "tp: shard(1)"; "" for a copy on every rank."""
        if row["layout"] is None:
            return ""
        words = zip(self.mesh.names, row["layout"], strict=True)
        return ", ".join(f"{word} along {name}" for name, word in words if word not in {_COPY, "?"})

    def dangling(self, row: Mapping[str, Any]) -> str | None:
        """Return the dimension along which a plain tensor is a part of a sum; None if none."""
        if row["layout"] is None or row["status"] not in {"same", "close"}:
            return None
        words = zip(self.mesh.names, row["layout"], row["plain"], strict=True)
        return next((name for name, word, plain in words if plain and word == _PARTIAL), None)

    def sources(self, row: LayerRow) -> Iterator[LayerRow]:
        """Yield the calls that made what a call, or code of its own, uses; the nearest first."""
        edges = self.reference.edges or ()
        orders = [e.source for e in edges if e.target == row.order and e.source is not None]
        yield from (self.by_order[o] for o in sorted(orders, reverse=True) if o in self.by_order)

    def targets(self, row: LayerRow) -> Iterator[LayerRow]:
        """Yield the calls that use what a call made, in order."""
        edges = self.reference.edges or ()
        orders = {e.target for e in edges if e.source == row.order}
        yield from (self.by_order[o] for o in sorted(orders) if o in self.by_order)


class CauseFinder:
    """Names the first difference of a plan."""

    def __init__(self, evidence: Evidence) -> None:
        self._known = evidence
        self._calls: Sequence[Mapping[str, Any]] = evidence.compared["calls"]

    def cause(self) -> PlanCause | None:
        """Return where the plan first differs; None if it equals the reference."""
        known = self._known
        result = known.compared["result"]
        wrong_value = self._values()
        if wrong_value is not None:
            return wrong_value
        loose = [row for row in result if known.dangling(row) is not None]
        forward = known.error is not None and known.error.phase != "backward"
        if forward or loose or any(map(is_off, result)):
            return self._in_forward()
        return self._in_backward()

    def _values(self) -> PlanCause | None:
        """Return the first parameter that does not have the reference's value."""
        for p in self._known.compared["parameters"]:
            if is_off(p["value"]):
                size = _size(p["value"])
                return PlanCause(
                    "parameter", None,
                    f"the plan changed the values of parameter {p['name']}{size}",
                    (p["name"],), p["value"]["relative"], p["value"]["limit"],
                )  # fmt: skip
        return None

    def _in_forward(self) -> PlanCause:
        off = next(self._apart(), None)
        raised = self._raised()
        if off is None:
            return raised or self._at_output()
        row, call = off
        loose = self._dangling(row, call)
        if loose is not None:
            return loose
        bad = next((item for item in call["inputs"] if is_off(item)), None)
        if bad is not None:
            return self._at_input(row, bad, raised)
        odd = self._odd_one(row) or self._odd_operand(row, call)
        if odd is not None:
            return self._at_odd_one(row, odd, raised)
        if raised is not None and not any(map(is_off, call["outputs"])):
            return raised
        worst = next((item for item in call["outputs"] if is_off(item)), None)
        laid = [text for item in call["inputs"] if (text := self._known.layout(item))]
        given = f" (its input is {laid[0]})" if laid else ""
        relative = None if worst is None else worst["relative"]
        size = "" if worst is None else _size(worst)
        sentence = f"{_named(row)}: the inputs agree{given} and the output differs{size}"
        limit = None if worst is None else worst["limit"]
        named = (row.name or "",)
        if raised is not None:
            sentence += f"; then {raised.sentence}"
        return PlanCause("output", ref(row), sentence, named, relative, limit)

    def _apart(self) -> Iterator[tuple[LayerRow, Mapping[str, Any]]]:
        """Yield the calls whose outputs are off or missing, in the order in which they ended.

        A call inside another one whose output agrees is not among them: what is inside is the
        plan's own business.
        """
        good = {
            (c["name"], c["index"]) for c in self._calls
            if c["outputs"] and all(r["status"] in {"same", "close"} for r in c["outputs"])
        }  # fmt: skip
        for call in self._calls:
            row = self._known.row(call)
            if row is None or (call["name"], call["index"]) in good or not call["outputs"]:
                continue
            if not any(map(is_off, [*call["outputs"], *call["inputs"]])) and not self._ended_in(
                row
            ):
                continue
            if not self._is_within(row, good):
                yield row, call

    def _ended_in(self, row: LayerRow) -> bool:
        error = self._known.error
        last = None if error is None else self._last_row(error)
        return last is not None and last.order == row.order

    def _is_within(self, row: LayerRow, good: set[tuple[str, int]]) -> bool:
        parent = row.parent
        while parent is not None:
            above = self._known.by_order[parent]
            if (above.name, above.call) in good:
                return True
            parent = above.parent
        return False

    def _dangling(self, row: LayerRow, call: Mapping[str, Any]) -> PlanCause | None:
        """Return the cause if a part of a sum is used as if it were the whole."""
        inner = [r for r in self._known.reference.layers if r.parent == row.order]
        before = [r for r in self._known.reference.layers
                  if r.parent == row.parent and r.order < row.order]  # fmt: skip
        near = [*self._known.sources(row), *reversed(inner), *reversed(before[-1:])]
        for source in near:
            made = self._known.call(source)
            for item in () if made is None else made["outputs"]:
                dimension = self._known.dangling(item)
                if dimension is not None:
                    return self._partial_output(source, dimension)
        for item in call["inputs"]:
            dimension = self._known.dangling(item)
            if dimension is not None and before:
                return self._partial_output(before[-1], dimension)
        return None

    def _odd_one(self, row: LayerRow) -> LayerRow | None:
        """Return the inner layer that is laid out in another way than those like it.

        They are calls of the same type with outputs of as many dimensions: of the projections of
        an attention, one returns the whole, and the others the part of a rank. Between two, the
        one that is not sharded is it.
        """
        groups: dict[tuple[str, int], list[tuple[LayerRow, str]]] = {}
        for inner in self._known.reference.layers:
            call = self._known.call(inner)
            if inner.parent != row.order or call is None or not inner.parameters:
                continue
            if not call["outputs"] or call["outputs"][0]["layout"] is None:
                continue
            first = call["outputs"][0]
            key = (inner.type, len(first["shape"]))
            groups.setdefault(key, []).append((inner, str(first["layout"])))
        for members in groups.values():
            uses = Counter(layout for _, layout in members)
            if len(uses) != 2 or len(self._consumed(row, members)) < 2:
                continue
            members = self._consumed(row, members)
            uses = Counter(layout for _, layout in members)
            rare = min(uses, key=lambda layout: uses[layout])
            if len(uses) == 2 and uses[rare] < max(uses.values()):
                return next(inner for inner, layout in members if layout == rare)
            if len(uses) == 2:
                return next((i for i, _ in members if i.name not in self._known.sharded), None)
        return None

    def _odd_operand(self, row: LayerRow, call: Mapping[str, Any]) -> LayerRow | None:
        """Return the inner layer whose output meets another layout in the code of a call.

        In `x + self.down(y)` one is a slice and the other is whole; in `self.act(gate) * up`, too.
        A layer without parameters gives what it got, so that the one before it is meant.
        """
        layouts: dict[str, list[tuple[LayerRow | None, str]]] = {}
        for item in call["inputs"]:
            if item["layout"] is not None:
                layouts.setdefault(str(item["shape"]), []).append((None, str(item["layout"])))
        inner = [r for r in self._known.reference.layers if r.parent == row.order]
        for layer, layout in self._consumed(row, [(r, self._layout_of(r)) for r in inner]):
            made = self._known.call(layer)
            if layout and made is not None:
                shape = str(made["outputs"][0]["shape"])
                layouts.setdefault(shape, []).append((layer, layout))
        for members in layouts.values():
            if len({layout for _, layout in members}) < 2:
                continue
            given = [layout for layer, layout in members if layer is None]
            layers = [self._with_parameters(layer) for layer, _ in members if layer is not None]
            if given:
                return next((r for r, (_, x) in zip(layers, members[len(given):], strict=True)
                             if x not in given), None)  # fmt: skip
            return next((r for r in layers if r.name not in self._known.sharded), None)
        return None

    def _layout_of(self, row: LayerRow) -> str:
        call = self._known.call(row)
        if call is None or not call["outputs"] or call["outputs"][0]["layout"] is None:
            return ""
        return str(call["outputs"][0]["layout"])

    def _with_parameters(self, row: LayerRow) -> LayerRow:
        """Return the nearest layer before a call that has parameters, or the call itself."""
        found = row
        while not found.parameters:
            before = [r for r in self._known.sources(found) if r.parent == row.parent]
            if not before or before[0].order >= found.order:
                return row
            found = before[0]
        return found

    def _consumed(
        self, row: LayerRow, members: Sequence[tuple[LayerRow, str]]
    ) -> list[tuple[LayerRow, str]]:
        """Return those whose outputs no other inner layer had taken in when the code went on."""
        ended = {
            inner.order for inner in self._known.reference.layers
            if inner.parent == row.order and self._has_ended(inner)
        }  # fmt: skip
        return [
            (inner, layout) for inner, layout in members
            if not any(t.order in ended for t in self._known.targets(inner))
        ]  # fmt: skip

    def _has_ended(self, row: LayerRow) -> bool:
        call = self._known.call(row)
        return call is not None and any(o["layout"] is not None for o in call["outputs"])

    def _at_odd_one(self, row: LayerRow, odd: LayerRow, raised: PlanCause | None) -> PlanCause:
        call = self._known.call(odd)
        made = [] if call is None else call["outputs"]
        text = next(filter(None, map(self._known.layout, made)), "a copy of the whole on each rank")
        sentence = f"{_named(odd)} returns {text}, and {_named(row)} uses it with another layout"
        if odd.name not in self._known.sharded:
            sentence += f": the plan does not shard {odd.name}"
        if raised is not None:
            sentence += f"; {raised.sentence}"
        return PlanCause("output", ref(odd), sentence, (odd.name or "", row.name or ""))

    def _partial_output(self, row: LayerRow, dimension: str) -> PlanCause:
        row = self._with_parameters(row)
        sentence = (
            f"{_named(row)}: its output is partial on each rank along {dimension}, "
            "and nothing reduces it"
        )
        return PlanCause("output", ref(row), sentence, (row.name or "",))

    def _at_input(
        self, row: LayerRow, bad: Mapping[str, Any], raised: PlanCause | None
    ) -> PlanCause:
        """Return the cause if a call gets another input than in the reference."""
        known = self._known
        laid = known.layout(bad)
        taken = f"takes its input as {laid}" if laid else "gets an input of another layout"
        shapes = ""
        if bad["ranks_shape"] is not None and bad["ranks_shape"] != bad["shape"]:
            shapes = f" of shape {bad['ranks_shape']} in place of {bad['shape']}"
        sources = [s for s in known.sources(row) if s.order != row.parent]
        named = [row.name or ""]
        sentence = f"{_named(row)} {taken}{shapes}"
        if sources:
            alike = [s for s in sources if s.type == row.type and s.name not in known.sharded]
            source = alike[0] if alike else sources[0]
            made = known.call(source)
            rows = [] if made is None else made["outputs"]
            text = next(filter(None, map(known.layout, rows)), "a copy of the whole on each rank")
            sentence += f", but {_named(source)} returns {text}"
            plain = (
                source.type == row.type  # a layer that plans shard
                and source.name not in known.sharded
                and row.name in known.sharded
            )
            named = [source.name or "", *named] if plain else [*named, source.name or ""]
            if plain:
                sentence += f": the plan does not shard {source.name}"
            row = source if plain else row
        if raised is not None:
            sentence += f"; {raised.sentence}"
        return PlanCause("code", ref(row), sentence, tuple(named), bad["relative"], bad["limit"])

    def _raised(self) -> PlanCause | None:
        error = self._known.error
        if error is None:
            return None
        row = self._last_row(error)
        where = "the model" if row is None else _named(row)
        who, _, message = error.message.partition(": ")
        message = shorten(first_line(message), _LONGEST)
        if error.type in _ENDED:
            sentence = f"{who} ended in {error.phase}, in {where}: {message}"
        else:
            sentence = f"{where} raised {error.type} on {who} in {error.phase}: {message}"
        named = () if row is None else (row.name or "",)
        call = None if row is None else ref(row)
        return PlanCause("output", call, sentence, named, place=error.place)

    def _last_row(self, error: ErrorInfo) -> LayerRow | None:
        """Return the call that ran when a rank failed.

        A process that was ended tells the last call that began. If that has ended on all ranks, it
        is the next one to end.
        """
        layers = self._known.reference.layers
        row = next((r for r in layers if (r.name, r.call) == (error.layer, error.call)), None)
        if error.type not in _ENDED or row is None or not self._has_ended(row):
            return row
        missing = (
            call for call in self._calls
            if any(o["layout"] is None and o["ranks_shape"] is None for o in call["outputs"])
        )  # fmt: skip
        following = next(missing, None)
        return row if following is None else self._known.row(following)

    def _at_output(self) -> PlanCause:
        """Return the cause if only what the model returns differs, not what its layers do."""
        known = self._known
        for item in known.compared["result"]:
            dimension = known.dangling(item)
            if dimension is not None:
                for call in reversed(self._calls):
                    row = known.row(call)
                    if (
                        row is not None
                        and row.parent is not None
                        and any(known.dangling(output) for output in call["outputs"])
                    ):
                        return self._partial_output(row, dimension)
        bad = next((r for r in known.compared["result"] if is_off(r)), None)
        size = "" if bad is None else _size(bad)
        sentence = f"all layers agree, but the output of the model differs{size}"
        return PlanCause("model", None, sentence, (), None if bad is None else bad["relative"],
                     None if bad is None else bad["limit"])  # fmt: skip

    def _in_backward(self) -> PlanCause | None:
        parameters = {p["name"]: p for p in self._known.compared["parameters"]}
        apart = [
            (parameters[row.name], call)
            for row, call in backward_order(self._known.reference)
            if row.name in parameters and _gradient_off(parameters[row.name])
        ]
        raised = self._raised()
        if not apart:
            return raised
        first, call = apart[0]
        names = [p["name"] for p, _ in apart]
        blamed = None if raised is not None else self._wrong_output_gradient(call)
        if raised is not None:
            return raised
        what = self._how(first)
        module = first["name"].rpartition(".")[0]
        siblings = [n for n in names if n.rpartition(".")[0] == module]
        sentence = f"all layers agree, but in backward {join_names(siblings)}: {what}"
        if blamed is not None:
            row, text = blamed
            sentence = f"{text}; so {join_names(siblings)}: {what}"
            return PlanCause("gradient", ref(row), sentence, (row.name or "", *siblings),
                         first["gradient"]["relative"], first["gradient"]["limit"])  # fmt: skip
        if len(names) > len(siblings):
            sentence += f"; {len(names)} of {len(parameters)} gradients differ"
        return PlanCause("gradient", None if call is None else ref(call), sentence, tuple(siblings),
                     first["gradient"]["relative"], first["gradient"]["limit"])  # fmt: skip

    def _how(self, parameter: Mapping[str, Any]) -> str:
        """Return how a gradient differs from that of the reference."""
        why = parameter["why"]
        along = f" along {join_names(why.get('dimensions', []))}"
        if why["kind"] == _PARTIAL:
            return f"the gradient differs between ranks: it is partial{along}, nothing reduces it"
        if why["kind"] == "mean":
            return f"the gradient differs between ranks: nothing averages it{along}"
        if why["kind"] == "scaled":
            return f"the gradient is {float(why['factor']):.4g} times that of the reference"
        if why["kind"] == "missing":
            return f"no gradient on ranks {', '.join(map(str, why['ranks']))}"
        between = "between ranks" if why["kind"] == "apart" else "from that of the reference"
        return f"the gradient differs {between}{_size(parameter['gradient'])}"

    def _wrong_output_gradient(self, call: LayerRow | None) -> tuple[LayerRow, str] | None:
        """Return the call that passes a wrong gradient back to the call of a parameter.

        Its own output has the right gradient, and so the wrong one is made in its backward.
        """
        found = None if call is None else self._known.call(call)
        rows = [] if found is None else found["gradients"]
        wrong = [row for row in rows if is_off(row) or self._known.dangling(row) is not None]
        if call is None or not wrong:
            return None
        dimension = self._known.dangling(wrong[0])
        users = [r for r in self._known.targets(call) if r.order > call.order]
        leaf = [r for r in users if not self._is_parent(r)] or users
        sharded = [r for r in leaf if r.name in self._known.sharded]
        for row in sharded or leaf:
            how = f"partial along {dimension}: nothing reduces it" if dimension else "wrong"
            return row, f"the gradient that {_named(row)} passes back to {_named(call)} is {how}"
        return None

    def _is_parent(self, row: LayerRow) -> bool:
        return any(other.parent == row.order for other in self._known.reference.layers)


def _gradient_off(parameter: Mapping[str, Any]) -> bool:
    gradient = parameter["gradient"]
    return gradient is not None and parameter.get("why") is not None


def _named(row: LayerRow) -> str:
    name = f"'{row.name}'" if row.name else "the model"
    return f"{name} ({row.type})" + (f", call {row.call}" if row.call else "")


def _size(row: Mapping[str, Any]) -> str:
    """Return by how much a tensor differs, to append to a sentence."""
    if row["relative"] is not None:
        return f" by {float(row['relative']):.2g} of its norm"
    if row["ranks_shape"] is not None:
        return f": its shape is {row['ranks_shape']} in place of {row['shape']}"
    return ""
