"""Attaches a communication hook of DistributedDataParallel, which averages a gradient bucket.

Its return value is checked: torch takes None for a Future, and the process crashes.
"""

from __future__ import annotations

import re
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

from hookcli.errors import ModelError, RequestError
from hookcli.hooks.hook import Hook, Site
from hookcli.models.failures import failure_of
from hookcli.models.python.functions import function_of
from hookcli.spec.hooks import FunctionRef, HookSpec, StateRef, is_average
from hookcli.torch_private import Future

Average = Callable[[Any, Any], Any]
_BUILT_IN: dict[str, Average] = {
    "allreduce": default_hooks.allreduce_hook,
    "fp16_compress": default_hooks.fp16_compress_hook,
    "bf16_compress": default_hooks.bf16_compress_hook,
    "power_sgd": powerSGD_hook.powerSGD_hook,
    "batched_power_sgd": powerSGD_hook.batched_powerSGD_hook,
    "quantize_per_tensor": quantization_hooks.quantization_pertensor_hook,
    "quantize_per_channel": quantization_hooks.quantization_perchannel_hook,
    "noop": debugging_hooks.noop_hook,
    "post_local_sgd": post_localSGD_hook.post_localSGD_hook,
}
_WRAPPERS: dict[str, Callable[[Average], Average]] = {
    "fp16_compress_wrapper": default_hooks.fp16_compress_wrapper,
    "bf16_compress_wrapper": default_hooks.bf16_compress_wrapper,
}
_POWER = {"power_sgd", "batched_power_sgd"}


@contextmanager
def process_group() -> Iterator[None]:
    """Provide a process group: the existing one, else a new one with this process only."""
    if dist.is_initialized():
        yield
        return
    store = dist.HashStore()  # type: ignore[attr-defined]
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        yield
    finally:
        dist.destroy_process_group()


def _average_of(argument: Any, place: str) -> tuple[Any, Average]:
    """Return the arguments of torch's register_comm_hook: the state and the averaging function."""
    if isinstance(argument, FunctionRef):
        return _user_state(argument.state, place), function_of(argument.function, place)
    name = argument["name"]
    if name in _WRAPPERS:
        state, inner = _average_of(argument["around"], place)
        return state, _cast_back(_WRAPPERS[name](inner))
    options = {key: value for key, value in argument.items() if key != "name"}
    try:
        return _state(name, options), _BUILT_IN[name]
    except (TypeError, ValueError) as error:
        raise RequestError(
            f"cannot create the state of {name}: {error}",
            place=place,
            hint="use the options that PyTorch's own state accepts",
        ) from None


def _cast_back(average: Average) -> Average:
    """Cast the result back to the bucket's dtype: torch's wrappers leave it in the narrow one."""

    def cast(state: Any, bucket: Any) -> Any:
        dtype = bucket.buffer().dtype
        return average(state, bucket).then(lambda done: done.value().to(dtype))

    cast.__name__ = average.__name__
    return cast


def _under_its_name(average: Average) -> Average:
    """Return the function without annotations but with its name: torch checks both."""
    plain = lambda state, bucket: average(state, bucket)  # noqa: E731
    plain.__name__ = getattr(average, "__name__", plain.__name__)
    return plain


def _user_state(state: StateRef | None, place: str) -> Any:
    """Create the user's own state by calling their function."""
    if state is None:
        return None
    make = function_of(state.function, place)
    try:
        return make(**state.args)
    except Exception as error:  # noqa: BLE001  # the user's code may raise anything
        failure = failure_of(error, "build")
        raise ModelError(
            f"{state.function} raised {failure.type}: {failure.message}",
            place=failure.place or place,
            hint="check the args of this function, which creates the communication hook's state",
        ) from None


def _state(name: str, options: dict[str, Any]) -> Any:
    if name in _POWER:
        return powerSGD_hook.PowerSGDState(process_group=None, **options)
    if name == "post_local_sgd":
        kind: Any = post_localSGD_hook.PostLocalSGDState
        return kind(process_group=None, subgroup=dist.group.WORLD, **options)
    return dist.group.WORLD if name.startswith("quantize") else None


class Averaging:
    """Averages a bucket: with the configured hook and its other actions, or with all-reduce.

    `names` are the names of the model's parameters, by id.
    """

    def __init__(self, hook: Hook | None, names: dict[int, str]) -> None:
        self._hook, self._names = hook, names
        self._state: Any = None
        self._average: Average = default_hooks.allreduce_hook
        if hook is not None:
            self._state, self._average = _of_hook(hook.spec)
            hook.attached += 1

    def __call__(self, bucket: Any) -> Any:
        """Return the checked Future of the bucket's average."""
        buffer = bucket.buffer()
        place = ""
        if self._hook is not None:
            self._fire(self._hook, bucket, buffer)
            place = self._hook.spec.place
        return checked(self._average(self._state, bucket), buffer, place)

    def _fire(self, hook: Hook, bucket: Any, buffer: torch.Tensor) -> None:
        names = [self._names.get(id(p), "?") for p in bucket.parameters()]
        site = Site(", ".join(names[:3]) + ("…" if len(names) > 3 else ""))
        native = lambda _: (self._state, bucket)  # noqa: E731
        new = hook.fire(site, buffer, native, node=f"bucket {bucket.index()}")
        if isinstance(new, torch.Tensor):
            bucket.set_buffer(new)


def _of_hook(spec: HookSpec) -> tuple[Any, Average]:
    action = next((candidate for candidate in spec.actions if is_average(candidate)), None)
    if action is None:
        return None, default_hooks.allreduce_hook
    return _average_of(action.argument, action.place or spec.place)


def try_out(spec: HookSpec, steps: int) -> None:
    """Run one of torch's communication hooks on a tiny model, for as many steps as the run has.

    It runs before the model does.

    Raises
    ------
    RequestError : this torch or this backend does not support the hook.
    """
    action = next((candidate for candidate in spec.actions if is_average(candidate)), None)
    if action is None or not _is_torchs(action.argument):
        return
    place = action.place or spec.place
    state, average = _average_of(action.argument, place)
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        tiny = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))
        try:
            ddp = DistributedDataParallel(tiny)
            ddp.register_comm_hook(state, _under_its_name(average))
            for _ in range(steps):
                ddp(torch.ones(2, 8)).sum().backward()
        except Exception as error:  # noqa: BLE001  # whatever torch raises is the reason
            raise RequestError(
                f"{_called(action.argument)} failed with torch {torch.__version__} and "
                f"{dist.get_backend()}: {_innermost(error)}",
                place=place,
                hint="use allreduce or fp16_compress, which run everywhere",
            ) from None


# Matches an error inside another error's message, in which white space is one blank.
_CAUSE = re.compile(
    r"(?<![\w.])[\d.]*([A-Za-z_][\w.]*(?:Error|Exception)): (.*?)(?: At:|$)", re.DOTALL
)


def _innermost(error: Exception) -> str:
    """Return the error of a callback, which torch nests in the messages of other errors."""
    message = " ".join(str(error).split())
    causes = _CAUSE.findall(message.rpartition("running the callback: ")[2])
    if "running the callback" in message and causes:
        return f"{causes[-1][0]}: {causes[-1][1]}"
    return (
        f"{type(error).__name__}: {message}" if message else f"an {type(error).__name__} in torch"
    )


def _is_torchs(argument: Any) -> bool:
    return isinstance(argument, dict) and not isinstance(argument.get("around"), FunctionRef)


def _called(argument: Any) -> str:
    around = argument.get("around")
    return f"{argument['name']} around {around['name']}" if around else str(argument["name"])


def checked(future: Any, buffer: torch.Tensor, place: str) -> Any:
    """Return a Future that checks that its tensor fits the bucket.

    Raises
    ------
    ModelError : it is not a Future, or its tensor does not fit. torch itself would crash on None,
        and read float64 as float32.
    """
    if not isinstance(future, Future):
        raise ModelError(
            f"the communication hook must return a Future, got {type(future).__name__}",
            place=place,
            hint="return a torch.futures.Future of the bucket's averaged buffer",
        )

    def check(done: Any) -> Any:
        value = done.value()
        value = value[0] if isinstance(value, (list, tuple)) and len(value) == 1 else value
        shape = getattr(value, "shape", None)
        if shape != buffer.shape or getattr(value, "dtype", None) != buffer.dtype:
            raise ModelError(
                "the communication hook's Future must contain a tensor of the bucket's shape and "
                "dtype",
                place=place,
                hint=f"return {buffer.dtype} of shape {list(buffer.shape)}",
            )
        return value

    return future.then(check)
