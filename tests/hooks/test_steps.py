"""`hooks_fired` counts the calls of all steps: a forward hook fires in each, and that is right."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import hookcli
from tests.hooks import models
from tests.hooks.running import finished, hook

pytestmark = [  # torch's own
    pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad:UserWarning"),
]


class Tries(nn.Module):
    """A child that raises, and is called again with what it takes; another that is not called."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.spare = nn.Linear(4, 4)

    def forward(self, x):
        try:
            return self.fc(x[:, :3])
        except RuntimeError:
            return self.fc(x)


class Same(nn.Module):
    """A module under two names and in two checkpoints, called five times."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = self.a
        self.block = nn.Sequential(self.a, nn.Tanh())

    def forward(self, x):
        x = checkpoint(self.block, self.a(x), use_reentrant=False)
        return self.b(checkpoint(self.block, self.b(x), use_reentrant=True))


MADE = {**models.MODELS, "tries": Tries, "same": Same}
KINDS = [("forward_pre", {}), ("forward", {}), ("forward", {"always_call": True})]


def build(name):
    torch.manual_seed(0)
    return MADE[name]()


def by_hand(name, kind, options, steps):
    """How often each module's hook fires, in plain PyTorch."""
    model = build(name).train()
    fired = Counter()
    for path, module in model.named_modules():
        register = getattr(module, f"register_{kind}_hook")
        register(lambda *_, path=path: fired.update([path]), **options)
    for _ in range(steps):
        output = model(models.batch())
        tensors = output.values() if isinstance(output, dict) else [output]
        sum(t.sum() for t in tensors).backward()
    return fired


@pytest.mark.parametrize(("kind", "options"), KINDS)
@pytest.mark.parametrize("name", MADE)
def test_a_hook_fires_in_every_step_and_nothing_is_found(name, kind, options):
    one = hook(kind, "*", options=options)
    found = finished(build(name), models.batch(), [one], steps=3, command="grads")
    assert Counter(e.target for e in found.events) == by_hand(name, kind, options, 3)
    assert [row for row in found.findings if row.rule == "hooks_fired"] == []


@pytest.mark.parametrize("name", MADE)
def test_nor_in_a_loop_that_is_not_ours(name, tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text("hooks:\n  - {kind: [forward, forward_pre], at: '*', do: record}\n")
    model = build(name)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with hookcli.attach(model, path, optimizer=optimizer) as recording:
        for micro in (1, 2, 1):
            for _ in range(micro):
                output = model(models.batch())
                tensors = output.values() if isinstance(output, dict) else [output]
                sum(t.sum() for t in tensors).backward()
            optimizer.step()
        model.eval()
        model(models.batch())
    assert [row for row in recording.report().checks if row.rule == "hooks_fired"] == []


class Forgets(nn.Module):
    """Its code takes hooks away, from some step on."""

    def __init__(self, step):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.step, self.at = step, 0

    def forward(self, x):
        if self.at == self.step:
            self.fc._forward_hooks.popitem(last=False)
        self.at += 1
        return self.fc(x)


@pytest.mark.parametrize(("step", "fired"), [(0, None), (1, "1 time"), (2, "2 times")])
def test_a_hook_that_is_taken_away_in_a_later_step_is_found(step, fired):
    found = finished(Forgets(step), models.batch(), [hook("forward", "fc")], steps=3)
    (row,) = [row for row in found.findings if row.rule == "hooks_fired"]
    assert row.target == "fc"
    if fired is not None:
        assert f"fired {fired}, but the module ran 3 times" in row.message
