"""Attaching a communication hook of DistributedDataParallel: what averages a bucket of gradients.

Its return is checked: torch takes None for a Future, and the process dies of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import (
    debugging_hooks,
    default_hooks,
    post_localSGD_hook,
    powerSGD_hook,
    quantization_hooks,
)
from torch.nn.parallel import DistributedDataParallel

from hookcli.config.hooks import CallRef, HookSpec, is_average
from hookcli.errors import ModelError, RequestError
from hookcli.hooks.hook import Hook, Site
from hookcli.models.functions import function_of

Average = Callable[[Any, Any], Any]
_BUILT_IN: dict[str, Average] = {
    "allreduce": default_hooks.allreduce_hook,
    "fp16_compress": default_hooks.fp16_compress_hook,
    "bf16_compress": default_hooks.bf16_compress_hook,
    "powersgd": powerSGD_hook.powerSGD_hook,
    "batched_powersgd": powerSGD_hook.batched_powerSGD_hook,
    "quantize_per_tensor": quantization_hooks.quantization_pertensor_hook,
    "quantize_per_channel": quantization_hooks.quantization_perchannel_hook,
    "noop": debugging_hooks.noop_hook,
    "post_local_sgd": post_localSGD_hook.post_localSGD_hook,
}
_POWER = {"powersgd", "batched_powersgd"}


@contextmanager
def process_group() -> Iterator[None]:
    """The process group there is; else one of this process alone."""
    if dist.is_initialized():
        yield
        return
    dist.init_process_group(
        "gloo", store=torch._C._distributed_c10d.HashStore(), rank=0, world_size=1
    )
    try:
        yield
    finally:
        dist.destroy_process_group()


def _averaging(spec: HookSpec) -> tuple[Any, Average]:
    """The state and the function that averages, which torch's register_comm_hook takes."""
    action = next((one for one in spec.actions if is_average(one)), None)
    if action is None:
        return None, _BUILT_IN["allreduce"]
    if isinstance(action.argument, CallRef):
        return None, function_of(action.argument.function, action.place or spec.place)
    options = {key: value for key, value in action.argument.items() if key != "name"}
    name = action.argument["name"]
    try:
        return _state(name, options), _BUILT_IN[name]
    except (TypeError, ValueError) as error:
        raise RequestError(
            f"the state of {name} cannot be made: {error}",
            place=action.place or spec.place,
            hint="its keys are those of torch's own state",
        ) from None


def _state(name: str, options: dict[str, Any]) -> Any:
    if name in _POWER:
        return powerSGD_hook.PowerSGDState(process_group=None, **options)
    if name == "post_local_sgd":
        kind: Any = post_localSGD_hook.PostLocalSGDState
        return kind(process_group=None, subgroup=dist.group.WORLD, **options)
    return dist.group.WORLD if name.startswith("quantize") else None


def wrapped(
    root: nn.Module, hook: Hook, names: dict[int, str], device: torch.device
) -> DistributedDataParallel:
    """The model in DistributedDataParallel with the hook; `names` are those of its parameters.

    Raises
    ------
    RequestError, ModelError : torch refuses the model, or the state of the hook.
    """
    try:
        ddp = DistributedDataParallel(
            root,
            device_ids=None if device.type == "cpu" else [device],
            find_unused_parameters=True,  # else a bucket waits for ever for what gets no gradient
        )
    except RuntimeError as error:
        raise ModelError(
            f"DistributedDataParallel refuses the model: {str(error).splitlines()[0]}",
            place=hook.spec.place,
            hint="kind ddp_comm needs a parameter that requires grad",
        ) from None
    state, average = _averaging(hook.spec)

    entry: Average = lambda state, bucket: _fire(hook, state, bucket, average, names)  # noqa: E731  # torch reads annotations, and takes none
    ddp.register_comm_hook(state, entry)
    hook.attached += 1
    return ddp


def _fire(hook: Hook, state: Any, bucket: Any, average: Average, names: dict[int, str]) -> Any:
    held = [names.get(id(p), "?") for p in bucket.parameters()]
    site = Site(", ".join(held[:3]) + ("…" if len(held) > 3 else ""))
    buffer = bucket.buffer()
    new = hook.fire(site, buffer, lambda _: (state, bucket), node=f"bucket {bucket.index()}")
    if isinstance(new, torch.Tensor):
        bucket.set_buffer(new)
    return checked(average(state, bucket), buffer, hook.spec.place)


def checked(future: Any, buffer: torch.Tensor, place: str) -> Any:
    """The future, if it is one of a tensor that fits the bucket.

    Raises
    ------
    ModelError : it is not; torch would die of None, and take float64 for float32.
    """
    if not isinstance(future, torch._C.Future):
        raise ModelError(
            f"the communication hook returned {type(future).__name__}, not a Future",
            place=place,
            hint="return a torch.futures.Future of the bucket's averaged buffer",
        )

    def check(done: Any) -> Any:
        value = done.value()
        value = value[0] if isinstance(value, (list, tuple)) and len(value) == 1 else value
        shape = getattr(value, "shape", None)
        if shape != buffer.shape or getattr(value, "dtype", None) != buffer.dtype:
            raise ModelError(
                "the communication hook's Future holds no tensor of the bucket's shape and dtype",
                place=place,
                hint=f"{buffer.dtype} of shape {list(buffer.shape)} is wanted",
            )
        return value

    return future.then(check)
