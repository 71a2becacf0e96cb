"""Running a live module in process, neutrally: the engine behind the Python API."""

from __future__ import annotations

import time
from typing import Any

import torch
from torch import nn

from hookcli.config.spec import ModelSpec, Spec
from hookcli.errors import RequestError
from hookcli.inputs.batch import Batch, as_batch, misfit
from hookcli.inputs.declared import declarations
from hookcli.models import walk
from hookcli.models.eager import EagerModel
from hookcli.models.trees import describe
from hookcli.report.model import Inputs, Origin, Report, RunInfo
from hookcli.report.recording import Recording
from hookcli.run.assemble import assemble
from hookcli.run.batches import no_batch
from hookcli.run.engine import Engine
from hookcli.run.plan import Plan
from hookcli.run.runner import run
from hookcli.run.scope import neutral
from hookcli.run.seeds import generators_kept, seed_all
from hookcli.run.sinks import Kept


def _batch(root: nn.Module, given: Any, seed: int, warnings: list[str]) -> tuple[Origin, Batch]:
    name = type(root).__name__
    if given is not None:
        batch = as_batch(given)
        problem = misfit(root, batch)
        if problem is not None:
            raise RequestError(
                f"{name}.forward does not take this batch: {problem}",
                place=name,
                hint="a tuple is positional arguments, a mapping keyword ones",
            )
        return "given", batch
    seed_all(seed)
    found = declarations(
        root, None, lambda what, why: warnings.append(f"{what} was not used: {why}")
    )
    first = next(found, None)
    if first is None:
        raise no_batch(root, name)
    return "declared", first.batch


def inspect_live(root: nn.Module, given: Any, plan: Plan) -> Report:
    """Run one forward of a live module; the module is afterwards what it was.

    A model that raises gives a partial report.

    Raises
    ------
    RequestError : there is no batch, or it does not bind to forward.
    """
    if not isinstance(root, nn.Module):
        raise RequestError(
            f"this is no module but {type(root).__name__}",
            place=repr(root)[:80],
            hint="give an instance: Net(), not Net",
        )
    started = time.perf_counter()
    warnings: list[str] = []
    recording, sink = Recording(), Kept()
    written: list[str] = []
    with generators_kept():
        origin, batch = _batch(root, given, plan.seed, warnings)
    model = EagerModel(root)
    inputs = Inputs(
        origin=origin,
        args=tuple(describe(a) for a in batch.args),
        kwargs={k: describe(v) for k, v in batch.kwargs.items()},
    )
    with neutral(root, written):
        engine = Engine(Spec(command="inspect", model=ModelSpec("")), sink)
        run(model, batch, plan, engine, progress=lambda *_: None, recording=recording)
        info = RunInfo(
            tensors="real",
            fallback=None,
            mode=plan.mode,
            device=_device(root),
            seed=plan.seed,
        )
    sink.close(recording)
    recording.error = None
    warnings += [f"the forward wrote the parameter {name}: it is not put back" for name in written]
    kind = type(root)
    return assemble(
        model,
        recording,
        command="inspect",
        source=f"{kind.__module__}:{kind.__qualname__}",
        run=info,
        inputs=inputs,
        warnings=warnings,
        started=started,
    )


def _device(root: nn.Module) -> str:
    devices = {
        str(tensor.device)
        for table in ("_parameters", "_buffers")
        for tensor, _, _ in walk.tensors(root, table)
    }
    if not devices:
        return str(torch.get_default_device())
    return devices.pop() if len(devices) == 1 else "several"
