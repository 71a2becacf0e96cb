"""The lines of the user's source whose operators made the nodes of autograd."""

from __future__ import annotations

from types import FrameType
from typing import Any

from hookcli.models import places
from hookcli.models.model import Call
from hookcli.operators.names import written
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
