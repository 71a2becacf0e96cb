"""A module of an exported program, and the interpreter of its graph."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from inspect import Parameter
from typing import Any

from torch import fx, nn
from torch.fx.node import map_arg

from hookcli.models.exported.regions import Regions
from hookcli.models.exported.signature import Signature
from hookcli.models.scripted import FORMAT


class Container(nn.Module):
    """A module without operators in the file: a ModuleList, or an Identity."""


class Layer(nn.Module):
    """A module with a graph in the file.

    `programs` are the graphs of its calls, one for each that differs. There is none if the module
    has parameters that no operator uses.
    """

    def __init__(self, regions: Regions) -> None:
        super().__init__()
        self.programs: list[Program] = []
        self.constants: dict[str, Any] = {}
        self._regions = regions
        self._turn = 0  # index of the program that the next call runs
        self._next: int | None = None

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program of this call."""
        program = self._program()
        given = list(args) + [kwargs[n] for n in program.inputs[len(args) :] if n in kwargs]
        if len(given) != len(program.inputs):
            raise TypeError(f"expected the arguments ({', '.join(program.inputs)})")
        return program.run(self, given, self._regions)

    def _program(self) -> Program:
        if not self.programs:
            raise RuntimeError("the file contains no operator of this module")
        if self._next is not None:
            number, self._next = self._next, None
            return self.programs[number]
        number = self._turn % len(self.programs)
        self._turn += 1
        return self.programs[number]

    def restart(self) -> None:
        """Begin with the first program again."""
        self._turn, self._next = 0, None


class Turn:
    """Call a layer with one of its programs, or with the next in turn if none is given."""

    def __init__(self, layer: Layer, number: int | None) -> None:
        self._layer = layer
        self._number = number

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module itself, so that its hooks fire."""
        self._layer._next = self._number
        return self._layer(*args, **kwargs)


class Root(Layer):
    """The whole program: it accepts the original's arguments and returns its outputs."""

    signature: Signature

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run one forward."""
        for module in self.modules():
            if isinstance(module, Layer):
                module.restart()
        leaves = self.signature.flatten(args, kwargs)
        try:
            return self.signature.unflatten(self.programs[0].run(self, leaves, self._regions))
        finally:
            self._regions.close()


def layer_class(name: str, kind: type[nn.Module]) -> type[nn.Module]:
    """Return a class with this name, which reports show as the module's type."""
    return type(name, (kind,), {"__doc__": kind.__doc__, "__module__": __name__})


def root_class(name: str, signature: Signature) -> type[nn.Module]:
    """Return the root's class; its forward has the signature of the original."""

    def forward(self: Root, *args: Any, **kwargs: Any) -> Any:
        return self.run(args, kwargs)

    shown = signature.of_forward()
    own = Parameter("self", Parameter.POSITIONAL_ONLY)
    forward.__signature__ = inspect.Signature([own, *shown.parameters.values()])  # type: ignore[attr-defined]
    body = {"__doc__": Root.__doc__, "__module__": __name__, "forward": forward}
    return type(name, (Root,), {**body, "signature": signature, FORMAT: "exported"})


@dataclass(slots=True)
class Step:
    """One node; `done` are the nodes whose values are not needed after it."""

    node: fx.Node
    done: tuple[fx.Node, ...]
    run: Callable[..., Any] | None = None  # a call of a module: set when all modules exist


class Program:
    """The graph of one call, or of several equal calls."""

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
