"""The parameters that got no gradient in a run."""

from __future__ import annotations

from dataclasses import dataclass

from torch.nn.parameter import is_lazy

from hookcli.models.model import Model
from hookcli.report.recording import Recording
from hookcli.spec.plan import Plan


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
