"""A hook that names several targets and never fires at one of them is told."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from hookcli.spec.hooks import Selector
from tests.hooks.running import finished, hook, selector_of


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.cut, self.idle = (nn.Linear(4, 4) for _ in range(3))

    def forward(self, x):
        return self.used(x) + self.cut(x).detach()


def silent(kind, at):
    matches = tuple(selector_of(text).any[0] for text in at)
    selector = Selector(matches, ", ".join(at), tuple(at))
    found = finished(Net(), torch.ones(2, 4), [hook(kind, selector)], command="grads")
    return [(f.target, f.severity) for f in found.findings if f.rule == "hooks_fired"]


@pytest.mark.parametrize(
    ("kind", "at", "targets"),
    [
        ("forward", ["used", "idle"], ["idle"]),
        ("full_backward", ["used", "cut"], ["cut"]),
        ("tensor", ["used.weight", "cut.weight"], ["cut.weight"]),
        ("forward", ["used", "cut"], []),
        ("forward", ["*"], []),
        ("forward", ["?*"], []),  # a pattern may match modules that never run
    ],
)
def test_only_named_targets_that_stay_silent_are_told(kind, at, targets):
    assert silent(kind, at) == [(target, "warning") for target in targets]
