"""The hooks that compiled code contains, and the figures of layers that it wrote."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import nn

from hookcli.hooks.traced.slots import Slots
from hookcli.models import module_tree
from hookcli.models.nested import leaves, shape_of
from hookcli.torch_private import foreach_zero_, get_tracing_state, peek_interpreter_stack

_MOST_EAGER = 10_000  # calls outside of compiled code between two resets


class TracedFigures(NamedTuple):
    """Figures of one tensor of a layer's output, the means over `calls` calls of one call site.

    `values` and `gradient` are by the names of `Slots.columns`: those of the tensor, and of its
    gradient. The gradient is None if none was seen. `bad_inputs` counts the calls with an input
    that is not finite; None if nothing looked at inputs. `path` names the tensor in the output.
    `compiled` tells whether compiled code wrote the figures.
    """

    name: str
    module: nn.Module
    calls: int
    shape: tuple[int | None, ...] | None
    dtype: torch.dtype | None
    path: str
    values: dict[str, float]
    gradient: dict[str, float] | None
    bad_inputs: int | None
    compiled: bool


@dataclass(slots=True)
class _Eager:
    """A tensor of a call that was not compiled; its figures are still on the device."""

    order: int
    shape: tuple[int | None, ...]
    dtype: torch.dtype
    path: str
    values: torch.Tensor
    gradient: torch.Tensor | None = None
    bad_input: torch.Tensor | None = None


class _Place(NamedTuple):
    """What was written of one tensor, still on the device, and where it is in the order."""

    order: tuple[int, int, int, int]
    name: str
    module: nn.Module
    row: torch.Tensor
    gradient: torch.Tensor | None
    sort: tuple[tuple[int | None, ...] | None, torch.dtype | None]
    path: str
    bad: torch.Tensor | None = None
    compiled: bool = True


@dataclass(slots=True)
class TracedLayers:
    """The hooks of a process whose figures compiled code writes.

    They must be attached before the compiler traces a call of the module. Compiled code always
    writes; calls outside of it are observed while one of the roots is open.
    """

    slots: Slots
    _hooks: dict[int, Any] = field(default_factory=dict)  # by the id of the module
    _handles: list[Any] = field(default_factory=list)
    _eager: dict[int, list[_Eager]] = field(default_factory=dict)
    _open: set[int] = field(default_factory=set)  # ids of roots
    _of_root: dict[int, tuple[int, list[tuple[str, nn.Module, Any]]]] = field(default_factory=dict)
    _many: int = 0

    def attach(self, root: nn.Module) -> None:
        """Attach hooks to the modules of a tree that have none yet, and open it."""
        from hookcli.hooks.traced.traced_hook import TracedHook, leave_uncompiled, start

        start(self.slots)
        new = [m for m, _ in module_tree.modules(root) if id(m) not in self._hooks]
        if not any(module._forward_hooks or module._forward_pre_hooks for module in new):
            leave_uncompiled(new)
        for module in new:
            if not module_tree.has_forward(module):
                continue
            hook = self._hooks[id(module)] = TracedHook(module, self.slots, self._observe)
            self._handles.append(module.register_forward_hook(hook, with_kwargs=True))
        self._open.add(id(root))

    def detach(self) -> None:
        """Remove the hooks. What was compiled with them is compiled again when it is called."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._eager.clear()
        self._open.clear()

    def reset(self, root: nn.Module) -> None:
        """Forget what was written so far for the modules of a root, and open it."""
        rows = []
        for _, _, hook in self._hooks_in(root):
            rows += hook.rows()
            for probe in hook.probes():
                probe.grad = None
        if rows:
            with torch.no_grad():
                foreach_zero_(rows)
        self._close(root)
        self._open.add(id(root))

    def _close(self, root: nn.Module) -> None:
        self._open.discard(id(root))
        if self._eager:
            for _, module, _ in self._hooks_in(root):
                self._many -= len(self._eager.pop(id(module), ()))

    def _hooks_in(self, root: nn.Module) -> list[tuple[str, nn.Module, Any]]:
        """Return the hooks of a root with the names of their modules, parents first."""
        known, found = self._of_root.get(id(root), (0, []))
        if known != len(self._hooks):
            found = [
                (names[0], module, self._hooks[id(module)])
                for module, names in module_tree.modules(root)
                if id(module) in self._hooks
            ]
            self._of_root[id(root)] = len(self._hooks), found
        return found

    def read(self, root: nn.Module) -> list[TracedFigures]:
        """Return the figures since the last reset, in the order in which traced calls ended.

        It waits for the device once, and closes the root.
        """
        hooks = self._hooks_in(root)
        places: list[_Place] = []
        after = 0
        for number, (name, module, hook) in enumerate(hooks):
            after = min(hook.traced.values(), default=after)
            # A call whose code was compiled for another module follows the one before it; among
            # several, in the order of that code, and each after the calls inside of it.
            rest = _last_below(hooks, number), -number
            places += [
                _Place(
                    self._order(hook, key, after, rest), name, module, row,
                    None if self.slots.places[key].is_used_inside else probe.grad,
                    self.slots.sort(hook, key) or (None, None), self.slots.places[key].path,
                )
                for key, row, probe in zip(hook.keys, hook.rows(), hook.probes(), strict=True)
            ]  # fmt: skip
            places += [
                _Place(
                    (one.order, sys.maxsize, *rest), name, module, one.values, one.gradient,
                    (one.shape, one.dtype), one.path, bad=one.bad_input, compiled=False,
                )
                for one in self._eager.get(id(module), ())
            ]  # fmt: skip
        self._close(root)
        places.sort(key=lambda place: place.order)
        values = _values([place.row for place in places])
        gradients = _values([place.gradient for place in places])
        bad = _values([place.bad for place in places])
        found = (self._figures(*one) for one in zip(places, values, gradients, bad, strict=True))
        return [figures for figures in found if figures is not None]

    def _order(
        self, hook: Any, key: str, after: int, rest: tuple[int, int]
    ) -> tuple[int, int, int, int]:
        """Return where a place is in the order, as far as it is known."""
        if key in hook.traced:
            return hook.traced[key], 0, *rest
        return after, self.slots.places[key].orders.get(hook.sizes, 0), *rest

    def _figures(
        self,
        place: _Place,
        row: list[float] | None,
        gradient: list[float] | None,
        bad: list[float] | None,
    ) -> TracedFigures | None:
        """Return the figures of a place; None if nothing was written there."""
        columns = self.slots.columns
        if row is None or not row[0]:
            return None
        if len(row) > len(columns):
            bad = row[len(columns) :]
        return TracedFigures(
            place.name,
            place.module,
            int(row[0]),
            *place.sort,
            place.path,
            _means(row, columns) or {},
            None if gradient is None else _means(gradient, columns),
            None if bad is None else int(bad[0]),
            place.compiled,
        )

    def _observe(self, module: nn.Module, given: Any, output: Any) -> None:
        """Observe a call outside of compiled code."""
        if not self._open or get_tracing_state() is not None or peek_interpreter_stack():
            return
        from hookcli.hooks.traced.traced_hook import bad_input, is_readable, row_of

        columns = len(self.slots.columns)
        known = self._eager.setdefault(id(module), [])
        traced = self._hooks[id(module)].traced
        tensors = list({id(leaf[1]): leaf for leaf in reversed(leaves(output))}.values())[::-1]
        for path, tensor, _ in tensors:
            if not is_readable(tensor) or self._many >= _MOST_EAGER:
                continue
            self._many += 1
            order = traced.setdefault(f"call {len(known)}", next(self.slots.order))
            one = _Eager(order, shape_of(tensor), tensor.dtype, path, row_of(tensor, columns))
            if self.slots.is_wide:
                one.bad_input = bad_input(given)
            known.append(one)
            # Of the output of compiled code only the gradient from outside of it is seen. It is all
            # of it if no other output can depend on this one.
            if tensor.requires_grad and (len(tensors) == 1 or not _is_of_compiled(tensor)):
                tensor.register_hook(_GradientHook(one, columns))  # type: ignore[no-untyped-call]


def _is_of_compiled(tensor: torch.Tensor) -> bool:
    """Return whether compiled code returned a tensor."""
    return type(tensor.grad_fn).__name__ == "CompiledFunctionBackward"


class _GradientHook:
    """Notes the figures of the gradient of a tensor."""

    def __init__(self, one: _Eager, columns: int) -> None:
        self._one, self._columns = one, columns

    def __call__(self, gradient: torch.Tensor) -> None:
        """Note them; autograd calls this."""
        from hookcli.hooks.traced.traced_hook import is_readable, row_of

        if is_readable(gradient):
            row, known = row_of(gradient, self._columns), self._one.gradient
            self._one.gradient = row if known is None else known + row


def _last_below(hooks: Sequence[tuple[str, nn.Module, Any]], number: int) -> int:
    """Return the position of the last module below one, or its own: parents come first."""
    prefix = hooks[number][0] and f"{hooks[number][0]}."
    last = number
    while last + 1 < len(hooks) and hooks[last + 1][0].startswith(prefix):
        last += 1
    return last


def _values(tensors: Sequence[torch.Tensor | None]) -> list[list[float] | None]:
    """Return the values of small tensors; those of one device and size are read at once."""
    groups: dict[tuple[torch.device, int], list[int]] = {}
    for i, tensor in enumerate(tensors):
        if tensor is not None:
            groups.setdefault((tensor.device, tensor.numel()), []).append(i)
    found: list[list[float] | None] = [None] * len(tensors)
    for numbers in groups.values():
        together = torch.stack([tensors[i].detach().reshape(-1) for i in numbers])  # type: ignore[union-attr]
        for i, values in zip(numbers, together.tolist(), strict=True):
            found[i] = values
    return found


def _means(row: Sequence[float], columns: Sequence[str]) -> dict[str, float] | None:
    """Return the means of sums over calls; None if there was none. NaN and Inf are not divided."""
    if not row[0]:
        return None
    return {
        name: value if name in {"nans", "infs"} else value / row[0]
        for name, value in zip(columns[1:], row[1:], strict=False)
    }
