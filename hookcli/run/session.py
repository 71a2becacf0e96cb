"""One attempt, from a request to a report: load, batch, forward, rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import torch
from torch import nn

from hookcli.config.spec import Attempt, Mode, Spec
from hookcli.errors import RequestError
from hookcli.inputs.batch import Batch
from hookcli.memory import available, too_large
from hookcli.models.base import Model
from hookcli.models.eager import EagerModel
from hookcli.models.fake import Faker, on_meta
from hookcli.models.load import Loaded, load
from hookcli.models.size import bytes_when_built
from hookcli.models.source import own_path
from hookcli.models.trees import describe, map_tensors
from hookcli.models.weights import load_weights, read_weights
from hookcli.report.model import Inputs, Report, RunInfo
from hookcli.report.recording import Recording
from hookcli.run.assemble import assemble
from hookcli.run.batches import Candidate, candidates, no_batch
from hookcli.run.doubts import Doubts, is_inconclusive
from hookcli.run.recorder import Progress
from hookcli.run.runner import Settings, forward
from hookcli.run.seeds import seed_all

_DEFAULT_MODE: dict[str, Mode] = {"inspect": "eval"}


@dataclass(slots=True)
class _Outcome:
    """What one candidate batch led to."""

    candidate: Candidate
    inputs: Inputs
    recording: Recording
    inconclusive: bool


class Session:
    """Carries out one attempt. `progress` is told each phase and each call as it starts."""

    def __init__(self, spec: Spec, attempt: Attempt, progress: Progress) -> None:
        self._spec = spec
        self._attempt = attempt
        self._progress = progress
        self._started = perf_counter()
        self._warnings: list[str] = []
        self._faker = Faker(spec.run.device) if attempt.tensors == "fake" else None
        self._settings = Settings(
            mode=spec.run.mode or _DEFAULT_MODE[spec.command],
            seed=spec.run.seed,
            grad=spec.run.grad,
        )

    def run(self) -> tuple[Report, str | None]:
        """The report of this attempt, partial where the model raised; the declared batch's name.

        Raises
        ------
        RequestError, ModelError : nothing could be run.

        """
        self._check_device()
        with own_path():
            loaded = self._load()
            model = EagerModel(loaded.root, constructors=loaded.constructors)
            outcome = self._first_that_runs(model, loaded)
        candidate = outcome.candidate
        declaration = candidate.name if candidate.origin == "declared" else None
        return self._report(model, outcome), declaration

    def _phase(self, name: str) -> None:
        self._progress(name, None)
        if name in {"import", "build", "inputs"}:
            seed_all(self._spec.run.seed)

    def _load(self) -> Loaded:
        spec, meta = self._spec, self._attempt.meta_import
        loaded = load(
            spec.model,
            phase=self._phase,
            importing=on_meta() if meta else None,
            building=on_meta() if self._faker else None,
            allow=self._refuse_too_large,
        )
        if loaded.note:
            self._warnings.append(loaded.note)
        root = loaded.root
        if spec.run.dtype is not None:
            root.to(getattr(torch, spec.run.dtype))
        if spec.model.weights is not None:
            fake = self._faker is not None
            state = read_weights(spec.model.weights, sizes_only=fake)
            load_weights(root, state, spec.model.weights)
        if self._faker is not None:
            self._faker.module(root)
        elif spec.run.device != "cpu":
            self._move(root)
        return loaded

    def _refuse_too_large(self, construct: Callable[[], nn.Module]) -> None:
        """Refuse a real build that memory would not hold. After a fake one its size is known."""
        if self._faker is not None or self._attempt.fallback is not None:
            return
        most = min((m for m in (available(), self._spec.run.max_memory) if m), default=None)
        need = bytes_when_built(construct)
        if need is not None and most is not None and need > most:
            raise too_large(need, most, self._spec.model.source)

    def _check_device(self) -> None:
        device = self._spec.run.device
        kind = torch.device(device).type
        backend = getattr(torch, kind, None)
        if kind != "cpu" and not (backend is not None and backend.is_available()):
            raise RequestError(
                f"there is no {kind} device here",
                place=f"--device {device}",
                hint="leave --device out to run on the CPU",
            )

    def _move(self, root: nn.Module) -> None:
        try:
            root.to(self._spec.run.device)
        except (RuntimeError, AssertionError) as error:
            raise RequestError(
                f"the model cannot be moved to {self._spec.run.device}: "
                f"{str(error).splitlines()[0]}",
                place=f"--device {self._spec.run.device}",
                hint="leave --device out to run on the CPU",
            ) from None

    def _around(self) -> AbstractContextManager[Any]:
        return nullcontext() if self._faker is None else self._faker.mode

    def _first_that_runs(self, model: Model, loaded: Loaded) -> _Outcome:
        """Try the batches in order. Where all fail the first failure is the truth to confirm."""
        self._phase("inputs")
        dropped: list[str] = []

        def drop(name: str, reason: str) -> None:
            dropped.append(f"{name} was not used: {reason}")

        first: _Outcome | None = None
        for candidate in candidates(self._spec, model.root, loaded.module, self._around, drop):
            if self._attempt.declaration not in (None, candidate.name):
                continue
            outcome = self._try(model, candidate)
            failure = outcome.recording.failure
            first = first or outcome
            if failure is None or outcome.inconclusive or candidate.origin == "given":
                self._warnings += dropped
                return outcome
            drop(candidate.name, f"{failure.type}: {failure.message.splitlines()[0]}")
            if self._faker is None:
                break
        if first is None:
            raise no_batch(model.root, self._spec.model.source)
        self._warnings += [d for d in dropped if not d.startswith(first.candidate.name)]
        return first

    def _try(self, model: Model, candidate: Candidate) -> _Outcome:
        inputs = Inputs(
            origin=candidate.origin,
            args=tuple(describe(a) for a in candidate.batch.args),
            kwargs={k: describe(v) for k, v in candidate.batch.kwargs.items()},
        )
        recording = Recording()
        with self._ready(candidate.batch) as (batch, doubts):
            forward(
                model,
                batch,
                self._settings,
                progress=self._progress,
                recording=recording,
                doubts=doubts,
            )
        error = recording.error
        recording.error = None  # it holds the frames of the model
        inconclusive = self._faker is not None and error is not None and is_inconclusive(error)
        return _Outcome(candidate, inputs, recording, inconclusive)

    @contextmanager
    def _ready(self, batch: Batch) -> Iterator[tuple[Batch, Doubts | None]]:
        """The batch on its device or fake, with what a fake run must check by itself."""
        if self._faker is None:
            device = self._spec.run.device
            moved = batch if device == "cpu" else _map(batch, lambda t: t.to(device))
            yield moved, None
            return
        doubts = Doubts()
        faker = self._faker

        def fake(tensor: torch.Tensor) -> torch.Tensor:
            return doubts.knowing(tensor, faker.tensor(tensor))

        faked = _map(batch, fake)
        with faker.mode:
            yield faked, doubts

    def _report(self, model: Model, outcome: _Outcome) -> Report:
        self._progress("report", None)
        spec, recording = self._spec, outcome.recording
        return assemble(
            model,
            recording,
            command=spec.command,
            source=spec.model.source,
            run=RunInfo(
                tensors="real" if self._faker is None else "fake",
                fallback=self._attempt.fallback,
                mode=self._settings.mode,
                device=spec.run.device,
                seed=spec.run.seed,
            ),
            inputs=outcome.inputs,
            warnings=self._warnings,
            started=self._started,
        )


def _map(batch: Batch, change: Any) -> Batch:
    args: tuple[Any, ...] = map_tensors(batch.args, change)
    kwargs: dict[str, Any] = map_tensors(batch.kwargs, change)
    return Batch(args, kwargs)
