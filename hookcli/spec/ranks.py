"""Runs of several ranks as part of the request: torchrun's environment, one rank's share."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

from hookcli.spec.request import DistributedSpec, Rank, Spec

_NUMBER = re.compile("[0-9]{1,9}")  # torch's are of 32 bits
_NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")


def of_torchrun(timeout: float) -> Rank | None:
    """The rank that torchrun started this process as; None where it did not."""
    values = [os.environ.get(name, "") for name in _NAMES]
    if not all(values) or not all(map(_NUMBER.fullmatch, values[:3])):
        return None
    number, world, local = map(int, values[:3])
    size = os.environ.get("LOCAL_WORLD_SIZE", "")
    return Rank(number, world, local, int(size) if _NUMBER.fullmatch(size) else 1, None, timeout)


def is_together(asked: DistributedSpec | None) -> bool:
    """Whether several ranks are asked for, or torchrun has started this one."""
    return (asked is not None and asked.nproc > 1) or of_torchrun(0) is not None


def of_rank(spec: Spec, rank: Rank) -> Spec:
    """The request on the rank's own device, with its own file of events."""
    run = replace(spec.run, rank=rank.number)
    if run.device == "cuda":
        run = replace(run, device=f"cuda:{rank.local}")
    stream = None if spec.stream is None else with_rank(spec.stream, rank.number)
    return replace(spec, run=run, stream=stream)


def with_rank(file: str, number: int) -> str:
    """events.jsonl → events.rank1.jsonl; rank 0 has the name itself."""
    path = Path(file)
    return str(path.with_name(f"{path.stem}.rank{number}{path.suffix}")) if number else file
