"""Hooks of a training loop that are attached only in some steps."""

from __future__ import annotations

from collections import Counter

import torch
from torch import nn

from hookcli.config.presets import preset_hooks
from hookcli.report.sinks import Kept
from hookcli.run.loop.hooks import LoopHooks
from hookcli.spec.request import ModelSpec, RunSpec, Spec


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
