"""`hookcli.diff`: compares two models in memory."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from hookcli.api import arguments
from hookcli.comparison import diff as rows

if TYPE_CHECKING:
    import torch
    from torch import nn

    from hookcli.spec.request import Mode

    Loss = str | Callable[..., torch.Tensor]


@dataclasses.dataclass(frozen=True, slots=True)
class PrintableDiff(rows.Diff):
    """A diff of two runs. `print(diff)` writes the table that the command line shows."""

    @property
    def same(self) -> bool:
        """Whether no tensor differs by more than its tolerance."""
        return self.verdict == "same"

    def __str__(self) -> str:
        from hookcli.console import Console
        from hookcli.formats.registry import FORMATS
        from hookcli.formats.view import View

        console = Console()
        view = View(width=console.width(), unicode=console.unicode())
        return str(FORMATS["table"].render(self, view))

    def _repr_html_(self) -> str:
        from hookcli.formats.notebook import render
        from hookcli.formats.view import View

        return render(self, View())

    def to_json(self) -> str:
        """Return the diff as a JSON string, the same as `-f json` writes."""
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
    """Run two models with the same batch, and report the first layer where they differ.

    Both models keep their own weights. After the run they are the same as before; see `inspect`.

    Parameters
    ----------
    a, b : nn.Module
        The models to compare.
    batch : Any, optional
        The inputs, as in `inspect`. `b` gets a copy, cast if its floating-point dtype differs.
        Default: the inputs that `a` declares.
    grads : bool, default False
        Whether to run backward too, and compare the gradients of the parameters.
    tolerances : float or mapping of str to float, optional
        How much a tensor may differ, relative to its norm: one number for all tensors, or numbers
        by globs of names, of which the last that matches applies. Default: by dtype.
    loss : str or callable, default "probe"
        The scalar that backward starts from, as in `grads`.
    mode : {"train", "eval", "as-is"}, optional
        The mode of both models. Default: "eval", or "train" with `grads`.
    seed : int, optional
        The seed of both runs, as in `inspect`.

    Returns
    -------
    PrintableDiff
        The diff. `same` is True if no tensor differs by more than its tolerance.

    Raises
    ------
    RequestError
        There is no batch, or it does not fit the forward of `a` or `b`.
    ModelError
        A forward failed; the message names the model, A or B.

    Examples
    --------
    >>> difference = hookcli.diff(model, quantized, images, tolerances=1e-3)  # doctest: +SKIP
    >>> assert difference.same, difference  # doctest: +SKIP
    """
    from hookcli.torch_private import check_torch

    check_torch()
    from hookcli.api.live_diff import diff_live
    from hookcli.config.merge import Flags, spec_of
    from hookcli.engine.loop.given_module import check_module, source_of

    for model in (a, b):
        check_module(model)
    run = arguments.read(mode=mode, seed=seed)
    arguments.read(grads=grads)
    text, function = arguments.loss(loss)
    limits = arguments.tolerances(tolerances)
    flags = Flags(model=source_of(a), run={**run, "loss": text})
    spec = spec_of("grads" if grads else "inspect", None, flags)
    result = diff_live(
        a,
        b,
        batch,
        spec,
        limits,
        loss=function,
    )
    return PrintableDiff(
        **{field.name: getattr(result, field.name) for field in dataclasses.fields(result)}
    )
