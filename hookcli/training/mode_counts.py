"""In which steps of a training modules were in eval mode: every step is counted."""

from __future__ import annotations

from hookcli.report.steps import ModesInfo

_MOST = 100  # spans that are kept


class Spans:
    """Steps, as spans of successive numbers: (first, last)."""

    def __init__(self) -> None:
        self.total = 0
        self._spans: list[list[int]] = []

    def add(self, step: int) -> None:
        """Add a step, which is not before the last one."""
        spans = self._spans
        if spans and spans[-1][1] >= step - 1:
            self.total += step - spans[-1][1]
            spans[-1][1] = step
            return
        self.total += 1
        if len(spans) < _MOST:
            spans.append([step, step])

    def rows(self) -> tuple[tuple[int, int], ...]:
        """Return the first spans."""
        return tuple((first, last) for first, last in self._spans)


class ModeCounts:
    """The steps whose modes were seen, and those with modules in eval mode."""

    def __init__(self) -> None:
        self._steps = 0
        self._modules, self._called = Spans(), Spans()

    def count(self, step: int, *, modules: bool, called: bool) -> None:
        """Count a step in which `modules`, or the module that the script `called`, were in eval."""
        self._steps += 1
        if modules:
            self._modules.add(step)
        if called:
            self._called.add(step)

    def info(self) -> ModesInfo | None:
        """Return the counts as plain data; None if no mode was seen."""
        if not self._steps:
            return None
        return ModesInfo(
            steps=self._steps,
            eval_steps=self._modules.total,
            eval_spans=self._modules.rows(),
            called_in_eval=self._called.total,
        )
