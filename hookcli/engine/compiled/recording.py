"""Records the values of layers by forward hooks that the compiler traces.

The hooks are attached before torch.compile and append copies to a list. Dynamo traces them, so that
the copies become outputs of the compiled graph. The same hooks record an eager run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from hookcli.models import module_tree
from hookcli.models.batch import Batch
from hookcli.models.nested import leaves
from hookcli.refusals import raise_if_external

SAMPLE = 65_536  # elements of a tensor that are kept where memory does not allow all


@dataclass(slots=True)
class CallEnd:
    """The start ("in") or end ("out") of a call, with its tensors in a fixed order."""

    kind: str
    name: str
    index: int
    tensors: list[torch.Tensor]

    @property
    def key(self) -> tuple[str, str, int]:
        """What identifies the moment in all runs."""
        return self.kind, self.name, self.index


@dataclass(slots=True)
class Recorded:
    """What one run gave: moments in order, results, gradients and buffers by name.

    `paths` are those of the results. `failure` is what backward raised.
    """

    moments: list[CallEnd] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    result: list[torch.Tensor] = field(default_factory=list)
    gradients: dict[str, torch.Tensor] = field(default_factory=dict)
    buffers: dict[str, torch.Tensor] = field(default_factory=dict)
    failure: Exception | None = None


def tensors_of(value: Any) -> list[torch.Tensor]:
    """Return the tensors in tuples, lists and dicts; the compiler can trace this."""
    if isinstance(value, torch.Tensor):
        return [value]
    found: list[torch.Tensor] = []
    if isinstance(value, (tuple, list)):
        for item in value:
            found.extend(tensors_of(item))
    elif isinstance(value, dict):
        for item in value.values():
            found.extend(tensors_of(item))
    return found


def _whole(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().clone()


def _sample(tensor: torch.Tensor) -> torch.Tensor:
    flat = tensor.detach().reshape(-1)
    step = max(1, flat.shape[0] // SAMPLE)
    return flat[::step].clone()


class CallRecorder:
    """The list to which hooks append (kind, name, tensors).

    The root has no hooks: Dynamo would compile them apart from its forward. `enter_root` and
    `leave_root` record its calls.
    """

    def __init__(self, *, sampled: bool) -> None:
        self.calls: list[Any] = []
        self._keep = _sample if sampled else _whole

    @contextmanager
    def attached(self, root: nn.Module) -> Iterator[None]:
        """Attach the hooks to all modules inside the root, for the time of the block."""
        handles: list[Any] = []
        for module, names in module_tree.modules(root):
            if module is not root:
                handles.extend(_hooks(module, names[0], self.calls, self._keep))
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def enter_root(self, args: Any, kwargs: Any) -> None:
        """Record that the call of the root begins."""
        self.calls.append(("in", "", [self._keep(t) for t in tensors_of((args, kwargs))]))

    def leave_root(self, output: Any) -> None:
        """Record that the call of the root ended."""
        self.calls.append(("out", "", [self._keep(t) for t in tensors_of(output)]))


def _hooks(
    module: nn.Module, name: str, calls: list[Any], keep: Callable[[torch.Tensor], torch.Tensor]
) -> Iterator[Any]:
    def enter(_module: nn.Module, args: Any, kwargs: Any) -> None:
        calls.append(("in", name, [keep(t) for t in tensors_of((args, kwargs))]))

    def leave(_module: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
        calls.append(("out", name, [keep(t) for t in tensors_of(output)]))

    yield module.register_forward_pre_hook(enter, with_kwargs=True)
    yield module.register_forward_hook(leave, with_kwargs=True)


def moments_of(calls: list[Any]) -> list[CallEnd]:
    """Return the moments with the index of each call of its module."""
    counts: dict[tuple[str, str], int] = {}
    moments = []
    for kind, name, tensors in calls:
        index = counts.get((kind, name), 0)
        counts[kind, name] = index + 1
        moments.append(CallEnd(kind, name, index, list(tensors)))
    return moments


def run_once(
    call: Callable[..., Any],
    root: nn.Module,
    batch: Batch,
    *,
    seed: int,
    recorder: CallRecorder | None,
    backward: bool = True,
) -> Recorded:
    """Run forward, and backward unless told not to; return results, gradients and buffers.

    Backward starts from the same random gradients in each run, of unit norm for each output, so
    that all outputs count. The hooks of the recorder are attached.
    """
    for parameter in root.parameters():
        parameter.grad = None
    if recorder is not None:
        recorder.enter_root(batch.args, batch.kwargs)
    output = call(*batch.args, **batch.kwargs)
    found = Recorded()
    if recorder is not None:
        recorder.leave_root(output)
        found.moments = moments_of(recorder.calls)
    made = leaves(output)
    found.paths = [path for path, _, _ in made]
    found.result = [tensor.detach().clone() for _, tensor, _ in made]
    if backward:
        try:
            _backward([tensor for _, tensor, _ in made], seed)
        except Exception as error:  # noqa: BLE001  # the model's own code may raise anything
            raise_if_external(error)
            found.failure = error
    for tensor, names, _ in module_tree.tensors(root, "_parameters"):
        if tensor.grad is not None:
            found.gradients[names[0]] = tensor.grad.detach().clone()
            tensor.grad = None
    for tensor, names, _ in module_tree.tensors(root, "_buffers"):
        found.buffers[names[0]] = tensor.detach().clone()
    return found


def _backward(outputs: list[torch.Tensor], seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    starts: list[torch.Tensor] = []
    gradients: list[torch.Tensor] = []
    for tensor in outputs:
        if not (tensor.is_floating_point() or tensor.is_complex()) or tensor.is_nested:
            continue
        gradient = torch.randn(tensor.shape, generator=generator, dtype=torch.float64)
        gradient /= max(float(gradient.norm()), 1e-30)
        if tensor.requires_grad and not any(tensor is other for other in starts):
            starts.append(tensor)
            gradients.append(gradient.to(tensor.device, tensor.dtype))
    if starts:
        torch.autograd.backward(starts, gradients)
