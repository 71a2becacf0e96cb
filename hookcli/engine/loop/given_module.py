"""A module that the user passes or trains: is it one, its name and its device."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from hookcli.errors import RequestError
from hookcli.models import module_tree


def check_module(root: Any) -> None:
    """Raise a RequestError if this is not an instance of `nn.Module`."""
    if not isinstance(root, nn.Module):
        raise RequestError(
            f"expected an nn.Module, got {type(root).__name__}",
            place=repr(root)[:80],
            hint="pass an instance: `Net()`, not `Net`",
        )


def source_of(root: nn.Module) -> str:
    """Return `module:class` of a model, the counterpart of MODEL on the command line."""
    return f"{type(root).__module__}:{type(root).__qualname__}"


def device_of(root: nn.Module) -> str:
    """Return the device of a model's tensors, or "several" if they are on more than one."""
    devices = {
        str(tensor.device)
        for table in ("_parameters", "_buffers")
        for tensor, _, _ in module_tree.tensors(root, table)
    }
    if not devices:
        return str(torch.get_default_device())
    return devices.pop() if len(devices) == 1 else "several"
