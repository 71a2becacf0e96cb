"""Wraps the model in DistributedDataParallel, with a communication hook that is observed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from hookcli.errors import ModelError
from hookcli.spec.request import DistributedSpec
from hookcli.text import first_line


def options(spec: DistributedSpec, *, unused: bool) -> dict[str, Any]:
    """Return the keyword arguments of DistributedDataParallel.

    `unused` tells that some parameter gets no gradient on some rank.
    """
    find = spec.find_unused_parameters
    kwargs = {
        "bucket_cap_mb": spec.bucket_cap_mb,
        "find_unused_parameters": unused and not spec.static_graph if find is None else find,
        "static_graph": spec.static_graph,
        "gradient_as_bucket_view": spec.gradient_as_bucket_view,
        "broadcast_buffers": None if spec.broadcast_buffers else False,  # deprecated in torch 2.13
    }
    return {name: value for name, value in kwargs.items() if value is not None}


def wrap(
    root: nn.Module,
    kwargs: dict[str, Any],
    device: torch.device,
    entry: Callable[[Any, Any], Any],
    place: str,
) -> DistributedDataParallel:
    """Return the wrapped model; `entry(state, bucket)` averages a bucket.

    Raises
    ------
    ModelError : DistributedDataParallel does not support the model.
    """
    try:
        ddp = DistributedDataParallel(
            root, device_ids=None if device.type == "cpu" else [device], **kwargs
        )
    except (RuntimeError, ValueError, TypeError, NotImplementedError) as error:
        raise ModelError(
            f"DistributedDataParallel does not support the model: {first_line(str(error))}",
            place=place,
            hint="use a model with a parameter that requires grad, and no lazy or meta parameters",
        ) from None
    ddp.register_comm_hook(None, _named(entry))
    return ddp


def _named(entry: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return the function with the parameter names that torch checks."""
    return lambda state, bucket: entry(state, bucket)  # a method also has `self`
