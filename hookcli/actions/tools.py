"""What the run provides to its actions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from hookcli.spec.request import Terminal


@dataclass(frozen=True, slots=True)
class Tools:
    """What the run provides to its actions.

    `place` is the hook's line. `statistics` returns those of a tensor, or None if it has no values.
    `norm` returns only the norm, if that is finite, and `histogram` also counts by value. `say`
    prints a line to stderr. `function` returns the function that a FunctionRef names. `terminal` is
    the user's terminal, if this process does not have the user's standard input. With `data_only`
    the configuration is of unknown origin. `rank` is the number of this process among several that
    run together.
    """

    place: str
    seed: int
    statistics: Callable[[torch.Tensor], dict[str, Any] | None]
    norm: Callable[[torch.Tensor], dict[str, Any] | None]
    say: Callable[[str], None]
    function: Callable[[str, str], Callable[..., Any]]
    histogram: Callable[[torch.Tensor], dict[str, Any] | None] = lambda _: None
    terminal: Terminal | None = None
    data_only: bool = False
    rank: int = 0
