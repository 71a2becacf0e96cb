"""Compare one step of two trainings, figure by figure, in the order of the computation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hookcli.comparison.align import Alignment
from hookcli.comparison.matching import alignment, paired_calls
from hookcli.comparison.tolerance import RTOL, Tolerances, coarser
from hookcli.comparison.training.figure_limits import (
    compare_figures,
    is_number,
    limit_of,
    rounding,
)
from hookcli.comparison.training.observed import (
    BackwardRanks,
    Observed,
    Rank,
    computed_in,
    event_values,
    gradient_of,
    largest_rate,
    loss_of,
    norm_of,
    ran_alike,
    unscaled,
    weight_of,
)
from hookcli.comparison.training.training_diff import FigureDiff, FigureKind, StepPhase, Value
from hookcli.report.events import EventRow
from hookcli.report.report import LayerRow, Report
from hookcli.report.values import Leaf, Number, Shape


class StepPairs:
    """Compares the steps of two records. Call `figures` for each step once, in order."""

    def __init__(self, a: Observed, b: Observed, tolerances: Tolerances) -> None:
        self.a, self.b = a, b
        self.names: Alignment = alignment(a.report, b.report)
        self.parameters = self.names.pairs(a.parameters, b.parameters)
        self._modules = self.names.pairs(_modules(a.report), _modules(b.report))
        self.ranks = BackwardRanks(a.report)
        self._tolerances = tolerances
        self.is_alike = ran_alike(a, b)
        self._computed_in = computed_in(a.report), computed_in(b.report)
        self._largest: dict[str, float] = {}  # the largest loss and norms so far, for rounding

    def common(self) -> list[int]:
        """Return the numbers of the steps that both contain."""
        return sorted(self.a.steps.keys() & self.b.steps.keys())

    def sampled(self) -> tuple[int, ...]:
        """Return the steps that both observed in detail."""
        return tuple(sorted(set(self.a.info.sampled) & set(self.b.info.sampled)))

    def other_place(self, call: LayerRow) -> str | None:
        """Return the line in B of the layer of a call in A."""
        partner = self._modules.get(call.name or "")
        rows = self.b.report.layers
        return next((row.place for row in rows if row.name == partner and row.place), None)

    def losses(self, step: int) -> tuple[Number | None, Number | None]:
        """Return both losses of a step; of all ranks, if only one training ran on several."""
        ours, theirs = self.a.steps[step], self.b.steps[step]
        if self.is_alike:
            return ours.loss, theirs.loss
        return loss_of(ours), loss_of(theirs)

    def figures(self, step: int) -> Iterator[FigureDiff]:
        """Yield the comparison of each figure that both know."""
        for figure in self._all(step):
            if figure.status != "unknown":
                yield figure

    def _all(self, step: int) -> Iterator[FigureDiff]:
        ours, theirs = self.a.steps[step], self.b.steps[step]
        yield from self._weights(step)
        # Compiled code hides forwards, and of two that are not alike one may have micro-batches.
        if self.is_alike and None not in (self.a.info.calls, self.b.info.calls):
            yield self._plain(step, "forward", "forwards", (ours.forwards, theirs.forwards))
        yield from self._layers(step)
        yield from self._events(step, "forward")
        yield self._plain(step, "loss", "loss", self.losses(step))
        if self.is_alike:
            yield self._plain(step, "backward", "backwards", (ours.backwards, theirs.backwards))
        gradients = self._backward(step)
        yield from gradients
        yield self._plain(step, "backward", "grad_norm", (ours.grad_norm, theirs.grad_norm))
        yield self._plain(step, "optimizer", "scale", (ours.scale, theirs.scale))
        yield self._plain(step, "optimizer", "skipped", (ours.skipped, theirs.skipped))
        yield self._plain(step, "optimizer", "lr", (ours.lr, theirs.lr))
        largest = largest_rate(ours), largest_rate(theirs)
        if ours.lr == theirs.lr and largest != (ours.lr, theirs.lr):
            yield self._plain(step, "optimizer", "lr", largest)
        yield from self._updates(step, {f.name for f in gradients if f.status == "same"})
        yield from self._events(step, "optimizer")
        pair = (ours.update_norm, theirs.update_norm)
        yield self._plain(step, "optimizer", "update_norm", pair)

    def _plain(
        self, step: int, phase: StepPhase, kind: FigureKind, pair: tuple[Value, Value]
    ) -> FigureDiff:
        """Compare a figure of the whole model."""
        size = max((abs(float(v)) for v in pair if v is not None and is_number(v)), default=0.0)
        self._largest[kind] = max(self._largest.get(kind, 0.0), size)
        least = rounding(("float32",), self._largest[kind])
        limit = limit_of(kind, None, self._tolerances)
        return compare_figures(step, phase, kind, None, pair, limit, least)

    def _weights(self, step: int) -> Iterator[FigureDiff]:
        """Compare the weights before the step; before the first, they are as they were made."""
        ours, theirs = self.a.notes.get(step, {}), self.b.notes.get(step, {})
        for name, partner in self.parameters.items():
            if name in ours and partner in theirs:
                pair = weight_of(ours[name]), weight_of(theirs[partner])
                yield self._weight(step, "weight", name, pair, self._dtypes(name))
        a, b = self.a.steps[step], self.b.steps[step]
        yield self._weight(step, "weight_norm", None, (a.weight_norm, b.weight_norm), (None, None))

    def _weight(
        self,
        step: int,
        kind: FigureKind,
        name: str | None,
        pair: tuple[Value, Value],
        dtypes: tuple[str | None, str | None],
    ) -> FigureDiff:
        precision = RTOL[coarser(*dtypes) or "float32"]
        first = precision if step == 0 else None
        limit = limit_of(kind, name, self._tolerances, first=first)
        return compare_figures(step, "weights", kind, name, pair, limit)

    def _dtypes(self, name: str) -> tuple[str | None, str | None]:
        partner = self.parameters[name]
        return self.a.parameters[name].dtype, self.b.parameters[partner].dtype

    def _layers(self, step: int) -> Iterator[FigureDiff]:
        """Compare the inputs and outputs of calls, which one step has."""
        if not (self.is_alike and self.a.layers_step == self.b.layers_step == step):
            return
        pairs = paired_calls(self.a.report, self.b.report, self.names)
        for row in self.a.report.layers:
            other = pairs.get(row.order)
            if other is None:
                continue
            for part in ("inputs", "outputs"):
                yield from self._leaves(step, row, other, part)

    def _leaves(self, step: int, row: LayerRow, other: LayerRow, part: str) -> Iterator[FigureDiff]:
        there = {leaf.path: leaf for leaf in getattr(other, part)}
        ours: tuple[Leaf, ...] = getattr(row, part)
        for leaf in ours:
            match = there.get(leaf.path)
            if match is None:
                continue
            label = f"{row.name or ''}:{part[:-1]}{leaf.path}"
            shapes = (_shape(leaf.shape), _shape(match.shape))
            limit = limit_of("shape", label, self._tolerances)
            yield compare_figures(step, "forward", "shape", label, shapes, limit)
            pair = norm_of(leaf.stats), norm_of(match.stats)
            limit = limit_of("output", label, self._tolerances)
            yield compare_figures(step, "forward", "output", label, pair, limit)

    def _events(self, step: int, phase: StepPhase) -> Iterator[FigureDiff]:
        for _, figure in self._ranked_events(step, {phase}):
            yield figure

    def _ranked_events(self, step: int, phases: set[str]) -> Iterator[tuple[Rank, FigureDiff]]:
        """Yield the events of some phases that both have, each with its place in backward."""
        if not self.is_alike:
            return
        there = {key: leaf for key, _, leaf in event_values(self.b.events.get(step, []))}
        pairs: list[tuple[EventRow, Leaf, Leaf]] = []
        for key, event, leaf in event_values(self.a.events.get(step, [])):
            phase, kind, target, path, times = key
            partner = there.get((phase, kind, self._target(target), path, times))
            if phase in phases and partner is not None:
                pairs.append((event, leaf, partner))
        scales = self._scales(step)
        sizes = (norm_of(leaf.stats) for _, leaf, _ in pairs)
        size = max((abs(float(v)) for v in sizes if v is not None and is_number(v)), default=0.0)
        for event, leaf, partner in pairs:
            limit = limit_of("event", event.target, self._tolerances)
            pair = norm_of(leaf.stats), norm_of(partner.stats)
            if event.phase == "backward":
                pair = unscaled(pair[0], scales[0]), unscaled(pair[1], scales[1])
            least = rounding((leaf.dtype, partner.dtype), size)
            name = f"{event.target}{leaf.path} ({event.kind})"
            place: StepPhase = "forward"
            if event.phase == "backward" or event.phase == "optimizer":
                place = event.phase
            yield (
                self.ranks.target(event.target, event.seq),
                compare_figures(step, place, "event", name, pair, limit, least),
            )

    def _target(self, target: str) -> str:
        """Return the name in B of the target of a hook in A."""
        name, colon, part = target.partition(":")
        return self.parameters.get(name, self._modules.get(name, name)) + colon + part

    def _backward(self, step: int) -> list[FigureDiff]:
        ranked = [*self._gradients(step), *self._output_gradients(step)]
        ranked += self._ranked_events(step, {"backward"})
        ranked.sort(key=lambda item: item[0])
        return [figure for _, figure in ranked]

    def _gradients(self, step: int) -> Iterator[tuple[Rank, FigureDiff]]:
        ours, theirs = self.a.notes.get(step, {}), self.b.notes.get(step, {})
        size = _size(ours)
        for name, partner in self.parameters.items():
            if name in ours and partner in theirs:
                pair = gradient_of(ours[name]), gradient_of(theirs[partner])
                limit = limit_of("gradient", name, self._tolerances)
                layers = self._owners(name, partner)
                least = rounding((*self._dtypes(name), *layers), size)
                yield (
                    self.ranks.parameter(name),
                    compare_figures(step, "backward", "gradient", name, pair, limit, least),
                )

    def _output_gradients(self, step: int) -> Iterator[tuple[Rank, FigureDiff]]:
        """Compare the gradients of the outputs of layers, which one step has."""
        if not (self.is_alike and self.a.layers_step == self.b.layers_step == step):
            return
        pairs = paired_calls(self.a.report, self.b.report, self.names)
        scales = self._scales(step)
        for row in self.a.report.layers:
            other = pairs.get(row.order)
            if other is not None and row.name is not None:
                ours, theirs = norm_of(row.output_grad), norm_of(other.output_grad)
                pair = unscaled(ours, scales[0]), unscaled(theirs, scales[1])
                limit = limit_of("output_gradient", row.name, self._tolerances)
                yield (
                    self.ranks.layer(row.name),
                    compare_figures(step, "backward", "output_gradient", row.name, pair, limit),
                )

    def _scales(self, step: int) -> tuple[Number | None, Number | None]:
        """Return the factors of the GradScalers in a backward pass; None without one."""
        return self.a.steps[step].scale, self.b.steps[step].scale

    def _owners(self, name: str, partner: str) -> tuple[str | None, ...]:
        """Return the dtypes that the layers of a parameter compute in, as autocast selects."""
        names = name.rpartition(".")[0], partner.rpartition(".")[0]
        return tuple(known.get(one) for known, one in zip(self._computed_in, names, strict=True))

    def _updates(self, step: int, same: set[str | None]) -> Iterator[FigureDiff]:
        """Compare the updates of parameters whose gradients are equal."""
        ours, theirs = self.a.ratios.get(step, {}), self.b.ratios.get(step, {})
        for name, partner in self.parameters.items():
            if name in same and name in ours and partner in theirs:
                limit = limit_of("update_ratio", name, self._tolerances)
                pair = ours[name], theirs[partner]
                yield compare_figures(step, "optimizer", "update_ratio", name, pair, limit)


def _modules(report: Report) -> dict[str, None]:
    return dict.fromkeys(row.name for row in report.layers if row.name is not None)


def _size(notes: Mapping[str, Mapping[str, Any]]) -> float:
    """Return the norm of the largest gradient that is finite."""
    norms = (gradient_of(note) for note in notes.values())
    return max((abs(float(v)) for v in norms if v is not None and is_number(v)), default=0.0)


def _shape(shape: Shape) -> str:
    return f"[{', '.join('*' if size is None else str(size) for size in shape)}]"
