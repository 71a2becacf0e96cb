"""Fake models: built on the meta device, then given fake tensors, which have shapes but no values.

Building on meta needs no memory and never reads values. The conversion afterwards makes tensors
that report the real device, so that the forward takes the same paths as in a real run.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter
from torch.overrides import TorchFunctionMode

from hookcli.errors import NoFakeError
from hookcli.models import module_tree
from hookcli.models.failures import message_of
from hookcli.models.fake.fork import in_fork
from hookcli.models.scripted import is_scripted, lost
from hookcli.text import first_line
from hookcli.torch_private import FakeTensor, FakeTensorMode

_MOVES = {torch.Tensor.to, torch.Tensor.cpu, torch.Tensor.cuda}
_MAX_NESTING = 4
_LOG = logging.getLogger("torch._subclasses.fake_tensor")


class _StayOnMeta(TorchFunctionMode):
    """Keep a meta tensor on meta when it is moved to a device, with the requested dtype.

    Builders often end in `.to(device)`; a meta tensor has nothing to copy and would raise.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if func in _MOVES and args and isinstance(args[0], torch.Tensor) and args[0].is_meta:
            given = [*args[1:], *kwargs.values()]
            dtypes = [a.dtype if isinstance(a, torch.Tensor) else a for a in given]
            dtype = next((d for d in dtypes if isinstance(d, torch.dtype)), None)
            return args[0] if dtype is None else args[0].to(dtype=dtype)
        return func(*args, **kwargs)


@contextmanager
def on_meta() -> Iterator[None]:
    """Construct modules without memory: every tensor made inside is on the meta device."""
    with torch.device("meta"), _StayOnMeta():
        yield


class _Mode(FakeTensorMode):  # type: ignore[no-untyped-call]
    """FakeTensorMode without its check for torch.compile at every operator: nothing is compiled."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        try:
            out: Any = self.dispatch(func, types, args, kwargs or {})
        except BaseException as error:
            lost.note(error)
            raise
        if func in _RANGES:
            out.hookcli_bounds = _bounds(args)
        return out


_RANGES = {
    torch.ops.aten.arange.default, torch.ops.aten.arange.start, torch.ops.aten.arange.start_step
}  # fmt: skip


def _bounds(args: tuple[Any, ...]) -> tuple[int, int] | None:
    """Return the least and the greatest value of a range of integers; None if it is empty."""
    first, end, *step = args if len(args) > 1 else (0, *args)
    if not all(type(value) is int for value in (first, end, *step)):
        return None
    values = range(first, end, *step)
    return (min(values[0], values[-1]), max(values[0], values[-1])) if values else None


def bounds_of(tensor: torch.Tensor) -> tuple[int, int] | None:
    """Return the least and greatest value of a fake tensor of `torch.arange`, or of a view of it.

    None if they are not known.
    """
    for one in (tensor, tensor._base):
        bounds: tuple[int, int] | None = getattr(one, "hookcli_bounds", None)
        if bounds is not None:
            return bounds
    return None


def _no_fake(original: torch.Tensor, error: Exception) -> NoFakeError:
    why = f"{type(error).__name__}: {first_line(message_of(error))}"
    return NoFakeError(
        f"cannot convert a tensor of type {type(original).__name__} to a fake tensor: {why}",
        place="--tensors fake",
        hint="pass `--tensors real`",
    )


class Faker:
    """Make fake tensors in one mode; always the same one for the same original (ties are kept)."""

    def __init__(self, device: str) -> None:
        self.mode = _Mode(allow_non_fake_inputs=True)
        _LOG.setLevel(logging.CRITICAL + 1)  # it logs what it raises, which hookcli reports
        self._device = torch.device(device)
        self._known: dict[int, torch.Tensor] = {}
        self._alive: list[torch.Tensor] = []

    def tensor(self, original: torch.Tensor) -> torch.Tensor:
        """Return the fake counterpart of a real or meta tensor."""
        if isinstance(original, FakeTensor):
            return original
        fake = self._known.get(id(original))
        if fake is None:
            try:
                fake = self._convert(original)
            except Exception as error:  # noqa: BLE001  # layouts and subclasses raise anything
                raise _no_fake(original, error) from None
            self._known[id(original)] = fake
            self._alive.append(original)
        return fake

    def _convert(self, original: torch.Tensor) -> torch.Tensor:
        if isinstance(original, UninitializedParameter | UninitializedBuffer):
            kind: Any = type(original)
            fresh: torch.Tensor = kind(
                requires_grad=original.requires_grad, device=self._device, dtype=original.dtype
            )
            return fresh
        plain = original.detach()
        if plain.is_meta:
            converter = self.mode.fake_tensor_converter
            fake: torch.Tensor = converter.from_meta_and_device(self.mode, plain, self._device)
        else:
            fake = self.mode.from_tensor(plain)
            if fake.device != self._device:
                with self.mode:
                    fake = fake.to(self._device)
        if isinstance(original, nn.Parameter):
            # The same as nn.Parameter does with a tensor subclass, but without detach: that would
            # run an operator for each parameter, half the cost of making them.
            fake.requires_grad_(original.requires_grad)
            fake.__dict__.update(original.__dict__)
            fake._is_param = True
            return fake
        if original.is_leaf and original.requires_grad:
            fake.requires_grad_(True)
        return fake

    def module(self, root: nn.Module) -> None:
        """Replace every module's tensors by fake ones: parameters, buffers, plain attributes."""
        replace_tensors(root, self.tensor)

    def undo(self, root: nn.Module) -> None:
        """Put back the tensors that `module` replaced."""
        originals = {id(self._known[id(tensor)]): tensor for tensor in self._alive}
        replace_tensors(root, lambda tensor: originals.get(id(tensor), tensor))


def replace_tensors(root: nn.Module, change: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """Replace every module's tensors: parameters, buffers, plain attributes."""
    for module, _ in module_tree.modules(root):
        for table in (module._parameters, module._buffers):
            for name, tensor in table.items():
                if isinstance(tensor, torch.Tensor):
                    table[name] = change(tensor)  # type: ignore[assignment]
        if is_scripted(module):
            continue  # its other attributes are not in Python
        for name, value in list(vars(module).items()):
            if name not in {"_parameters", "_buffers", "_modules"}:
                changed = _attribute(value, change, 0)
                if changed is not value:
                    vars(module)[name] = changed


def _attribute(value: Any, change: Callable[[torch.Tensor], torch.Tensor], depth: int) -> Any:
    """Return an attribute's value with other tensors; lists and dicts are changed in place."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if depth < _MAX_NESTING:
        if type(value) is list:
            value[:] = [_attribute(v, change, depth + 1) for v in value]
        elif type(value) is dict:
            for key, item in list(value.items()):
                value[key] = _attribute(item, change, depth + 1)
        elif type(value) is tuple:
            items = tuple(_attribute(v, change, depth + 1) for v in value)
            if any(a is not b for a, b in zip(items, value, strict=True)):
                return items
    return value


# The size of a model, before it is really built.

_PATIENCE = 5.0  # seconds after which a constructor on meta is given up


def _held_bytes(root: nn.Module) -> int:
    """Return the bytes of the distinct parameters and buffers."""
    return sum(
        tensor.numel() * tensor.element_size()
        for table in ("_parameters", "_buffers")
        for tensor, _, _ in module_tree.tensors(root, table)
        if not nn.parameter.is_lazy(tensor)
    )


def bytes_when_built(build: Callable[[], nn.Module]) -> int | None:
    """Return what `_held_bytes` would be, from a build on the meta device in a separate process.

    The constructor cannot affect this process. None if the build fails or takes too long.
    """

    def size() -> bytes:
        with on_meta():
            return str(_held_bytes(build())).encode()

    answer = in_fork(size, patience=_PATIENCE)
    return int(answer) if answer else None
