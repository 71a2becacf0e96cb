"""What actions need of the run that they are part of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from hookcli.spec.request import Terminal


@dataclass(frozen=True, slots=True)
class Tools:
    """`place` is the hook's line. `statistics` gives the figures of a tensor, None without values.

    `norm` gives the same with its norm alone, where that is finite.
    `say` prints a line to stderr; `function` finds what a FunctionRef names; `terminal` is that of
    the user where this process has no standard input of the user's. With `data_only` a stranger
    configured the action. `rank` is the number of this process among several that run together.
    """

    place: str
    seed: int
    statistics: Callable[[torch.Tensor], dict[str, Any] | None]
    norm: Callable[[torch.Tensor], dict[str, Any] | None]
    say: Callable[[str], None]
    function: Callable[[str, str], Callable[..., Any]]
    terminal: Terminal | None = None
    data_only: bool = False
    rank: int = 0
