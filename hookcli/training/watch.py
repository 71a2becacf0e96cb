"""Watches the training of the script in this process: finds its roots, optimizers and steps.

Nothing is patched but the function to which PyTorch tells that torch.compile is called: its first
call ends the use of hooks on all modules.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import torch
from torch import nn
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from hookcli.engine.statistics.readable import read_parts
from hookcli.hooks.portable import Portable
from hookcli.report.report import Report
from hookcli.report.sinks import Sink, StreamedSink
from hookcli.report.training import (
    ScriptInfo,
    TrainingReport,
)
from hookcli.spec.training import RunJob
from hookcli.torch_private import (
    current_graph_task_id,
    execution_engine,
    log_api_usage_once,
    peek_interpreter_stack,
    set_api_usage,
)
from hookcli.training.backward import BackwardPass, Scaler, passes_of_step, running_backward
from hookcli.training.bad_step import first_non_finite
from hookcli.training.by_hand import ByHand
from hookcli.training.guard import Guard
from hookcli.training.non_finite.script_loss import graph_of_loss
from hookcli.training.norms import gradient_norm
from hookcli.training.observed_script import ObservedScript, name_records, rank_and_world
from hookcli.training.records import Record, largest_rate, learning_rate
from hookcli.training.root_watch import RootWatch
from hookcli.training.roots import LooseParameters, name_of, owner_of, parameter_ids, unwrap
from hookcli.training.sampling import Sampling, is_limited, is_selected
from hookcli.training.script.ending import EndOfRun
from hookcli.training.script.own_imports import own_imports
from hookcli.training.script.say import say
from hookcli.training.steps import TrainingStep
from hookcli.training.switched_hooks import SwitchedHooks

_COMPILING = ("torch.compile", "torch._dynamo.optimize")
_MOST_PASSES = 10_000  # backward passes without a step that are remembered


class _Depth(threading.local):
    """The number of running calls on a thread."""

    def __init__(self) -> None:
        self.calls = 0


class _RootEnds(Portable, guarded=True):
    """The hook at the end of a root's call; a copy of the root has it too."""

    def __init__(self, watch: Watch) -> None:
        self._ended = watch.guarded(watch.root_ended)

    def __call__(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        """Tell the watch; PyTorch calls this."""
        self._ended(module, args, output)


class Watch:
    """Everything that is observed of one script."""

    def __init__(self, job: RunJob) -> None:
        self._seen = ObservedScript(job)
        self._guard = Guard(self._failed)
        self._depth = _Depth()
        self._handles: list[Any] = []
        self._call_hooks: SwitchedHooks | None = None  # on all modules
        self._guarded_begin = self._guard(self._call_begins)
        self._guarded_end = self._guard(self._call_ends)
        self._root_ends = _RootEnds(self)
        self._inside: RootWatch | None = None  # a root whose end is hooked
        self._end_hook: SwitchedHooks | None = None  # of the root that was hooked last
        self._api_usage: Any = None  # PyTorch's function
        self._skipped: dict[int, nn.Module] = {}  # called outermost, without parameters to train
        self._of: dict[int, list[Record]] = {}  # by the id of the optimizer
        self._pending: list[BackwardPass] = []  # since the last step of any optimizer
        self._recent: list[BackwardPass] = []  # those of the last step
        self._last_task = -1
        self._scaler = Scaler()
        self._scale: float | None = None
        self._awaited: set[int] = set()  # ids of records: are their gradients left in backward?
        self._last_of: dict[int, Record] = {}  # the record of a root that stepped last
        self._between: dict[int, dict[int, Record]] = {}  # steps of others, by the id of a record
        self._early: dict[int, list[TrainingStep]] = {}  # skipped before the first step, by root
        self._merging: tuple[int, list[Record]] | None = None  # in this backward pass
        self._merged: dict[int, Record] = {}  # of optimizers that step inside backward, by root
        # The optimizers that step now, each with the number of backward passes before it.
        self._stepping: list[tuple[Any, int]] = []
        self._inner: set[int] = set()  # ids of optimizers that step for another one
        self._sink: Sink | None = None
        if job.spec.stream is not None:
            self._sink = StreamedSink(job.spec.stream)
        self._ending: BaseException | None = None

    def guarded(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function so that an error in it ends the observation, not the script."""
        return self._guard(function)

    # The beginning and the end.

    def start(self) -> None:
        """Attach the hooks with which roots and optimizers are found."""
        guard = self._guard
        read_parts(only=True)
        self._handles = [
            register_optimizer_step_pre_hook(guard(self._before_step)),
            register_optimizer_step_post_hook(guard(self._after_step)),
        ]
        self._hook_calls()
        if self._seen.ranks is not None:
            self._seen.ranks.open()
        self._notice_compiling()

    def _notice_compiling(self) -> None:
        """Notice the calls of torch.compile and torch._dynamo.optimize, before they do anything.

        Both tell the name of their API first. So no frame of hookcli is in a traceback of theirs.
        """
        original: Any = log_api_usage_once
        self._api_usage = original
        noted = self._guard(self._note_compiled)

        def tell(name: str) -> None:
            original(name)
            if name in _COMPILING:
                noted(sys._getframe(1).f_locals.get("model"))

        tell.__name__ = original.__name__
        tell.__module__ = original.__module__
        set_api_usage(tell)

    def _note_compiled(self, compiled: Any) -> None:
        """Note that the script compiles a module, a function, or a method of a module."""
        self._seen.compiles = True
        self._unhook_calls()
        for known in self._seen.roots.values():
            known.has_hidden_calls = True
        module = getattr(compiled, "__self__", compiled)
        if isinstance(module, nn.Module) and next(module.parameters(), None) is not None:
            root, _ = unwrap(module)
            watch = self._seen.roots.get(id(root)) or self._add_root(root)
            watch.compiled = (type(root).__name__,)
            if module is compiled and not watch.wrappers:
                watch.wrappers = ("OptimizedModule",)
            watch.watch_parameters()

    def _hook_calls(self) -> None:
        if self._seen.compiles:
            return
        if self._call_hooks is None:
            self._call_hooks = SwitchedHooks(
                (
                    register_module_forward_pre_hook(self._guarded_begin),
                    register_module_forward_hook(self._guarded_end, always_call=True),
                )
            )
        elif not self._call_hooks.is_on:
            self._call_hooks.on()

    def _unhook_calls(self) -> None:
        if self._call_hooks is not None:
            self._call_hooks.off()

    def _hook_only_end(self, root: RootWatch) -> None:
        """Remove the hooks on all modules during a call of the only root, which is not sampled.

        With hooks on all modules, PyTorch takes longer for each call inside of the root.
        """
        on_all = self._call_hooks
        if (
            on_all is not None
            and on_all.is_on
            and self._inside is None
            and all(other is root or other.is_part for other in self._seen.roots.values())
            and root.is_plain
        ):
            self._inside = root
            hook = self._end_hook
            if hook is not None and hook.are_in(root.root._forward_hooks):
                hook.on()
            else:
                register: Any = nn.Module.register_forward_hook
                handle = register(root.root, self._root_ends, always_call=True)
                self._end_hook = SwitchedHooks((handle,))
            on_all.off()

    def root_ended(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        """Attach the hooks on all modules again, when the call of the only root ends."""
        if self._inside is None or module is not self._inside.root:
            return
        self._hook_calls()
        if sys.exc_info()[1] is None:  # else PyTorch may iterate over the hooks of the root
            self._forget_end()
        self._call_ends(module, args, output)

    def _forget_end(self) -> None:
        if self._inside is not None and self._end_hook is not None:
            self._end_hook.off()
            self._inside = None

    def _failed(self, reason: str, details: str) -> None:
        known, self._seen.detached = self._seen.detached, self._seen.detached or reason
        error = sys.exc_info()[1]
        if error is None or error.__context__ is None:  # else PyTorch may iterate over these
            self._unhook_calls()
            self._forget_end()
        for root in self._seen.roots.values():
            root.stop()
        self._forget_api_usage()
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
        self._guard.open = False
        self._unhook_calls()
        self._forget_end()
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        for root in self._seen.roots.values():
            root.close()
        self._forget_api_usage()

    def _forget_api_usage(self) -> None:
        if self._api_usage is not None:
            set_api_usage(self._api_usage)
            self._api_usage = None

    def finish(self, script: ScriptInfo) -> TrainingReport:
        """Remove all hooks and return the report."""
        if self._guard.open:
            self._guard(self._end_merged)()
            self._guard(self._end_by_hand)()
        self.abandon()
        self._guard.open = True
        found = self._guard(self._seen.record_reports)()
        records: tuple[Report, ...] = ()
        if found is not None:
            records = (
                self._guard(self._seen.of_all_ranks)(*found, wait=script.status == 0) or found[0]
            )
        if self._seen.ranks is not None:
            self._seen.ranks.close()
        self._guard.open = False
        read_parts(only=False)
        if isinstance(self._sink, StreamedSink) and self._sink.failure is not None:
            self._seen.notes.append(self._sink.shortage())
        return self._seen.report(records, script)

    def _end_by_hand(self) -> None:
        """Measure the last updates that the script made itself; drop passes that trained nothing.

        The results of torch.autograd.grad may have been looked at only.
        """
        for key, by_hand in list(self._seen.by_hand.items()):
            if not by_hand.fills and not by_hand.changes():
                del self._seen.by_hand[key]
            else:
                by_hand.record.measure_late()

    # Calls.

    def _call_begins(self, module: nn.Module, args: tuple[Any, ...]) -> Any:
        """Note a call; PyTorch calls this for each module, so that it must cost nearly nothing."""
        depth = self._depth
        depth.calls += 1
        root = self._seen.roots.get(id(module))
        if root is None:
            if depth.calls > 1 or id(module) in self._skipped:
                return None
            root = self._find(module)
        if root is None or root.root is not module or root.running:
            return None
        wholes = root.wholes if root.is_part else []
        if any(whole.running for whole in wholes):
            return None
        if self._inside is not None:
            self._forget_end()  # of a call that raised
        nested = self._is_nested(root)
        for one in (root, *wholes):
            one.running = depth.calls
        if _is_hidden():
            for one in wholes or [root]:
                one.has_hidden_calls |= current_graph_task_id() == -1
            return None
        kwargs = sys._getframe(2).f_locals.get("kwargs")  # of torch's function
        kwargs = kwargs if isinstance(kwargs, dict) else {}
        if wholes:
            return _enter_parts(root, args, kwargs)
        replaced = root.enter(args, kwargs, nested=nested)
        self._hook_only_end(root)
        return replaced

    def _is_nested(self, root: RootWatch) -> bool:
        """Return whether a root is called inside a call of another one."""
        roots = self._seen.roots
        return len(roots) > 1 and any(o.running for o in roots.values() if o is not root)

    def _call_ends(self, module: nn.Module, _args: tuple[Any, ...], output: Any) -> None:
        depth = self._depth
        root = self._seen.roots.get(id(module))
        if root is not None and root.root is module and root.running == depth.calls:
            root.running = 0
            if root.is_part:
                for whole in root.wholes:
                    whole.part_ended()
            if torch.is_grad_enabled() and not _is_hidden():
                root.watch_backward(output)
        if depth.calls > 0:
            depth.calls -= 1

    def _find(self, module: nn.Module) -> RootWatch | None:
        """Return the root that a module, called outermost for the first time, is or wraps."""
        if hasattr(module, "_is_replica") or current_graph_task_id() != -1:
            return None  # a checkpoint calls modules again, in backward
        root, wrappers = unwrap(module)
        known = self._seen.roots.get(id(root))
        if known is not None:
            known.wrappers = known.wrappers or wrappers
            return known
        if next(root.parameters(), None) is None:
            self._skipped[id(root)] = root
            return None
        found = self._add_root(module)
        for whole in list(self._seen.roots.values()):
            if whole.is_bound and found.is_inside(whole):
                found.join(whole)
        return found

    def _add_root(self, called: nn.Module) -> RootWatch:
        watch = RootWatch(
            called,
            self._seen.job.spec,
            forward_begins=self._forward_begins,
            backward_begins=self._backward_begins,
            guard=self._guard,
            unmatched=self._seen.unmatched,
            failed=self._guard.note,
            sink=self._sink,
            limited=is_limited(self._seen.job.training),
        )
        watch.has_hidden_calls = self._seen.compiles
        self._seen.roots[id(watch.root)] = watch
        return watch

    def _forward_begins(self, root: RootWatch) -> int | None:
        """Note that a forward of a root begins; return its step if that is observed in detail."""
        if self._scale is not None and self._pending:
            self._note_skipped(root)
        if self._seen.by_hand:
            by_hand = self._seen.by_hand.get(id(root))
            if by_hand is not None and by_hand.is_new(root):
                root.pause()
                root.ended_step()
        record = self._last_of.get(id(root))
        if record is not None:
            return record.steps.total if self._is_sampled_in(record) else None
        step = self._step_by_hand(root)
        return step if self._is_sampled(step) and self._seen.is_wanted(root) else None

    def _step_by_hand(self, root: RootWatch) -> int:
        """Return the step to which a forward of a root belongs, before any optimizer's step."""
        by_hand = self._seen.by_hand.get(id(root))
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

    # Backward.

    def _backward_begins(self, root: RootWatch) -> BackwardPass:
        task = current_graph_task_id()
        if task != self._last_task:
            self._last_task = task
            self._begin_backward(task, root)
        if self._seen.by_hand:
            self._measure_by_hand(root)
        current = self._pending[-1]
        if id(root) not in current.roots:
            more = len(self._pending) > 1 and current.fills and self._adds(root)
            current.roots.add(id(root))
            if self._awaited and current.fills and not more:
                for record in self._seen.records:
                    if record.root is root and id(record) in self._awaited:
                        current.left[id(record)] = record.left_gradients()
        return current

    def _adds(self, root: RootWatch) -> bool:
        """Return whether this backward pass adds to gradients of earlier passes of the step.

        Those that were erased are forgotten: a generator's pass gives the discriminator gradients.
        """
        earlier = [one for one in self._pending[:-1] if one.fills and id(root) in one.roots]
        if not earlier or root.has_gradients():
            return bool(earlier)
        for one in earlier:
            one.roots.discard(id(root))
        return False

    def _measure_by_hand(self, root: RootWatch) -> None:
        """Measure the update that the script made itself before this backward pass of a root."""
        by_hand = self._seen.by_hand.get(id(root))
        if by_hand is not None:
            by_hand.record.measure_late()

    def _begin_backward(self, task: int, root: RootWatch) -> None:
        found = running_backward(task)
        for call in root.recent:
            call.backward_place = call.backward_place or found.place
        if found.start is not None:
            node = found.start.grad_fn
            if node is not None and found.is_bad() and self._seen.first_bad is None:
                found.graph = graph_of_loss(node, root.recent)
            found.scale = self._scale = self._scaler.of(node)
            found.start = None  # it would keep the graph
        self._seen.passes[found.fills] += 1
        self._pending.append(found)
        if len(self._pending) > _MOST_PASSES:
            del self._pending[:-_MOST_PASSES]
        if not self._seen.optimizers:
            engine: Any = execution_engine
            engine.queue_callback(self._guard(self._backward_ended))

    def _backward_ended(self) -> None:
        """Note a backward pass of a script that has used no optimizer so far."""
        if self._seen.optimizers or not self._pending:
            return
        last = self._pending[-1]
        reached = [
            root
            for root in self._seen.roots.values()
            if id(root) in last.roots and _may_train(last, root)
        ]
        for root in reached:
            if len(reached) > 1 and any(map(root.is_inside, reached)):
                continue
            by_hand = self._seen.by_hand.get(id(root))
            if by_hand is None or by_hand.fills < last.fills:
                record = self._record(root, None)
                by_hand = self._seen.by_hand[id(root)] = ByHand(record, fills=last.fills)
            if by_hand.fills == last.fills:
                by_hand.backward_ended(last, self._is_sampled)

    def _note_skipped(self, root: RootWatch) -> None:
        """Note the step before this forward as skipped, if a GradScaler has lowered its scale."""
        now = self._scaler.scale()
        if self._scale is None or now is None or now >= self._scale:
            return
        record = self._last_of.get(id(root))
        if record is None:
            known = self._seen.roots.values()
            roots = [r for r in known if not r.is_bound and self._passes_through([r])]
        else:
            roots = [one.root for one in self._with_same_optimizer(record)]
        passes = passes_of_step(self._passes_through(roots))
        if not passes or not self._passes_through([root]):
            return
        for one in roots:
            self._skip_step(one, passes, self._scale)
        self._scale = now
        self._pending.clear()
        if self._ending is not None:
            raise self._ending

    def _passes_through(self, roots: Sequence[RootWatch]) -> list[BackwardPass]:
        """Return the backward passes since the last step that reached one of these roots."""
        ids = {id(root) for root in roots}
        return [one for one in self._pending if not ids.isdisjoint(one.roots)]

    def _skip_step(self, root: RootWatch, passes: Sequence[BackwardPass], scale: float) -> None:
        """Add a step of a root that a GradScaler skipped."""
        record = self._last_of.get(id(root))
        rate = None if record is None else record.rate
        step = TrainingStep.skipped_one(root.forwards, passes, scale, rate)
        if record is None:
            self._early.setdefault(id(root), []).append(step)
        else:
            record.steps.add(step)
            if _is_bad(step):
                self._note_non_finite(record, step)
        root.pause()
        root.ended_step()

    def _with_same_optimizer(self, record: Record) -> list[Record]:
        """Return the records that the optimizer of a record trains: of several roots."""
        return next((group for group in self._of.values() if record in group), [record])

    # Optimizer steps.

    def _before_step(self, optimizer: Any, _args: Any, _kwargs: Any) -> None:
        if self._is_inner(optimizer):
            self._inner.add(id(optimizer))
            return
        if self._inside is not None or self._depth.calls:
            self._end_interrupted()
        records = self._of.get(id(optimizer))
        if records is None:
            records = self._bind(optimizer)
        if current_graph_task_id() != -1 and not self._stepping:
            self._merge(optimizer, records)
            return
        training = self._seen.job.training
        most = training.max_steps
        if most is not None and any(record.steps.total >= most for record in records):
            raise EndOfRun("max_steps")
        self._stepping.append((optimizer, len(self._pending)))
        norm = gradient_norm([p for group in optimizer.param_groups for p in group["params"]])
        rate, largest = learning_rate(optimizer), largest_rate(optimizer)
        own = self._passes(records)
        for record in records:
            sampled = self._is_sampled_in(record)
            if sampled:
                record.hold(optimizer)
                record.root.follow(optimizer)
                record.root.optimizing(now=True)
            step = record.begin(
                own,
                forwards=record.root.forwards,
                norm=norm if len(records) == 1 else gradient_norm(record.own),
                lr=rate,
                sampled=sampled,
                largest=largest,
            )
            if training.stop_on is not None:
                step.read()
            if not step.is_finite() and not _skips(optimizer, step):
                self._note_non_finite(record, step)

    def _end_interrupted(self) -> None:
        """End the calls that the script interrupted: PyTorch calls no hook if they end by Ctrl-C.

        Nothing changes for a step inside of a running call, as of a model that adapts itself.
        """
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if frame.f_code.co_name == "_call_impl":  # of nn.Module
                return
            frame = frame.f_back
        self._forget_end()
        self._hook_calls()
        self._depth.calls = 0
        for root in self._seen.roots.values():
            root.running = 0

    def _after_step(self, optimizer: Any, _args: Any, _kwargs: Any) -> None:
        if id(optimizer) in self._inner:
            self._inner.discard(id(optimizer))
            return
        records = self._of.get(id(optimizer), [])
        if self._merging is not None and not self._stepping:
            return
        inside = self._pending[self._stepping.pop()[1] :] if self._stepping else []
        for record in records:
            if record.is_running:
                record.root.optimizing(now=False)
                own = passes_of_step([one for one in inside if one.fills]) if inside else ()
                self._end_step(record, own)
        if self._pending:
            self._recent = list(self._pending)
            self._pending.clear()
        self._after_steps(records)

    def _is_inner(self, optimizer: Any) -> bool:
        """Return whether an optimizer steps inside another's step, on parameters of that one."""
        for i, (other, _) in enumerate(self._stepping):
            if other is optimizer:  # its last step has raised an exception
                del self._stepping[i:]
                self._inner.clear()
                break
        if not self._stepping:
            return False
        outer = {id(p) for group in self._stepping[-1][0].param_groups for p in group["params"]}
        return all(id(p) in outer for group in optimizer.param_groups for p in group["params"])

    def _end_step(self, record: Record, inside: Sequence[BackwardPass] = ()) -> None:
        step = record.end(inside)
        root = record.root
        if root.began is not None:
            record.sampling.took(time.perf_counter() - root.began, sampled=step.sampled)
        if len(self._seen.records) > 1:
            self._note_order(record)
        self._last_of[id(root)] = record
        root.rest()
        root.ended_step()
        self._awaited.discard(id(record))
        if record.is_never_zeroed or self._is_sampled_in(record):
            record.keep_gradient_norms()
            self._awaited.add(id(record))

    def _note_order(self, record: Record) -> None:
        """Note the records of other roots and optimizers that stepped since this one did."""
        before = self._between.get(id(record))
        if before is not None:
            record.together.update(before)
        self._between[id(record)] = {}
        mine = self._with_same_optimizer(record)
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
        if most is None or len(self._of) != 1 or any(r.steps.total < most for r in records):
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
        report = self._seen.report(self._seen.record_reports(final=False)[0], script)
        spec = job.spec
        judged = judge_training(report, with_training_set(spec.checks), spec.suppressions)
        return bool(with_training_verdict(judged).diagnoses)

    def _trainable(self) -> list[RootWatch]:
        return [
            root
            for root in self._seen.roots.values()
            if not root.is_part
            and root.calls > root.evaluations + root.graphless
            and any(p.tensor.requires_grad for p in root.model.parameters())
        ]

    def _note_non_finite(self, record: Record, step: TrainingStep) -> None:
        """Note the first value that is not finite, before the parameters are updated."""
        if self._seen.first_bad is not None:
            return
        stop = self._seen.job.training.stop_on
        guard = self._guard
        guard.open = stop is None  # a replay in this process calls the hooks
        try:
            self._seen.first_bad, notes = first_non_finite(
                record, step, self._passes(self._with_same_optimizer(record)), self._seen.job
            )
        finally:
            guard.open = True
        self._seen.notes += notes
        if stop is not None:
            self._ending = EndOfRun("stopped")

    def _passes(self, records: Sequence[Record]) -> list[BackwardPass]:
        """Return the backward passes of the step that runs now, which trains all these records."""
        passes = self._pending or self._recent
        own = passes_of_step(
            [
                one
                for one in passes
                if any(id(r.root) in one.roots and one.computes(r.own) for r in records)
            ]
        )
        if own:
            return own
        for record in records:
            if not record.root.sees_backward and (record.steps or record.root.calls):
                # an output of an unknown form has no hooks
                return passes_of_step([one for one in passes if one.fills])
        return own

    def _merge(self, optimizer: Any, records: Sequence[Record]) -> None:
        """Count all optimizers that step inside of one backward pass as one step."""
        task = current_graph_task_id()
        if self._merging is None or self._merging[0] != task:
            self._end_merged()
            self._merging = task, []
            engine: Any = execution_engine
            engine.queue_callback(self._guard(self._end_merged))
        own = [p for group in optimizer.param_groups for p in group["params"]]
        passes = self._pending[-1:]
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
        self._pending.clear()
        self._after_steps(records)

    def _bind(self, optimizer: Any) -> list[Record]:
        """Return a new record for each root that this optimizer trains."""
        self._seen.optimizers[id(optimizer)] = optimizer
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        inside = current_graph_task_id() != -1
        records = []
        roots = self._roots_of(parameters)
        for root in roots:
            by_hand = self._seen.by_hand.pop(id(root), None)
            if by_hand is not None:  # its backward passes were micro-steps
                root.forwards += by_hand.forwards
            self._forget_parts(root)
            self._join_parts(root, roots)
            merged = self._merged.get(id(root)) if inside and not self._stepping else None
            if merged is not None:
                merged.merged.add(id(optimizer))
                merged.hold(optimizer)
                records.append(merged)
                continue
            record = self._record(root, optimizer)
            if inside and not self._stepping:
                record.merged.add(id(optimizer))
                self._merged[id(root)] = record
            for step in self._early.pop(id(root), []):
                record.steps.add(step)
            root.is_bound = True
            if not root.calls or self._seen.compiles:
                root.watch_parameters()
            self._seen.records.append(record)
            name_records(self._seen.records)
            self._last_of[id(root)] = record
            records.append(record)
        self._of[id(optimizer)] = records
        return records

    def _record(self, root: RootWatch, optimizer: Any) -> Record:
        sampling = Sampling(self._seen.job.training)
        return Record(root, optimizer, sampling, ranks=rank_and_world()["world_size"] > 1)

    def _forget_parts(self, root: RootWatch) -> None:
        """Forget the backward passes of compiled parts of a root that an optimizer trains."""
        for key, part in list(self._seen.by_hand.items()):
            inside = part.record.root
            if inside.compiled and not inside.calls:
                ids = inside.parameter_ids()
                if ids <= root.parameter_ids():
                    del self._seen.by_hand[key]

    def _join_parts(self, root: RootWatch, chosen: Sequence[RootWatch]) -> None:
        """Make the roots inside a root that an optimizer trains its parts, with what they saw."""
        for part in list(self._seen.roots.values()):
            if part.is_bound or part in chosen or root in part.wholes or not part.is_inside(root):
                continue
            for one in (*self._pending, *self._recent):
                if id(part) in one.roots:
                    one.roots.add(id(root))
            by_hand = self._seen.by_hand.get(id(part))
            if by_hand is not None and not by_hand.changes():  # its passes were micro-steps
                del self._seen.by_hand[id(part)]
            part.join(root)

    def _roots_of(self, parameters: list[Any]) -> list[RootWatch]:
        """Return the roots that have these parameters: those that are called, if there are any.

        If no root has all of them, it may be that only its parts have been called so far, or that
        they are called alone: then it is the module that owns them.
        """
        wanted = {id(p) for p in parameters}
        covered = [
            (ids, root)
            for root in self._seen.roots.values()
            if (ids := {*root.parameter_ids(), *root.names_in_call} & wanted)
        ]
        found = [
            root
            for ids, root in covered
            if not any(_replaces(other, others, root, ids) for others, other in covered)
        ]
        seen = {key for ids, root in covered if root in found for key in ids}
        if not parameters or (len(found) == 1 and seen == wanted):
            return found
        owner = owner_of(parameters)
        if found and (owner is None or not _owns(owner, found, seen, parameters)):
            return found
        if owner is not None and id(owner) in self._seen.roots:
            return [self._seen.roots[id(owner)]]
        return [self._add_root(_loose(parameters) if owner is None else owner)]


def _replaces(other: RootWatch, others: set[int], root: RootWatch, ids: set[int]) -> bool:
    """Return whether another root is trained, instead of one that has the parameters `ids` of it.

    Of a module and a part of it, it is the module if that has more of the parameters, or if it is
    called itself. Of modules that share their parameters it is the smaller one.
    """
    if other is root:
        return False
    if root.is_inside(other):
        return ids < others or (ids == others and other.own_forwards > 0)
    if other.is_inside(root):
        return ids == others and not root.own_forwards
    return ids == others and len(other.parameter_ids()) < len(root.parameter_ids())


def _owns(
    owner: nn.Module, roots: Sequence[RootWatch], seen: set[int], parameters: Sequence[Any]
) -> bool:
    """Return whether a module is the whole of these roots, which have the parameters `seen`.

    Either it has more of the parameters of the optimizer, or no other ones that are trainable.
    """
    inside = set(map(id, owner.modules()))
    if any(root.root is owner or id(root.root) not in inside for root in roots):
        return False
    wanted = {id(p) for p in parameters}
    held = parameter_ids(owner) & wanted
    trainable = {id(p) for p in owner.parameters() if p.requires_grad}
    return held > seen or (held == seen and trainable <= wanted)


def _enter_parts(
    part: RootWatch, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, ...] | None:
    """Note a call of a part in the roots that it is a part of; return its new arguments."""
    replaced: tuple[Any, ...] | None = None
    for whole in part.wholes:
        now = whole.enter_part(part.root, args if replaced is None else replaced, kwargs)
        replaced = replaced if now is None else now
    return replaced


def _may_train(one: BackwardPass, root: RootWatch) -> bool:
    """Return whether a script may use the gradients of a pass to update a root by hand.

    Not if its calls had other parameters, as torch.func.functional_call gives it.
    """
    if one.fills:
        return root.names_in_call.keys() & root.parameter_ids() != set() or any(
            info.tensor.grad is not None for info in root.model.parameters()
        )
    return (
        not one.is_inner
        and one.inputs is not None
        and not one.inputs.isdisjoint(root.parameter_ids())
    )


def _is_hidden() -> bool:
    """Return whether a call recomputes a checkpoint, or runs inside a transform of torch.func."""
    return current_graph_task_id() != -1 or peek_interpreter_stack() is not None


def _loose(parameters: list[Any]) -> LooseParameters:
    """Return parameters of no module under the names of their variables, else their numbers."""
    names = [name_of(p, sys._getframe(1)) or f"[{i}]" for i, p in enumerate(parameters)]
    if len(set(names)) < len(names):
        names = [f"[{i}]" for i in range(len(names))]
    return LooseParameters(dict(zip(names, parameters, strict=True)))


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
