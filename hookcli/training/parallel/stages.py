"""Whether a root is a stage of a pipeline, whose other stages are on other ranks."""

from __future__ import annotations

import gc
import sys
from typing import Any

from torch import nn

from hookcli.report.distributed import StagePlace

_MODULE = "torch.distributed.pipelining"


def stage_of(root: nn.Module) -> StagePlace | None:
    """Return the place of a root in a pipeline. The objects are searched, if there is one."""
    module = sys.modules.get(_MODULE)
    if module is None:
        return None
    kind: Any = module.PipelineStage
    for one in gc.get_objects():
        if issubclass(type(one), kind):
            submodule = getattr(one, "submod", None)
            if submodule is root or (
                isinstance(submodule, nn.Module)
                and any(root is part for part in submodule.modules())
            ):
                return StagePlace(int(one.stage_index), int(one.num_stages))
    return None
