"""Runs a module in this process and restores its state: the engine behind the Python API."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import Any

from torch import nn

from hookcli.engine.assemble import assemble, run_info
from hookcli.engine.batch.candidates import (
    floating_dtype,
    given as given_inputs,
    no_batch,
    not_used,
    takes_any_batch,
)
from hookcli.engine.batch.functions import take_first
from hookcli.engine.batch.targets import target_fields, with_target
from hookcli.engine.hook_engine.build import engine_for
from hookcli.engine.loop.given_module import check_module, device_of, source_of
from hookcli.engine.losses.criterion import Loss
from hookcli.engine.neutrality.model_state import preserve_state
from hookcli.engine.prepare import tap_scripted
from hookcli.engine.runner import RunOptions, run
from hookcli.engine.seeds import generators_kept, seed_all
from hookcli.engine.watcher import AfterRun, Watcher
from hookcli.errors import RequestError
from hookcli.hooks.backends import check_torch_has
from hookcli.inputs.declared import declarations
from hookcli.inputs.split import split_batch
from hookcli.models.backend import backend_of
from hookcli.models.batch import Batch, map_batch, misfit
from hookcli.models.existing_hooks.find import existing_hooks
from hookcli.models.failures import message_of
from hookcli.models.nested import describe
from hookcli.models.python.libraries import load_libraries
from hookcli.models.scripted import check_callable, is_scripted, tapped_in, type_of
from hookcli.report.recording import Recording
from hookcli.report.report import Inputs, Origin, Report
from hookcli.report.sinks import Kept
from hookcli.spec.plan import plan
from hookcli.spec.request import Spec
from hookcli.text import first_line
from hookcli.torch_private import MEMORY, check_feature


def batch_for(root: nn.Module, given: Any, spec: Spec, warnings: list[str]) -> tuple[Origin, Batch]:
    """Return the given batch, or else the first batch that the model declares.

    Of a loader, it is the first batch.

    Raises
    ------
    RequestError : there is no batch, or it does not fit `root.forward`.
    """
    name = type(root).__name__
    if given is not None:
        first = take_first(given, spec.run.batch_size, type(given).__name__, name)
        batch = split_batch(root, first)
        problem = None if takes_any_batch(spec) else misfit(root, batch)
        if problem is not None:
            raise RequestError(
                f"{name}.forward does not accept this batch: {problem}",
                place=name,
                hint="pass a tuple for positional arguments, a mapping for keyword arguments",
            )
        return "given", batch
    seed_all(plan(spec).seed)
    candidates = declarations(
        root, None, lambda name, reason: warnings.append(not_used(name, reason))
    )
    declared = next(candidates, None)
    if declared is None:
        raise no_batch(root, name)
    return "declared", declared.batch


def _batch_of(root: nn.Module, given: Any, spec: Spec, warnings: list[str]) -> tuple[Origin, Batch]:
    """Return the given batch, else that of the request on the model's device, else a declared one.

    The first value tells where the batch comes from.
    """
    if given is None and spec.inputs:
        seed_all(plan(spec).seed)
        candidate = given_inputs(spec, root, nullcontext)
        if candidate is not None:
            device, batch = device_of(root), candidate.batch
            move = device not in {"cpu", "several"}
            return "given", map_batch(batch, lambda t: t.to(device)) if move else batch
    return batch_for(root, given, spec, warnings)


def _copy(root: Any, spec: Spec, warnings: list[str]) -> nn.Module:
    """Return a copy of a TorchScript module, since recording its calls changes its graphs."""
    from hookcli.models.torchscript.tapped import private_copy

    try:
        copy = private_copy(root)
    except RuntimeError as error:
        raise RequestError(
            f"the TorchScript module cannot be copied: {first_line(message_of(error))}",
            place=type_of(root),
            hint="pass the Python module that it was made from",
        ) from None
    warnings += tap_scripted(spec, copy)
    return copy


def run_live(
    root: nn.Module,
    given: Any,
    spec: Spec,
    *,
    loss: Loss | None = None,
    watchers: Callable[[Batch, Recording], Iterable[Watcher]] = lambda _batch, _recording: (),
) -> Report:
    """Run a module as the request says, restore its state, and return the report.

    If the model raises, the report is partial. `loss` replaces the loss of the request.
    `watchers(batch, recording)` makes watchers of the run, beside the hooks.

    Raises
    ------
    RequestError : there is no batch, it does not fit `root.forward`, or a hook of the request does
        not fit the model.
    """
    check_module(root)
    if spec.run.compiled is not None:
        raise RequestError(
            "a module object cannot be run compiled",
            place="run.compiled",
            hint="omit it, or run the command line: `hookcli grads model.py --compiled layers`",
        )
    if is_scripted(root):
        check_callable(root, type_of(root))
    started = time.perf_counter()
    warnings: list[str] = []
    check_torch_has(spec.hooks)
    if spec.run.memory:
        check_feature(MEMORY, "run.memory")
    load_libraries(spec.libraries)
    recording, sink = Recording(), Kept()
    written: list[str] = []
    settings = plan(spec)
    hooks = existing_hooks(root)
    with generators_kept():
        origin, batch = _batch_of(root, given, spec, warnings)
        floating = floating_dtype(root, spec)
        batch = with_target(batch, spec, root, floating, warnings.append)
    if is_scripted(root):
        root = _copy(root, spec, warnings)
    model = backend_of(root)
    inputs = Inputs(
        origin=origin,
        args=tuple(describe(a) for a in batch.args),
        kwargs={k: describe(v) for k, v in batch.kwargs.items()},
        **target_fields(batch),
    )
    with preserve_state(root, written):
        engine = engine_for(spec, sink)
        watching = tuple(watchers(batch, recording))
        options = RunOptions(lambda *_: None, recording, loss=loss, watchers=watching)
        run(model, batch, settings, engine, options)
        after = AfterRun(model, settings, recording)
        for watcher in watching:
            watcher.conclude(after)
    sink.close(recording)
    recording.error = None
    for tapped in tapped_in(root):
        tapped.close()
    warnings += [
        f"the run changed the parameter {name}: its values were not restored" for name in written
    ]
    return assemble(
        model,
        recording,
        command=spec.command,
        source=source_of(root),
        run=run_info(spec, settings.mode, recording, tensors="real", device=device_of(root)),
        inputs=inputs,
        hooks=hooks,
        warnings=warnings,
        started=started,
    )
