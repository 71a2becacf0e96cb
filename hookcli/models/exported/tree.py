"""What unflatten made → modules of our own, with the original's names, classes and calls.

Torch makes one module for each call that is unlike the first (`block@1`), and one for each name
of a shared module. Here a module is one, whatever runs in its calls.
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
    """The modules made of an unflattened program.

    `root` is the model; `canonical` gives the first path of a module by its other paths; `silent`
    are the paths of modules without an operator, a parameter or a child: an Identity, or a layer
    that was never called.
    """

    def __init__(self, unflattened: nn.Module, signature: Signature) -> None:
        self._found = gather(unflattened)
        self._signature = signature
        self._regions = Regions()
        self._classes: dict[tuple[str, type], type[nn.Module]] = {}
        self._numbers: dict[tuple[str, int], int] = {}  # (path, call) → the layer's program
        self.canonical = aliases(self._found)
        self._layers: dict[str, nn.Module] = {}
        self._make()
        self._fill()
        self._connect()
        self.root = self._layers[""]
        self.silent = tuple(self._silent())

    def _first(self, path: str) -> str:
        return self.canonical.get(path, path)

    def _make(self) -> None:
        """A module for each, without its programs."""
        used = self._read()
        for path, unflattened in self._found.items():
            if self._first(path) == path:
                self._layers[path] = self._made(unflattened, used)

    def _read(self) -> set[int]:
        """Identities of the tensors that some graph reads."""
        return {
            id(value)
            for unflattened in self._found.values()
            for module in unflattened.called().values()
            for node in module.graph.nodes
            if node.op == "get_attr"
            for value in [_attribute(module, str(node.target))]
        }

    def _made(self, unflattened: UnflattenedModule, used: set[int]) -> nn.Module:
        bare = (unflattened.type or "Module").rpartition(".")[2]
        if not unflattened.path:
            return root_class(bare, self._signature)(self._regions)
        own = [p for p in unflattened.tensors("_parameters").values() if p is not None]
        idle = bool(own) and not unflattened.children and not any(id(p) in used for p in own)
        called = self._is_called(unflattened.path)
        kind: type[nn.Module] = Layer if called or idle else Container
        made = self._classes.setdefault((bare, kind), layer_class(bare, kind))
        return made(self._regions) if kind is Layer else made()

    def _is_called(self, path: str) -> bool:
        """Whether a graph is there under any of the module's names."""
        return any(
            unflattened.called()
            for name, unflattened in self._found.items()
            if self._first(name) == path
        )

    def _fill(self) -> None:
        """Tensors and children, under the original's names."""
        for path, unflattened in self._found.items():
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
        """Programs, and in them which layer each call means."""
        made = []
        for path, unflattened in self._found.items():
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
        if self._found[called].turns:
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
    """A graph of torch's, with what it reads of its module found in ours."""
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
    """A branch of torch.cond and the like as a function: as a module it would be seen to run."""

    def run(*operands: Any) -> Any:
        return branch.forward(*operands)

    return run


class _Held:
    """A parameter or buffer of a module below, looked up at each run: hooks may replace it."""

    def __init__(self, owner: str, name: str) -> None:
        self._path = base_of(owner).split(".") if owner else []
        self._name = name

    def __call__(self, layer: nn.Module) -> Any:
        for part in self._path:
            layer = layer._modules[part]  # type: ignore[assignment]
        return getattr(layer, self._name)


class _Constant:
    """What else a graph reads: a constant tensor, a branch of a conditional."""

    def __init__(self, key: str) -> None:
        self._key = key

    def __call__(self, layer: Layer) -> Any:
        return layer.constants[self._key]
