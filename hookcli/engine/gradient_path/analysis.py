"""Why parameters got no gradient, and which cuts the loss is computed through."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch.autograd.function import BackwardCFunction

from hookcli.engine.gradient_path.parameter_reach import ParameterReach, reachable
from hookcli.engine.gradient_path.tracer import CallOutput, Cut, GradientTracer
from hookcli.models.nested import leaves
from hookcli.report.findings import Measurement
from hookcli.report.path_ends.end_rows import CUT, LAYER, REASON, TERM

if TYPE_CHECKING:
    from hookcli.report.measured.gradient_path import GradientCut

_MOST = 200  # cuts in a report


@dataclass(slots=True)
class Ends:
    """What a forward, and the tensor that backward starts from, say about each parameter.

    `through` are the cuts behind the loss's values, `beside` those behind other outputs.
    """

    tracer: GradientTracer
    start: torch.Tensor | None
    nodes: set[Any] = field(default_factory=set)
    through: int = 0
    beside: int = 0
    other_outputs: list[tuple[str, int]] = field(default_factory=list)  # path, parameters behind

    @classmethod
    def of(cls, tracer: GradientTracer, output: Any, start: torch.Tensor | None) -> Ends:
        """Compare the loss with the outputs: which of them it uses.

        Without a start, no output requires grad, and a loss would use all of them.
        """
        ends = cls(tracer, start)
        if start is not None:
            ends.nodes, ends.through = reachable(start), tracer.carried.of(start)
        for path, tensor, _ in leaves(output):
            cuts = tracer.carried.of(tensor)
            if start is None or tensor is start or tensor.grad_fn in ends.nodes:
                ends.through |= cuts
                continue
            ends.beside |= cuts
            if tensor.requires_grad:
                ends.other_outputs.append((path, tracer.reach.of(tensor)))
        return ends

    @property
    def live(self) -> int:
        """The bits of the parameters that the graph of the loss contains."""
        return 0 if self.start is None else self.tracer.reach.of(self.start)

    def without(self, avoided: Collection[Any]) -> int:
        """Return the bits of the parameters that backward reaches around these nodes."""
        nodes = set() if self.start is None else reachable(self.start, avoided)
        bits = 0
        for node in nodes:
            leaf = getattr(node, "variable", None)
            bits |= 0 if leaf is None else self.tracer.reach.own(leaf)
        return bits


def grouped(reach: ParameterReach, bits: int) -> list[str]:
    """Return the outermost modules whose trainable parameters all are in `bits`, in their order.

    Parameters of other modules are listed themselves.
    """
    total: Counter[str] = Counter()
    inside: Counter[str] = Counter()
    digits = f"{bits:b}"[::-1]  # to shift the bits for each parameter takes the square of them
    for i, info in enumerate(reach.infos):
        within = digits[i : i + 1] == "1"
        for name in _above(info.name):
            total[name] += 1
            inside[name] += within
    names: dict[str, None] = {}
    for name in reach.names(bits):
        top = name
        for module in _above(name):
            if inside[module] < total[module]:
                break
            top = module
        names[top] = None
    return list(names)


def _above(name: str) -> Iterator[str]:
    while name:
        name = name.rpartition(".")[0]
        yield name


def cut_rows(ends: Ends, swallowed: Collection[Cut]) -> Iterator[Measurement]:
    """Yield a row for each cut that the values of the loss went through, in their order.

    `swallowed` are cuts at custom Functions that returned no gradient in backward.
    """
    rows = [cut for cut in ends.tracer.cuts if cut.bit & ends.through and cut.behind]
    rows += swallowed
    yield Measurement(CUT, "", None, {"count": len(rows)}, None)
    for cut in rows[:_MOST]:
        yield Measurement(CUT, cut.layer or "", None, _described(cut, ends.tracer), None)


def term_rows(ends: Ends) -> Iterator[Measurement]:
    """Yield a row for each term of the loss that has no gradient, by the cut nearest to it.

    Its parameters are trained by other terms: those of a teacher, which none trains, do not count.
    """
    known: set[int] = set()
    for term in ends.tracer.terms:
        cuts = [c for c in ends.tracer.cuts if c.bit & term.cuts and c.behind & ends.live]
        if cuts and term.node in ends.nodes and cuts[-1].bit not in known:
            known.add(cuts[-1].bit)
            value = {**_described(cuts[-1], ends.tracer), "sum": term.place}
            yield Measurement(TERM, cuts[-1].layer or "", None, value, None)


def layer_rows(ends: Ends) -> Iterator[Measurement]:
    """Yield for each registered module whether the loss's gradient reaches one of its outputs.

    Modules whose outputs depend on no trainable parameter are omitted.
    """
    connected: dict[str, bool] = {}
    for output in ends.tracer.calls:
        if output.call.name is not None and output.depends:
            reached = any(node in ends.nodes for node in output.nodes)
            connected[output.call.name] = connected.get(output.call.name, False) or reached
    for name, reached in connected.items():
        yield Measurement(LAYER, name, None, reached, None)


def _described(cut: Cut, tracer: GradientTracer) -> GradientCut:
    return {
        "kind": cut.kind,
        "operator": cut.operator,
        "layer": cut.layer,
        "module": cut.module,
        "place": cut.place,
        "behind": grouped(tracer.reach, cut.behind),
    }


class Reasons:
    """Explains why parameters, given by their bits, got no gradient: each by one reason.

    `swallowed` are cuts at custom Functions that returned no gradient in backward.
    """

    def __init__(self, ends: Ends, swallowed: Collection[Cut] = ()) -> None:
        self._ends, self._tracer = ends, ends.tracer
        self._swallowed = swallowed
        self._rows: list[Measurement] = []

    @staticmethod
    def header(missing: int, zero: int) -> Measurement:
        """Return the row that tells that reasons were looked for, and for how many parameters."""
        return Measurement(REASON, "", None, {"count": (missing | zero).bit_count()}, None)

    def rounded(self, zero: int) -> list[Measurement]:
        """Return a row for each rounding operator that makes gradients of parameters zero."""
        self._rows, rounding = [], []
        for node, cut in self._tracer.rounding.items():
            if node in self._ends.nodes:
                cut.behind |= self._tracer.reach.behind(node)
                rounding.append(cut)
        around = self._ends.without(self._tracer.rounding)
        self._cover(zero & ~around, rounding, "rounding")
        return self._rows

    def rows(self, missing: int) -> list[Measurement]:
        """Return a row for each reason, with the parameters that it explains."""
        cuts, ends = self._tracer.cuts, self._ends
        left = self._cover(missing, list(self._swallowed), "swallowed")
        left = self._cover(left, [c for c in cuts if c.bit & ends.through], "cut")
        left = self._other_outputs(left)
        left = self._cover(left, [c for c in cuts if c.bit & ends.beside], "cut_output")
        left = self._cover(left, [c for c in cuts if c.left], "left")
        left = self._unused_outputs(left)
        self._add("unused", left & ~self._tracer.used, {})
        self._add("unknown", left & self._tracer.used, {})
        return self._rows

    def _add(self, why: str, bits: int, value: dict[str, Any]) -> None:
        if bits:
            names = grouped(self._tracer.reach, bits)
            value = {"why": why, "parameters": bits.bit_count(), "cut_off": names, **value}
            self._rows.append(Measurement(REASON, names[0], None, value, None))

    def _cover(self, missing: int, cuts: list[Cut], why: str) -> int:
        """Explain parameters by as few cuts as possible; the later cut is nearer to the loss."""
        while missing:
            cut = max(cuts, key=lambda c: ((c.behind & missing).bit_count(), c.bit), default=None)
            if cut is None or not cut.behind & missing:
                break
            value: dict[str, Any] = {**_described(cut, self._tracer), **self._twin(cut, missing)}
            value.pop("behind")
            self._add(why, cut.behind & missing, value)
            missing &= ~cut.behind
        return missing

    def _twin(self, cut: Cut, missing: int) -> dict[str, Any]:
        """Return the part of the model that the cut part is a copy of, as of a target network."""
        twin = _twin_of(self._tracer, cut, grouped(self._tracer.reach, cut.behind & missing))
        return {} if twin is None else {"copy_of": twin}

    def _other_outputs(self, missing: int) -> int:
        for path, bits in self._ends.other_outputs:
            self._add("other_output", missing & bits, {"output": path})
            missing &= ~bits
        return missing

    def _unused_outputs(self, missing: int) -> int:
        """Explain parameters by the last call whose output they are behind: nothing uses it.

        That is not known if the loss uses a leaf that no operator made, such as `Parameter(y)`.
        """
        if any(self._is_unknown(node) for node in self._ends.nodes):
            return missing
        for output in reversed(self._tracer.calls):
            bits = missing & self._behind(output)
            if bits:
                value = {"layer": output.call.name, "module": output.call.type}
                self._add("unused_output", bits, {**value, "place": output.call.place})
                missing &= ~bits
        return missing

    def _is_unknown(self, node: Any) -> bool:
        leaf = getattr(node, "variable", None)
        return leaf is not None and not self._tracer.carried.knows(leaf)

    def _behind(self, output: CallOutput) -> int:
        bits = 0
        for node in output.nodes:
            bits |= self._tracer.reach.behind(node)
        return bits


def _twin_of(tracer: GradientTracer, cut: Cut, parts: list[str]) -> str | None:
    """Return the module that all cut-off parts are a copy of, as the target network of BYOL is.

    None if they are not copies.

    A copy has parameters of the same names with equal values, and the original does not use what
    the cut lets through: equal layers one after the other are not copies in this sense.
    """
    twins = [_twin(tracer, cut, part) for part in parts]
    return twins[0] if twins and all(twin is not None for twin in twins) else None


def _twin(tracer: GradientTracer, cut: Cut, part: str) -> str | None:
    own = _below(tracer, part)
    if not part or not own:
        return None
    first = next(iter(own))
    for info in tracer.reach.infos:
        if not info.name.endswith(f".{first}") or info.name.startswith(f"{part}."):
            continue
        other = info.name.removesuffix(f".{first}")
        theirs = _below(tracer, other)
        if _equal(own, theirs) and not _uses(tracer, cut, other):
            return other
    return None


def _below(tracer: GradientTracer, part: str) -> dict[str, torch.Tensor]:
    return {
        info.name.removeprefix(f"{part}."): info.tensor
        for info in tracer.reach.infos
        if info.name.startswith(f"{part}.")
    }


def _equal(own: dict[str, torch.Tensor], theirs: dict[str, torch.Tensor]) -> bool:
    return own.keys() == theirs.keys() and all(
        tensor.shape == theirs[name].shape and torch.equal(tensor, theirs[name])
        for name, tensor in own.items()
    )


def _uses(tracer: GradientTracer, cut: Cut, module: str) -> bool:
    """Whether an input of the module has values that went through the cut."""
    return bool(tracer.cuts_into.get(module, 0) & cut.bit)


def has_custom_functions(ends: Ends) -> bool:
    """Whether backward from the loss runs code of custom Functions."""
    return any(isinstance(node, BackwardCFunction) for node in ends.nodes)


def find_swallowed(ends: Ends, backward: Callable[[], None]) -> list[Cut]:
    """Run backward, and return a cut for each node that returned no gradient for an input.

    Only the backward of a custom Function does that. The nodes behind are no longer reached.
    """
    stops: dict[tuple[Any, int], None] = {}
    with ExitStack() as stack:
        for node in ends.nodes:
            if any(after is not None for after, _ in node.next_functions):
                stack.callback(node.register_hook(_watch(node, stops)).remove)
        backward()
    cuts = [_cut(ends, node, index) for node, index in stops]
    if ends.start is not None and stops:
        ends.nodes = reachable(ends.start, without=stops)
    return cuts


def _watch(node: Any, stops: dict[tuple[Any, int], None]) -> Callable[[Any, Any], None]:
    def hook(to_inputs: Any, to_outputs: Any) -> None:
        if all(grad is None for grad in to_outputs):
            return
        for index, (after, _) in enumerate(node.next_functions):
            if after is not None and to_inputs[index] is None:
                stops[node, index] = None

    return hook


def _cut(ends: Ends, node: Any, index: int) -> Cut:
    tracer, number = ends.tracer, node._sequence_nr()
    name = node.name().removesuffix("Backward")
    places = tracer.functions.get(name, {})
    later = min((key for key in places if key > number), default=None)  # noted after the node
    call = tracer.call_of(number)
    layer, module = (None, "") if call is None else (call.name, call.type)
    after = node.next_functions[index][0]
    cut = Cut("function", name, places.get(later), layer, module, 0)  # type: ignore[arg-type]
    cut.behind = tracer.reach.behind(after)
    return cut
