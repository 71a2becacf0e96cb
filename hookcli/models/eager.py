"""The eager backend: a live `nn.Module`, observed with PyTorch's own module hooks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

import torch
from torch import nn
from torch.nn.modules.linear import NonDynamicallyQuantizableLinear

from hookcli.models import module_tree, places
from hookcli.models.call_hooks import CallHooks
from hookcli.models.converted.quantized import is_packed
from hookcli.models.model import CallStack, Enter, Exit, TensorInfo
from hookcli.report.recording import ModuleInfo


def has_forward(kind: type[nn.Module]) -> bool:
    """Whether calling a module of this class can run anything: a ModuleList has no forward."""
    if issubclass(kind, nn.ModuleList | nn.ModuleDict | NonDynamicallyQuantizableLinear):
        return False  # the last is attention's output projection, which is used without a call
    if is_packed(kind):
        return False
    defining = next((base for base in kind.__mro__ if "forward" in vars(base)), nn.Module)
    return defining is not nn.Module


class EagerModel:
    """A live module. hookcli's hooks run after the user's own and see the final values."""

    state_in_python = True

    def __init__(self, root: nn.Module, *, constructors: places.Constructors | None = None) -> None:
        self.root = root
        self.wrapper: nn.Module | None = None  # called instead of the root, and not part of it
        self._constructors = constructors
        self._classes: dict[type, str | None] = {}  # their places: finding one reads the source

    def modules(self) -> tuple[ModuleInfo, ...]:
        """Registered modules in the order of `named_modules`."""
        below: dict[int, tuple[int, ...]] = {}
        return tuple(
            ModuleInfo(
                key=id(module),
                name=names[0],
                aliases=tuple(names[1:]),
                type=self._type_of(module),
                original_name=self._original_name(module),
                callable=self._can_be_called(module),
                place=self._place_of(module),
                own=tuple(
                    id(p) for _, p in module_tree.entries(module, "_parameters", torch.Tensor)
                ),
                below=_below(module, below),
            )
            for module, names in module_tree.modules(self.root)
        )

    def parameters(self) -> tuple[TensorInfo, ...]:
        """Distinct parameters in the order of `named_parameters`."""
        return self._tensors("_parameters")

    def buffers(self) -> tuple[TensorInfo, ...]:
        """Distinct buffers in the order of `named_buffers`."""
        return self._tensors("_buffers")

    def _tensors(self, table: str) -> tuple[TensorInfo, ...]:
        return tuple(
            TensorInfo(names[0], tuple(names[1:]), self._type_of(owner), tensor)
            for tensor, names, owner in module_tree.tensors(self.root, table)
        )

    def place(self, name: str) -> str | None:
        """The line that constructed a registered module; that of its class if it was not seen."""
        return self._place_of(module_tree.at(self.root, name))

    def _place_of(self, module: nn.Module) -> str | None:
        seen = None if self._constructors is None else self._constructors.of(module)
        if module is not self.root and seen is not None:
            return seen
        kind = type(module)
        if kind not in self._classes:
            self._classes[kind] = places.of_class(kind)
        return self._classes[kind] or seen

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run one forward."""
        called = self.root if self.wrapper is None else self.wrapper
        return called(*args, **kwargs)

    def _type_of(self, module: nn.Module) -> str:
        return type(module).__name__

    def _original_name(self, module: nn.Module) -> str | None:
        """The name of its class in the model's original format, if that is not Python."""
        return None

    def _can_be_called(self, module: nn.Module) -> bool:
        return "forward" in vars(module) or has_forward(type(module))

    def _call_hooks(self, enter: Enter, leave: Exit, calls: CallStack) -> CallHooks:
        return CallHooks(self, enter, leave, calls)

    @contextmanager
    def observe(
        self,
        enter: Enter,
        leave: Exit,
        *,
        calls: CallStack | None = None,
        between: AbstractContextManager[Any] | None = None,
    ) -> Iterator[None]:
        """Call `enter` and `leave` around every module's forward, registered or not."""
        hooks = self._call_hooks(enter, leave, calls or CallStack())
        with ExitStack() as stack:
            hooks.open(stack)
            if between is not None:
                stack.enter_context(between)
            hooks.attach(stack)
            yield


def _below(module: nn.Module, known: dict[int, tuple[int, ...]]) -> tuple[int, ...]:
    """Return the ids of the distinct parameters at and below `module`, without recursion."""
    todo = [module]
    opened: set[int] = set()
    while todo:
        top = todo[-1]
        if id(top) in known:
            todo.pop()
            continue
        children = [child for _, child in module_tree.entries(top, "_modules", nn.Module)]
        waiting = [c for c in children if id(c) not in known]
        if waiting and id(top) not in opened:
            opened.add(id(top))
            todo.extend(waiting)
            continue
        if waiting:  # they contain this module
            found = module_tree.tensors(top, "_parameters")
            known[id(top)] = tuple(id(parameter) for parameter, _, _ in found)
        else:
            parameters = module_tree.entries(top, "_parameters", torch.Tensor)
            ids = dict.fromkeys(id(parameter) for _, parameter in parameters)
            for child in children:
                ids.update(dict.fromkeys(known[id(child)]))
            known[id(top)] = tuple(ids)
        todo.pop()
    return known[id(module)]
