"""The edges of the module diagram: which call made a tensor that another one used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hookcli.report.values import Index


@dataclass(frozen=True, slots=True)
class EdgeRow:
    """A tensor that one call made and another one used.

    `source` is the `order` of the innermost call that made the tensor, None for the batch. `output`
    is the tensor's path in the output of that call, or in the batch; "" if it is not in the output,
    as the state that a module keeps. `target` is the `order` of the call that got it, and `input`
    its path in the inputs of that call. If `end` is "output", `input` is a path in the output of
    `target`: an operator of its own made that tensor, or it is the output of the model.

    `through` are the names of the operators in between that ran in no call of their own, the
    nearest to `target` last: ["add"] for `x + y`. It is empty if the tensors share their memory. Of
    more than eight operators, the last ones follow a "…".
    """

    source: Index | None
    output: str
    target: Index
    input: str
    end: Literal["input", "output"] = "input"
    through: tuple[str, ...] = ()
