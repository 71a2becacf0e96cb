"""Choose the model in a Python file, when only the file is given.

The choice is a module-level `model`; else a builder function; else the only other instance that
the file makes; else the best root class: an `nn.Module` class defined in the file that no other
class in the file uses.
"""

from __future__ import annotations

import ast
import inspect
import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from torch import nn

from hookcli.errors import RequestError
from hookcli.models import module_tree
from hookcli.models.eager import has_forward
from hookcli.models.python.construct import MODULE_HINT, can_build
from hookcli.sentences import missing_name
from hookcli.spec.request import Argument
from hookcli.text import join_names, join_or, nearest, try_instead

_BUILDERS = ("build_model", "create_model", "get_model", "make_model")
_BUILDS = "build"  # too common a name to come before a class that can be constructed


@dataclass(frozen=True, slots=True)
class ChosenModel:
    """The chosen object, and a note about the choice."""

    target: Any
    label: str
    note: str | None = None


def attribute(module: ModuleType, path: str, source: str) -> Any:
    """Return the object at a dotted path inside a module.

    Raises
    ------
    RequestError : it does not exist; the hint suggests a similar name.

    """
    value: Any = module
    for step in path.split("."):
        try:
            value = getattr(value, step)
        except AttributeError:
            names = [name for name in dir(value) if not name.startswith("_")]
            near = nearest(step, names, cutoff=0.6)
            models = [n for n, v in getattr(value, "__dict__", {}).items() if _is_model_class(v)]
            if near:
                hint = try_instead(near)
            elif models:
                hint = f"choose from {', '.join(models[:6])}"
            else:
                hint = MODULE_HINT
            raise RequestError(
                missing_name(step, source.rpartition(":")[0] or source),
                place=source,
                hint=hint,
                instead=_instead(source, step, [near] if near else models),
            ) from None
    return value


def _instead(source: str, step: str, names: Sequence[str]) -> list[str]:
    """The names in place of the step that is not there; none inside a dotted path."""
    front, _, path = source.rpartition(":")
    return [f"{front}:{name}" for name in names] if path == step else []


def _is_model_class(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, nn.Module)


def _used_names(path: Path) -> dict[str, set[str]]:
    """Return, for each class of the file, the names that its bases and body use."""
    tree = ast.parse(path.read_bytes(), filename=str(path))
    return {
        node.name: {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }


def root_classes(
    module: ModuleType, path: Path, method: str | None = None
) -> list[type[nn.Module]]:
    """Return the model classes of the file that no other class in it uses, in file order.

    They have a forward, or the `method` that runs in its place.
    """
    used = _used_names(path)
    return [
        value
        for name, value in vars(module).items()
        if _is_model_class(value)
        and value.__module__ == module.__name__
        and value.__name__ == name
        and not inspect.isabstract(value)
        and (has_forward(value) if method is None else callable(getattr(value, method, None)))
        and not any(name in names for other, names in used.items() if other != name)
    ]


def _rank(kind: type, stem: str, args: tuple[Argument, ...]) -> tuple[bool, bool, bool]:
    plain = stem.replace("_", "").replace("-", "").lower()
    return (
        kind.__name__.replace("_", "").lower() == plain,
        not kind.__name__.endswith(_LOSSES),
        can_build(kind, args),
    )


def _several(source: str, names: Sequence[str]) -> RequestError:
    commands = [f"`hookcli inspect {shlex.quote(f'{source}:{name}')}`" for name in names]
    return RequestError(
        f"{source} defines several models",
        place=source,
        hint=f"run {join_or(commands)}",
        instead=[f"{source}:{name}" for name in names],
    )


def _no_model(module: ModuleType, source: str) -> RequestError:
    """Return the error for a file without a model; it names a class that has no `forward`."""
    for name, value in vars(module).items():
        if not _is_model_class(value) or value.__module__ != module.__name__:
            continue
        methods = [key for key, item in vars(value).items() if _is_public_function(key, item)]
        if "training_step" in methods:
            named = shlex.quote(f"{source}:{name}")
            return RequestError(
                f"{name} has no forward, but training_step",
                place=source,
                hint=f"run `hookcli grads {named} --loss training_step`",
            )
        if methods:
            return RequestError(
                f"{name} has no forward, but {join_names(methods, 4)}",
                place=source,
                hint=f"pass the method to run: `--method {methods[-1]}`",
            )
    return RequestError(
        f"{source} defines no model",
        place=source,
        hint="define an nn.Module class, a module-level `model`, or a function `build_model()`",
    )


def _is_public_function(name: str, value: Any) -> bool:
    return inspect.isfunction(value) and not name.startswith("_")


def discover(
    module: ModuleType,
    path: Path,
    source: str,
    args: tuple[Argument, ...],
    trained: Collection[int] = (),
    method: str | None = None,
) -> ChosenModel:
    """Choose the model of a file. `trained` are the ids of parameters that an optimizer changed.

    `method` is the method that runs in place of forward.

    Raises
    ------
    RequestError : there is no candidate, or several with the same rank.

    """
    names = vars(module)
    for name in ("model", *_BUILDERS):
        value = names.get(name)
        if value is not None and (isinstance(value, nn.Module) or callable(value)):
            return ChosenModel(value, name)
    roots = root_classes(module, path, method)
    made = {} if args else _instances(module, path, roots, trained)
    if len(made) == 1:
        ((name, value),) = made.items()
        return ChosenModel(value, name, f"chose {name}, which the file creates")
    if made and (trained or not roots):
        raise _several(source, list(made))
    built = names.get(_BUILDS)
    builds = inspect.isfunction(built) and can_build(built, args)
    if builds and not any(can_build(kind, args) for kind in roots):
        return ChosenModel(built, _BUILDS)
    if builds and _joins_several(built, roots):
        return ChosenModel(built, _BUILDS)
    if not roots:
        raise _no_model(module, source)
    ranks = {kind: _rank(kind, path.stem, args) for kind in roots}
    best = max(ranks.values())
    first = [kind for kind in roots if ranks[kind] == best]
    if len(first) > 1 and builds:
        return ChosenModel(built, _BUILDS)
    if len(first) > 1:
        raise _several(source, [kind.__name__ for kind in roots])
    others = ", ".join(kind.__name__ for kind in roots if kind is not first[0])
    chosen = first[0].__name__
    return ChosenModel(
        first[0], chosen, f"chose {chosen}; the file also defines {others}" if others else None
    )


def _joins_several(built: Any, roots: Sequence[type[nn.Module]]) -> bool:
    """Return whether a function uses several of the root classes."""
    return sum(kind.__name__ in built.__code__.co_names for kind in roots) > 1


# Module-level instances, which exist once a file has been imported. Some may be trained.

_LOSSES = ("Loss", "Criterion", "Metric")  # ends of names of classes that are not the model
_SCOPES = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda


def _instances(
    module: ModuleType, path: Path, classes: Collection[type], trained: Collection[int]
) -> dict[str, nn.Module]:
    """Return the models that the file has made, by their names, in the order of the file.

    They have parameters, and are neither losses nor parts of one another. If the file has model
    `classes`, they contain an instance of one. If an optimizer has stepped, only those with a
    parameter in `trained`, which are ids.
    """
    assigned = _assigned(path)
    found: dict[int, tuple[str, nn.Module]] = {}
    for name, value in vars(module).items():
        if name in assigned and isinstance(value, nn.Module) and _parameters(value):
            found.setdefault(id(value), (name, value))
    kept = [
        (name, value)
        for name, value in found.values()
        if not type(value).__name__.endswith(_LOSSES)
        and (not classes or any(type(part) in classes for part in _parts(value)))
    ]
    inner = {id(part) for _, value in kept for part in _parts(value) if part is not value}
    outermost = {name: value for name, value in kept if id(value) not in inner}
    changed = {n: value for n, value in outermost.items() if _parameters(value) & set(trained)}
    return changed or outermost


def _parts(root: nn.Module) -> list[nn.Module]:
    return [part for part, _ in module_tree.modules(root)]


def _parameters(root: nn.Module) -> set[int]:
    return {id(tensor) for tensor, _, _ in module_tree.tensors(root, "_parameters")}


def _assigned(path: Path) -> set[str]:
    """Return the names that the file's top level assigns, also inside `if`, `for` and `with`."""
    names: set[str] = set()
    todo: list[ast.AST] = [ast.parse(path.read_bytes(), filename=str(path))]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        todo += [child for child in ast.iter_child_nodes(node) if not isinstance(child, _SCOPES)]
    return names
