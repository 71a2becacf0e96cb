"""The nodes of autograd: the operators that made them, and the user's lines that these ran on."""

from __future__ import annotations

import re
from functools import lru_cache
from types import FrameType
from typing import Any

from torch.autograd.function import BackwardCFunction

from hookcli.models import places
from hookcli.models.model import Call
from hookcli.operators.names import short_name, written
from hookcli.torch_private import next_sequence_nr


def node_name(node: Any) -> str:
    """Return the name of a node, without the namespaces of TorchScript's."""
    return str(node.name()).rpartition("::")[2]


class NodeLines:
    """What made each node: the operator's name, its line, and the call that it ran in.

    Autograd makes a node just before its operator runs.
    """

    def __init__(self) -> None:
        self._lines: dict[int, tuple[str, str | None, Call | None]] = {}

    def note(self, func: Any, frame: FrameType, call: Call | None) -> None:
        """Note an operator that runs now, if it is the first since a node was made."""
        number = next_sequence_nr() - 1
        if number not in self._lines:
            self._lines[number] = (
                written(func, call),
                places.of_frame(frame),
                call,
            )

    def of(self, node: Any) -> tuple[str, str | None, Call | None] | None:
        """Return what made a node; None if it was not seen.

        The node of a graph of TorchScript stands for many operators: only its call is known.
        """
        made = self._lines.get(node._sequence_nr())
        return ("", None, made[2]) if made is not None and "::" in node.name() else made


# Nodes of views, which share the memory of their input, and of torch's own backward hooks.
_NOT_OPERATORS = re.compile(
    r"alias|as_strided|chunk|detach|diagonal|expand|identity|movedim|narrow|permute|real|imag|"
    r"reshape_alias|select|slice|split(_with_sizes)?|squeeze|swap\w+|t|transpose|unbind|unfold|"
    r"unsafe_split(_with_sizes)?|unsafe_view|unsqueeze|view(_as\w*)?|backward_hook_function"
)
_BACKWARD_HOOKS = "BackwardHookFunctionBackward"
_BACKWARD = re.compile(r"Backwards?\d*$")
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def operator_of(node: Any) -> str:
    """Return the name of the operator that made a node: "add" for AddBackward0, "" for a view.

    The node of a user's autograd function has the name of its class.
    """
    name = node_name(node)
    if isinstance(node, BackwardCFunction) and name != _BACKWARD_HOOKS:
        return name.removesuffix("Backward")
    return _operator(name)


@lru_cache(maxsize=1024)
def _operator(name: str) -> str:
    plain = re.sub(r"(?<=\d)D", "d", _BACKWARD.sub("", name))
    if plain == "CopySlices":  # an operator wrote to a view
        return "copy"
    words = _WORDS.sub("_", plain).lower()
    return "" if _NOT_OPERATORS.fullmatch(words) else short_name(words)


def is_opaque(node: Any, *, ran_calls: bool) -> bool:
    """Whether a node stands for more than one operator, in which calls may have run.

    `ran_calls` tells whether a call without grad began just after the node was made.
    """
    if isinstance(node, BackwardCFunction):
        return ran_calls
    return "jit::" in node.name()  # a graph of TorchScript


def is_renewed_view(node: Any) -> bool:
    """Whether autograd may have made a node for a view whose base was written to.

    It does so when the view is used next, maybe in a call that has nothing to do with the view.
    """
    return bool(node.name() == "AsStridedBackward0")
