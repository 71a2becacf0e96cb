"""Which modules are the roots of a training: found, unwrapped and named."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from types import FrameType
from typing import Any

from torch import nn

from hookcli.errors import RequestError
from hookcli.hooks.resolve import Known, resolve
from hookcli.models import module_tree
from hookcli.models.model import Model
from hookcli.spec.hooks import HookSpec, Match
from hookcli.system.frame_variables import variables_of

# Attributes in which wrappers keep the module that they call: DistributedDataParallel and
# DataParallel, torch.compile, FSDP1.
_INNER = ("module", "_orig_mod", "_fsdp_wrapped_module")
_COMPILED = "OptimizedModule"


def unwrap(module: nn.Module) -> tuple[nn.Module, tuple[str, ...]]:
    """Return the module inside its wrappers, and the types of the wrappers, the outermost first."""
    wrappers: list[str] = []
    while True:
        inner = _inside(module)
        if inner is None:
            return module, tuple(wrappers)
        wrappers.append(type(module).__name__)
        module = inner


def _inside(module: nn.Module) -> nn.Module | None:
    if not type(module).__module__.startswith(("torch.", "accelerate.", "deepspeed.")):
        return None
    children: Any = module._modules
    if not isinstance(children, dict):  # of a scripted module
        return None
    for name in _INNER:
        inner: nn.Module | None = children.get(name)
        if inner is not None and len(children) == 1:
            return inner
    return None


def is_compiled(module: nn.Module) -> bool:
    """Return whether torch.compile compiled a module, or a module inside it or around its calls."""
    return any(
        type(part).__name__ == _COMPILED or getattr(part, "_compiled_call_impl", None) is not None
        for part in module.modules()
    )


def parameter_ids(root: nn.Module) -> set[int]:
    """Return the identities of all parameters of a module."""
    return {id(tensor) for tensor, _, _ in module_tree.tensors(root, "_parameters")}


class LooseParameters(nn.Module):
    """Parameters that belong to no module, under the names that hookcli gives them."""

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        super().__init__()
        self._parameters.update(parameters)


def owner_of(parameters: list[Any]) -> nn.Module | None:
    """Return the smallest module that has all of these parameters, or most of them.

    Modules are found through the references to the parameters, for scripts that never call the
    module that they train. Of modules with the same parameters it is the innermost one that has a
    forward, else the outermost one: not a ModuleList. None if no module has any of them.
    """
    todo: list[Any] = list(parameters[:1])
    chain: list[nn.Module] = []
    seen: set[int] = set()
    wanted = {id(parameter) for parameter in parameters}
    best: tuple[tuple[int, int, int], nn.Module] | None = None
    while todo:
        for module in modules_with(todo.pop()):
            if id(module) in seen or isinstance(module, LooseParameters):
                continue
            seen.add(id(module))
            chain.append(module)
            todo.append(module)
            ids = parameter_ids(module)
            depth = -len(chain) if module_tree.has_forward(module) else len(chain) - sys.maxsize
            rank = (len(wanted & ids), -len(ids), depth)
            if best is None or rank > best[0]:
                best = rank, module
    return None if best is None else unwrap(best[1])[0]


def modules_with(value: Any) -> Iterator[nn.Module]:
    """Yield the modules that have this parameter or module in their own tables."""
    tables = [ref for ref in gc.get_referrers(value) if type(ref) is dict]
    for table in tables:
        for owner in gc.get_referrers(table):
            if isinstance(owner, nn.Module):
                if owner.__dict__.get("_parameters") is table or (
                    owner.__dict__.get("_modules") is table
                ):
                    yield owner
            elif type(owner) is dict:  # the module's __dict__, if it was made
                for module in gc.get_referrers(owner):
                    if isinstance(module, nn.Module) and module.__dict__ is owner:
                        yield module


def name_of(module: Any, frame: FrameType | None) -> str | None:
    """Return the expression that names a module or tensor in the script: a variable, an attribute.

    The variables of the script's module are searched first, then those of the functions that run
    now, from the outermost inwards: inner functions have general names for it.
    """
    scopes: list[Mapping[str, Any]] = []
    while frame is not None:
        if not str(frame.f_globals.get("__name__")).startswith(("hookcli.", "torch.")):
            scopes.append(variables_of(frame))
        frame = frame.f_back
    scopes.append(vars(sys.modules["__main__"]))
    for scope in reversed(scopes):  # the outermost first: a function calls its argument `model`
        for name, value in list(scope.items()):
            if value is module and name != "self" and not name.startswith("_"):
                return str(name)
    for scope in reversed(scopes):
        found = _below(module, scope)
        if found is not None:
            return found
    return None


def _below(module: Any, scope: Mapping[str, Any]) -> str | None:
    """Return the path of a module below a module or an object that a variable names."""
    for name, value in list(scope.items()):
        if name.startswith("_"):
            continue
        if isinstance(value, nn.Module):
            for path, part in value.named_modules():
                if part is module and path:
                    inner, _ = unwrap(value)
                    return str(name) if inner is module else f"{name}.{path}"
        elif not isinstance(value, type):
            own = getattr(value, "__dict__", None)
            if type(own) is dict:
                for attribute, part in list(own.items()):
                    if part is module:
                        return str(attribute)
    return None


@dataclass(slots=True)
class UnmatchedHooks:
    """The hooks that match nothing in the roots so far, with the messages, by place."""

    found: set[str] = field(default_factory=set)
    messages: dict[str, str] = field(default_factory=dict)

    def warnings(self) -> list[str]:
        """Return a warning for each hook that no root had targets for."""
        return [
            f"{place}: {message}"
            for place, message in self.messages.items()
            if place not in self.found
        ]


def is_of_root(match: Match | None, name: str, kind: str) -> bool:
    """Return whether `root` of a hook selects a root with this name and type."""
    if match is None:
        return True
    if match.type is not None:
        return fnmatchcase(kind, match.type)
    return match.pattern is not None and fnmatchcase(name, match.pattern)


def hooks_of_root(
    hooks: Sequence[HookSpec], model: Model, name: str, unmatched: UnmatchedHooks
) -> tuple[HookSpec, ...]:
    """Return the hooks that select this root and have targets in it."""
    kind = type(model.root).__name__
    known: Known | None = None
    chosen = []
    for hook in hooks:
        if not is_of_root(hook.root, name, kind):
            unmatched.messages.setdefault(hook.place, f"no root matches, such as {name}")
            continue
        if hook.at is not None:
            known = known or Known.of(model)
            try:
                resolve(hook, known)
            except RequestError as error:
                unmatched.messages.setdefault(hook.place, error.message)
                continue
        unmatched.found.add(hook.place)
        chosen.append(hook)
    return tuple(chosen)
