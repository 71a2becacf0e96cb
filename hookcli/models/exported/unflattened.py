"""The result of `torch.export.unflatten`: modules by the original's names, and their graphs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from torch import fx, nn
from torch.export.unflatten import InterpreterModuleDispatcher

from hookcli.models import module_tree


@dataclass(slots=True)
class UnflattenedModule:
    """One module of the original under one name.

    `variants` are the modules of its calls by number, as in `name@1`. With `turns`, torch calls
    them one after another.
    """

    path: str
    variants: dict[int, nn.Module] = field(default_factory=dict)
    turns: bool = False
    children: list[str] = field(default_factory=list)  # paths
    noted: str | None = None  # the class of the root as its operators note it

    @property
    def type(self) -> str | None:
        """The original class, with its Python module; None if it was never called."""
        own = (m._ty for m in self.called().values() if getattr(m, "_ty", None))
        return next(own, self.noted)

    def called(self) -> dict[int, Any]:
        """The variants that contain a graph."""
        return {
            number: module
            for number, module in self.variants.items()
            if isinstance(getattr(module, "graph", None), fx.Graph) and len(module.graph.nodes)  # type: ignore[union-attr,arg-type]
        }

    def tensors(self, table: str) -> dict[str, Any]:
        """Its own parameters or buffers."""
        own: dict[str, Any] = {}
        for module in self.variants.values():
            for name, tensor in getattr(module, table).items():
                own.setdefault(name, tensor)
        return own


def base_of(name: str) -> str:
    """`layers.0@2` → `layers.0`: all the calls of a module."""
    return ".".join(part.partition("@")[0] for part in name.split("."))


def number_of(name: str) -> int:
    """`layers.0@2` → 2; 0 without a number."""
    number = name.rpartition(".")[2].partition("@")[2]
    return int(number) if number else 0


def gather(root: nn.Module) -> dict[str, UnflattenedModule]:
    """Return every module by its path, parents before children, in the original's order."""
    noted = None if hasattr(root, "_ty") else _noted_type(root)
    modules: dict[str, UnflattenedModule] = {"": UnflattenedModule("", {0: root}, noted=noted)}
    todo = [""]
    while todo:
        above = modules[todo.pop(0)]
        for key, child in _children(above):
            path = f"{above.path}.{base_of(key)}" if above.path else base_of(key)
            module = modules.setdefault(path, UnflattenedModule(path))
            if path not in above.children:
                above.children.append(path)
                todo.append(path)
            if isinstance(child, InterpreterModuleDispatcher):
                module.turns = True
                module.variants.update(enumerate(child._call_modules))
            module.variants.setdefault(number_of(key), child)
    return modules


def _noted_type(root: Any) -> str | None:
    """Return the class of the root, which torch 2.8 stores with every operator only."""
    for _, module in module_tree.named(root):
        graph = getattr(module, "graph", None)
        for node in graph.nodes if isinstance(graph, fx.Graph) else ():
            for path, kind in (node.meta.get("nn_module_stack") or {}).values():
                if not path:
                    return str(kind)
    return None


def _children(above: UnflattenedModule) -> Iterator[tuple[str, nn.Module]]:
    """Yield the children of all variants, without graphs of operators (branches of cond)."""
    seen: set[int] = set()
    for module in above.variants.values():
        if id(module._modules) in seen:
            continue
        seen.add(id(module._modules))
        for key, child in module._modules.items():
            if child is not None and not isinstance(child, fx.GraphModule):
                yield key, child


def aliases(modules: dict[str, UnflattenedModule]) -> dict[str, str]:
    """Map each further path of a module to its first path.

    The file does not tell whether two names are one module. They count as one if the class is the
    same and the tensors (at least two) are the same objects in the same places, and the module
    owns them itself or has the same name in both parents. A single common tensor is a tied weight.
    """
    first: dict[Any, str] = {}
    same: dict[str, str] = {}
    for path, module in modules.items():
        parent, _, name = path.rpartition(".")
        if parent in same:
            same[path] = same[parent] + path[len(parent) :]
            continue
        tensors = tuple(_below(module, modules, len(path)))
        if not path or len({key for _, key in tensors}) < 2:
            continue
        key = (module.type, tensors, "" if _owns_tensors(module) else name)
        if first.setdefault(key, path) != path:
            same[path] = first[key]
    return same


def _owns_tensors(module: UnflattenedModule) -> bool:
    """Whether it owns at least two tensors."""
    tables = (module.tensors("_parameters"), module.tensors("_buffers"))
    return sum(tensor is not None for table in tables for tensor in table.values()) > 1


def _below(
    module: UnflattenedModule, modules: dict[str, UnflattenedModule], cut: int
) -> Iterator[tuple[str, int]]:
    for table in ("_parameters", "_buffers"):
        for name, tensor in module.tensors(table).items():
            if tensor is not None:
                yield f"{module.path[cut:]}.{name}", id(tensor)
    for path in module.children:
        yield from _below(modules[path], modules, cut)
