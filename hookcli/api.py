"""The Python API: the same engine, in process, on live objects."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from hookcli.report import model

if TYPE_CHECKING:
    from torch import nn

    from hookcli.config.spec import Mode


@dataclasses.dataclass(frozen=True, slots=True)
class Report(model.Report):
    """A report that prints as the table that the command line shows."""

    def __str__(self) -> str:
        from hookcli.console import Console
        from hookcli.formats.registry import FORMATS
        from hookcli.formats.view import View

        console = Console()
        return FORMATS["table"](self, View(width=console.width(), unicode=console.unicode()))


def inspect(
    model: nn.Module,
    batch: Any = None,
    *,
    mode: Mode = "eval",
    seed: int = 0,
    grad: bool = True,
) -> Report:
    """Run one forward of a live module and report every call.

    The module is afterwards bitwise what it was: buffers, gradients, training flags, hooks,
    attributes and the generators' states, also where its forward raises; that gives a partial
    report, whose `error` says where.

    Parameters
    ----------
    model : a module, on any device; real tensors are run.
    batch : a tuple is positional arguments, a mapping keyword ones, anything else one argument.
        None takes what the model declares (`example_inputs`, `dummy_inputs`, …).
    mode : "train", "eval" or "as-is", for the run alone.
    seed : of torch, random and numpy, for the run alone.
    grad : whether autograd records.

    Raises
    ------
    RequestError : there is no batch, or it does not bind to the model's forward.
    """
    from hookcli.run.live import inspect_live
    from hookcli.run.plan import Plan

    report = inspect_live(model, batch, Plan(frozenset({"build", "forward"}), mode, seed, grad))
    values = {field.name: getattr(report, field.name) for field in dataclasses.fields(report)}
    return Report(**values)
