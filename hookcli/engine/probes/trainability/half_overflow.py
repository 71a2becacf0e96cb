"""Finds the function that overflows float16 inside a forward whose outputs are finite."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from hookcli.engine.probes.context import Requests, RerunContext, single
from hookcli.engine.probes.function_calls import RunningCalls, caller
from hookcli.models import places
from hookcli.report.findings import Measurement

PROBE = "half_overflow"
# These may be given infinity on purpose, as for a mask.
_MASKS = {"masked_fill", "masked_fill_", "full", "full_like", "where", "fill_", "tensor", "clone"}


class _Overflow(TorchFunctionMode):
    """Notes the first function whose result in float16 is infinite, with finite inputs."""

    def __init__(self, calls: RunningCalls) -> None:
        self.found: dict[str, Any] | None = None
        self._calls = calls

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        options = kwargs or {}
        made = func(*args, **options)
        name = str(getattr(func, "__name__", ""))
        if self.found is None and name not in _MASKS and _is_infinite(made):
            self._note(name, made, [*args, *options.values()])
        return made

    def _note(self, name: str, made: torch.Tensor, given: list[Any]) -> None:
        tensors = [one.detach() for one in given if isinstance(one, torch.Tensor)]
        floats = [one for one in tensors if one.is_floating_point()]
        if not floats or any(not bool(torch.isfinite(one).all()) for one in floats):
            return
        frame, _ = caller(sys._getframe(2))
        call = self._calls.stack[-1] if self._calls.stack else None
        self.found = {
            "function": name.strip("_"),
            "values": int(torch.isinf(made.detach()).sum()),
            "of": made.numel(),
            "name": None if call is None else call.name,
            "module": None if call is None else call.type,
            "place": None if frame is None else places.of_frame(frame),
        }


def _is_infinite(made: Any) -> bool:
    is_half = isinstance(made, torch.Tensor) and made.dtype is torch.float16
    return is_half and bool(torch.isinf(made.detach()).any())


def measure(requests: Requests, context: RerunContext) -> list[Measurement]:
    """Measure the first overflow of a forward in the mode of the plan."""
    calls = RunningCalls()
    watch = _Overflow(calls)
    again = context.again
    with (
        again.model.observe(calls.enter, calls.leave),
        again.running(again.plan.mode, within=watch),
    ):
        pass
    return single(PROBE, watch.found or {"why": "no value overflows float16"})
