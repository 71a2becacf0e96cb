"""`run.distributed`: how many ranks run the model together, and what wraps it."""

from __future__ import annotations

from typing import Any, get_args

from hookcli.config.parse.containers import Fields, Key, ListOf
from hookcli.config.parse.nodes import Node, NodeError
from hookcli.config.parse.scalars import Boolean, Choice, Integer, Number, Refined, Text
from hookcli.spec.request import DistributedSpec, Parallel

BACKENDS = ("gloo", "nccl", "mpi", "ucc", "xccl")


def _backend(item: Node, text: str) -> str:
    if text not in BACKENDS:
        raise NodeError(item, f"'{text}' is no backend", f"backends are {', '.join(BACKENDS)}")
    return text


_KEYS = Fields(
    {
        "nproc": Key(Integer(1, 1024), "how many local ranks"),
        "parallel": Key(
            Choice(get_args(Parallel)), "what wraps the model: DistributedDataParallel, or FSDP2"
        ),
        "backend": Key(
            Refined(Text("a text: gloo, nccl"), _backend), "what carries data; by device"
        ),
        "bucket_cap_mb": Key(Number(above=0), "ddp: the size of a bucket of gradients, in MiB"),
        "find_unused_parameters": Key(
            Boolean(), "ddp: look for what gets no gradient; on where a rank has any, if left out"
        ),
        "static_graph": Key(Boolean(), "ddp: every step uses the same parameters"),
        "gradient_as_bucket_view": Key(Boolean(), "ddp: gradients lie in the buckets"),
        "broadcast_buffers": Key(Boolean(), "ddp: rank 0's buffers go to all, at every forward"),
        "wrap": Key(
            ListOf(Text(), one=True, least=1),
            "fsdp: globs of modules that are sharded one by one; those in a ModuleList if left out",
        ),
        "reshard_after_forward": Key(Boolean(), "fsdp: free the whole parameters after a forward"),
    },
    hint="write distributed: {nproc: 2, parallel: ddp, bucket_cap_mb: 25}",
)
_OF_DDP = (
    "bucket_cap_mb", "find_unused_parameters", "static_graph", "gradient_as_bucket_view",
    "broadcast_buffers",
)  # fmt: skip
_OF_FSDP = ("wrap", "reshard_after_forward")


def _distributed(item: Node, values: dict[str, Any]) -> DistributedSpec:
    """The options, of one of the two ways alone."""
    way = values.get("parallel", "ddp")
    foreign = _OF_DDP if way == "fsdp" else _OF_FSDP
    for name in foreign:
        if name in values:
            other = "ddp" if way == "fsdp" else "fsdp"
            raise NodeError(
                item.get(name) or item,
                f"{name} is an option of parallel: {other}",
                f"leave it out, or write parallel: {other}",
            )
    if values.get("static_graph") and values.get("find_unused_parameters"):
        raise NodeError(
            item.get("static_graph") or item,
            "static_graph finds unused parameters by itself",
            "leave find_unused_parameters out",
        )
    return DistributedSpec(**values, place=item.place)


DISTRIBUTED = Refined(_KEYS, _distributed)
