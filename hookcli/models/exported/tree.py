"""Turn the result of unflatten into modules with the original's names, classes and calls.

torch makes one module for each call that differs from the first (`block@1`), and one for each name
of a shared module. Here each module of the original is one module, whatever runs in its calls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import fx, nn

from hookcli.models.exported.layer import (
    Container,
    Layer,
    Program,
    Root,
    Turn,
    layer_class,
    root_class,
)
from hookcli.models.exported.regions import Regions
from hookcli.models.exported.signature import Signature
from hookcli.models.exported.unflattened import (
    UnflattenedModule,
    aliases,
    base_of,
    gather,
    number_of,
)


class Tree:
    """The modules made from an unflattened program.

    `root` is the model. `canonical` maps each further path of a module to its first path. `silent`
    are the paths of modules without an operator, a parameter or a child: an Identity, or a layer
    that was never called.
    """

    def __init__(self, unflattened: nn.Module, signature: Signature) -> None:
        self._unflattened = gather(unflattened)
        self._signature = signature
        self._regions = Regions()
        self._classes: dict[tuple[str, type], type[nn.Module]] = {}
        self._numbers: dict[tuple[str, int], int] = {}  # (path, call) → the layer's program
        self.canonical = aliases(self._unflattened)
        self._layers: dict[str, nn.Module] = {}
        self._make()
        self._fill()
        self._connect()
        self.root = self._layers[""]
        self.silent = tuple(self._silent())

    def _first(self, path: str) -> str:
        return self.canonical.get(path, path)

    def _make(self) -> None:
        """Create each module, without its programs."""
        used = self._read()
        for path, unflattened in self._unflattened.items():
            if self._first(path) == path:
                self._layers[path] = self._made(unflattened, used)

    def _read(self) -> set[int]:
        """Return the ids of the tensors that some graph reads."""
        return {
            id(value)
            for unflattened in self._unflattened.values()
            for module in unflattened.called().values()
            for node in module.graph.nodes
            if node.op == "get_attr"
            for value in [_attribute(module, str(node.target))]
        }

    def _made(self, unflattened: UnflattenedModule, used: set[int]) -> nn.Module:
        name = (unflattened.type or "Module").rpartition(".")[2]
        if not unflattened.path:
            return root_class(name, self._signature)(self._regions)
        own = [p for p in unflattened.tensors("_parameters").values() if p is not None]
        idle = bool(own) and not unflattened.children and not any(id(p) in used for p in own)
        called = self._is_called(unflattened.path)
        kind: type[nn.Module] = Layer if called or idle else Container
        made = self._classes.setdefault((name, kind), layer_class(name, kind))
        return made(self._regions) if kind is Layer else made()

    def _is_called(self, path: str) -> bool:
        """Whether there is a graph under any of the module's names."""
        return any(
            unflattened.called()
            for name, unflattened in self._unflattened.items()
            if self._first(name) == path
        )

    def _fill(self) -> None:
        """Register tensors and children, under the original's names."""
        for path, unflattened in self._unflattened.items():
            layer = self._layers[self._first(path)]
            if self._first(path) != path:
                continue
            for name, parameter in unflattened.tensors("_parameters").items():
                layer.register_parameter(name, parameter)
            kept = {n for m in unflattened.variants.values() for n in m._non_persistent_buffers_set}
            for name, buffer in unflattened.tensors("_buffers").items():
                layer.register_buffer(name, buffer, persistent=name not in kept)
            for child in unflattened.children:
                name = child.rpartition(".")[2]
                layer.register_module(name, self._layers[self._first(child)])

    def _connect(self) -> None:
        """Attach the programs, and set the layer that each call in them runs."""
        made = []
        for path, unflattened in self._unflattened.items():
            layer: Any = self._layers[self._first(path)]
            for number, module in sorted(unflattened.called().items()):
                self._numbers[path, number] = len(layer.programs)
                program = _program(module, layer, len(layer.programs))
                layer.programs.append(program)
                made.append((path, program))
        for path, program in made:
            for step in program.steps:
                if step.node.op == "call_module":
                    step.run = self._turn(path, str(step.node.target))

    def _turn(self, path: str, target: str) -> Turn:
        called = base_of(f"{path}.{target}" if path else target)
        layer: Any = self._layers[self._first(called)]
        if self._unflattened[called].turns:
            return Turn(layer, None)
        return Turn(layer, self._numbers[called, number_of(target)])

    def _silent(self) -> list[str]:
        return [
            path
            for path, layer in self._layers.items()
            if isinstance(layer, Container) and not layer._modules and not layer._parameters
        ]


def _attribute(module: nn.Module, target: str) -> Any:
    value: Any = module
    for part in target.split("."):
        value = getattr(value, part)
    return value


def _program(module: Any, layer: Layer | Root, number: int) -> Program:
    """Return a graph of torch as a program that reads tensors and constants of our module."""
    fetch: dict[fx.Node, Callable[[Layer], Any]] = {}
    for node in module.graph.nodes:
        if node.op != "get_attr":
            continue
        target = str(node.target)
        owner, _, name = target.rpartition(".")
        holder = _attribute(module, owner) if owner else module
        tensors = name in holder._parameters or name in holder._buffers
        if tensors:
            fetch[node] = _Held(owner, name)
        else:
            key = f"{number}:{target}"
            value = _attribute(module, target)
            layer.constants[key] = _plain(value) if isinstance(value, fx.GraphModule) else value
            fetch[node] = _Constant(key)
    return Program(module.graph, fetch)


def _plain(branch: fx.GraphModule) -> Callable[..., Any]:
    """Return a branch of torch.cond or similar as a function: a module would be observed."""

    def run(*operands: Any) -> Any:
        return branch.forward(*operands)

    return run


class _Held:
    """Read a parameter or buffer of a module below, at each run: hooks may replace it."""

    def __init__(self, owner: str, name: str) -> None:
        self._path = base_of(owner).split(".") if owner else []
        self._name = name

    def __call__(self, layer: nn.Module) -> Any:
        for part in self._path:
            layer = layer._modules[part]  # type: ignore[assignment]
        return getattr(layer, self._name)


class _Constant:
    """Read any other value of a graph: a constant tensor, a branch of a conditional."""

    def __init__(self, key: str) -> None:
        self._key = key

    def __call__(self, layer: Layer) -> Any:
        return layer.constants[self._key]
