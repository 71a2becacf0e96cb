"""One rank: builds the model with the reference's weights, applies the plan, runs, records."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from time import perf_counter
from typing import Any

import torch
from torch import nn

from hookcli.distributed.group import join, set_environment
from hookcli.engine.batch.outcome import Result
from hookcli.engine.diff.exchange import Side
from hookcli.engine.observe.recorder import Progress
from hookcli.engine.parallel.names import plain_name
from hookcli.engine.parallel.plans import apply_plan
from hookcli.engine.parallel.portions import Portions, part_of_batch, portions_of, start_of
from hookcli.engine.parallel.recorder import (
    GRADIENT,
    INPUTS,
    OUTPUTS,
    RESULT,
    START,
    VALUE,
    note_output_gradients,
)
from hookcli.engine.parallel.records import (
    REFERENCE,
    RecordWriter,
    file_of,
    read_records,
    tensor_record,
    tensor_records,
)
from hookcli.engine.parallel.reports import report_of
from hookcli.engine.prepare import prepare
from hookcli.engine.seeds import seed_all
from hookcli.errors import ModelError, is_own
from hookcli.models import module_tree, places
from hookcli.models.batch import Batch
from hookcli.models.failures import failure_of
from hookcli.models.nested import argument_leaves, leaves
from hookcli.models.python.importing import own_path
from hookcli.report.recording import CallNote
from hookcli.report.report import ErrorInfo
from hookcli.spec.compared.parallel import ParallelRun
from hookcli.spec.plan import plan
from hookcli.spec.request import Attempt, DistributedSpec, Rank, SideSpec, Spec


class RankSession:
    """Runs one rank of a plan. `progress` is called with each phase and each call."""

    def __init__(self, spec: Spec, attempt: Attempt, run: ParallelRun, progress: Progress) -> None:
        if attempt.rank is None:
            raise ValueError("a plan runs on ranks")
        self._spec, self._attempt, self._run = spec, attempt, run
        self._rank: Rank = attempt.rank
        self._progress = progress
        self._started = perf_counter()
        self._writer = RecordWriter(file_of(run.folder, self._rank.number))
        self._phase = "start"
        self._running: list[tuple[str, int, nn.Module]] = []
        self._counts: dict[str, int] = {}
        self._is_backward = False
        self._known: frozenset[str] = frozenset()  # names of modules and parameters

    def run(self) -> Result:
        """Run the rank; return a report that has only the error, if there was one.

        Raises
        ------
        RequestError, ModelError : the model cannot be built, or the plan cannot be applied.
        """
        spec = self._spec
        set_environment(self._rank)
        device = torch.device(spec.run.device)
        join(self._rank, spec.run.distributed or DistributedSpec(), device)
        with own_path():
            loaded = prepare(spec, self._attempt, None, self._begin)
            side = Side(spec, SideSpec("b", self._run.folder, weights=True))
            side.exchange_weights(loaded.root)
            candidate = side.their_batch(loaded.root)
            if candidate is None:
                raise ValueError("the reference wrote no batch")
            names = [name for _, (name, *_), _ in module_tree.tensors(loaded.root, "_parameters")]
            modules = [name for _, found in module_tree.modules(loaded.root) for name in found]
            self._known = frozenset((*names, *modules))
            if (mode := plan(spec).mode) != "as-is":
                loaded.root.train(mode == "train")
            self._begin("build")
            root = apply_plan(self._run.plan, loaded.root, device, names)
            seed_all(spec.run.seed)
            portions = portions_of(
                candidate.batch, self._run.plan.mesh, self._rank.number, self._run.plan.place
            )
            error = self._observed(root, part_of_batch(candidate.batch, portions), portions)
        self._writer.close()
        return Result(report_of(spec, self._started, error), None, None, ())

    def _begin(self, phase: str) -> None:
        self._phase = phase
        self._progress(phase, None)
        if phase in {"import", "build"}:
            seed_all(self._spec.run.seed)

    def _observed(self, root: nn.Module, batch: Batch, portions: Portions) -> ErrorInfo | None:
        """Run forward and backward; return the error that the model raised, if any."""
        parameters = module_tree.tensors(root, "_parameters")
        for tensor, names, _ in parameters:
            self._write(
                what=VALUE, name=plain_name(names[0], self._known), tensor=tensor_record(tensor)
            )
        try:
            with ExitStack() as stack:
                self._attach(root, stack)
                self._begin("forward")
                output = root(*batch.args, **batch.kwargs)
                self._write(what=RESULT, tensors=tensor_records(leaves(output)))
                self._is_backward = True
                self._running.clear()
                self._begin("backward")
                self._backward(output, portions)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # the model's own code may raise anything
            if is_own(error) and type(error) is not ModelError:
                raise
            return self._error(error)
        self._begin("report")
        for tensor, names, _ in module_tree.tensors(root, "_parameters"):
            if tensor.grad is not None:
                self._write(what=GRADIENT, name=plain_name(names[0], self._known),
                            tensor=tensor_record(tensor.grad))  # fmt: skip
        return None

    def _write(self, **record: Any) -> None:
        self._writer.write(**record)

    def _attach(self, root: nn.Module, stack: ExitStack) -> None:
        """Observe all modules. The hooks come after those of the plan, and see what they made."""
        for module, names in module_tree.modules(root):
            name = plain_name(names[0], self._known)
            for handle in (
                module.register_forward_pre_hook(self._enter(name), with_kwargs=True),
                module.register_forward_hook(self._leave(name), with_kwargs=True),
            ):
                stack.callback(handle.remove)

    def _enter(self, name: str) -> Callable[..., None]:
        def enter(module: nn.Module, args: Any, kwargs: Any) -> None:
            if self._is_backward:
                return
            if any(other == name for other, _, _ in self._running):  # inside its wrapper
                self._running.append((name, -1, module))
                return
            index = self._counts.get(name, 0)
            self._counts[name] = index + 1
            self._running.append((name, index, module))
            place = places.of_class(type(module))
            self._progress(self._phase, _note(name, type(module).__name__, index, place))
            self._write(what=INPUTS, name=name, index=index,
                        tensors=tensor_records(argument_leaves(args, kwargs)))  # fmt: skip

        return enter

    def _leave(self, name: str) -> Callable[..., None]:
        def leave(module: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
            if self._is_backward:
                return
            while self._running and self._running[-1][2] is not module:
                self._running.pop()
            index = self._running.pop()[1] if self._running else -1
            if index < 0:
                return
            found = leaves(output)
            self._write(what=OUTPUTS, name=name, index=index, tensors=tensor_records(found))
            note_output_gradients(self._write, name, index, found)

        return leave

    def _backward(self, output: Any, portions: Portions) -> None:
        """Run backward from the gradients of the reference's outputs."""
        starts = {
            record["path"]: record["tensor"]["local"]
            for record in read_records(file_of(self._run.folder, REFERENCE))
            if record["what"] == START
        }
        tensors, gradients = [], []
        for path, tensor, _ in leaves(output):
            if not tensor.requires_grad or path not in starts:
                continue
            gradient = start_of(tensor, starts[path], portions)
            if gradient is not None:
                tensors.append(tensor)
                gradients.append(gradient.to(tensor.device))
        if tensors:
            torch.autograd.backward(tensors, gradients)

    def _error(self, error: BaseException) -> ErrorInfo:
        failure = failure_of(error, self._phase)
        name, index = self._running[-1][:2] if self._running else (None, None)
        kind = None if not self._running else type(self._running[-1][2])
        place = failure.place or (None if kind is None else places.of_class(kind))
        return ErrorInfo(
            self._phase, name, index, (), failure.type, failure.message, place, failure.hint
        )


def _note(name: str, kind: str, index: int, place: str | None) -> CallNote:
    return CallNote(
        order=0, key=0, name=name, type=kind, original_name=None, index=index, parent=None,
        depth=0, training=False, place=place, recomputed=False, inputs=[],
    )  # fmt: skip
