"""Observes the layers inside of compiled code for `--compiled layers` and `statistics`."""

from __future__ import annotations

import contextlib
import math
import weakref
from typing import Any

from hookcli.hooks.traced.layers import TracedLayers
from hookcli.hooks.traced.slots import ALL, NORM, Slots
from hookcli.torch_private import compile_callbacks
from hookcli.training.compiled.compiled_calls import CompiledCalls
from hookcli.training.compiled.compiled_code import CompiledCode
from hookcli.training.compiled.reachable import modules_of
from hookcli.training.guard import Guard
from hookcli.training.non_finite.bad_layer import BadLayer, bad_layer
from hookcli.training.observed_script import ObservedScript
from hookcli.training.record.optimizer_groups import parameters_of
from hookcli.training.record.records import Record
from hookcli.training.root_watch import RootWatch
from hookcli.training.roots import owner_of, unwrap


class GraphLayers(CompiledCode):
    """Attaches hooks before code is compiled, and reads at sampled steps what they wrote."""

    def __init__(self, seen: ObservedScript, guard: Guard) -> None:
        self._seen, self._guard = seen, guard
        training = seen.job.training
        # To name the first layer that is not finite, its input must be looked at too.
        self._each_step = training.stop_on == "nonfinite"
        wide = training.compiled == "statistics" or self._each_step
        self.layers = TracedLayers(Slots(ALL if wide else NORM))
        self._calls = CompiledCalls(guard)
        self._optimizers: list[Any] = []  # weak references to those that were constructed
        self._is_told = False

    def compiling(self, compiled: Any, *, sampled: bool) -> None:
        """Attach hooks to the modules that the script compiles, or that a function can call."""
        self._be_told()
        for module in modules_of(compiled):
            self.layers.attach(unwrap(module)[0])

    def _be_told(self) -> None:
        """Be told before each compilation: modules may only be known as parameters until then."""
        if self._is_told:
            return
        self._is_told = True
        callbacks = compile_callbacks
        if callbacks is not None:
            callbacks.register_start_callback(self._compilation_begins)

    def _compilation_begins(self, *_: Any) -> None:
        """Attach hooks to what the optimizers train; Dynamo calls this before it traces."""
        if not self._guard.is_awake:
            return
        try:
            self._attach_to_trained()
        except Exception as error:  # noqa: BLE001  # whatever it is, training goes on
            self._guard.note(error)

    def _attach_to_trained(self) -> None:
        optimizers, self._optimizers = self._optimizers, []
        for reference in optimizers:
            optimizer = reference()
            if optimizer is None:
                continue
            owner = owner_of(parameters_of(optimizer))
            if owner is not None:
                self.layers.attach(owner)

    def constructed(self, optimizer: Any) -> None:
        """Note an optimizer, whose constructor begins."""
        self._optimizers.append(weakref.ref(optimizer))
        self._watch_calls()

    def _watch_calls(self) -> None:
        """Note the calls of compiled roots from now on, outside of compiled code."""
        for root in list(self._seen.roots.values()):
            if root.compiled:
                self._calls.watch(root)

    def before_step(self, record: Record, step: int) -> None:
        """Read what was written for the root of a record in a sampled step."""
        self._watch_calls()
        root = record.root
        if self._is_told and step not in root.graph_steps.steps:
            found = self.layers.read(root.root)
            if found:
                root.graph_steps.steps[step] = found

    def after_step(self, root: RootWatch, *, sampled: bool) -> None:
        """Begin a step of a root, which is sampled or not."""
        if self._is_told and (sampled or self._each_step):
            self.layers.reset(root.root)

    def first_bad(self, record: Record, step: int) -> BadLayer | None:
        """Return the first layer of a step whose output is not finite.

        None if its input was not finite either, or if what was written is of earlier steps too.
        """
        root = record.root
        found = root.graph_steps.steps.get(step)
        if found is None and self._each_step:
            found = self.layers.read(root.root)
        for layer in found or ():
            if not math.isfinite(layer.values["norm"]):
                return None if layer.bad_inputs else bad_layer(layer)
        return None

    def stop(self) -> None:
        """Remove the hooks."""
        self.layers.detach()
        self._calls.stop()
        if self._is_told and compile_callbacks is not None:
            self._is_told = False
            with contextlib.suppress(ValueError):  # the script has removed all callbacks
                compile_callbacks.remove_start_callback(self._compilation_begins)

    def notes(self) -> list[str]:
        """Return notes about calls whose figures compiled code does not write."""
        return self.layers.slots.notes()
