"""One graph of a module, and how it is run: torch.fx.Interpreter less what slows it down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch import fx
from torch.fx.node import map_arg

from hookcli.models.exported.regions import Regions

if TYPE_CHECKING:
    from hookcli.models.exported.layer import Layer


@dataclass(slots=True)
class Step:
    """One node; `done` are the nodes whose values nobody needs after it."""

    node: fx.Node
    done: tuple[fx.Node, ...]
    run: Callable[..., Any] | None = None  # a call of a module: set once all are made


class Program:
    """The graph of one call, or of several that do the same."""

    def __init__(self, graph: fx.Graph, fetch: dict[fx.Node, Callable[[Layer], Any]]) -> None:
        self.inputs = [str(n.target) for n in graph.nodes if n.op == "placeholder"]
        self.steps = _steps(graph)
        self._fetch = fetch

    def run(self, layer: Layer, given: list[Any], regions: Regions) -> Any:
        """Run the nodes in order with these inputs."""
        values: dict[fx.Node, Any] = {}
        inputs = iter(given)

        def value(node: fx.Node) -> Any:
            return values[node]

        for step in self.steps:
            node = step.node
            if node.op == "placeholder":
                values[node] = next(inputs)
            elif node.op == "get_attr":
                values[node] = self._fetch[node](layer)
            elif node.op == "output":
                return map_arg(node.args[0], value)
            else:
                args, kwargs = map_arg(node.args, value), map_arg(node.kwargs, value)
                if step.run is not None:
                    values[node] = step.run(*args, **kwargs)
                elif regions.mark(node.target, args):
                    values[node] = None
                else:
                    values[node] = node.target(*args, **kwargs)  # type: ignore[operator]
            for other in step.done:
                del values[other]
        return None


def _steps(graph: fx.Graph) -> list[Step]:
    last: dict[fx.Node, fx.Node] = {}
    for node in graph.nodes:
        last[node] = node
        for used in node.all_input_nodes:
            last[used] = node
    done: dict[fx.Node, list[fx.Node]] = {}
    for node, end in last.items():
        if end.op != "output":
            done.setdefault(end, []).append(node)
    return [Step(node, tuple(done.get(node, ()))) for node in graph.nodes]
