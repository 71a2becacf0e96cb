"""`run.distributed`: how many ranks run the model, and what wraps it."""

from __future__ import annotations

from typing import Any, get_args

from hookcli.config.parse.containers import Fields, Key, ListOf
from hookcli.config.parse.nodes import Node, NodeError, suggest
from hookcli.config.parse.scalars import Boolean, Choice, Integer, Number, Refined, Text
from hookcli.sentences import unknown
from hookcli.spec.request import DistributedSpec, Parallel

BACKENDS = ("gloo", "nccl", "mpi", "ucc", "xccl")


def _backend(item: Node, text: str) -> str:
    if text not in BACKENDS:
        raise NodeError(item, unknown("backend", text), suggest(text, BACKENDS))
    return text


_KEYS = Fields(
    {
        "nproc": Key(Integer(1, 1024), "the number of local ranks"),
        "parallel": Key(
            Choice(get_args(Parallel)), "what wraps the model: DistributedDataParallel or FSDP2"
        ),
        "backend": Key(
            Refined(Text("a backend such as gloo or nccl"), _backend),
            "the communication backend; by default the one of the device",
        ),
        "bucket_cap_mb": Key(Number(above=0), "ddp: the size of a bucket of gradients, in MiB"),
        "find_unused_parameters": Key(
            Boolean(),
            "ddp: find parameters without a gradient; by default on if a rank has such parameters",
        ),
        "static_graph": Key(Boolean(), "ddp: every step uses the same parameters"),
        "gradient_as_bucket_view": Key(Boolean(), "ddp: gradients are views of the buckets"),
        "broadcast_buffers": Key(
            Boolean(), "ddp: send the buffers of rank 0 to all ranks at every forward"
        ),
        "wrap": Key(
            ListOf(Text(), one=True, least=1),
            "fsdp: globs of modules to shard one by one; by default those in a ModuleList",
        ),
        "reshard_after_forward": Key(
            Boolean(), "fsdp: free the unsharded parameters after forward"
        ),
    },
    hint="write `distributed: {nproc: 2, parallel: ddp, bucket_cap_mb: 25}`",
)
_OF_DDP = (
    "bucket_cap_mb", "find_unused_parameters", "static_graph", "gradient_as_bucket_view",
    "broadcast_buffers",
)  # fmt: skip
_OF_FSDP = ("wrap", "reshard_after_forward")


def _distributed(item: Node, values: dict[str, Any]) -> DistributedSpec:
    """Return the options. Options of the other value of `parallel` are refused."""
    other, options_of_other = (
        ("ddp", _OF_DDP) if values.get("parallel") == "fsdp" else ("fsdp", _OF_FSDP)
    )
    for name in options_of_other:
        if name in values:
            raise NodeError(
                item.get(name) or item,
                f"{name} requires parallel: {other}",
                f"remove it, or write `parallel: {other}`",
            )
    if values.get("static_graph") and values.get("find_unused_parameters"):
        raise NodeError(
            item.get("static_graph") or item,
            "static_graph cannot be combined with find_unused_parameters",
            "remove `find_unused_parameters`: static_graph finds unused parameters itself",
        )
    return DistributedSpec(**values, place=item.place)


DISTRIBUTED = Refined(_KEYS, _distributed)
