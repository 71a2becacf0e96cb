"""The request as one rank carries it out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hookcli.config.spec import Rank, Spec


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
