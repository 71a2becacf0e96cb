"""Watches the training of the script in this process: finds its roots, optimizers and steps.

What is patched: the function to which PyTorch tells that torch.compile is called, whose first call
ends the use of hooks on all modules, the functions in observers/torch_calls.py, and the one in
parallel/children.py.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from types import FrameType
from typing import Any

import torch
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from hookcli.engine.statistics.readable import read_parts
from hookcli.models import places
from hookcli.report.sinks import Sink, StreamedSink
from hookcli.report.training import (
    ScriptInfo,
    TrainingReport,
)
from hookcli.spec.request import Spec
from hookcli.spec.training import RunJob
from hookcli.torch_private import (
    current_graph_task_id,
    execution_engine,
)
from hookcli.training.backward import BackwardPass, passes_of_step
from hookcli.training.backward_passes import BackwardPasses
from hookcli.training.bad_step import first_non_finite
from hookcli.training.compiled.compiled_code import CompiledCode
from hookcli.training.compiled.eager_samples import EagerSamples
from hookcli.training.compiled.graph_layers import GraphLayers
from hookcli.training.costs.dropped_models import DroppedModels
from hookcli.training.costs.resting import Resting
from hookcli.training.guard import Guard
from hookcli.training.journal.training_journal import TrainingJournal
from hookcli.training.norms import gradient_norm
from hookcli.training.observed_script import ObservedScript
from hookcli.training.observers.catalogue import Observers
from hookcli.training.observers.torch_calls import TorchCalls
from hookcli.training.parallel.children import Children
from hookcli.training.parallel.other_ranks import OtherRanks
from hookcli.training.record.optimizer_groups import largest_rate, learning_rate, parameters_of
from hookcli.training.record.records import Record
from hookcli.training.root_calls import RootCalls
from hookcli.training.root_watch import RootWatch
from hookcli.training.script.ending import EndOfRun
from hookcli.training.script.own_imports import own_imports
from hookcli.training.script.say import say
from hookcli.training.selection.sampling import is_selected
from hookcli.training.spikes.spike_watch import SpikeWatch
from hookcli.training.steps import TrainingStep
from hookcli.training.trained_roots import TrainedRoots


class Watch:
    """Everything that is observed of one script."""

    def __init__(self, job: RunJob) -> None:
        ranks = OtherRanks.of_environment(os.environ, job.started_by)
        self._seen = ObservedScript(job, ranks=ranks)
        self._guard = Guard(self._failed)
        self._handles: list[Any] = []
        self._between: dict[int, dict[int, Record]] = {}  # steps of others, by the id of a record
        self._merging: tuple[int, list[Record]] | None = None  # in this backward pass
        # The optimizers that step now, each with the number of backward passes before it.
        self._stepping: list[tuple[Any, int]] = []
        self._inner: set[int] = set()  # ids of optimizers that step for another one
        self._sink: Sink | None = None
        if job.spec.stream is not None:
            self._sink = StreamedSink(job.spec.stream)
        self._ending: BaseException | None = None
        self.others: list[str] = []  # the reports of other ranks, at the end
        self.children: list[str] = []  # those of processes that the script started
        self._children = Children(job)
        self._observers = Observers(self._seen)
        self._torch_calls = TorchCalls(self._observers.all, self._guard)
        self._calls = RootCalls(
            self._seen,
            self._guard,
            forward_begins=self._forward_begins,
            backward_begins=lambda root: self._backward.begins(root),
            constructed=self._constructed,
            compiling=self._torch_calls.stop,
            compiled=self._compiled,
            sink=self._sink,
        )
        self._inside = CompiledCode()
        if job.training.compiled == "eager-samples":
            self._inside = EagerSamples(self._calls)
        elif job.training.compiled is not None:
            self._inside = GraphLayers(self._seen, self._guard)
        self._trained = TrainedRoots(
            self._seen,
            add_root=self._calls.add_root,
            joined=lambda part, whole: self._backward.join(part, whole),
        )
        self._backward = BackwardPasses(self._seen, self._guard, self._trained.record)
        self._resting = Resting(
            self._seen, self._guard, self._calls, self._backward, self._observers
        )
        self._spikes = SpikeWatch(job, self._guard)
        self._dropped = DroppedModels(
            self._seen, self._trained, self._observers, ended=self._end_records
        )
        self._calls.before_root = self._dropped.before_root
        self._journal: TrainingJournal | None = None
        if job.journal is not None:
            self._journal = TrainingJournal(
                job.journal, job.spec, self._records, self._so_far, self._answer
            )

    # The beginning and the end.

    def start(self) -> None:
        """Attach the hooks with which roots and optimizers are found."""
        guard = self._guard
        read_parts(only=True)
        self._handles = [
            register_optimizer_step_pre_hook(guard(self._before_step, always=True)),
            register_optimizer_step_post_hook(guard(self._after_step, always=True)),
        ]
        self._calls.start()
        self._torch_calls.start()
        self._children.start()
        if self._seen.ranks is not None:
            self._seen.ranks.open()
        if self._journal is not None:
            self._journal.begin()

    def _failed(self, reason: str, details: str) -> None:
        known, self._seen.detached = self._seen.detached, self._seen.detached or reason
        error = sys.exc_info()[1]
        if error is None or error.__context__ is None:  # else PyTorch may iterate over these
            self._calls.unhook()
            self._calls.forget_end()
            self._inside.stop()
        for root in self._seen.roots.values():
            root.stop()
        self._calls.forget_compiling()
        if known is not None:  # an error while the report is made, after an earlier one
            return
        say(f"hookcli: detached after an error of its own, training goes on: {reason}")
        if self._seen.job.verbose:
            for line in details.splitlines():
                say(line)

    def abandon(self) -> None:
        """Remove all hooks. Nothing is recorded any more.

        After an error they stay until now, because PyTorch may have been iterating over them.
        """
        self._guard.is_open = False
        if self._journal is not None:
            self._journal.stop()
        self._calls.unhook()
        self._calls.forget_end()
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._inside.stop()
        self._torch_calls.stop()
        self._children.stop()
        for root in self._seen.roots.values():
            root.close()
        self._calls.forget_compiling()

    def finish(self, script: ScriptInfo) -> TrainingReport:
        """Remove all hooks and return the report."""
        self._resting.stop()
        if self._guard.is_open:
            self._guard(self._end_merged)()
            self._guard(self._end_by_hand)()
            self._guard(self._observers.finish)()
            self._guard(self._spikes.finish)(self._seen.records)
        self.abandon()
        self._guard.is_open = True
        records = self._guard(self._seen.record_reports)() or ()
        self._guard.is_open = False
        read_parts(only=False)
        if isinstance(self._sink, StreamedSink) and self._sink.failure is not None:
            self._seen.notes.append(self._sink.shortage())
        self._seen.notes += [*self._inside.notes(), *self._spikes.notes]
        self._seen.has_children = self._children.were_started
        report = self._with_facts(self._seen.report(records, script))
        self._guard.is_open = True
        if self._journal is not None:
            self._guard(self._journal.finish)(report)
        self.others = self._guard(self._seen.exchange)(report, wait=script.status == 0) or []
        self.children = self._guard(self._children.reports)() or []
        self._guard.is_open = False
        if self._seen.ranks is not None:
            self._seen.ranks.close()
        return report

    def has_steps(self) -> bool:
        """Return whether a training step was seen."""
        return bool(self._seen.records or self._seen.by_hand)

    def _records(self) -> list[Record]:
        """Return the records that the report has so far."""
        seen = self._seen
        records = [*seen.records, *(by_hand.record for by_hand in seen.by_hand.values())]
        return [record for record in records if seen.is_wanted(record.root)]

    def _so_far(self, only: Collection[Record] | None = None) -> TrainingReport:
        """Return the report of the training so far, with all records or `only` with these."""
        with own_imports():
            records = self._seen.record_reports(final=False, only=only)
            return self._with_facts(self._seen.report(records, self._running()))

    def _answer(self, identity: str, spec: Spec) -> TrainingReport:
        """Return the report of the hooks of a question."""
        with own_imports():
            records = self._seen.record_reports(asked=identity)
            report = self._seen.report(records, self._running())
            tracking = replace(report.tracking, preset=spec.command)
            return replace(report, tracking=tracking, warnings=())

    def _running(self) -> ScriptInfo:
        script = self._seen.job.script
        return ScriptInfo(script.name, script.arguments, script.is_module, "running", None)

    def _with_facts(self, report: TrainingReport) -> TrainingReport:
        facts = self._observers.facts.rows()
        return replace(
            report,
            facts=facts or None,
            looked_for=self._observers.looked_for(),
            compiler=self._observers.compiler(),
            spikes=self._spikes.spikes(),
            states=self._observers.states() or None,
        )

    def _constructed(self, optimizer: Any, frame: FrameType) -> None:
        """Tell the observers of an optimizer that is being constructed."""
        place = places.of_frame(frame)
        self._seen.key_of(optimizer)
        for tell in self._observers.constructed:
            tell(optimizer, place)
        self._inside.constructed(optimizer)

    def _compiled(self, compiled: Any) -> None:
        """Tell that the script compiles a module or a function."""
        self._inside.compiling(compiled, sampled=self._next_is_sampled())

    def _next_is_sampled(self) -> bool:
        """Return whether the next step of a record is sampled, or the first one of the script."""
        records = self._seen.records
        if not records:
            return self._is_sampled(0)
        return any(self._is_sampled_in(record) for record in records)

    def _end_by_hand(self) -> None:
        """Measure the last updates that the script made itself; drop passes that trained nothing.

        The results of torch.autograd.grad may have been looked at only, and a script whose
        optimizers train other models may pass gradients through this one.
        """
        for key, by_hand in list(self._seen.by_hand.items()):
            if (not by_hand.fills or self._seen.optimizers) and not by_hand.changes():
                del self._seen.by_hand[key]
            else:
                by_hand.record.measure_late()

    # Forwards.

    def _forward_begins(self, root: RootWatch) -> int | None:
        """Note that a forward of a root begins; return its step if that is observed in detail."""
        for note in self._observers.forward:
            note()
        if self._backward.scale is not None and self._backward.pending:
            self._note_skipped(root)
        if self._seen.by_hand:
            by_hand = self._seen.by_hand.get(root.number)
            if by_hand is not None and by_hand.is_new(root):
                root.pause()
                root.ended_step(by_hand.step - 1)
                self._note_in_journal([by_hand.record])
        record = self._trained.last_of.get(root.number)
        if record is not None:
            return record.steps.total if self._is_sampled_in(record) else None
        step = self._step_by_hand(root)
        return step if self._is_sampled(step) and self._seen.is_wanted(root) else None

    def _step_by_hand(self, root: RootWatch) -> int:
        """Return the step to which a forward of a root belongs, before any optimizer's step."""
        by_hand = self._seen.by_hand.get(root.number)
        return 0 if by_hand is None else by_hand.step

    def _is_sampled(self, step: int) -> bool:
        return is_selected(self._seen.job.training, step)

    def _is_sampled_in(self, record: Record) -> bool:
        """Return whether the next step of a record is observed in detail."""
        step = record.steps.total
        decided, sampled = record.sampling.decided  # it is asked several times in each step
        if decided != step:
            sampled = record.sampling.is_sampled(step, self._seen.started)
        return sampled and self._seen.is_wanted(record.root)

    # Steps that a GradScaler skipped.

    def _note_skipped(self, root: RootWatch) -> None:
        """Note the step before this forward as skipped, if a GradScaler has lowered its scale."""
        now, before = self._backward.scaler.scale(), self._backward.scale
        before = None if before is None else float(before)
        if before is None or now is None or now >= before:
            return
        record = self._trained.last_of.get(root.number)
        if record is None:
            known = self._seen.roots.values()
            roots = [r for r in known if not r.is_bound and self._backward.through([r])]
        else:
            roots = [one.root for one in self._trained.with_same_optimizer(record)]
        passes = passes_of_step(self._backward.through(roots))
        if not passes or not self._backward.through([root]):
            return
        for one in roots:
            self._skip_step(one, passes, before)
        self._backward.scale = now
        self._backward.pending.clear()
        if self._ending is not None:
            raise self._ending

    def _skip_step(self, root: RootWatch, passes: Sequence[BackwardPass], scale: float) -> None:
        """Add a step of a root that a GradScaler skipped."""
        record = self._trained.last_of.get(root.number)
        rate = None if record is None else record.rate
        step = TrainingStep.skipped_one(root.forwards, passes, scale, rate)
        if record is None:
            self._trained.early.setdefault(root.number, []).append(step)
        else:
            record.steps.add(step)
            if _is_bad(step):
                self._note_non_finite(record, step)
        root.pause()
        root.ended_step()

    # Optimizer steps.

    def _before_step(self, optimizer: Any, _args: Any, _kwargs: Any) -> None:
        if self._resting:
            self._resting.step_begins(optimizer)
            return
        if self._is_inner(optimizer):
            self._inner.add(id(optimizer))
            self._tell_step(optimizer, [])
            return
        if self._calls.are_running:
            self._calls.end_interrupted()
        records = self._trained.of.get(id(optimizer))
        if records is None:
            self._dropped.before_optimizer()
            inside = current_graph_task_id() != -1 and not self._stepping
            records = self._trained.bind(optimizer, inside=inside)
        if current_graph_task_id() != -1 and not self._stepping:
            self._tell_step(optimizer, records)
            self._merge(optimizer, records)
            return
        training = self._seen.job.training
        most = training.max_steps
        if most is not None and any(record.steps.total >= most for record in records):
            raise EndOfRun("max_steps")
        self._stepping.append((optimizer, len(self._backward.pending)))
        self._tell_step(optimizer, records)
        norm = gradient_norm(parameters_of(optimizer))
        rate, largest = learning_rate(optimizer), largest_rate(optimizer)
        own = self._backward.of_step(records)
        is_spike = False
        for record in records:
            sampled = self._is_sampled_in(record)
            if sampled:
                record.hold(optimizer)
                record.root.follow(optimizer)
                record.root.optimizing(now=True)
                self._inside.before_step(record, record.steps.total)
            step = record.begin(
                own,
                forwards=record.root.forwards,
                norm=norm if len(records) == 1 else gradient_norm(record.own),
                lr=rate,
                sampled=sampled,
                largest=largest,
            )
            step.clipped = self._observers.clipped(record)
            if training.stop_on is not None:
                step.read()
            if not step.is_finite():
                if not _skips(optimizer, step):
                    self._note_non_finite(record, step)
            elif self._spikes.before_update(record, step, record.root.recent):
                is_spike = True
        if is_spike and training.stop_on == "spike":
            self._end_before_update(records)

    def _end_before_update(self, records: Sequence[Record]) -> None:
        """End the script before an optimizer updates the weights; its step stays in the report."""
        self._stepping.pop()
        for record in records:
            if record.is_running:
                record.root.optimizing(now=False)
                record.end(measured=False)
                record.root.pause()
        self._note_in_journal(records)
        raise EndOfRun("stopped")

    def _tell_step(self, optimizer: Any, records: Sequence[Record]) -> None:
        """Tell the observers that an optimizer steps."""
        for tell in self._observers.before_step:
            tell(optimizer, records)

    def _after_step(self, optimizer: Any, _args: Any, _kwargs: Any) -> None:
        if self._resting:
            self._resting.passed(optimizer)
            return
        if id(optimizer) in self._inner:
            self._inner.discard(id(optimizer))
            return
        records = self._trained.of.get(id(optimizer), [])
        if self._merging is not None and not self._stepping:
            return
        inside = self._backward.pending[self._stepping.pop()[1] :] if self._stepping else []
        for record in records:
            if record.is_running:
                record.root.optimizing(now=False)
                own = passes_of_step([one for one in inside if one.fills]) if inside else ()
                if own:
                    self._spikes.runs_backward_itself(record)
                self._end_step(record, own)
        self._backward.ended_step(records)
        self._spikes.later()
        if self._seen.compiles:
            self._inside.after_steps(sampled=self._next_is_sampled())
        self._note_in_journal(records)
        self._after_steps(records)
        if not self._stepping:
            self._resting.step_ended(optimizer, records)

    def _is_inner(self, optimizer: Any) -> bool:
        """Return whether an optimizer steps inside another's step, on parameters of that one."""
        for i, (other, _) in enumerate(self._stepping):
            if other is optimizer:  # its last step has raised an exception
                del self._stepping[i:]
                self._inner.clear()
                break
        if not self._stepping:
            return False
        outer = {id(p) for p in parameters_of(self._stepping[-1][0])}
        return all(id(p) in outer for p in parameters_of(optimizer))

    def _end_step(self, record: Record, inside: Sequence[BackwardPass] = ()) -> None:
        step = record.end(inside)
        if self._journal is not None:
            self._journal.look_for_asks()
        root = record.root
        if root.began is not None:
            record.sampling.took(time.perf_counter() - root.began, sampled=step.sampled)
        if len(self._seen.records) > 1:
            self._note_order(record)
        self._trained.last_of[root.number] = record
        root.rest()
        root.ended_step(step.step)
        self._backward.awaited.discard(id(record))
        next_is_sampled = self._is_sampled_in(record)
        self._inside.after_step(root, sampled=next_is_sampled)
        if record.is_never_zeroed or next_is_sampled:
            record.keep_gradient_norms()
            self._backward.awaited.add(id(record))

    def _note_in_journal(self, records: Sequence[Record]) -> None:
        """Write what these records have seen to the journal, if it is time."""
        if self._journal is None:
            return
        last = [step for record in records if (step := record.steps.last) is not None]
        if last:
            sampled = any(step.sampled for step in last)
            self._journal.step_ended(last[-1].ended, sampled=sampled)

    def _end_records(self, records: Collection[Record]) -> None:
        """Note that records of models that the script has dropped make no step any more."""
        for record in records:
            self._backward.awaited.discard(id(record))
            self._between.pop(id(record), None)

    def _note_order(self, record: Record) -> None:
        """Note the records of other roots and optimizers that stepped since this one did."""
        before = self._between.get(id(record))
        if before is not None:
            record.together.update(before)
        self._between[id(record)] = {}
        mine = self._trained.with_same_optimizer(record)
        for other in self._seen.records:
            between = self._between.get(id(other))
            if between is not None and other.root is not record.root and other not in mine:
                between[id(record)] = record

    def _after_steps(self, records: Sequence[Record]) -> None:
        """Decide whether the script ends."""
        if self._ending is None and self._seen.job.training.stop_on == "finding":
            sampled = [record for record in records if record.ended_sampled]
            if sampled and self._has_findings():
                self._ending = EndOfRun("stopped")
        if self._ending is not None:
            raise self._ending
        most = self._seen.job.training.max_steps
        if most is None or len(self._trained.of) != 1 or any(r.steps.total < most for r in records):
            return
        if len(self._trainable()) <= 1:
            raise EndOfRun("max_steps")

    def _has_findings(self) -> bool:
        """Return whether the verdict on the training so far has a sentence."""
        with own_imports():
            return self._judged()

    def _judged(self) -> bool:
        from hookcli.diagnosis.training import with_training_verdict
        from hookcli.rules.catalogue import with_training_set
        from hookcli.rules.judge_training import judge_training

        job = self._seen.job
        script = ScriptInfo(
            job.script.name, job.script.arguments, job.script.is_module, "completed", 0
        )
        report = self._seen.report(self._seen.record_reports(final=False), script)
        report = self._with_facts(report)
        spec = job.spec
        judged = judge_training(report, with_training_set(spec.checks), spec.suppressions)
        return bool(with_training_verdict(judged).diagnoses)

    def _trainable(self) -> list[RootWatch]:
        return [
            root
            for root in self._seen.roots.values()
            if not root.is_part
            and root.calls > root.ungraded.in_eval + root.ungraded.in_train
            and any(p.tensor.requires_grad for p in root.model.parameters())
        ]

    def _note_non_finite(self, record: Record, step: TrainingStep) -> None:
        """Note the first value that is not finite, before the parameters are updated."""
        if self._seen.first_bad is not None:
            return
        stop = self._seen.job.training.stop_on
        guard = self._guard
        guard.is_open = stop is None  # a replay in this process calls the hooks
        try:
            self._seen.first_bad, notes = first_non_finite(
                record,
                step,
                self._backward.of_step(self._trained.with_same_optimizer(record)),
                self._seen.job,
                self._inside.first_bad(record, step.step),
            )
        finally:
            guard.is_open = True
        self._seen.notes += notes
        if stop is not None:
            self._ending = EndOfRun("stopped")

    def _merge(self, optimizer: Any, records: Sequence[Record]) -> None:
        """Count all optimizers that step inside of one backward pass as one step."""
        task = current_graph_task_id()
        if self._merging is None or self._merging[0] != task:
            self._end_merged()
            self._merging = task, []
            engine: Any = execution_engine
            engine.queue_callback(self._guard(self._end_merged))
        own = parameters_of(optimizer)
        passes = self._backward.pending[-1:]
        for record in records:
            if not record.is_running:
                sampled = self._is_sampled_in(record)
                record.begin(
                    passes,
                    forwards=record.root.forwards,
                    norm=0.0,
                    lr=learning_rate(optimizer),
                    sampled=sampled,
                    partly=True,
                )
                self._merging[1].append(record)
            record.add_part(own, gradient_norm(own), optimizer)

    def _end_merged(self) -> None:
        """End the step of the optimizers that stepped inside of a backward pass."""
        if self._merging is None:
            return
        records = self._merging[1]
        self._merging = None
        for record in records:
            self._end_step(record)
        self._backward.pending.clear()
        self._note_in_journal(records)
        self._after_steps(records)


def _skips(optimizer: Any, step: TrainingStep) -> bool:
    """Return whether a GradScaler lets a fused optimizer skip this step, and nothing is wrong.

    Such an optimizer is called, and reads itself whether gradients are not finite.
    """
    found = getattr(optimizer, "found_inf", None)
    return isinstance(found, torch.Tensor) and bool(found) and not _is_bad(step)


def _is_bad(step: TrainingStep) -> bool:
    """Return whether the loss of a skipped step is not finite: not only its product with the scale.

    An infinite product may have overflowed; the scale falls with each skipped step.
    """
    loss = step.loss
    if not isinstance(loss, float) or math.isfinite(loss):
        return False
    return math.isnan(loss) or step.scale is None or step.scale <= 1


def start(job: RunJob) -> Watch:
    """Watch the training of this process from now on."""
    watch = Watch(job)
    try:
        watch.start()
    except BaseException:
        watch.abandon()
        raise
    return watch
