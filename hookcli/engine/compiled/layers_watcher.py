"""The figures of layers of a model that runs compiled, for `--compiled` of a command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hookcli.catalogue.kinds import OUTPUT_GRADIENTS
from hookcli.engine.compiled.account import CompilerReader
from hookcli.engine.watcher import AfterRun, Watcher
from hookcli.errors import RequestError
from hookcli.hooks.traced.layers import TracedLayers
from hookcli.hooks.traced.rows import LayerSteps, means_note
from hookcli.hooks.traced.slots import ALL, NORM, Slots
from hookcli.models.batch import Batch
from hookcli.models.model import Model
from hookcli.report.recording import EventNote, Recording
from hookcli.report.sinks import Sink
from hookcli.spec.hooks import HookSpec
from hookcli.spec.request import Spec

_ORDER = "in compiled code the order of backward is not observed: it is shown as forward reversed"


class CompiledLayers(Watcher):
    """Attaches hooks that the compiler traces, and reads in each step what they wrote."""

    def __init__(
        self, spec: Spec, hooks: Sequence[HookSpec], recording: Recording, sink: Sink
    ) -> None:
        self._spec, self._hooks, self._recording, self._sink = spec, hooks, recording, sink
        self._goes_backward = any(hook.kind == OUTPUT_GRADIENTS for hook in hooks)
        self._layers = TracedLayers(Slots(ALL if spec.run.compiled == "statistics" else NORM))
        self._steps = LayerSteps()
        self._compiler = CompilerReader()
        self._step = 0

    def begin(self, model: Model) -> None:
        """Attach hooks to the modules, which nothing has compiled yet."""
        self._layers.attach(model.root)

    def begin_phase(self, name: str, step: int) -> None:
        """Note the step."""
        self._step = step

    def _read(self, model: Model) -> None:
        self._steps.steps[self._step] = self._layers.read(model.root)
        self._layers.reset(model.root)

    def forward_ended(self, model: Model, batch: Batch, output: Any) -> None:
        """Read the outputs, if no backward pass follows."""
        self._compiler.read(self._step)
        if not self._goes_backward:
            self._read(model)

    def gradients(self, model: Model) -> None:
        """Read outputs and gradients of a step."""
        self._compiler.read(self._step)
        if self._goes_backward:
            self._read(model)

    def end(self, batch: Batch) -> None:
        """Remove the hooks."""
        self._layers.detach()

    def conclude(self, after: AfterRun) -> None:
        """Add the calls and events to the recording, and what the compiler did.

        Raises
        ------
        RequestError : nothing was compiled.
        """
        account = self._compiler.account()
        source = self._spec.model.source
        if account is None and self._recording.failure is None:
            raise RequestError(
                "nothing of the model is compiled",
                place=f"--compiled {self._spec.run.compiled}",
                hint=f'omit it; `hookcli diff {source} "{source}?compile=inductor"` compares a '
                "model with its compiled form",
            )
        self._steps.add_to(self._recording, self._hooks)
        for number, event in enumerate(_in_phases(self._recording.events)):
            self._sink.add(event._replace(seq=number))
        self._recording.compiler = account
        self._recording.warnings += [
            *means_note(self._recording.calls),
            *([_ORDER] if self._spec.command == "trace" and self._recording.events else []),
            *self._layers.slots.notes(),
        ]


def _in_phases(events: Sequence[EventNote]) -> list[EventNote]:
    """Return the events of each step, forward before backward.

    Compiled code does not tell the order of backward: it is that of forward, reversed.
    """
    ordered: list[EventNote] = []
    for step in dict.fromkeys(event.step for event in events):
        own = [event for event in events if event.step == step]
        ordered += [event for event in own if event.phase == "forward"]
        ordered += [event for event in reversed(own) if event.phase != "forward"]
    return ordered
