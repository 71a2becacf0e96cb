"""Actions that return a new value of the same structure, dtype and device.

Only floating-point and complex tensors change.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import torch

from hookcli.actions.event import Event
from hookcli.actions.tools import Tools
from hookcli.catalogue.kinds import CATALOGUE as KINDS
from hookcli.errors import RequestError
from hookcli.models.files.tensors import read_tensors
from hookcli.models.nested import map_tensors, shape_of
from hookcli.text import nearest, try_instead

Do: TypeAlias = Callable[[Event], Any]


def _each(change: Callable[[torch.Tensor], torch.Tensor]) -> Do:
    """Return the action that changes every floating-point or complex tensor of a value.

    A saved tensor is changed once: when it is packed.
    """

    def apply(tensor: torch.Tensor) -> torch.Tensor:
        if not (tensor.is_floating_point() or tensor.is_complex()):
            return tensor
        return change(tensor)

    return lambda event: None if _unpacks(event) else map_tensors(event.value, apply)


def _unpacks(event: Event) -> bool:
    return KINDS[event.kind].pair and event.node == "unpack"


def _stored(tensor: torch.Tensor, change: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    """Return the tensor with its values changed; for a sparse tensor, its stored values."""
    if tensor.layout is not torch.sparse_coo:
        return change(tensor)
    summed = tensor.coalesce()
    return torch.sparse_coo_tensor(
        summed.indices(), change(summed.values()), summed.shape, is_coalesced=True
    )


def scale(factor: float, _: Tools) -> Do:
    """Multiply by `factor`."""
    return _each(lambda t: t * factor)


def negate(_argument: None, _: Tools) -> Do:
    """Change the sign."""
    return _each(torch.neg)


def zero(_argument: None, _: Tools) -> Do:
    """Replace values with zeros, through which no gradient flows."""
    return _each(torch.zeros_like)


def clamp(limits: tuple[float, float], _: Tools) -> Do:
    """Limit each value to [low, high]; for a sparse tensor, each stored value.

    torch raises an error for complex values.
    """
    low, high = limits
    return _each(lambda t: _stored(t, lambda values: values.clamp(low, high)))


def clip_norm(most: float, _: Tools) -> Do:
    """Scale each tensor down to a 2-norm of at most `most`, as clip_grad_norm_ does."""

    def clip(tensor: torch.Tensor) -> torch.Tensor:
        values = tensor.coalesce().values() if tensor.layout is torch.sparse_coo else tensor
        norm = torch.linalg.vector_norm(values, dtype=_wide(tensor.dtype))
        return (tensor * torch.clamp(most / (norm + 1e-6), max=1.0)).to(tensor.dtype)

    return _each(clip)


def _wide(dtype: torch.dtype) -> torch.dtype:
    """Return a dtype in which a norm of `dtype` does not overflow."""
    if dtype.is_complex:
        return torch.complex64 if dtype == torch.complex32 else dtype
    return torch.float32 if dtype.itemsize < 4 else dtype


def add_noise(deviation: float, tools: Tools) -> Do:
    """Add Gaussian noise from a separate generator, which leaves the model's random numbers alone.

    In a sparse tensor, noise is added to the stored values.
    """
    generators: dict[torch.device, torch.Generator] = {}

    def noisy(tensor: torch.Tensor) -> torch.Tensor:
        device = tensor.device
        if device not in generators:
            generators[device] = torch.Generator(device).manual_seed(tools.seed)
        real = torch.float32 if tensor.dtype.itemsize < 4 else tensor.dtype
        noise = torch.randn(tensor.shape, generator=generators[device], dtype=real, device=device)
        return tensor + (noise * deviation).to(tensor.dtype)

    return _each(lambda t: _stored(t, noisy))


def replace(path: str, tools: Tools) -> Do:
    """Replace the tensors of a value with saved ones, in order.

    Raises
    ------
    RequestError : the file does not contain the tensor, or its shapes differ from the value's.
    """
    file, _, name = path.partition("#")
    content = read_tensors(file, tools.place)
    if name:
        if not isinstance(content, dict) or name not in content:
            guess = nearest(name, content, cutoff=0.6) if isinstance(content, dict) else None
            raise RequestError(
                f"tensor '{name}' not found in {file}",
                place=tools.place,
                hint=try_instead(guess, "check the name after the #"),
            )
        content = content[name]
    saved = [content] if isinstance(content, torch.Tensor) else list(_tensors(content))

    def put(event: Event) -> Any:
        if _unpacks(event):
            return None
        left = iter(saved)

        def saved_for(tensor: torch.Tensor) -> torch.Tensor:
            new = next(left, None)
            if new is None or shape_of(new) != shape_of(tensor):
                has = "no more tensors" if new is None else f"shape {list(shape_of(new))}"
                raise RequestError(
                    f"{event.target} has shape {list(shape_of(tensor))}, but the file has {has}",
                    place=tools.place,
                    hint="save the value with `do: save` to get its shapes",
                )
            return new.to(dtype=tensor.dtype, device=tensor.device)

        return map_tensors(event.value, saved_for)

    return put


def _tensors(content: Any) -> list[torch.Tensor]:
    tensors: list[torch.Tensor] = []
    map_tensors(content, lambda t: tensors.append(t) or t)  # type: ignore[func-returns-value]
    return tensors
