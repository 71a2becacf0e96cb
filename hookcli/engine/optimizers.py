"""Creates optimizers, and measures what they store."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from hookcli.engine.cost.live_bytes import LiveBytes
from hookcli.errors import RequestError
from hookcli.models.fake.dispatch_mode import UncompiledMode
from hookcli.sentences import unknown
from hookcli.spec.hooks import OptimizerSpec
from hookcli.torch_private import FakeTensorMode


def make_optimizer(
    spec: OptimizerSpec,
    parameters: Iterable[torch.Tensor],
    place: str,
    *,
    hint: str,
    name_place: str,
) -> torch.optim.Optimizer:
    """Return the optimizer of a request for these parameters.

    Raises
    ------
    RequestError : torch.optim does not have it, or it does not accept the options or parameters.
    """
    kind = getattr(torch.optim, spec.name, None)
    if not (isinstance(kind, type) and issubclass(kind, torch.optim.Optimizer)):
        raise RequestError(
            unknown("optimizer", spec.name),
            place=name_place,
            hint="use a class of torch.optim, such as SGD, Adam, AdamW or RMSprop",
        )
    try:
        made: torch.optim.Optimizer = kind(list(parameters), **spec.options)
    except (TypeError, ValueError) as error:
        raise RequestError(
            f"cannot create the optimizer {spec.name}: {error}", place=place, hint=hint
        ) from None
    return made


class _NoValues(UncompiledMode):  # type: ignore[no-untyped-call]
    """Gives one value for every tensor that is read: what an optimizer stores depends on none.

    It is large, as the number of steps in training: RAdam takes fewer temporaries at first.
    """

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.name() == "aten::_local_scalar_dense":
            return 1000.0
        return func(*args, **(kwargs or {}))


def optimizer_memory(
    spec: OptimizerSpec,
    parameters: Iterable[tuple[tuple[int, ...], Any]],
    device: str,
    place: str,
) -> tuple[int, int]:
    """Return the bytes of an optimizer's state, and of what a step needs in addition at its peak.

    The first step runs with fake tensors of these shapes and dtypes, so that each argument of the
    optimizer has the effect that it has in training.

    Raises
    ------
    RequestError : the optimizer cannot be created for these parameters.
    """
    peak = 0

    def after(now: int) -> None:
        nonlocal peak
        peak = max(peak, now)

    with FakeTensorMode():
        tensors = [
            torch.nn.Parameter(torch.empty(shape, dtype=dtype, device=device))
            for shape, dtype in parameters
        ]
        if not tensors:
            return 0, 0
        for tensor in tensors:
            tensor.grad = torch.empty_like(tensor)
        live = LiveBytes(after)
        with live, _NoValues():  # type: ignore[no-untyped-call]
            made = make_optimizer(  # some create their state here
                spec,
                tensors,
                place,
                name_place=place,
                hint="remove the option, or name another optimizer",
            )
            made.step()
        state = live.now
    return state, peak - state
