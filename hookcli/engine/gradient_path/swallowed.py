"""Finds the nodes that receive a gradient in backward and pass none on."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from torch.autograd.function import BackwardCFunction

from hookcli.engine.gradient_path.analysis import Ends
from hookcli.engine.gradient_path.cut import Cut
from hookcli.engine.gradient_path.parameter_reach import reachable


def has_custom_functions(ends: Ends) -> bool:
    """Whether backward from the loss runs code of custom Functions."""
    return any(isinstance(node, BackwardCFunction) for node in ends.nodes)


def swallowed(ends: Ends, backward: Callable[[], None]) -> list[Cut]:
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
