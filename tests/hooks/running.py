"""A live model run by hookcli in process, with hooks given as (kind, at, actions...)."""

from __future__ import annotations

import warnings
from pathlib import Path

from torch import nn

from hookcli.engine.hook_engine.build import engine_for
from hookcli.engine.runner import RunOptions, run
from hookcli.models.backend import backend_of
from hookcli.models.batch import as_batch
from hookcli.report.recording import Recording
from hookcli.report.sinks import Kept
from hookcli.spec.hooks import ActionSpec, BackwardSpec, FunctionRef, HookSpec
from hookcli.spec.plan import plan
from hookcli.spec.request import ModelSpec, RunSpec, Spec
from hookcli.spec.selectors import selector_of

FUNCTIONS = Path(__file__).with_name("functions.py")


class Noted(Recording):
    """A recording that knows its model."""

    __slots__ = ("model",)


def call(name, signature="native"):
    """The action that calls a function of tests/hooks/functions.py."""
    return ("call", FunctionRef(f"{FUNCTIONS}:{name}", signature))


def hook(kind, at=None, *actions, index=0, **more):
    made = tuple(ActionSpec(a) if isinstance(a, str) else ActionSpec(*a) for a in actions)
    selector = selector_of(at) if isinstance(at, str) else at
    place = f"hooks.yaml:{index + 1}: hooks[{index}]"
    actions = made or (ActionSpec("record"),)
    return HookSpec(index, kind, selector, actions=actions, place=place, **more)


def spec_of(hooks, *, loss="sum", command="trace", **how):
    backward = BackwardSpec(**{k: how.pop(k) for k in list(how) if k in _BACKWARD})
    run_spec = RunSpec(loss=loss, backward=backward, **how)
    return Spec(command, ModelSpec(""), hooks=tuple(hooks), run=run_spec)


_BACKWARD = {"times", "gradient", "retain_graph", "create_graph", "inputs"}


def carry_out(model, x, hooks, **how):
    """The recording of a run; `model` is one, or builds one."""
    spec = spec_of(hooks, **how)
    sink, recording = Kept(), Noted()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        built = engine_for(spec, sink)
        with built.building():
            root = model if isinstance(model, nn.Module) else model()
        recording.model = root
        engine = engine_for(spec, sink)
        engine.take_over(built)
        run(
            backend_of(root),
            as_batch(x),
            plan(spec),
            engine,
            RunOptions(lambda *_: None, recording),
        )
    sink.close(recording)
    return recording


def finished(model, x, hooks, **how):
    """The recording of a run that did not raise."""
    recording = carry_out(model, x, hooks, **how)
    if recording.error is not None:
        raise recording.error
    return recording


def rows(recording):
    return [
        (e.kind, e.target, [list(shape) for _, shape, *_ in e.values]) for e in recording.events
    ]
