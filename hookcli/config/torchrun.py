"""What torchrun tells the processes that it starts, in their environment."""

from __future__ import annotations

import os
import re

from hookcli.config.spec import DistributedSpec, Rank

_NUMBER = re.compile("[0-9]{1,9}")  # torch's are of 32 bits
_NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")


def of_torchrun(timeout: float) -> Rank | None:
    """The rank that torchrun started this process as; None where it did not."""
    found = [os.environ.get(name, "") for name in _NAMES]
    if not all(found) or not all(map(_NUMBER.fullmatch, found[:3])):
        return None
    number, world, local = map(int, found[:3])
    size = os.environ.get("LOCAL_WORLD_SIZE", "")
    return Rank(number, world, local, int(size) if _NUMBER.fullmatch(size) else 1, None, timeout)


def is_together(asked: DistributedSpec | None) -> bool:
    """Whether several ranks are asked for, or torchrun has started this one."""
    return (asked is not None and asked.nproc > 1) or of_torchrun(0) is not None
