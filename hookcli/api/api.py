"""The Python API: runs models that are in memory, in this process, with the same engine."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from hookcli.api import arguments
from hookcli.report import report as rows

if TYPE_CHECKING:
    import os

    import torch
    from torch import nn

    from hookcli.engine.loop.attached import Attached
    from hookcli.spec.request import Command, Mode, Spec

    Loss = str | Callable[..., torch.Tensor]
    Path = str | os.PathLike[str]


@dataclasses.dataclass(frozen=True, slots=True)
class PrintableReport(rows.Report):
    """A report of a run. `print(report)` writes the table that the command line shows.

    A notebook shows it with a picture. That is here and not in the report, because `hookcli.report`
    is plain data, which does not import what shows it.
    """

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
        """Return the report as a JSON string, the same as `-f json` writes."""
        from hookcli.report.encode import to_json

        return to_json(self)


def printable(report: rows.Report) -> PrintableReport:
    """Return the report as one that prints itself and has `to_json`."""
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
    """Run one forward pass of a model and report every call of every module.

    After the run the model is the same as before, bit by bit: buffers, gradients, training flags,
    hooks, attributes and the states of the random generators. This also holds if its forward
    raises; the report is then partial, and its `error` says where.

    Parameters
    ----------
    model : nn.Module
        The model, on any device. It runs with real tensors.
    batch : Any, optional
        The inputs of `model.forward`: a tuple is passed as positional arguments, a mapping as
        keyword arguments, anything else as one argument. Of a DataLoader or another iterable, the
        first batch. The last item of a tuple that `forward` has no parameter for is the target of
        the loss. Default: the inputs of the configuration, else those that the model declares
        (`example_inputs`, `dummy_inputs`, …).
    mode : {"train", "eval", "as-is"}, optional
        The mode of the model during the run. Default: the configuration's; without one "eval", or
        "train" if the configuration has hooks that fire in backward.
    seed : int, optional
        The seed of torch, random and numpy during the run. Default: the configuration's, else 0.
    grad : bool, optional
        Whether autograd records the run. Default: the configuration's, else True.
    config : str or os.PathLike, optional
        A configuration file with hooks to attach.

    Returns
    -------
    PrintableReport
        The report. `layers` has one row for each call, with the shapes of its inputs and outputs,
        parameters and cost.

    Raises
    ------
    RequestError
        There is no batch, the batch does not fit `model.forward`, or the configuration does not
        fit the model.

    Examples
    --------
    >>> model = nn.Sequential(nn.Linear(4, 8), nn.ReLU())  # doctest: +SKIP
    >>> report = hookcli.inspect(model, torch.randn(2, 4))  # doctest: +SKIP
    >>> [row.name for row in report.layers]  # doctest: +SKIP
    ['', '0', '1']
    >>> print(report)  # doctest: +SKIP
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
    per_sample: bool | None = None,
) -> PrintableReport:
    """Run a model forward and backward, and report the gradient of every parameter and layer.

    After the run the model is the same as before, gradients included; see `inspect`.

    Parameters
    ----------
    model : nn.Module
        The model, as in `inspect`.
    batch : Any, optional
        The inputs, as in `inspect`.
    loss : str or callable, default "probe"
        The scalar that backward starts from: "probe" (each output multiplied with seeded random
        numbers), "sum", "mean", "output:PATH", "file.py:function", a loss of torch.nn such as
        "cross_entropy(label_smoothing=0.1)", "labels", "training_step", or a function of (output),
        (output, target) or (output, batch) that returns a tensor of one element. The target is the
        second part of the batch.
    steps : int, optional
        The number of steps. If it is greater than 1, an optimizer updates the parameters after
        each backward (SGD with lr 0.01, unless the configuration names another). Default: the
        configuration's, else 1.
    mode : {"train", "eval", "as-is"}, optional
        The mode of the model during the run. Default: the configuration's, else "train".
    seed : int, optional
        The seed, as in `inspect`.
    config : str or os.PathLike, optional
        A configuration file with hooks to attach.
    per_sample : bool, optional
        Whether to measure the loss and the gradient norm of each sample of the batch: they are the
        value of the measurement "per_sample". Default: the configuration's, else False.

    Returns
    -------
    PrintableReport
        The report. `parameters` has one row for each parameter, with the norm of its gradient and
        a status: "ok", "zero", "none", "frozen" or "non_finite".

    Raises
    ------
    RequestError
        As in `inspect`.

    Examples
    --------
    >>> report = hookcli.grads(model, images, loss=lambda output: output.logits.mean())
    ... # doctest: +SKIP
    >>> [row.name for row in report.parameters if row.status == "none"]  # doctest: +SKIP
    """
    return _run(
        "grads", model, batch, config, loss,
        mode=mode, seed=seed, steps=steps, per_sample=per_sample,
    )  # fmt: skip


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
    """Run a model and report the order in which its hooks fire.

    The run goes backward if a hook fires there, as with the preset. After the run the model is the
    same as before; see `inspect`.

    Parameters
    ----------
    model : nn.Module
        The model, as in `inspect`.
    batch : Any, optional
        The inputs, as in `inspect`.
    kinds : str, optional
        Kinds of hooks to attach, separated by commas, or "all"; as for `--kinds`. Default: the
        preset of `trace`.
    loss : str or callable, default "probe"
        The scalar that backward starts from, as in `grads`.
    steps : int, optional
        The number of steps, as in `grads`.
    mode : {"train", "eval", "as-is"}, optional
        The mode of the model during the run. Default: the configuration's, else "train" if the run
        goes backward and "eval" if not.
    seed : int, optional
        The seed, as in `inspect`.
    config : str or os.PathLike, optional
        A configuration file with hooks to attach.

    Returns
    -------
    PrintableReport
        The report. `events` has one row for each firing of a hook, in the order of the run.

    Raises
    ------
    RequestError
        As in `inspect`.

    Examples
    --------
    >>> report = hookcli.trace(model, images, kinds="forward,full_backward")  # doctest: +SKIP
    >>> [(event.kind, event.target) for event in report.events]  # doctest: +SKIP
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
    text, function = arguments.loss(loss)
    spec = _spec(command, model, config, text, **flags)
    from hookcli.api.live import run_live

    if not spec.probes:
        return _judged(run_live(model, batch, spec, loss=function))
    from hookcli.engine.rule_watchers import rule_watchers

    report = run_live(
        model,
        batch,
        spec,
        loss=function,
        watchers=lambda run_batch, _recording: rule_watchers(spec, run_batch, function),
    )
    return _judged(report)


def _judged(report: rows.Report) -> PrintableReport:
    """Return the report with its verdict, unless its command shows no values."""
    from hookcli.diagnosis.diagnose import with_verdict

    return printable(with_verdict(report))


def _spec(
    command: Command,
    model: nn.Module,
    config: Path | None,
    loss: str | None = None,
    kinds: str | None = None,
    stream: str | None = None,
    **run: Any,
) -> Spec:
    run = {**arguments.read(**run), "loss": loss}
    file = arguments.path("config", config)
    arguments.read(kinds=kinds)
    from hookcli.torch_private import check_torch

    check_torch()
    from hookcli.config.merge import Flags, spec_of
    from hookcli.engine.loop.given_module import source_of

    configuration = None
    if file is not None:
        from hookcli.config.load import read_config

        configuration = read_config(file)
    return spec_of(
        command, configuration, Flags(model=source_of(model), run=run, kinds=kinds, stream=stream)
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
    """Attach the hooks of a configuration to a model in your own training loop.

    hookcli does not run the model and does not restore anything. It only adds the hooks, and
    removes them at the end of the `with` block.

    Parameters
    ----------
    model : nn.Module
        The model. TorchScript modules are not supported.
    config : str or os.PathLike, optional
        A configuration file. Default: the preset of `command`.
    command : {"trace", "grads", "inspect"}, default "trace"
        The command whose preset and view are used.
    optimizer : torch.optim.Optimizer or sequence of optimizers, optional
        The optimizer of the loop. Hooks on optimizers are attached to it, and each of its steps
        ends a step of the recording. With several optimizers, or none, call `recording.step()` at
        the end of each step.
    scaler : torch.amp.GradScaler, optional
        The GradScaler of the loop. The report then contains the factors by which gradients were
        scaled.
    stream : str or os.PathLike, optional
        A file to which events are written as they happen, one JSON object per line.

    Returns
    -------
    Attached
        A context manager. Its `report()` returns the report, its `events` the events so far.

    Raises
    ------
    RequestError
        The configuration does not fit the model, or the model is a TorchScript module.

    Examples
    --------
    >>> with hookcli.attach(model, "hooks.yaml", optimizer=optimizer) as recording:
    ...     train(model, optimizer)  # doctest: +SKIP
    >>> print(recording.report())  # doctest: +SKIP
    """
    command = arguments.read(command=command).get("command", "trace")
    optimizers = arguments.optimizers(optimizer)
    arguments.scaler(scaler)
    spec = _spec(command, model, config, stream=arguments.path("stream", stream))
    from hookcli.engine.loop.attached import Attached

    return Attached(model, spec, optimizers=optimizers, scaler=scaler, shown=_judged)
