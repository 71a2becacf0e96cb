"""The kinds on CUDA graphs: on each graph of a run, and on all graphs of the process."""

from __future__ import annotations

from typing import NamedTuple

from hookcli.catalogue.kind import Kind


class _Moment(NamedTuple):
    """A moment in the life of a CUDA graph, and torch's functions that register a hook for it."""

    name: str
    fires: str
    own: str
    every: str
    caveats: tuple[str, ...] = ()


_CAPTURED = "what a function launches on the GPU becomes part of the graph; an unsafe call raises"
_ENQUEUED = "the GPU may still compute: torch calls the hook when the work is enqueued"
_BALANCED = "it fires even if the launch raises"
_DISCARDS = "torch discards an error of a function; hookcli reports it as a finding"
_MOMENTS = (
    _Moment(
        "capture_start",
        "when the capture of a CUDA graph begins. The capture is already in progress",
        "register_capture_start_hook(hook)",
        "register_graph_capture_start_hook(hook)",
        (_CAPTURED,),
    ),
    _Moment(
        "capture_end",
        "when the capture of a CUDA graph has ended. The graph is not instantiated yet",
        "register_capture_end_hook(hook)",
        "register_graph_capture_end_hook(hook)",
    ),
    _Moment(
        "instantiate",
        "after a CUDA graph is instantiated. This happens at the end of its capture, with "
        "keep_graph=True before its first replay, and in each call of instantiate()",
        "register_post_instantiate_hook(hook)",
        "register_graph_instantiate_hook(hook)",
    ),
    _Moment(
        "replay_start",
        "before a CUDA graph is launched, in every replay()",
        "register_replay_start_hook(hook)",
        "register_graph_replay_start_hook(hook)",
    ),
    _Moment(
        "replay_end",
        "after a CUDA graph is launched, in every replay()",
        "register_replay_end_hook(hook)",
        "register_graph_replay_end_hook(hook)",
        (_ENQUEUED, _BALANCED),
    ),
    _Moment(
        "destroy",
        "when a CUDA graph is reset, or nothing references it any more",
        "register_destroy_callback(hook)",
        "register_graph_destroy_hook(hook)",
    ),
)
_OF_EACH = (
    "it is attached to a graph when the run first captures, instantiates or replays the graph"
)
_IN_A_SCRIPT = (
    "with hookcli run it fires in steps that are observed, from the model's forward to the "
    "optimizer's step; a loop that only launches a graph does not call the model, and has no steps"
)
_UNNAMED = (
    "it fires only for graphs that were created or reset while it was attached",
    "torch does not tell which graph it was: the event's target is CUDAGraph, and its node the ids "
    "of the executable graphs, if torch recorded them",
)


def _of(moment: _Moment, *, every: bool) -> Kind:
    """Return the kind of one moment, on each graph of the run or on all of the process."""
    is_destroy = moment.name == "destroy"
    signature, caveats = "hook(graph) -> None", moment.caveats
    if is_destroy:
        signature = f"hook({'exec_ids' if every else ''}) -> None"
        caveats = _UNNAMED if every else ()
    if every or is_destroy:
        caveats = (*caveats, _DISCARDS)
    owner, call = ("graphs", moment.every) if every else ("CUDAGraph", moment.own)
    file, scope = ("all_graphs", "all") if every else ("each_graph", "each")
    name = f"cuda_graph_{moment.name}"
    return Kind(
        name=f"global_{name}" if every else name,
        family="CUDA graph",
        target="CUDA graph",
        fires=moment.fires + (". It fires before the graph's own hooks" if every else ""),
        phases=("forward", "loss", "backward", "optimizer"),
        registers=f"torch.cuda.{owner}.{call}",
        signature=signature,
        value="nothing",
        returns="must be None",
        replaces=False,
        caveats=(*caveats, _IN_A_SCRIPT) if every else (_OF_EACH, *caveats, _IN_A_SCRIPT),
        needs_values=True,
        since="2.14",
        backends=("python", "package", "torchscript", "exported"),
        example=f"{{kind: {'global_' if every else ''}{name}, do: record}}",
        attach=f"cuda_graphs.{file}:attach_{'destroy_' if is_destroy else ''}to_{scope}",
        needs=("forward",),  # it fires in whatever runs
        process_wide=every,
        needs_gpu=True,
        is_rare=True,
        silence="no CUDA graph came to this event while the hook was attached "
        "(CUDA graphs require a GPU)",
    )


KINDS: tuple[Kind, ...] = (
    *(_of(moment, every=False) for moment in _MOMENTS),
    *(_of(moment, every=True) for moment in _MOMENTS),
)
