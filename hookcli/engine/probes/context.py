"""What the functions of probes are given, and the watcher that some of them return."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from torch.nn.parameter import is_lazy

from hookcli.engine.watcher import AfterRun, Watcher
from hookcli.models.model import Model
from hookcli.refusals import raise_if_external
from hookcli.report.findings import Measurement
from hookcli.report.recording import Recording
from hookcli.spec.checks import ProbeRequest
from hookcli.spec.plan import Plan
from hookcli.spec.request import Spec

if TYPE_CHECKING:  # `hookcli run` observes with some of these watchers, and runs nothing again
    from hookcli.engine.probes.rerun import Rerun

Requests: TypeAlias = Sequence[ProbeRequest]  # those of the probes that name one function


@dataclass(frozen=True, slots=True)
class LostGradients:
    """The names of trainable parameters that got no gradient, and of those that got only zeros."""

    missing: frozenset[str] = frozenset()
    zero: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.missing or self.zero)

    @classmethod
    def of(cls, model: Model, plan: Plan, recording: Recording) -> LostGradients:
        """Return those of the last step; without a backward, all are missing."""
        if not plan.goes_backward:
            return cls()
        infos = [info for info in model.parameters() if info.tensor.requires_grad]
        if not recording.gradients:
            return cls(frozenset(info.name for info in infos))
        last = recording.gradients[-1]
        names: dict[str | None, list[str]] = {}
        for info in infos:
            step = last.get(id(info.tensor))
            if step is not None and not is_lazy(info.tensor) and info.tensor.numel():
                names.setdefault(step.status, []).append(info.name)
        return cls(frozenset(names.get("none", ())), frozenset(names.get("zero", ())))


@dataclass(frozen=True, slots=True)
class RerunContext:
    """What a probe that runs the model again is given.

    `lost` are the parameters that got no gradient in the run. `measured` is what the probes before
    this one measured.
    """

    spec: Spec
    again: Rerun
    lost: LostGradients
    measured: Sequence[Measurement]


def single(probe: str, value: Any) -> list[Measurement]:
    """Return a measurement without a target."""
    return [Measurement(probe, "", None, value, None)]


@contextmanager
def where_possible() -> Iterator[None]:
    """Return a context that ends at the first error.

    Tensors of subclasses, fake ones and uninitialized parameters may refuse any operator: nothing
    is measured of them.
    """
    try:
        yield
    except Exception as error:  # noqa: BLE001  # as above
        raise_if_external(error)


class ProbeWatcher(Watcher):
    """Watches a run for a rule; `measurements` is what it measured."""

    measurements: list[Measurement]

    def complete(self) -> None:
        """Add what is known only after the run."""

    def conclude(self, after: AfterRun) -> None:
        """Add the measurements to the recording."""
        self.complete()
        after.recording.measured += self.measurements
