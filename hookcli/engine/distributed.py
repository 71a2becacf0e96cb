"""A run on several ranks: joins them, wraps the model, and collects what they exchange."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed import Store  # type: ignore[attr-defined]
from torch.nn.parallel import DistributedDataParallel
from torch.nn.parameter import is_lazy

from hookcli.distributed.buckets import Buckets, hook_name
from hookcli.distributed.group import Group, join, set_environment
from hookcli.engine.observe.timeline import Timeline
from hookcli.engine.probes.rerun import Rerun
from hookcli.engine.statistics.digest import digest
from hookcli.engine.statistics.statistics import norm_of
from hookcli.errors import ModelError, RequestError
from hookcli.hooks.attach.comm import Averaging, process_group, try_out
from hookcli.hooks.context import Context
from hookcli.hooks.hook import Hook
from hookcli.models.batch import Batch
from hookcli.models.failures import text_of
from hookcli.models.model import Model
from hookcli.models.nested import leaves
from hookcli.refusals import raise_if_external
from hookcli.report.distributed import BucketRow, Distributed, UnitRow, UnreachedRow
from hookcli.report.findings import Measurement
from hookcli.report.ranks.merge import GRADIENT, PARAMETER, STATE
from hookcli.report.recording import Recording
from hookcli.report.rows.events import number
from hookcli.spec.plan import Plan
from hookcli.spec.request import DistributedSpec, Rank
from hookcli.text import first_line, join_names
from hookcli.torch_private import get_default_store


class DistributedRun:
    """The ranks of one run. `number` is that of this rank; a single rank exchanges nothing.

    `sharded` is True if each rank has a part of the model.
    """

    def __init__(self, spec: DistributedSpec | None = None, rank: Rank | None = None) -> None:
        self._spec = spec or DistributedSpec()
        self._rank = rank or Rank(0, 1, 0, 1, None, 600.0)
        self._joined = rank is not None
        self._group: Group | None = None
        self._unreached: list[list[str]] = []
        self._units: tuple[UnitRow, ...] = ()
        self._options: dict[str, Any] = {}
        self._buckets: Buckets | None = None
        self._hook: str | None = None
        self.sharded = False
        self._timeline: Timeline | None = None
        if self._joined:
            set_environment(self._rank)

    @property
    def number(self) -> int:
        """The number of this rank."""
        return self._rank.number

    def join(self, device: str) -> None:
        """Join the other ranks, before the user's code runs."""
        self._group = join(self._rank, self._spec, torch.device(device))

    def ready(self, model: Model, batch: Batch, plan: Plan, hook: Hook | None) -> None:
        """Check that all ranks have the same model, find unused parameters, shard if requested.

        Raises
        ------
        RequestError, ModelError : the models differ, or the configuration is not supported.
        """
        self._refuse(plan, hook)
        if self._group is None or self.sharded:
            self._unreached = [find_unused_parameters(model, batch, plan) or []]
            return
        check_alike(model, self._group, self._spec.place)
        self._unreached = self._group.gather(find_unused_parameters(model, batch, plan) or [])
        self._check_reach()
        if hook is not None:
            try_out(hook.spec, plan.steps)
        if self._spec.parallel == "fsdp":
            from hookcli.distributed.fsdp import shard

            self._units = shard(model.root, self._spec, self._group.device, self._group.world)
            self.sharded = True

    def _refuse(self, plan: Plan, hook: Hook | None) -> None:
        """Raise a RequestError for settings that several ranks do not support."""
        if plan.backward.inputs:
            raise RequestError(
                "run.backward.inputs cannot be combined with several ranks or a communication "
                "hook: torch.autograd.grad does not exchange gradients",
                place="run.backward.inputs",
                hint="omit it, or omit `--nproc` and the communication hook",
            )
        if hook is not None and self._spec.parallel == "fsdp":
            raise RequestError(
                f"FSDP does not support kind {hook.spec.kind}",
                place=hook.spec.place,
                hint="write `run: {distributed: {parallel: ddp}}`",
            )

    def _check_reach(self) -> None:
        """Raise a ModelError if the run would hang: some ranks use a parameter, others do not."""
        unreached = [(r, name) for r, names in enumerate(self._unreached) for name in names]
        sharded = self._spec.parallel == "fsdp"
        uneven = any(names != self._unreached[0] for names in self._unreached)
        hangs = uneven if sharded else self._spec.find_unused_parameters is False
        if not unreached or not hangs:
            return
        named = join_names([f"{name} on rank {rank}" for rank, name in unreached])
        wrapper = "FSDP" if sharded else "DistributedDataParallel"
        raise ModelError(
            f"the loss does not reach {named}: {wrapper} would wait for their gradients",
            place=self._spec.place,
            hint="use the parameters on all ranks"
            if sharded
            else "write `find_unused_parameters: true`, or omit it",
        )

    def wrap(
        self,
        model: Model,
        hook: Hook | None,
        context: Context,
        stack: ExitStack,
        timeline: Timeline | None,
    ) -> None:
        """Wrap the model in DistributedDataParallel, and observe its communication."""
        self._timeline = timeline
        if self._spec.parallel == "fsdp":
            return
        group = self._group
        if group is None:
            stack.enter_context(process_group())
            group = Group(0, 1, "gloo", torch.device("cpu"))
            self._group = group
            stack.callback(setattr, self, "_group", None)
        infos = model.parameters()
        names = {id(info.tensor): info.name for info in infos}
        device = infos[0].tensor.device if infos else torch.device("cpu")
        on_bucket = None if timeline is None else timeline.bucket
        buckets = Buckets(group, names, on_bucket, one_by_one=hook is not None)
        self._buckets, self._hook = buckets, hook_name(hook)
        averaging = Averaging(hook, names)
        unused = any(self._unreached)
        self._options = ddp_options(self._spec, unused=unused)
        stack.enter_context(buckets.wire.tapped())

        def entry(_: Any, bucket: Any) -> Any:
            return buckets.take(context.step, bucket, lambda: averaging(bucket))

        place = self._spec.place if hook is None else hook.spec.place
        model.wrapper = wrap_in_ddp(model.root, self._options, device, entry, place)
        stack.callback(setattr, model, "wrapper", None)

    def original(self, error: BaseException) -> BaseException:
        """Return the error that a communication hook's callback raised, if `error` reports one."""
        raised = None if self._buckets is None else self._buckets.wire.raised
        return error if raised is None or "running the callback" not in text_of(error) else raised

    def conclude(self, model: Model, recording: Recording) -> None:
        """Add the buckets, units and unused parameters of this rank to the recording."""
        buckets = () if self._buckets is None else tuple(self._buckets.rows)
        backend = "gloo" if self._group is None else self._group.backend
        recording.distributed = Distributed(
            backend=backend,
            parallel=self._spec.parallel,
            world_size=self._rank.world,
            hook=self._hook,
            options=self._options,
            rebuilt=_rebuilt(buckets),
            buckets=buckets,
            units=self._units,
            unreached=tuple(UnreachedRow(name, (self.number,)) for name in self._mine()),
        )
        if self._buckets is not None and self._buckets.would_mix and backend == "gloo":
            recording.warnings.append(
                f"{self._hook} sends from callbacks, and gloo mixes up buckets that send at once "
                "or aborts: in this run each bucket waited for the previous one"
            )
        if self._joined and not self.sharded and recording.failure is None:
            recording.measured += state_rows(model)
        if self._timeline is not None and recording.timings is not None and self._group:
            start = (self._timeline.zero - self._group.mark) / 1000
            recording.timings = {**recording.timings, "start": start}

    def _mine(self) -> list[str]:
        """Return the parameters that the loss does not reach on this rank."""
        if not self._unreached:
            return []
        return self._unreached[self.number if len(self._unreached) > 1 else 0]

    def exchange(self, text: str) -> tuple[str | None, ...]:
        """Under torchrun, send this rank's report to rank 0, which gets those of all others."""
        if not self._joined or self._rank.store is not None or not dist.is_initialized():
            return ()
        return exchange(text, self._rank)


def _rebuilt(buckets: Sequence[BucketRow]) -> int | None:
    """Return the first step whose buckets differ from those of step 0; None if none does."""
    steps: dict[int, list[tuple[str, ...]]] = {}
    for row in sorted(buckets, key=lambda bucket: (bucket.step, bucket.index)):
        steps.setdefault(row.step, []).append(row.parameters)
    return next((step for step, names in steps.items() if names != steps.get(0, names)), None)


def _state(tensor: torch.Tensor | None) -> dict[str, Any] | None:
    """Return a digest of a tensor's bits, and its 2-norm."""
    if tensor is None:
        return None
    norm = norm_of(tensor)
    return {"bits": digest(tensor), "norm": None if norm is None else number(norm["norm"])}


def state_rows(model: Model) -> list[Measurement]:
    """Return a measurement of the state and gradient of each parameter."""
    return [
        Measurement(
            STATE,
            info.name,
            None,
            {PARAMETER: _state(info.tensor), GRADIENT: _state(info.tensor.grad)},
            None,
        )
        for info in model.parameters()
    ]


def find_unused_parameters(model: Model, batch: Batch, plan: Plan) -> list[str] | None:
    """Return the names of parameters that get no gradient; None if the model raises.

    The run itself will then report the error. Backward is run, because reading the graph would
    miss what a checkpoint recomputes.
    """
    if not plan.goes_backward:
        return []
    again = Rerun(model, batch, plan, "cpu")
    try:
        with again.running("eval" if plan.mode == "eval" else "train") as output:
            if plan.backward.gradient is None:
                again.backward(output)
            else:
                start = next(t for _, t, _ in leaves(output) if t.requires_grad)
                torch.autograd.backward(start, torch.ones_like(start))
            return [
                info.name
                for info in model.parameters()
                if info.tensor.requires_grad and info.tensor.grad is None
            ]
    except Exception as error:  # noqa: BLE001  # the user's code may raise anything
        raise_if_external(error)
        return None


# All ranks must have built the same model: torch would wait for data that never arrives.

_Row = tuple[str, str, bool]


def _rows(model: Model) -> list[_Row]:
    """Return the name, the shape and dtype, and requires_grad of each parameter."""
    return [(info.name, _form(info.tensor), info.tensor.requires_grad)
            for info in model.parameters()]  # fmt: skip


def _form(tensor: torch.Tensor) -> str:
    """Return shape and dtype as a string; a lazy parameter has no shape yet."""
    shape = "uninitialized" if is_lazy(tensor) else str(list(tensor.shape))
    return f"{shape} {str(tensor.dtype).removeprefix('torch.')}"


def _difference(first: list[_Row], other: list[_Row], rank: int) -> str:
    """Return the first difference between a rank and rank 0, as a sentence."""
    for ours, theirs in zip(first, other, strict=False):
        if ours[0] != theirs[0]:
            return f"rank {rank} has {theirs[0]}, but rank 0 has {ours[0]}"
        if ours[1] != theirs[1]:
            return f"{ours[0]} is {theirs[1]} on rank {rank}, but {ours[1]} on rank 0"
        if ours[2] != theirs[2]:
            word = "trainable" if theirs[2] else "frozen"
            return f"{ours[0]} is {word} on rank {rank}, but not on rank 0"
    return f"rank {rank} has {len(other)} parameters, but rank 0 has {len(first)}"


def check_alike(model: Model, group: Group, place: str) -> None:
    """Check that every rank has the same parameters.

    Raises
    ------
    ModelError : the parameters of two ranks differ. All ranks raise the same error.
    """
    rows_by_rank = group.gather(_rows(model))
    for rank, rows in enumerate(rows_by_rank):
        if rows != rows_by_rank[0]:
            raise ModelError(
                f"the ranks built different models: {_difference(rows_by_rank[0], rows, rank)}",
                place=place,
                hint="check whether the model's code reads RANK or draws a random size",
            )


def ddp_options(spec: DistributedSpec, *, unused: bool) -> dict[str, Any]:
    """Return the keyword arguments of DistributedDataParallel.

    `unused` tells that some parameter gets no gradient on some rank.
    """
    find = spec.find_unused_parameters
    kwargs = {
        "bucket_cap_mb": spec.bucket_cap_mb,
        "find_unused_parameters": unused and not spec.static_graph if find is None else find,
        "static_graph": spec.static_graph,
        "gradient_as_bucket_view": spec.gradient_as_bucket_view,
        "broadcast_buffers": None if spec.broadcast_buffers else False,  # deprecated in torch 2.13
    }
    return {name: value for name, value in kwargs.items() if value is not None}


def wrap_in_ddp(
    root: nn.Module,
    kwargs: dict[str, Any],
    device: torch.device,
    entry: Callable[[Any, Any], Any],
    place: str,
) -> DistributedDataParallel:
    """Return the wrapped model; `entry(state, bucket)` averages a bucket.

    Raises
    ------
    ModelError : DistributedDataParallel does not support the model.
    """
    try:
        ddp = DistributedDataParallel(
            root, device_ids=None if device.type == "cpu" else [device], **kwargs
        )
    except (RuntimeError, ValueError, TypeError, NotImplementedError) as error:
        raise ModelError(
            f"DistributedDataParallel does not support the model: {first_line(str(error))}",
            place=place,
            hint="use a model with a parameter that requires grad, and no lazy or meta parameters",
        ) from None
    ddp.register_comm_hook(None, _named(entry))
    return ddp


def _named(entry: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return the function with the parameter names that torch checks."""
    return lambda state, bucket: entry(state, bucket)  # a method also has `self`


# Under torchrun, which starts each rank separately, rank 0 gets the reports of all ranks.

_WAIT = 4.0  # seconds that rank 0 waits for late ranks after it has finished


def _key(rank: int) -> str:
    return f"hookcli/report/{rank}"


def exchange(text: str, rank: Rank, store: Store | None = None) -> tuple[str | None, ...]:
    """Send this rank's report to rank 0; on rank 0 return the reports of the others.

    The report of a rank that sent none in time is None. On other ranks the result is empty.
    """
    where: Store = get_default_store() if store is None else store
    if rank.number:
        where.set(_key(rank.number), zlib.compress(text.encode()))  # type: ignore[arg-type]
        return ()
    until = time.monotonic() + _WAIT
    return tuple(_received(where, i, until) for i in range(1, rank.world))


def _received(store: Store, rank: int, until: float) -> str | None:
    left = max(until - time.monotonic(), 0.1)
    try:
        store.wait([_key(rank)], timedelta(seconds=left))
        return zlib.decompress(store.get(_key(rank))).decode()
    except (RuntimeError, ValueError, zlib.error):
        return None
