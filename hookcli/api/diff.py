"""`hookcli.diff`: two live modules side by side."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from hookcli.comparison import diff as rows

if TYPE_CHECKING:
    import torch
    from torch import nn

    from hookcli.spec.request import Mode

    Loss = str | Callable[[Any], torch.Tensor]


@dataclasses.dataclass(frozen=True, slots=True)
class PrintableDiff(rows.Diff):
    """A diff that prints as the table that the command line shows."""

    @property
    def same(self) -> bool:
        """Whether nothing differs beyond its limit."""
        return self.verdict == "same"

    def __str__(self) -> str:
        from hookcli.console import Console
        from hookcli.formats.registry import FORMATS
        from hookcli.formats.view import View

        console = Console()
        view = View(width=console.width(), unicode=console.unicode())
        return FORMATS["table"].render_diff(self, view)

    def to_json(self) -> str:
        """The diff as the text that `-f json` writes."""
        from hookcli.report.encode import diff_to_json

        return diff_to_json(self)


def diff(
    a: nn.Module,
    b: nn.Module,
    batch: Any = None,
    *,
    grads: bool = False,
    tolerances: float | Mapping[str, float] | None = None,
    loss: Loss = "probe",
    mode: Mode | None = None,
    seed: int | None = None,
) -> PrintableDiff:
    """Run two live modules with one batch, and say where they part first.

    Both keep their weights and are afterwards bitwise what they were; see `inspect`.

    Parameters
    ----------
    batch : as in `inspect`; None takes what A declares. B gets a copy, cast where its dtype is
        another.
    grads : go backward too, and compare the gradients of the parameters.
    tolerances : how much of its norm a tensor may differ by: one number, or globs on names, of
        which the last that matches counts. None is by dtype.
    loss : as in `grads`.
    mode : None is eval, or train with `grads`.

    Raises
    ------
    RequestError : there is no batch, or it does not bind to a forward.
    ModelError : a forward failed; the message says whose.
    """
    from hookcli.api.live import source_of
    from hookcli.api.live_diff import diff_live
    from hookcli.comparison.tolerance import Tolerances
    from hookcli.config.merge import Flags, spec_of

    text = loss if isinstance(loss, str) and loss != "probe" else None
    flags = Flags(model=source_of(a), run={"mode": mode, "seed": seed, "loss": text})
    spec = spec_of("grads" if grads else "inspect", None, flags)
    if not isinstance(tolerances, Mapping):
        tolerances = {} if tolerances is None else {"*": tolerances}
    result = diff_live(
        a,
        b,
        batch,
        spec,
        Tolerances(tuple(tolerances.items())),
        loss=None if isinstance(loss, str) else loss,
    )
    return PrintableDiff(
        **{field.name: getattr(result, field.name) for field in dataclasses.fields(result)}
    )
