"""Hooks of a training loop that are attached only in some steps."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from torch import nn

from hookcli.config.presets import preset_hooks
from hookcli.engine.loop.hooks import LoopHooks
from hookcli.report.sinks import Kept
from hookcli.spec.request import ModelSpec, RunSpec, Spec
from tests.hooks.running import hook


def test_hooks_that_are_attached_in_each_step_fire_once_per_step():
    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
    run = RunSpec(tensors="real")
    spec = Spec(command="grads", model=ModelSpec("train.py"), run=run, hooks=preset_hooks("grads"))
    sink = Kept()
    hooks = LoopHooks(net, spec, sink)
    for step in range(3):
        hooks.start_step(step)
        hooks.clock.open = True
        hooks.attach()
        net(torch.ones(2, 4)).sum().backward()
        hooks.detach()
    fired = Counter((note.step, note.kind) for note in sink.so_far())
    # The outputs of three layers and of the whole; the inputs of two layers need gradients.
    assert fired == {(i, kind): n for i in range(3) for kind, n in (("tensor", 4), ("node", 2))}


@pytest.mark.parametrize("with_kwargs", [False, True])
def test_hooks_that_are_attached_during_a_call_replace_its_arguments(with_kwargs):
    class Net(nn.Module):
        def forward(self, x, *, y):
            return x + y

    options = {"with_kwargs": True} if with_kwargs else {}
    hooks = (hook("forward_pre", "", ("scale", 2.0), options=options),)
    net, x, y = Net(), torch.ones(2), torch.ones(2)
    spec = Spec("grads", ModelSpec("train.py"), run=RunSpec(tensors="real"), hooks=hooks)
    own = []
    net.register_forward_pre_hook(lambda _, args: own.append(args))
    loop = LoopHooks(net, spec, Kept())
    loop.start_step(0)
    loop.clock.open = True
    kwargs = {"y": y}
    [replaced] = loop.attach_during_call(net, (x,), kwargs)
    loop.detach()
    assert torch.equal(replaced, x * 2)
    assert torch.equal(kwargs["y"], y * (2 if with_kwargs else 1))
    assert own == []  # PyTorch calls it anyway
