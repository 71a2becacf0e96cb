"""A forward hook that torch.compile traces, so that compiled code writes figures of a layer.

Importing this module imports the compiler.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from hookcli.hooks.portable import Portable
from hookcli.hooks.traced.slots import NONE, Slots
from hookcli.torch_private import (
    CreationMeta,
    FakeTensor,
    set_creation_meta,
    skip_code,
    unsafe_view,
)

# Modules that return a new tensor and keep no reference to it.
_FRESH = {
    nn.Linear, nn.Bilinear, nn.Embedding, nn.LayerNorm, nn.GroupNorm, nn.SyncBatchNorm,
    nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d,
    nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d,
    nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d,
}  # fmt: skip
_DTYPES = (torch.float32, torch.bfloat16, torch.float16, torch.float64)
_TENSORS = 8  # of one output
_noting: list[Slots] = []  # the places whose shapes are noted


class _Inert:
    """What a copy of the hook is: the copy of a module is not observed."""

    def __call__(self, *_: Any) -> None: ...


class TracedHook(Portable, guarded=True):
    """The hook on one module.

    Compiled code writes into `row…` and, through the gradients of `probe…`, what belongs to a
    place; both are attributes, because Dynamo uses its code again for other hooks that have them.
    `traced` has the keys of the places that were traced for this module, with their order.
    `eager(output)` is called outside of compiled code.
    """

    def __init__(
        self, module: nn.Module, slots: Slots, eager: Callable[[nn.Module, Any, Any], None]
    ) -> None:
        self.kind = type(module)
        self.device = _device_of(module)
        self.sizes = tuple(
            () if is_lazy(p) else tuple(p.shape)
            for p in module._parameters.values()
            if p is not None
        )
        self.is_fresh = self.kind in _FRESH and not module._forward_hooks
        self.is_wide = slots.is_wide
        self.keys: list[str] = []
        self.traced: dict[str, int] = {}
        self.sorts: dict[str, Any] = {}  # shapes and dtypes with which they were traced
        self._slots = slots
        self._eager = eager
        slots.add(self)

    def make_room(self, key: str) -> None:
        """Make the tensors of a place: a row for values, a probe for gradients."""
        dtype = torch.float32 if self.device.type == "mps" else torch.float64
        size = len(self._slots.columns)
        row = torch.zeros(size + self.is_wide, dtype=dtype, device=self.device)
        probe = torch.zeros(size, dtype=dtype, device=self.device, requires_grad=True)
        self.keys.append(key)
        setattr(self, f"row{key}", row)
        setattr(self, f"probe{key}", probe)

    def rows(self) -> list[torch.Tensor]:
        """Return the rows of all places."""
        return [getattr(self, f"row{key}") for key in self.keys]

    def probes(self) -> list[torch.Tensor]:
        """Return the probes of all places."""
        return [getattr(self, f"probe{key}") for key in self.keys]

    @torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
    def take(self, path: str) -> str:
        """Return the key of the place of a tensor of the call that is traced; Dynamo calls this."""
        try:
            return self._slots.take(self, path)
        except Exception:  # noqa: BLE001  # internals of another torch: the call is not observed
            return NONE

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def outside(self, module: nn.Module, given: Any, output: Any) -> None:
        """Observe a call that is not compiled."""
        self._eager(module, given, output)

    @torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
    def miss_device(self) -> None:
        """Note a call whose output is on another device than the module was; Dynamo calls this."""
        self._slots.miss("another device than the module had when hooks were attached")

    def __call__(self, module: nn.Module, args: Any, kwargs: Any, output: Any) -> Any:
        """Observe a call; PyTorch calls this, or Dynamo traces it."""
        if not torch.is_grad_enabled():
            return None
        given = [*args, *kwargs.values()]
        if not torch.compiler.is_compiling():
            return self.outside(module, given, output)
        if type(output) is torch.Tensor:
            return self.seen(output, given, "")
        if type(output) is tuple:
            return tuple(self.parts(output, given))
        if type(output) is list:
            output[:] = self.parts(output, given)
        return None

    def parts(self, output: Any, given: Any) -> list[Any]:
        """Return the parts of an output, with tensors observed; a part may be there twice."""
        found: list[Any] = []
        for i in range(len(output)):
            part = output[i]
            seen = None
            for j in range(i):
                if output[j] is part:
                    seen = found[j]
            if seen is None and type(part) is torch.Tensor and i < _TENSORS:
                seen = self.seen(part, given, f"[{i}]")
            found.append(part if seen is None else seen)
        return found

    def seen(self, tensor: torch.Tensor, given: Any, path: str) -> torch.Tensor | None:
        """Return the tensor so that figures of it and of its gradient are written.

        An input that is returned, written to or not, may be used elsewhere too: what passes here
        would be a part of the gradient that a hook on the tensor is given.
        """
        if tensor.dtype not in _DTYPES or tensor.layout is not torch.strided or tensor.is_nested:
            return None
        if self.device != tensor.device:
            self.miss_device()
            return None
        is_own = True
        for value in given:
            if value is tensor:
                is_own = False
        key = self.take(path)
        if key == NONE:
            return None
        row, probe = getattr(self, "row" + key), getattr(self, "probe" + key)
        inputs = _first(given) if self.is_wide else None
        seen: torch.Tensor = observe(tensor, row, probe, inputs, is_own, self.is_fresh)
        return seen

    def __deepcopy__(self, _memo: dict[int, Any]) -> Any:
        return _Inert()

    def __reduce__(self) -> tuple[Any, ...]:
        return _Inert, ()


def _first(given: Any) -> Any:
    """Return the first input whose values can be looked at."""
    for value in given:
        if type(value) is torch.Tensor and value.dtype in _DTYPES and value.layout is torch.strided:
            return value
    return None


def _device_of(module: nn.Module) -> torch.device:
    for tensor in (*module.parameters(), *module.buffers()):
        return torch.device("cpu") if tensor.is_meta else tensor.device
    return torch.get_default_device()


def row_of(tensor: torch.Tensor, columns: int) -> torch.Tensor:
    """Return the figures of a tensor outside of compiled code, in 64 bits."""
    with torch.no_grad():
        return torch.stack(_figures(tensor.detach(), columns, torch.float64))


def bad_input(given: Any) -> torch.Tensor:
    """Return 1 if the first input has a value that is not finite, else 0."""
    inputs = _first(given)
    one = torch.ones((), device=None if inputs is None else inputs.device)
    return _bad(inputs, one)


def _bad(inputs: torch.Tensor | None, one: torch.Tensor) -> torch.Tensor:
    return one - one if inputs is None else one - torch.isfinite(inputs).all().to(one.dtype)


def is_readable(tensor: Any) -> bool:
    """Return whether a value is a tensor whose figures are written."""
    return (
        type(tensor) is torch.Tensor
        and tensor.dtype in _DTYPES
        and tensor.layout is torch.strided
        and not tensor.is_nested
    )


def _figures(tensor: torch.Tensor, columns: int, dtype: torch.dtype) -> list[torch.Tensor]:
    """Return 1 and the figures of a tensor, as many as there are columns: see `ALL`."""
    wide = torch.float64 if tensor.dtype is torch.float64 else torch.float32
    norm = torch.linalg.vector_norm(tensor, dtype=wide)
    found = [torch.ones_like(norm), torch.full_like(norm, tensor.numel()), norm]
    if columns > len(found):
        largest = norm
        if tensor.numel():
            largest = torch.linalg.vector_norm(tensor, math.inf, dtype=wide)
        nans, infs = torch.isnan(tensor).sum(), torch.isinf(tensor).sum()
        found += [tensor.mean(dtype=wide), largest, nans.to(wide), infs.to(wide)]
    return [one.to(dtype) for one in found]


@torch.compiler.allow_in_graph  # type: ignore[untyped-decorator]
def observe(
    tensor: torch.Tensor,
    row: torch.Tensor,
    probe: torch.Tensor,
    inputs: torch.Tensor | None,
    is_own: bool,
    is_fresh: bool,
) -> torch.Tensor:
    """Add the figures of a tensor to a row; return it so that its gradient's reach the probe.

    Dynamo puts the call into its graph, and AOTAutograd traces what is done here. What is returned
    is the tensor itself for autograd's views and for writes in place: see `_Gradient`.
    """
    if type(tensor) is FakeTensor:
        for slots in _noting:
            slots.note(tensor)
    values = tensor.detach()
    found = _figures(values, probe.shape[0], probe.dtype)
    if row.shape[0] > probe.shape[0]:
        found.append(_bad(inputs, found[0]))
    row.add_(torch.stack(found))
    if not (is_own and tensor.requires_grad and torch.is_grad_enabled()):
        return tensor
    apart = is_fresh and not tensor._is_view()
    seen: torch.Tensor = _Gradient.apply(tensor, probe, apart)  # type: ignore[no-untyped-call]
    if not apart:
        set_creation_meta(seen, CreationMeta.DEFAULT)
    return seen


class _Gradient(torch.autograd.Function):
    """The identity, whose backward gives the figures of the gradient to the probe as its gradient.

    So they leave the graph as gradients of parameters do: nothing is written in backward, and
    nothing is kept for it. Its output shares the memory of the input. It is a view, which autograd
    follows through writes in place to what it is a view of; the gradient then does not pass here,
    and is not known. Only the output of a module that nothing else can hold is `apart`.
    """

    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor, probe: torch.Tensor, apart: bool) -> torch.Tensor:
        """Return the tensor."""
        ctx.set_materialize_grads(False)
        ctx.columns, ctx.dtype = probe.shape[0], probe.dtype
        if apart:
            alone: torch.Tensor = unsafe_view(tensor, tensor.shape)
            return alone
        return tensor.view_as(tensor)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """Return the gradient, and its figures for the probe."""
        (gradient,) = gradients
        if gradient is None:
            return None, None, None
        figures = _figures(gradient.detach(), ctx.columns, ctx.dtype)
        return gradient, torch.stack(figures), None


def start(slots: Slots) -> None:
    """Let shapes be noted in these places."""
    _noting[:] = [slots]


def leave_uncompiled(modules: Any) -> None:
    """Let Dynamo skip the frames that it skips on modules without hooks.

    It compiles `forward` of a module of torch.nn that has hooks by itself, where compiled code
    does not call it. This changes nothing while it traces a call of such a module.
    """
    skip_code(TracedHook.__call__.__code__)
    for module in modules:
        kind = type(module)
        if kind.__module__.startswith("torch.nn."):
            skip_code(kind.forward.__code__)
