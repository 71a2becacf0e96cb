"""Actions that give a new value. Structure, dtype and device stay; only floating tensors change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import torch

from hookcli.actions.event import Event
from hookcli.actions.tools import Tools
from hookcli.catalogue.kinds import CATALOGUE as KINDS
from hookcli.errors import RequestError
from hookcli.models.files.tensors import read_tensors
from hookcli.models.nested import map_tensors

Do: TypeAlias = Callable[[Event], Any]


def _each(change: Callable[[torch.Tensor], torch.Tensor]) -> Do:
    """The action that changes every floating or complex tensor of a value.

    A saved tensor is changed once: as it is packed.
    """

    def one(tensor: torch.Tensor) -> torch.Tensor:
        if not (tensor.is_floating_point() or tensor.is_complex()):
            return tensor
        return change(tensor)

    return lambda event: None if _unpacks(event) else map_tensors(event.value, one)


def _unpacks(event: Event) -> bool:
    return KINDS[event.kind].pair and event.node == "unpack"


def _stored(tensor: torch.Tensor, change: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    """The tensor with its values changed; of a sparse one those that are stored."""
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
    """Replace by zeros, so that no gradient goes through."""
    return _each(torch.zeros_like)


def clamp(limits: tuple[float, float], _: Tools) -> Do:
    """Limit each value to [low, high], of a sparse tensor each that is stored.

    Complex values are refused by torch.
    """
    low, high = limits
    return _each(lambda t: _stored(t, lambda values: values.clamp(low, high)))


def clip_norm(most: float, _: Tools) -> Do:
    """Scale each tensor down to a 2-norm of at most `most`, as clip_grad_norm_ does for one."""

    def clip(tensor: torch.Tensor) -> torch.Tensor:
        values = tensor.coalesce().values() if tensor.layout is torch.sparse_coo else tensor
        norm = torch.linalg.vector_norm(values, dtype=_wide(tensor.dtype))
        return (tensor * torch.clamp(most / (norm + 1e-6), max=1.0)).to(tensor.dtype)

    return _each(clip)


def _wide(dtype: torch.dtype) -> torch.dtype:
    """A dtype in which a norm of `dtype` does not overflow."""
    if dtype.is_complex:
        return torch.complex64 if dtype == torch.complex32 else dtype
    return torch.float32 if dtype.itemsize < 4 else dtype


def add_noise(deviation: float, tools: Tools) -> Do:
    """Add Gaussian noise from a generator of the action's own: the model's draws stay the same.

    A sparse tensor gets it where it stores values.
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
    """Put a saved tensor, or as many as the value has, in place of its tensors.

    Raises
    ------
    RequestError : the file does not fit the value.
    """
    file, _, name = path.partition("#")
    held = read_tensors(file, tools.place)
    if name:
        if not isinstance(held, dict) or name not in held:
            raise RequestError(
                f"{file} holds no tensor '{name}'", place=tools.place, hint="check the name"
            )
        held = held[name]
    saved = [held] if isinstance(held, torch.Tensor) else list(_tensors(held))

    def put(event: Event) -> Any:
        if _unpacks(event):
            return None
        left = iter(saved)

        def one(tensor: torch.Tensor) -> torch.Tensor:
            new = next(left, None)
            if new is None or new.shape != tensor.shape:
                has = "no more tensors" if new is None else f"shape {list(new.shape)}"
                raise RequestError(
                    f"{event.target} has shape {list(tensor.shape)}, and the file {has}",
                    place=tools.place,
                    hint="save the value with `do: save` to see what fits",
                )
            return new.to(dtype=tensor.dtype, device=tensor.device)

        return map_tensors(event.value, one)

    return put


def _tensors(held: Any) -> list[torch.Tensor]:
    tensors: list[torch.Tensor] = []
    map_tensors(held, lambda t: tensors.append(t) or t)  # type: ignore[func-returns-value]
    return tensors
