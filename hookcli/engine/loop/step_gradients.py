"""The gradients of the steps of a training loop, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from hookcli.engine.observe.gradients import note_gradients
from hookcli.models.model import Model
from hookcli.report.recording import ParameterStep, Recording

_MOST = 50_000  # notes of one parameter in one step that are kept: some 25 MB


class StepGradients:
    """The gradients of each step, before its optimizer's step.

    If a loop has too many steps, every second of them is dropped, then every second of the rest,
    and so on. The last step is always kept, and so is the first.
    """

    def __init__(self, model: Model, most: int = _MOST) -> None:
        self._model = model
        self._most = most
        self._every = 1
        self._steps: dict[int, dict[int, ParameterStep]] = {}

    @property
    def empty(self) -> bool:
        """Whether no step was noted."""
        return not self._steps

    @property
    def latest(self) -> dict[int, ParameterStep]:
        """The notes of the last step, by the parameters' keys."""
        return self._steps[next(reversed(self._steps))] if self._steps else {}

    def note(
        self,
        step: int,
        parameters: Iterable[torch.Tensor] | None = None,
        *,
        alone: bool = False,
    ) -> None:
        """Note the gradients of a step.

        `parameters` are those of the optimizer that steps: of several optimizers in one step, each
        one notes the gradients of its own. With `alone` the others are not looked at.
        """
        earlier = self._steps.get(step)
        if alone and parameters is not None:
            only = {id(parameter) for parameter in parameters}
            notes = {**(earlier or {}), **note_gradients(self._model, None, only=only)}
            if earlier is None:
                self._forget()
            self._steps[step] = notes
            return
        notes = note_gradients(self._model, None)
        if earlier is not None and parameters is not None:
            own = {id(parameter) for parameter in parameters}
            notes = {key: notes[key] if key in own else old for key, old in earlier.items()}
        if earlier is None:
            self._forget()
        self._steps[step] = notes

    def _forget(self) -> None:
        """Make room for another step: the last one is no longer the last."""
        last = next(reversed(self._steps), None)
        if last is None:
            return
        if last % self._every:
            del self._steps[last]
        else:  # only the last step shows the weights
            self._steps[last] = {
                key: ParameterStep(note.grad, None, note.status)
                for key, note in self._steps[last].items()
            }
        while len(self._steps) > 1 and (len(self._steps) + 1) * self._parameters() > self._most:
            self._every *= 2
            self._steps = {s: notes for s, notes in self._steps.items() if s % self._every == 0}

    def _parameters(self) -> int:
        return len(next(iter(self._steps.values())))

    def record(self, recording: Recording) -> None:
        """Put the steps into a recording."""
        recording.gradients = list(self._steps.values())
        recording.gradient_steps = list(self._steps)

    def warnings(self) -> list[str]:
        """Return a warning if steps were dropped."""
        if self._every == 1:
            return []
        return [f"gradients of one step in {self._every} are kept, and those of the last step"]
