"""The Python API: the same engine, in process, on live objects."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from hookcli.report import report as rows

if TYPE_CHECKING:
    import os

    import torch
    from torch import nn

    from hookcli.api.loop import Attached
    from hookcli.spec.request import Command, Mode, Spec

    Loss = str | Callable[[Any], torch.Tensor]
    Path = str | os.PathLike[str]


@dataclasses.dataclass(frozen=True, slots=True)
class PrintableReport(rows.Report):
    """A report that prints as the table that the command line shows."""

    def __str__(self) -> str:
        from hookcli.console import Console
        from hookcli.formats.registry import FORMATS
        from hookcli.formats.view import View

        console = Console()
        return FORMATS["table"](self, View(width=console.width(), unicode=console.unicode()))

    def to_json(self) -> str:
        """The report as the text that `-f json` writes."""
        from hookcli.report.encode import to_json

        return to_json(self)


def printable(report: rows.Report) -> PrintableReport:
    """The same report, with what Python users expect of it."""
    names = [field.name for field in dataclasses.fields(report)]
    return PrintableReport(**{name: getattr(report, name) for name in names})


def inspect(
    model: nn.Module,
    batch: Any = None,
    *,
    mode: Mode | None = None,
    seed: int | None = None,
    grad: bool | None = None,
    config: Path | None = None,
) -> PrintableReport:
    """Run one forward of a live module and report every call.

    The module is afterwards bitwise what it was: buffers, gradients, training flags, hooks,
    attributes and the generators' states, also where its forward raises; that gives a partial
    report, whose `error` says where.

    Parameters
    ----------
    model : a module, on any device; real tensors are run.
    batch : a tuple is positional arguments, a mapping keyword ones, anything else one argument.
        None takes what the model declares (`example_inputs`, `dummy_inputs`, …).
    mode : "train", "eval" or "as-is", for the run alone; None is the configuration's, else eval,
        or train where hooks of the configuration go backward.
    seed : of torch, random and numpy, for the run alone; None is the configuration's, else 0.
    grad : whether autograd records; None is the configuration's, else True.
    config : a configuration with hooks to attach.

    Raises
    ------
    RequestError : there is no batch, or it does not bind to the model's forward, or the
        configuration does not fit the model.
    """
    return _run(
        "inspect",
        model,
        batch,
        config,
        None,
        mode=mode,
        seed=seed,
        grad=grad,
    )


def grads(
    model: nn.Module,
    batch: Any = None,
    *,
    loss: Loss = "probe",
    steps: int | None = None,
    mode: Mode | None = None,
    seed: int | None = None,
    config: Path | None = None,
) -> PrintableReport:
    """Run a live module forward and backward, and report what reached every parameter and layer.

    The module is afterwards bitwise what it was, gradients included; see `inspect`.

    Parameters
    ----------
    loss : "probe", "sum", "mean", "output:PATH", "file.py:function", or a function of the output
        that returns a scalar.
    steps : with more than one, an optimizer steps in between (SGD, lr 0.01, where the
        configuration names no other).

    Raises
    ------
    RequestError : as `inspect`.
    """
    return _run("grads", model, batch, config, loss, mode=mode, seed=seed, steps=steps)


def trace(
    model: nn.Module,
    batch: Any = None,
    *,
    kinds: str | None = None,
    loss: Loss = "probe",
    steps: int | None = None,
    mode: Mode | None = None,
    seed: int | None = None,
    config: Path | None = None,
) -> PrintableReport:
    """Run a live module and report the order in which hooks fire, as `events`.

    Parameters
    ----------
    kinds : names of kinds between commas, or "all", in place of the preset; as `--kinds`.
    loss, steps : as in `grads`.

    Raises
    ------
    RequestError : as `inspect`.
    """
    return _run("trace", model, batch, config, loss, mode=mode, seed=seed, steps=steps, kinds=kinds)


def _run(
    command: Command,
    model: nn.Module,
    batch: Any,
    config: Path | None,
    loss: Loss | None,
    **flags: Any,
) -> PrintableReport:
    from hookcli.api.live import run_live

    text = loss if isinstance(loss, str) and loss != "probe" else None
    spec = _spec(command, model, config, loss=text, **flags)
    function = None if loss is None or isinstance(loss, str) else loss
    return printable(run_live(model, batch, spec, loss=function))


def _spec(
    command: Command,
    model: nn.Module,
    config: Path | None,
    kinds: str | None = None,
    stream: str | None = None,
    **run: Any,
) -> Spec:
    from hookcli.api.live import source_of
    from hookcli.config.merge import Flags, spec_of

    held = None
    if config is not None:
        from hookcli.config.load import read_config

        held = read_config(str(config))
    return spec_of(
        command, held, Flags(model=source_of(model), run=run, kinds=kinds, stream=stream)
    )


def attach(
    model: nn.Module,
    config: Path | None = None,
    *,
    command: Command = "trace",
    optimizer: torch.optim.Optimizer | Sequence[torch.optim.Optimizer] | None = None,
    scaler: Any = None,
    stream: Path | None = None,
) -> Attached:
    """Attach a configuration's hooks to a model in a training loop of your own.

    >>> with hookcli.attach(model, "hooks.yaml", optimizer=optimizer) as recording:
    ...     train(model, optimizer)  # doctest: +SKIP
    >>> print(recording.report())  # doctest: +SKIP

    Nothing is run, changed or put back: what the hooks do is all that is added, and it is gone
    when the `with` ends.

    Parameters
    ----------
    config : a configuration file; None takes the preset of `command`.
    command : whose preset and view: "trace", "grads" or "inspect".
    optimizer : its steps close the steps of the record, and its hooks are attached. Of several,
        `recording.step()` closes them; so it does without one.
    scaler : the loop's GradScaler: the report then says by how much gradients were scaled.
    stream : a file that events are written to as they happen, one JSON object a line.

    Raises
    ------
    RequestError : the configuration does not fit the model.
    """
    from hookcli.api.loop import Attached

    spec = _spec(command, model, config, stream=None if stream is None else str(stream))
    several: tuple[torch.optim.Optimizer, ...] = ()
    if isinstance(optimizer, Sequence):
        several = tuple(optimizer)
    elif optimizer is not None:
        several = (optimizer,)
    return Attached(model, spec, optimizers=several, scaler=scaler, shown=printable)
