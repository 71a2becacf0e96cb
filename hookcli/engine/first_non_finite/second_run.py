"""Repeats a run whose values are not finite, operator by operator, from the same state and seed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from hookcli.catalogue.actions import CATALOGUE as ACTIONS
from hookcli.engine.first_non_finite.birth import Birth, first_of
from hookcli.engine.first_non_finite.initial_state import InitialState, state_of
from hookcli.engine.first_non_finite.tracker import Tracker
from hookcli.engine.first_non_finite.triggers import Trigger, Triggers
from hookcli.engine.hook_engine.build import engine_for
from hookcli.engine.losses.criterion import Loss
from hookcli.engine.probes.rerun import copied, is_used_up
from hookcli.engine.runner import RunOptions, run
from hookcli.engine.seeds import ModuleGenerators, generators_kept
from hookcli.models import module_tree
from hookcli.models.batch import Batch, map_batch
from hookcli.models.bits import sized_storage
from hookcli.models.model import Model
from hookcli.models.nested import argument_leaves
from hookcli.report.findings import Measurement
from hookcli.report.recording import Recording
from hookcli.report.rows.events import number
from hookcli.report.sinks import Kept
from hookcli.rules.finite import OPERATOR
from hookcli.spec.hooks import HookSpec
from hookcli.spec.plan import Plan
from hookcli.spec.request import Spec


class SecondRun:
    """Finds the operator of the first value that is not finite, after a run that had one."""

    def __init__(self, spec: Spec, batch: Batch, initial: InitialState, loss: Loss | None) -> None:
        self._spec, self._batch, self._initial, self._loss = spec, batch, initial, loss

    def measure(self, model: Model, plan: Plan, step: int) -> list[Measurement]:
        """Return the measurement of the first operator, or why it is not known."""
        why = self._obstacle()
        if why is not None:
            return [_unknown(why)]
        generators = ModuleGenerators(module for module, _ in module_tree.modules(model.root))
        _remove_gradients(model)  # they were recorded, and a model may change its own dtype
        after = state_of(model, parameters=plan.optimizer is not None)
        with generators_kept(), generators.kept():
            try:
                if not self._initial.restore():
                    return [_unknown("the state before the run was not kept")]
                return [self._run(model, _short(plan, step))]
            finally:
                _remove_gradients(model)
                after.restore()

    def _obstacle(self) -> str | None:
        """Return why the run cannot be repeated; None if it can."""
        if is_used_up(self._batch):
            return "the batch contains an iterator, which one run exhausts"
        distributed = self._spec.run.distributed
        if distributed is not None and distributed.nproc > 1:
            return "several ranks run together"
        if any(_is_foreign(hook) for hook in self._spec.hooks):
            return "a hook of the run calls a function that may change values"
        return None

    def _run(self, model: Model, plan: Plan) -> Measurement:
        hooks = tuple(hook for hook in self._spec.hooks if _changes(hook))
        engine = engine_for(replace(self._spec, hooks=hooks, stream=None), Kept())
        batch = copied(self._batch)
        if self._spec.run.device != "cpu":
            batch = map_batch(batch, lambda t: t.to(self._spec.run.device))
        tracker = Tracker(engine.context, TensorNames(model, batch).of)
        triggers = Triggers(tracker, engine.context)
        recording = Recording()
        options = RunOptions(lambda *_: None, recording, loss=self._loss, watchers=(triggers,))
        with tracker:
            run(model, batch, plan, engine, options)
        recording.error = None
        if triggers.first is None and recording.failure is not None:
            return _unknown(f"a second run raised {recording.failure.type}")
        if triggers.first is None:
            return _unknown("a second run of the step was finite: the model is not deterministic")
        return measurement_of(triggers.first) or _unknown("the operator is not known")


def _remove_gradients(model: Model) -> None:
    for info in model.parameters():
        info.tensor.grad = None


class TensorNames:
    """The names of tensors that exist before a run: of a model and its batch."""

    def __init__(self, model: Model, batch: Batch) -> None:
        self._names: dict[int, tuple[str, str]] = {}
        for path, tensor, _ in argument_leaves(batch.args, batch.kwargs):
            self._add(tensor, ("input", path))
        for kind, infos in (("buffer", model.buffers()), ("parameter", model.parameters())):
            for info in infos:
                self._add(info.tensor, (kind, info.name))

    def _add(self, tensor: torch.Tensor, name: tuple[str, str]) -> None:
        sized = sized_storage(tensor)
        if sized is not None:
            self._names[sized[0]._cdata] = name

    def of(self, tensor: torch.Tensor) -> tuple[str, str] | None:
        """Return the kind and name of a parameter, buffer or input; None for another tensor."""
        sized = sized_storage(tensor)
        return None if sized is None else self._names.get(sized[0]._cdata)


def _is_foreign(hook: HookSpec) -> bool:
    return any(ACTIONS[action.name].foreign for action in hook.actions)


def _changes(hook: HookSpec) -> bool:
    return any(ACTIONS[action.name].changes for action in hook.actions)


def _short(plan: Plan, step: int) -> Plan:
    """Return the plan up to the step with the value, without what is not needed to find it."""
    return replace(
        plan,
        phases=plan.phases - {"state_dict", "package"},
        steps=step + 1,
        norms=False,
        flops=False,
        timings=False,
        memory=False,
        digests=False,
        where_it_can=True,
    )


def _unknown(why: str) -> Measurement:
    return Measurement(OPERATOR, "", None, {"why": why}, None)


def measurement_of(trigger: Trigger) -> Measurement | None:
    """Return the measurement of the birth that led to the value; None if it is not known."""
    found = first_of(trigger.births)
    if found is None:
        return None
    first, then = found
    call = first.call
    name = "" if call is None else f"<{call.type}>" if call.name is None else call.name
    value: dict[str, Any] = {
        **_of_birth(first),
        "type": None if call is None else call.type,
        "order": None if call is None else call.order,
        "at": trigger.at,
        "seen_at": trigger.target,
        "becomes_nan": None if then is None else _of_birth(then),
        "from": None if first.given or not first.sources else _of_birth(first.sources[0]),
    }
    return Measurement(OPERATOR, name, None if call is None else call.index, value, None)


def _of_birth(birth: Birth) -> dict[str, Any]:
    reason, facts = birth.reason or (None, {})
    return {
        "operator": birth.operator or None,
        "written": birth.written or None,
        "reason": reason,
        "facts": {key: number(v) if isinstance(v, float) else v for key, v in facts.items()},
        "phase": birth.phase,
        "step": birth.step,
        "layer": None if birth.call is None else birth.call.name,
        "place": birth.place or (None if birth.call is None else birth.call.place),
        "node": birth.node,
        "inputs": [
            {key: number(v) if isinstance(v, float) else v for key, v in row.items()}
            for row in birth.inputs
        ],
        **{key: birth.counts.get(key, 0) for key in ("nans", "infs", "minus_infs", "numel")},
    }
