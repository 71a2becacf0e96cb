"""Read the original from the metadata of operators: the place of each call, and the mode."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

from torch import fx

from hookcli.models import places
from hookcli.torch_private import OpOverload

_FRAME = re.compile(r'^[^\S\n]*File "(.+?)", line (\d+), in (.+)$', re.MULTILINE)
_TORCH = re.compile(r"[/\\](?:site|dist)-packages[/\\]torch[/\\]|[/\\]torch[/\\](?:nn|_\w+)[/\\]")
Exported: TypeAlias = Literal["train", "eval", "mixed"]


def call_places(graph: fx.Graph, canonical: dict[str, str]) -> dict[str, list[str | None]]:
    """Return, for each path, the line of each call, in the order in which the calls began.

    For each operator the file keeps the frames of forward methods: one for each of the user's
    modules, outermost first.
    """
    lines_by_call: dict[tuple[str, str], str | None] = {}  # by torch's key of the call, and path
    for node in graph.nodes:
        lines = _user_lines(node)
        users = 0  # the user's modules around the call
        for key, (path, kind) in (node.meta.get("nn_module_stack") or {}).items():
            if path and lines_by_call.get((key, path)) is None:
                lines_by_call[key, path] = (
                    lines[min(users, len(lines)) - 1] if lines and users else None
                )
            users += not str(kind).startswith("torch.")
    by_path: dict[str, list[str | None]] = {}
    for (_, path), line in lines_by_call.items():
        by_path.setdefault(canonical.get(path, path), []).append(line)
    return by_path


def _user_lines(node: fx.Node) -> list[str]:
    """Return the lines of forward methods outside torch, with paths of the exporting machine."""
    trace = node.meta.get("stack_trace")
    if not isinstance(trace, str):
        return []
    return [
        f"{places.show(filename)}:{line}"
        for filename, line, function in _FRAME.findall(trace)
        if function == "forward" and not _TORCH.search(filename)
    ]


def modes(graph: fx.Graph) -> dict[str, bool]:
    """Return, for each path, whether its operators were exported in train mode, if they tell."""
    flags_by_path: dict[str, set[bool]] = {}
    for node in graph.nodes:
        training = _training(node)
        if training is not None:
            stack = node.meta.get("nn_module_stack") or {}
            path = next((p for p, _ in reversed(stack.values())), "")
            flags_by_path.setdefault(path, set()).add(training)
    return {path: True in flags for path, flags in flags_by_path.items()}


def _training(node: fx.Node) -> bool | None:
    """Return the mode that an operator was called with, if it depends on the mode; else None."""
    if not isinstance(node.target, OpOverload):
        return None
    name = node.target.overloadpacket.__name__
    if name.endswith("_no_training"):
        return False
    arguments = dict(_arguments(node))
    if name in {"batch_norm", "native_batch_norm"} and arguments.get("running_mean") is None:
        return None  # without running statistics it uses the batch's in either mode
    value = arguments.get("training", arguments.get("train"))
    return value if isinstance(value, bool) else None


def _arguments(node: fx.Node) -> Iterator[tuple[str, Any]]:
    target: Any = node.target
    for argument, value in zip(target._schema.arguments, node.args, strict=False):
        yield argument.name, value
    yield from node.kwargs.items()


def overall(training: dict[str, bool]) -> Exported | None:
    """Return the mode of the whole program; None if no operator depends on the mode."""
    flags = set(training.values())
    if not flags:
        return None
    return "mixed" if len(flags) > 1 else ("train" if flags == {True} else "eval")


def mode_of(path: str, training: dict[str, bool]) -> bool:
    """Whether a module was in train mode: by its operators, else by those below, above, or most."""
    if path in training:
        return training[path]
    prefix = f"{path}." if path else ""
    below = {flag for name, flag in training.items() if name.startswith(prefix)}
    if len(below) == 1:
        return True in below
    while path:
        path = path.rpartition(".")[0]
        if path in training:
            return training[path]
    return sum(training.values()) * 2 >= len(training)
