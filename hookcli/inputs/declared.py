"""The inputs that a model declares itself, in the usual ways."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

import torch
from torch import nn

from hookcli.models.batch import Batch, as_batch, misfit
from hookcli.models.failures import message_of, type_name

_ATTRIBUTES = ("example_inputs", "example_input_array", "dummy_inputs")


@dataclass(frozen=True, slots=True)
class Declaration:
    """A declared batch that binds to forward. `name` tells where it was found."""

    name: str
    batch: Batch


def _value(holder: object, name: str) -> Any:
    value = getattr(holder, name)
    return value() if callable(value) and not isinstance(value, torch.Tensor) else value


def _candidates(
    root: nn.Module, module: ModuleType | None, batch_size: int
) -> Iterator[tuple[str, Callable[[], Any]]]:
    for name in _ATTRIBUTES:
        if hasattr(type(root), name) or name in vars(root):
            yield f"the model's {name}", partial(_value, root, name)
        if name == "example_inputs" and module is not None and hasattr(module, name):
            yield f"the file's {name}", partial(_value, module, name)
    config = getattr(root, "pretrained_cfg", None)  # timm
    size = config.get("input_size") if isinstance(config, dict) else None
    if size is not None:
        yield "the model's pretrained_cfg", lambda: torch.randn(batch_size, *size)


def declarations(
    root: nn.Module,
    module: ModuleType | None,
    drop: Callable[[str, str], None],
    *,
    batch_size: int = 2,
) -> Iterator[Declaration]:
    """Yield the model's declarations that bind to its forward, the most trusted first.

    `drop(name, reason)` is called for each that raises, does not bind, or lacks the model's
    `main_input_name`.
    """
    main = getattr(root, "main_input_name", None)
    for name, make in _candidates(root, module, batch_size):
        try:
            value = make()
        except Exception as error:  # noqa: BLE001  # the user's property may raise anything
            drop(name, f"{type_name(error)}: {message_of(error)}")
            continue
        if value is None:  # Lightning's example_input_array is None unless set
            continue
        batch = as_batch(value)
        problem = misfit(root, batch)
        if problem is None and isinstance(main, str) and batch.kwargs and main not in batch.kwargs:
            problem = f"it does not contain '{main}', the model's main input"
        if problem is not None:
            drop(name, problem)
            continue
        yield Declaration(name, batch)
