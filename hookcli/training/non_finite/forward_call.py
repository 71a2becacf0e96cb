"""What is kept of a forward of a root until the optimizer's step, and what is found in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import torch

from hookcli.report.training import FirstNonFinite
from hookcli.report.values import Leaf
from hookcli.torch_private import disable_current_modes, next_sequence_nr
from hookcli.training.non_finite.generators import Generators

_MOST_ELEMENTS = 1 << 16  # of the gradient of an output that is kept
FoundBy: TypeAlias = Literal["replay", "source", "graph", "parameters", "gradients", "compiled"]


@dataclass(frozen=True, slots=True)
class Autocast:
    """The autocast contexts that were active: pairs of a device type and a dtype."""

    active: tuple[tuple[str, torch.dtype], ...] = ()

    @classmethod
    def now(cls, *devices: str) -> Autocast:
        """Return those of the CPU and of other types of devices."""
        if not devices and not torch.is_autocast_enabled("cpu"):
            return _NO_AUTOCAST
        return cls(
            tuple(
                (device, torch.get_autocast_dtype(device))
                for device in ("cpu", *devices)
                if torch.is_autocast_enabled(device)
            )
        )

    @contextmanager
    def again(self) -> Iterator[None]:
        """Enter the same contexts."""
        with ExitStack() as stack:
            for device, dtype in self.active:
                stack.enter_context(torch.autocast(device, dtype))
            yield


_NO_AUTOCAST = Autocast()


@dataclass(slots=True)
class ForwardCall:
    """One call of a root with gradients enabled. It references the batch, and copies nothing.

    `backward_place` is the line of the script that called backward. `gradients` are those of the
    tensors of the output by their number, as far as they are small: none has more elements than
    `most_kept`, or 65,536.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    generators: Generators
    autocast: Autocast = field(default_factory=Autocast)
    backward_place: str | None = None
    first_node: int = field(init=False)  # the numbers of autograd's nodes: the first of the call,
    next_node: int | None = field(init=False, default=None)  # and the first after it
    versions: tuple[int, ...] = field(init=False)
    gradients: dict[int, torch.Tensor] = field(init=False, default_factory=dict)
    has_all_gradients: bool = field(init=False, default=True)
    most_kept: int | None = field(init=False, default=None)
    made_by: dict[tuple[int, int], int] = field(init=False, default_factory=dict)
    computed: tuple[bool, ...] = field(init=False)  # whether something had computed each tensor
    written: tuple[tuple[str, torch.Tensor], ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        self.first_node = next_sequence_nr()
        versions, computed = [], []
        for value in (*self.args, *self.kwargs.values()):  # each forward does this
            if type(value) is torch.Tensor and not value.is_inference():
                versions.append(value._version)
                computed.append(value.grad_fn is not None)
        self.versions, self.computed = tuple(versions), tuple(computed)

    def end(self, outputs: Sequence[torch.Tensor]) -> None:
        """Note that the call has ended, and which nodes of autograd made the tensors it returned.

        `made_by` has the number of a node, and which of its outputs it is. `written` are the
        tensors of the batch that the call has changed in place, by path, if nothing had computed
        them.
        """
        self.next_node = next_sequence_nr()
        versions = self._versions()
        if versions != self.versions:
            rows = zip(self._tensors(), self.versions, versions, self.computed, strict=True)
            self.written = tuple(one for one, a, b, made in rows if a != b and not made)
        for i, tensor in enumerate(outputs):
            node = tensor.grad_fn
            if node is not None:
                self.made_by[node._sequence_nr(), tensor.output_nr] = i

    def keep_gradient(self, index: int, gradient: torch.Tensor) -> None:
        """Keep a reference to the gradient of an output, and the sum if backward runs again."""
        if gradient.numel() > (self.most_kept or _MOST_ELEMENTS) or not self.has_all_gradients:
            self.has_all_gradients = False
            self.gradients.clear()
            return
        earlier = self.gradients.get(index)
        if earlier is not None:
            with torch.no_grad(), disable_current_modes():
                gradient = earlier + gradient
        self.gradients[index] = gradient

    def made(self, node: Any) -> bool:
        """Whether the call made a node of autograd."""
        number: int = node._sequence_nr()
        return self.first_node <= number and (self.next_node is None or number < self.next_node)

    def _versions(self) -> tuple[int, ...]:
        versions = []
        for value in (*self.args, *self.kwargs.values()):
            if type(value) is torch.Tensor and not value.is_inference():
                versions.append(value._version)  # noqa: PERF401  # each forward does this
        return tuple(versions)

    def _tensors(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Yield the tensors that have versions, by path."""
        for path, value in (
            *((f"[{i}]", value) for i, value in enumerate(self.args)),
            *((f"[{name!r}]", value) for name, value in self.kwargs.items()),
        ):
            if type(value) is torch.Tensor and not value.is_inference():
                yield path, value

    def size(self) -> int:
        """Return the bytes of the tensors of the batch, and of those in its containers."""
        total = 0
        todo: list[Any] = [*self.args, *self.kwargs.values()]
        while todo:
            value = todo.pop()
            if isinstance(value, torch.Tensor):
                total += value.nbytes
            elif type(value) in {list, tuple}:
                todo += value
            elif type(value) is dict:
                todo += value.values()
        return total

    def is_changed(self) -> bool:
        """Whether a tensor of the batch was written to since the call began."""
        return self.versions != self._versions()


@dataclass(slots=True)
class NonFiniteValue:
    """Where the first value that is not finite was made; see `FirstNonFinite`.

    `call` is the index of the forward that made it. `notes` are sentences about what limits it. It
    is apart from the row of the report, as a replay finds it in a copy of the process, which knows
    neither the record nor what was seen first.
    """

    phase: Literal["forward", "loss", "backward"] | None = None
    layer: str | None = None
    operator: str | None = None
    place: str | None = None
    inputs: tuple[dict[str, Any], ...] = ()
    reason: str | None = None
    found_by: FoundBy | None = None
    notes: tuple[str, ...] = ()
    leaves: tuple[Leaf, ...] = ()
    call: int = 0
    cause: str | None = None

    @property
    def is_of_loss(self) -> bool:
        """Whether the script's own computation of the loss made the value."""
        return self.found_by == "source" or self.phase == "loss"

    def as_first(
        self, record: str, step: int, what: Literal["loss", "gradient"], batch: str | None
    ) -> FirstNonFinite:
        """Return the row of the report."""
        return FirstNonFinite(
            record=record,
            step=step,
            what=what,
            phase=self.phase,
            layer=self.layer,
            operator=self.operator,
            place=self.place,
            inputs=self.inputs,
            reason=self.reason,
            found_by=self.found_by,
            batch=batch,
            leaves=self.leaves,
            cause=self.cause,
        )
