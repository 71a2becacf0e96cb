"""What torch.compile did: its graphs, why it broke them, and why it compiled again."""

from __future__ import annotations

from dataclasses import dataclass

from hookcli.report.values import Count, Index


@dataclass(frozen=True, slots=True)
class GraphBreak:
    """A place at which the compiler ended a graph. `reason` is a line of torch's explanation."""

    reason: str
    place: str | None
    count: Count


@dataclass(frozen=True, slots=True)
class Recompilation:
    """A function that was compiled again because a guard failed.

    `guard` is the condition that did not hold, the first of those that differ only in values, and
    `place` the line that needs it. `steps` is the number of optimizer steps in which this happened,
    and `last_step` the last of them.
    """

    function: str
    guard: str
    place: str | None
    count: Count
    steps: Count
    last_step: Index | None


@dataclass(frozen=True, slots=True)
class CompilerAccount:
    """What the compiler did in a process.

    `graphs` is the number of graphs that were compiled, again or first; `functions` that of the
    functions and parts of functions. `limit_hit` are those that were compiled as often as
    torch._dynamo.config.recompile_limit allows, which run eagerly since, as "name (place)".
    `steps` is the number of optimizer steps, and `compiling_steps` of those before which the
    compiler ran, without the first. A list may be incomplete if `is_complete` is False.
    """

    graphs: Count
    functions: Count
    breaks: tuple[GraphBreak, ...]
    recompilations: tuple[Recompilation, ...]
    limit_hit: tuple[str, ...] = ()
    steps: Count = 0
    compiling_steps: Count = 0
    is_complete: bool = True
