"""The class of a module as its author knows it."""

from __future__ import annotations

import sys

from torch import nn


def class_of(module: nn.Module) -> type[nn.Module]:
    """The module's class; of one that FSDP sharded, which got another class, that of before."""
    kind = type(module)
    fsdp = sys.modules.get("torch.distributed.fsdp")
    if fsdp is not None and fsdp.FSDPModule in kind.__bases__:
        return next(base for base in kind.__bases__ if base is not fsdp.FSDPModule)
    return kind
