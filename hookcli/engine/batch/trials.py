"""Runs the model with an inferred batch of fake tensors, and notes how far it gets."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from hookcli.engine.batch.fake_checks import (
    FakeDoubtError,
    FakeTensorChecks,
    is_inconclusive,
    mixes_real,
)
from hookcli.engine.neutrality.model_state import room_for_hooks
from hookcli.inputs.infer.failed_line import failed_line
from hookcli.inputs.infer.trial import Reached, Trial
from hookcli.inputs.materialise import make_tensor
from hookcli.models.converted.compiled import run_eagerly
from hookcli.models.converted.quantized import is_layer
from hookcli.models.failures import message_of, type_name
from hookcli.models.model import Call, CallInputs, Model
from hookcli.models.nested import argument_leaves, dtype_name, leaves, shape_of
from hookcli.models.torchscript.twins import twin_of
from hookcli.spec.inferred import Hypothesis
from hookcli.spec.inputs import TensorSpec

_KEPT = 200  # layers noted in a trial


class _Watch:
    """Notes the leaf layers that a trial reaches, and the one that raises first."""

    def __init__(self, doubts: FakeTensorChecks, slots: dict[int, str]) -> None:
        self._slots = slots
        self.reached: list[Reached] = []
        self.failed: Reached | None = None
        self.calls = 0
        self._running: dict[int, Reached] = {}
        self._error: BaseException | None = None
        self._doubts = doubts

    def enter(self, call: Call, batch: CallInputs) -> None:
        module = call.module
        if is_layer(module):
            tensors = [t for _, t, _ in argument_leaves(*batch)]
            note = Reached(
                twin_of(module),
                call.name or "",
                tuple(tuple(t.shape) for t in tensors),
                tuple(dtype_name(t.dtype) for t in tensors),
                tuple(self._slots.get(id(t)) for t in tensors),
            )
            self._running[call.order] = note
            self.calls += 1
            if len(self.reached) < _KEPT:
                self.reached.append(note)
        self._doubts.check(module, *batch)

    def leave(self, call: Call, _output: Any, error: BaseException | None) -> None:
        note = self._running.pop(call.order, None)
        if error is not None and error is not self._error:
            self._error = error
            self.failed = note

    def of(self, error: BaseException) -> Reached | None:
        """Return the layer that raised this error."""
        return self.failed if error is self._error else None


@contextmanager
def _target_as_output() -> Iterator[None]:
    """Raise an error for a target that a loss of torch broadcasts: it has another shape."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "Using a target size", UserWarning)
        yield


def trier(
    model: Model,
    around: Callable[[], Any],
    known: Callable[[torch.Tensor, FakeTensorChecks], torch.Tensor],
    *,
    floating: torch.dtype,
    device: str,
    grad: bool,
    real: bool = False,
    call: Callable[..., Any] | None = None,
) -> Callable[[Hypothesis], Trial]:
    """Return a function that runs a fake model with a hypothesis. `around()` is its fake mode.

    With `real`, the model has real tensors, and `around()` restores it after each trial.
    `call(args, kwargs)` is what runs; by default, the model.

    `known(real, doubts)` makes the fake counterpart of a tensor with known values.
    """

    def attempt(hypothesis: Hypothesis) -> Trial:
        doubts = FakeTensorChecks()
        slots: dict[int, str] = {}
        watch = _Watch(doubts, slots)

        def tensor(name: str, spec: TensorSpec) -> torch.Tensor:
            if spec.dtype is None or not spec.shape:
                with around():  # floats need no values, and may be large
                    made = make_tensor(spec, floating, device)
            else:
                made = known(make_tensor(spec, floating, device), doubts)
            slots[id(made)] = name
            return made

        args, kwargs = hypothesis.map(tensor)
        try:
            with (
                around(),
                torch.set_grad_enabled(grad),
                run_eagerly(),
                room_for_hooks(),
                _target_as_output(),
                model.observe(watch.enter, watch.leave),
            ):
                output = (call or model.call)(args, kwargs)
        except Exception as error:  # noqa: BLE001  # the next hypothesis is derived from it
            limit = not real and is_inconclusive(error) and type(error) is not FakeDoubtError
            return Trial(
                hypothesis,
                ran=limit and bool(watch.reached),
                lost=limit,
                mixed=not real and mixes_real(error),
                error=message_of(error)[:2000],
                kind=type_name(error),
                failed=watch.of(error),
                reached=watch.reached,
                calls=watch.calls,
                line=failed_line(error, slots),
            )
        shapes = (shape_of(tensor) for _, tensor, _ in leaves(output))
        outputs = tuple(tuple(size or 0 for size in shape) for shape in shapes)
        return Trial(
            hypothesis, ran=True, reached=watch.reached, calls=watch.calls, outputs=outputs
        )

    return attempt
