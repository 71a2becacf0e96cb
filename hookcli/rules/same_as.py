"""`same_as`: shapes, parameters, order and norms match a saved report."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hookcli.report.path_ends.end_rows import CUT, backward_order, cut_before, new_cuts
from hookcli.report.report import LayerRow, ParameterRow, Report
from hookcli.report.values import Leaf
from hookcli.rules.rule import Options, Rule, RuleFinding, RuleOption, passed
from hookcli.rules.select import layer, matches, owner, places
from hookcli.spec.checks import BACKWARD, request_probe
from hookcli.text import counted, pluralize


def _shape(leaf: Leaf) -> str:
    return f"[{', '.join('*' if s is None else str(s) for s in leaf.shape)}] {leaf.dtype}"


def _short(norm: Any) -> str:
    return "unknown" if norm is None else f"{float(norm):.6g}"


class _Comparison:
    def __init__(self, now: Report, then: Report, options: Options) -> None:
        self.now, self.then = now, then
        self.at, self.rtol = options["at"], options["rtol"]
        self.places = places(now)
        self.compared = 0

    def _ours(self, name: str | None) -> bool:
        return matches(self.at, name)

    def parameters(self) -> Iterator[RuleFinding]:
        now = {row.name: row for row in self.now.parameters if self._ours(row.name)}
        then = {row.name: row for row in self.then.parameters if self._ours(row.name)}
        for name in (*then, *(n for n in now if n not in then)):
            place = self.places.get(owner(name))
            if name not in now or name not in then:
                word = "is missing" if name in then else "is new"
                yield RuleFinding(
                    "fail", name, "parameter", f"parameter {name} {word}", place=place
                )
                continue
            self.compared += 1
            parameter, other = now[name], then[name]
            if (parameter.shape, parameter.dtype) != (other.shape, other.dtype):
                ours, theirs = (f"{list(r.shape)} {r.dtype}" for r in (parameter, other))
                message = f"parameter {name} is {ours}, was {theirs}"
                yield RuleFinding("fail", name, "parameter shape", message, ours, theirs, place)
                continue
            yield from self._norm(name, "norm of the weight", parameter.stats, other.stats, place)

    def _norm(
        self, target: str, what: str, now: Any, then: Any, place: str | None
    ) -> Iterator[RuleFinding]:
        norms = self._norms_apart(now, then)
        if norms is not None:
            a, b = norms
            message = f"the {what} of {target or 'the model'} is {_short(a)}, was {_short(b)}"
            yield RuleFinding("fail", target, what, message, a, b, place)

    def _norms_apart(self, now: Any, then: Any) -> tuple[Any, Any] | None:
        """Return both norms if they are known and differ by more than the tolerance."""
        if not now or not then:
            return None
        a, b = now.get("norm"), then.get("norm")
        if a is None or b is None or str(a) == str(b):
            return None
        norm, other = float(a), float(b)
        apart = abs(norm - other) / abs(other) if other else float("inf")
        return None if apart <= self.rtol else (a, b)

    def gradients(self) -> Iterator[RuleFinding]:
        """Yield one finding for all gradients that differ: the first that backward computes."""
        then = {row.name: row for row in self.then.parameters}
        pairs = [
            (row, call, then[row.name])
            for row, call in backward_order(self.now)
            if self._ours(row.name) and row.name in then
        ]
        found = [(row, call, self._gradient(row, other)) for row, call, other in pairs]
        apart = [(row, call, problem) for row, call, problem in found if problem is not None]
        if not apart:
            return
        row, call, (kind, difference, a, b) = apart[0]
        where = "" if call is None else f" at {layer(call)}"
        rest = len(apart) - 1
        more = f"; {rest:,} more of {len(pairs):,} gradients {pluralize(rest, 'differs', 'differ')}"
        end = cut_before(new_cuts(self.then, self.now), [one.name for one, _, _ in apart])
        message = f"in backward, gradients first differ{where}: {difference}"
        message += more if rest else ""
        message += f": {end}" if end else ""
        place = None if call is None else call.place
        yield RuleFinding("fail", row.name, kind, message, a, b, place)

    def _gradient(self, now: ParameterRow, then: ParameterRow) -> tuple[str, str, Any, Any] | None:
        """Return the kind of a difference, what to say, and both norms."""
        if now.status is not None and then.status is not None:
            norm = None if now.grad is None else now.grad.get("norm")
            other = None if then.grad is None else then.grad.get("norm")
            if now.grad is None and then.grad is not None:
                return (
                    "gradient",
                    f"{now.name} gets no gradient, its norm was {_short(other)}",
                    norm,
                    other,
                )
            if now.grad is not None and then.grad is None:
                difference = f"{now.name} gets a gradient of norm {_short(norm)}, it got none"
                return "gradient", difference, norm, other
        norms = self._norms_apart(now.grad, then.grad)
        if norms is None:
            return None
        difference = (
            f"the norm of the gradient of {now.name} is {_short(norms[0])}, was {_short(norms[1])}"
        )
        return "norm of the gradient", difference, *norms

    def calls(self) -> Iterator[RuleFinding]:
        now = [row for row in self.now.layers if self._ours(row.name) and not row.recomputed]
        then = [row for row in self.then.layers if self._ours(row.name) and not row.recomputed]
        for ours, theirs in zip(now, then, strict=False):
            if (ours.name, ours.call) != (theirs.name, theirs.call):
                message = f"{layer(ours)} runs instead of {layer(theirs)}"
                name, order = ours.name or "", ours.order
                yield RuleFinding("fail", name, "order", message, order, theirs.order, ours.place)
                return
            yield from self._call(ours, theirs)
        if len(now) != len(then):
            message = f"{counted(len(now), 'call')}, expected {len(then):,}"
            yield RuleFinding(
                "fail", "", "calls", message, len(now), len(then), self.now.model.place
            )

    def _call(self, now: LayerRow, then: LayerRow) -> Iterator[RuleFinding]:
        self.compared += 1
        for part in ("inputs", "outputs"):
            ours, theirs = ({x.path: x for x in getattr(row, part)} for row in (now, then))
            for path in dict.fromkeys((*theirs, *ours)):
                leaf, other = ours.get(path), theirs.get(path)
                if leaf is None or other is None or _shape(leaf) != _shape(other):
                    a, b = ("nothing" if x is None else _shape(x) for x in (leaf, other))
                    message = f"{part[:-1]}{path} of {layer(now)} is {a}, was {b}"
                    yield RuleFinding(
                        "fail", now.name or "", f"{part}{path}", message, a, b, now.place
                    )
                else:
                    what = f"norm of {part[:-1]}{path}"
                    yield from self._norm(now.name or "", what, leaf.stats, other.stats, now.place)
        yield from self._norm(
            now.name or "", "norm of the gradient at the output", now.output_grad,
            then.output_grad, now.place,
        )  # fmt: skip


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each difference; of the order of calls, only the first."""
    then = options.get("saved")
    if not isinstance(then, Report):
        yield RuleFinding("error", "", "not read", f"{options['report']} was not read")
        return
    comparison = _Comparison(report, then, options)
    findings = [*comparison.parameters(), *comparison.gradients(), *comparison.calls()]
    yield from findings
    if not findings:
        message = f"{comparison.compared:,} parameters and calls match {options['report']}"
        yield passed(message, limit=options["rtol"])


RULE = Rule(
    name="same_as",
    severity="error",
    says="shapes, parameters, order and norms match a saved report",
    computes="Compares parameters by name (shape, dtype, norms of weight and gradient) and calls "
    "in order (shapes and dtypes of inputs and outputs, and norms if both reports contain them) "
    "with a saved report. Of the gradients that differ, the first that backward computes is told, "
    "with an operator that cuts it off now. The model runs once more for that.",
    formula="|norm now - norm then| <= rtol * |norm then|; all else equal",
    source="Polygraphy and msprobe compare runs in this way",
    fails="a refactoring that swaps two layers; a different initialisation",
    mend="run `hookcli diff` to see where two models first differ. If the change is intended, save "
    "a new report with `hookcli check MODEL -f json=report.json`",
    example="{rule: same_as, report: good.json, rtol: 1e-4}",
    options=(
        RuleOption("report", "file", "a report that `hookcli check -f json` wrote", required=True),
        RuleOption("at", "glob", "compare only parameters and modules that match", "*"),
        RuleOption("rtol", "number", "largest relative difference of a norm", 1e-4),
    ),
    needs=lambda options: (BACKWARD, request_probe(CUT)),
    judge=judge,
)
