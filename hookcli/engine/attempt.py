"""One attempt, from a request to a report: load the model, find a batch, run, assemble."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from torch import nn

from hookcli.engine.assemble import assemble, run_info
from hookcli.engine.batch.candidates import (
    Candidate,
    InferenceResult,
    candidates,
    floating_dtype,
    in_dtype,
    no_batch,
    not_used,
    takes_any_batch,
)
from hookcli.engine.batch.fake_checks import is_inconclusive
from hookcli.engine.batch.outcome import Outcome, Result, blames_batch
from hookcli.engine.batch.placement import batch_on_device
from hookcli.engine.batch.targets import target_fields, with_target
from hookcli.engine.hook_engine.build import engine_for
from hookcli.engine.hook_engine.engine import HookEngine
from hookcli.engine.hook_engine.errors import acquit
from hookcli.engine.losses.own_of_model import method_of, run_step
from hookcli.engine.observe.recorder import Progress
from hookcli.engine.prepare import prepare, set_mode
from hookcli.engine.runner import RunOptions, run
from hookcli.engine.seeds import seed_all
from hookcli.engine.watcher import AfterRun, Watcher
from hookcli.hooks.backends import check_torch_has
from hookcli.models.backend import backend_of
from hookcli.models.fake.fake import Faker
from hookcli.models.loaded import Loaded
from hookcli.models.model import Model
from hookcli.models.nested import describe
from hookcli.models.python.importing import own_path
from hookcli.models.python.libraries import load_libraries
from hookcli.report.recording import Recording
from hookcli.report.report import Inputs, Report
from hookcli.report.sinks import Kept, Sink, StreamedSink
from hookcli.spec.inferred import command
from hookcli.spec.plan import Plan, in_its_mode, plan, unjudged
from hookcli.spec.ranks import of_rank
from hookcli.spec.request import Attempt, Rank, Spec
from hookcli.text import first_line
from hookcli.torch_private import MEMORY, check_feature

if TYPE_CHECKING:
    from hookcli.engine.diff.exchange import Side
    from hookcli.engine.distributed import DistributedRun


class Session:
    """Runs one attempt. `progress` is called with each phase and each call when it starts.

    `doing` is called with the name of work in between, such as a probe.
    """

    def __init__(
        self,
        spec: Spec,
        attempt: Attempt,
        progress: Progress,
        doing: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._together = None if attempt.rank is None else self._distributed(spec, attempt.rank)
        spec = spec if attempt.rank is None else of_rank(spec, attempt.rank)
        self._spec = spec
        self._attempt = attempt
        self._progress = progress
        self._doing = doing
        self._started = perf_counter()
        self._warnings = unjudged(spec)
        self._inference = InferenceResult()
        self._faker = Faker(spec.run.device) if attempt.tensors == "fake" else None
        self._plan = plan(spec)
        if spec.run.compiled is not None:  # hooks are traced by the compiler, not attached
            self._layer_hooks = spec.hooks
            self._spec = spec = replace(spec, hooks=())
        check_torch_has(spec.hooks)
        if spec.run.memory or spec.run.what_if:
            check_feature(MEMORY, "--memory" if spec.run.memory else "--what-if")
        load_libraries(spec.libraries)
        self._sink: Sink = Kept() if spec.stream is None else StreamedSink(spec.stream)
        self._built = engine_for(spec, self._sink)
        self._side = self._side_of_diff()

    def run(self) -> Result:
        """Run the attempt; return its report, partial if the model raised, and the batch it used.

        Raises
        ------
        RequestError, ModelError : the model cannot be run.

        """
        if self._together is not None:
            self._together.join(self._spec.run.device)
        with own_path():
            with self._built.building():
                loaded = prepare(self._spec, self._attempt, self._faker, self._phase)
            self._sink.mark()
            self._warnings += loaded.notes
            model = loaded.model or backend_of(loaded.root, constructors=loaded.constructors)
            model.wrapper = loaded.compiled
            self._plan, notes = in_its_mode(self._plan, self._spec, loaded.mode)
            self._warnings += notes
            if self._side is not None:
                self._side.exchange_weights(model.root)
            outcome = self._first_that_runs(model, loaded)
            self._acquit(model, outcome)
            self._conclude(model, outcome)
        self._training_memory(model, outcome)
        self._sink.close(outcome.recording)
        if isinstance(self._sink, StreamedSink) and (refusal := self._sink.refusal()) is not None:
            raise refusal
        candidate = outcome.candidate
        return Result(
            self._report(model, outcome, loaded),
            declaration=candidate.name if candidate.origin == "declared" else None,
            inferred=candidate.hypothesis,
            trials=self._inference.trials,
            exchange=None if self._together is None else self._together.exchange,
        )

    @staticmethod
    def _distributed(spec: Spec, rank: Rank) -> DistributedRun:
        from hookcli.engine.distributed import DistributedRun  # only for distributed runs

        return DistributedRun(spec.run.distributed, rank)

    def _side_of_diff(self) -> Side | None:
        if self._spec.side is None or self._attempt.tensors != "real":
            return None
        from hookcli.engine.diff.exchange import Side  # only for a side of a diff

        return Side(self._spec, self._spec.side)

    def _watchers(self, candidate: Candidate, recording: Recording) -> Sequence[Watcher]:
        """Return the watchers of a run with this batch, beside the hooks; none for a fake run."""
        if self._attempt.tensors != "real":
            return ()
        if self._plan.compiled:
            from hookcli.engine.compiled.layers_watcher import CompiledLayers  # imports Dynamo

            return (CompiledLayers(self._spec, self._layer_hooks, recording, self._sink),)
        side = () if self._side is None else self._side.watchers(candidate, recording)
        if self._spec.parallel is not None:
            from hookcli.engine.parallel.recorder import ReferenceRecorder  # only beside a plan

            side = (*side, ReferenceRecorder(self._spec.parallel.folder))
        if not self._spec.probes:
            return side
        from hookcli.engine.rule_watchers import rule_watchers  # only for runs that are judged

        return (*side, *rule_watchers(self._spec, candidate.batch, doing=self._doing))

    def _conclude(self, model: Model, outcome: Outcome) -> None:
        """Add the results of the watchers; a sharded model cannot run again for one rank only."""
        again = self._together is None or not self._together.sharded
        after = AfterRun(model, self._plan, outcome.recording, again)
        for watcher in outcome.watchers:
            watcher.conclude(after)

    def _phase(self, name: str) -> None:
        self._progress(name, None)
        if name in {"import", "build", "inputs"}:
            run = self._spec.run
            seed_all(run.seed + (run.rank if name == "inputs" else 0))

    def _warn(self, text: str) -> None:
        if text not in self._warnings:
            self._warnings.append(text)

    def _around(self) -> AbstractContextManager[Any]:
        return nullcontext() if self._faker is None else self._faker.mode

    def _first_that_runs(self, model: Model, loaded: Loaded) -> Outcome:
        """Try the batches in order and return the first that runs.

        If all fail, return the first failure, which a real run may confirm.
        """
        self._phase("inputs")
        dropped: list[str] = []

        def drop(name: str, reason: str) -> None:
            dropped.append(not_used(name, reason))

        first: Outcome | None = None
        for found in self._candidates(model.root, loaded, drop):
            candidate = self._with_target(found, model.root)
            outcome = self._try(model, candidate)
            failure = outcome.recording.failure
            first = first or outcome
            if (
                failure is None
                or outcome.inconclusive
                or not blames_batch(candidate, failure)
                or self._runs_without_hooks(model, candidate)
            ):
                self._warnings += dropped
                return outcome
            drop(candidate.name, f"{failure.type}: {first_line(failure.message)}")
            if self._faker is None:
                break
        confirming = self._attempt.fallback is not None and first is not None
        inferred = None if confirming else self._inferred(model)
        if inferred is not None:
            self._warnings += dropped
            return self._try(model, self._with_target(inferred, model.root))
        if first is None:
            raise no_batch(
                model.root,
                self._spec.model.source,
                self._inference,
                partial=bool(self._spec.inputs),
                fake=self._faker is not None,
            )
        self._warnings += [d for d in dropped if not d.startswith(first.candidate.name)]
        return first

    def _candidates(
        self, root: nn.Module, loaded: Loaded, drop: Callable[[str, str], None]
    ) -> Iterator[Candidate]:
        """Yield the batch of an earlier attempt, else the given or declared batches."""
        other_batch = None if self._side is None else self._side.their_batch(root)
        if self._side is not None:
            self._warnings += self._side.notes
        if other_batch is not None:
            yield other_batch
            return
        inferred = self._attempt.inferred
        if inferred is not None:
            from hookcli.engine.batch.inference import batch_of

            batch = batch_of(inferred, floating_dtype(root, self._spec), self._spec)
            yield Candidate("inferred", command(inferred), batch, inferred)
            return
        for candidate in candidates(self._spec, root, loaded, self._around, drop):
            if self._attempt.declaration in (None, candidate.name):
                yield in_dtype(candidate, root, self._spec)

    def _with_target(self, candidate: Candidate, root: nn.Module) -> Candidate:
        """Return the batch with its target and labels. The other side of a diff has added them."""
        if candidate.batch_is_shared:
            return candidate
        floating = floating_dtype(root, self._spec)
        batch = with_target(candidate.batch, self._spec, root, floating, self._warn)
        return replace(candidate, batch=batch)

    def _inferred(self, model: Model) -> Candidate | None:
        """Infer a batch by trial, with fake tensors only, so that a real run is not affected."""
        from hookcli.engine.batch.inference import (  # few runs need it
            Instead,
            batch_of,
            found_beside,
            found_with,
            found_with_real,
        )

        set_mode(model, self._plan.mode)
        floating = floating_dtype(model.root, self._spec)
        instead = None
        if takes_any_batch(self._spec) and not self._spec.inputs:
            instead = Instead(method_of(model.root), partial(run_step, model.root))
        self._inference = (
            found_beside(model, self._spec, floating, self._doing, instead)
            if self._faker is None
            else found_with(model, self._spec, self._faker, floating, self._doing, instead)
        )
        if self._inference.mixed and self._faker is None:
            self._inference = found_with_real(model, self._spec, floating, self._doing, instead)
        hypothesis = self._inference.hypothesis
        if hypothesis is None:
            return None
        batch = batch_of(hypothesis, floating, self._spec)
        return Candidate("inferred", command(hypothesis), batch, hypothesis)

    def _runs_without_hooks(self, model: Model, candidate: Candidate) -> bool:
        """Whether a batch that failed runs without the hooks, if these change values or graph."""
        if not any(hook.changing or hook.kind.may_break for hook in self._built.hooks):
            return False
        plain = replace(self._spec, hooks=())
        outcome = self._try(model, candidate, engine_for(plain, Kept()), plan(plain))
        return outcome.recording.failure is None

    def _acquit(self, model: Model, outcome: Outcome) -> None:
        """Blame no hook for a failure if the model fails in the same way without hooks."""
        failure = outcome.recording.failure
        fault = None if failure is None else failure.hook
        if failure is None or fault is None or fault.raised or self._together is not None:
            return
        if not self._runs_without_hooks(model, outcome.candidate):
            acquit(failure)

    def _try(
        self,
        model: Model,
        candidate: Candidate,
        engine: HookEngine | None = None,
        settings: Plan | None = None,
    ) -> Outcome:
        """Run the plan with this batch; `engine` and `settings` replace those of the request."""
        inputs = Inputs(
            origin=candidate.origin,
            args=tuple(describe(a) for a in candidate.batch.args),
            kwargs={k: describe(v) for k, v in candidate.batch.kwargs.items()},
            **target_fields(candidate.batch),
        )
        recording = Recording()
        if engine is None:
            self._sink.rewind()
            engine = engine_for(self._spec, self._sink)
            engine.take_over(self._built)
        watchers = self._watchers(candidate, recording)
        with batch_on_device(candidate.batch, self._spec.run, self._faker, self._warn) as (
            batch,
            doubts,
        ):
            options = RunOptions(
                self._progress,
                recording,
                doubts=doubts,
                fake=self._faker is not None,
                watchers=watchers,
                together=self._together,
            )
            run(model, batch, settings or self._plan, engine, options)
        error = recording.error
        recording.error = None  # its traceback keeps the model's frames alive
        inconclusive = self._faker is not None and error is not None and is_inconclusive(error)
        return Outcome(candidate, inputs, recording, inconclusive, watchers)

    def _training_memory(self, model: Model, outcome: Outcome) -> None:
        """Measure training steps, if the request asks for the memory of the run."""
        note = outcome.recording.memory
        if note is None or outcome.recording.failure is not None:
            return
        from hookcli.engine.what_if import TrainingSteps  # few runs need it

        with own_path():
            steps = TrainingSteps(
                model,
                outcome.candidate.batch,
                self._spec,
                self._plan,
                faker=self._faker,
                may_fake=self._attempt.fallback is None and self._spec.run.tensors != "real",
                doing=self._doing,
            )
            note.training = steps.measure(outcome.recording)

    def _report(self, model: Model, outcome: Outcome, loaded: Loaded) -> Report:
        self._progress("report", None)
        spec, recording = self._spec, outcome.recording
        return assemble(
            model,
            recording,
            command=spec.command,
            source=spec.model.source,
            run=run_info(
                spec,
                self._plan.mode,
                recording,
                tensors="real" if self._faker is None else "fake",
                device=spec.run.device,
                fallback=self._attempt.fallback,
            ),
            inputs=outcome.inputs,
            hooks=loaded.hooks,
            warnings=self._warnings,
            started=self._started,
            backend=loaded.format,
            python_source="own" if spec.run.python is None else spec.run.python.source,
        )
