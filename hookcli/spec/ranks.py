"""Requests for runs with several ranks: torchrun's environment, and the request of one rank."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

from hookcli.spec.request import DistributedSpec, Rank, Spec

_NUMBER = re.compile("[0-9]{1,9}")  # torch's are of 32 bits
_NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")


def of_torchrun(timeout: float) -> Rank | None:
    """Return the rank as which torchrun started this process; None if it did not start it."""
    values = [os.environ.get(name, "") for name in _NAMES]
    if not all(values) or not all(map(_NUMBER.fullmatch, values[:3])):
        return None
    number, world, local = map(int, values[:3])
    size = os.environ.get("LOCAL_WORLD_SIZE", "")
    return Rank(number, world, local, int(size) if _NUMBER.fullmatch(size) else 1, None, timeout)


def is_together(distributed: DistributedSpec | None) -> bool:
    """Return whether several ranks are requested, or torchrun has started this process."""
    return (distributed is not None and distributed.nproc > 1) or of_torchrun(0) is not None


def of_rank(spec: Spec, rank: Rank) -> Spec:
    """Return the request for one rank, with its own device and its own file of events."""
    run = replace(spec.run, rank=rank.number)
    if run.device == "cuda":
        run = replace(run, device=f"cuda:{rank.local}")
    stream = None if spec.stream is None else with_rank(spec.stream, rank.number)
    return replace(spec, run=run, stream=stream)


def with_rank(file: str, number: int) -> str:
    """Return events.rank1.jsonl for events.jsonl. Rank 0 uses the name unchanged."""
    path = Path(file)
    return str(path.with_name(f"{path.stem}.rank{number}{path.suffix}")) if number else file


def with_rank_0(file: str) -> str:
    """Return run.rank0.json for run.json: the part of rank 0 itself, beside that of all ranks."""
    path = Path(file)
    return str(path.with_name(f"{path.stem}.rank0{path.suffix}"))
