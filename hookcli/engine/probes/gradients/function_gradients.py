"""Whether the backward of the user's autograd Functions is the derivative of their forward.

A Function is called again with the arguments of the run, in float64. Its gradients are compared
with differences of its results in random directions.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.autograd.function import BackwardCFunction
from torch.overrides import TorchFunctionMode

from hookcli.engine.gradient_path.source_lines import apply_frame
from hookcli.engine.probes.context import Requests, RerunContext
from hookcli.engine.probes.rerun import Rerun
from hookcli.engine.seeds import generators_kept, seed_all
from hookcli.models import places
from hookcli.models.nested import leaves
from hookcli.refusals import raise_if_external
from hookcli.report.findings import Measurement

PROBE = "function_gradients"
_DIRECTIONS = 4
_STEPS = (1e-4, 2.5e-5)  # relative to the largest value of the argument
_SMOOTH = 1e-4  # by how much the differences of both steps may differ
_WRONG = 0.05  # by how much a gradient must differ from them
_LARGEST = 2**22  # elements of the arguments


@dataclass(frozen=True, slots=True)
class _Used:
    """A call of a Function, with copies of its arguments."""

    kind: type
    args: tuple[Any, ...]
    graded: tuple[bool, ...]
    place: str | None


def is_users(kind: type) -> bool:
    """Return whether the backward of a Function is in a file of the user."""
    backward = inspect.getattr_static(kind, "backward", None)
    code = getattr(getattr(backward, "__func__", backward), "__code__", None)
    file = "" if code is None else code.co_filename
    return bool(file) and places.is_user(file) and not places.is_installed(file)


def functions_of(nodes: list[Any]) -> set[type]:
    """Return the Functions of the user among the nodes of a graph."""
    kinds = {
        getattr(type(node), "_forward_cls", None)
        for node in nodes
        if isinstance(node, BackwardCFunction)
    }
    return {kind for kind in kinds if kind is not None and is_users(kind)}


class _Calls(TorchFunctionMode):
    """Notes the first call of each Function of the user, at the first operator in its forward."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[type, _Used] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        frame = apply_frame(sys._getframe(1))
        if frame is not None:
            kind = frame.f_locals["cls"]
            if kind not in self.found and is_users(kind):
                given = frame.f_locals["args"]
                place = places.of_frame(frame.f_back)
                graded = tuple(isinstance(a, torch.Tensor) and a.requires_grad for a in given)
                self.found[kind] = _Used(kind, tuple(map(_copied, given)), graded, place)
        return func(*args, **(kwargs or {}))


def _copied(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    own = value.detach().clone()
    return own.double() if own.is_floating_point() else own


def wrong_gradients(again: Rerun) -> list[Measurement]:
    """Return a measurement for each Function whose backward is not the derivative."""
    calls = _Calls()
    with again.running(again.plan.mode, within=_noted(calls)) as output:
        if again.loss_is_users:
            with calls:
                again.loss(output)
        found = list(calls.found.values())
        with generators_kept():
            wrong = [(used, figures) for used in found if (figures := _checked(again, used))]
    return [
        Measurement(PROBE, "", None, {"function": used.kind.__name__, "place": used.place,
                                      "argument": name, "backward": ours, "difference": theirs},
                    None)
        for used, (name, ours, theirs) in wrong
    ]  # fmt: skip


@contextmanager
def _noted(calls: _Calls) -> Iterator[None]:
    with calls:
        yield


def _checked(again: Rerun, used: _Used) -> tuple[str, float, float] | None:
    """Return an argument with both derivatives if they differ; None if not, or in doubt."""
    size = sum(a.numel() for a in used.args if isinstance(a, torch.Tensor))
    if size > _LARGEST or not any(used.graded):
        return None
    try:
        return _compared(again, used)
    except Exception as error:  # noqa: BLE001  # the user's code may not run in float64
        raise_if_external(error)
        return None


def _compared(again: Rerun, used: _Used) -> tuple[str, float, float] | None:
    function = _Function(again.plan.seed, used)
    first = function.result(used.args)
    if not torch.equal(first, function.result(used.args)) or not bool(first.isfinite().all()):
        return None
    if any(_same(first, arg) for arg in used.args if isinstance(arg, torch.Tensor)):
        return None  # the identity: a backward of its own is the purpose
    generator = torch.Generator().manual_seed(0)
    weights = torch.randn(first.shape, generator=generator, dtype=first.dtype)
    ours = function.gradients(weights)
    if not all(_same(-2 * one, two) for one, two in zip(ours, function.gradients(-2 * weights),
                                                        strict=True)):  # fmt: skip
        return None  # gradients that are clipped or chosen: no derivative is meant
    wrong = None
    for position, gradient in zip(function.positions, ours, strict=True):
        pairs = []
        for _ in range(_DIRECTIONS):
            direction = torch.randn(gradient.shape, generator=generator, dtype=gradient.dtype)
            wide, slope = (function.slope(position, direction, weights, step) for step in _STEPS)
            if not _close(wide, slope, _SMOOTH):
                return None  # it has a corner or steps nearby
            pairs.append((float((gradient * direction).sum()), slope))
        if any(theirs == 0 != ours_ for ours_, theirs in pairs):
            return None  # straight through steps, or a surrogate gradient
        differing = [pair for pair in pairs if not _close(*pair, _WRONG)]
        value = used.args[position]
        lost = _is_multiple(first, value) and _same(gradient.flatten(), weights)
        if len(differing) == len(pairs) and (lost or not _is_scaled(pairs)):
            wrong = wrong or (function.names[position], *differing[0])
    return wrong


def _is_multiple(result: torch.Tensor, value: torch.Tensor) -> bool:
    """Return whether a forward only multiplies its argument by a number."""
    flat = value.flatten()
    if flat.shape != result.shape or not bool((flat != 0).all()):
        return False
    ratios = result / flat
    return _close(float(ratios.min()), float(ratios.max()), 1e-9)


def _is_scaled(pairs: list[tuple[float, float]]) -> bool:
    """Return whether a gradient is a multiple of the derivative, which may be meant."""
    ratios = [ours / theirs for ours, theirs in pairs if theirs]
    return len(ratios) == len(pairs) and _close(min(ratios), max(ratios), _WRONG)


def _close(one: float, other: float, share: float) -> bool:
    return abs(one - other) <= share * max(abs(one), abs(other))


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.shape == other.shape and bool(
        torch.allclose(one.double(), other.double(), rtol=1e-9, atol=0.0)
    )


class _Function:
    """A Function with the arguments of a call; each call starts from the same seed."""

    def __init__(self, seed: int, used: _Used) -> None:
        self._seed, self._used = seed, used
        self.positions = [i for i, is_graded in enumerate(used.graded) if is_graded]
        forward = inspect.signature(used.kind.forward)  # type: ignore[attr-defined]
        names = list(forward.parameters)
        skip = len(names) - len(used.args)
        self.names = {i: names[i + skip] if skip in {0, 1} else f"{i}" for i in self.positions}

    def result(self, args: tuple[Any, ...]) -> torch.Tensor:
        """Return all floating-point results in one vector."""
        return self._flat(self._call(args)).detach()

    def gradients(self, weights: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return the gradients of the weighted sum of the results; zeros for None."""
        args = list(self._used.args)
        for i in self.positions:
            args[i] = args[i].detach().clone().requires_grad_()
        with torch.enable_grad():
            total = (self._flat(self._call(tuple(args))) * weights).sum()
            inputs = [args[i] for i in self.positions]
            grads = torch.autograd.grad(total, inputs, allow_unused=True)
        pairs = zip(grads, inputs, strict=True)
        return tuple(torch.zeros_like(x) if g is None else g.detach() for g, x in pairs)

    def slope(
        self, position: int, direction: torch.Tensor, weights: torch.Tensor, step: float
    ) -> float:
        """Return the difference of the weighted sum in a direction, by the length of the step."""
        value = self._used.args[position]
        size = step * (float(value.abs().max()) or 1.0)
        ends = []
        for sign in (1, -1):
            args = list(self._used.args)
            args[position] = value + sign * size * direction
            ends.append(float((self.result(tuple(args)) * weights).sum()))
        return (ends[0] - ends[1]) / (2 * size)

    def _call(self, args: tuple[Any, ...]) -> Any:
        seed_all(self._seed)
        return self._used.kind.apply(  # type: ignore[attr-defined]
            *(a.clone() if isinstance(a, torch.Tensor) else a for a in args)
        )

    @staticmethod
    def _flat(output: Any) -> torch.Tensor:
        floats = [t.reshape(-1) for _, t, _ in leaves(output) if t.is_floating_point()]
        return torch.cat(floats).double()


def measure(_requests: Requests, context: RerunContext) -> list[Measurement]:
    """Compare the gradients of the user's Functions with differences."""
    return wrong_gradients(context.again)
