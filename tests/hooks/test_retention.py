"""A hook that keeps what it was given is told; one that keeps numbers is not."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import hookcli

HOOKS = """
KEPT = []
def keep(module, args, output): KEPT.append(output)
def detached(module, args, output): KEPT.append(output.detach())
def view(module, args, output): KEPT.append(output[:1])
def number(module, args, output): KEPT.append(output.detach().norm().item())
def clone(module, args, output): KEPT.append(output.detach()[:1].clone())
def nothing(module, args, output): return None
def module_(module, args, output): KEPT.append(module)
def gradient(grad): KEPT.append(grad)
def norm(grad): KEPT.append(grad.norm().item())
"""


@pytest.fixture
def findings(tmp_path):
    (tmp_path / "hooks.py").write_text(HOOKS)

    def run(kind, at, name):
        path = tmp_path / "c.yaml"
        path.write_text(f'hooks: [{{kind: {kind}, at: "{at}", do: {{call: "hooks.py:{name}"}}}}]\n')
        model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2))
        report = hookcli.trace(model, torch.randn(3, 4), config=path)
        assert report.error is None
        return [row for row in report.checks if "alive" in row.message]

    return run


@pytest.mark.parametrize("name", ["keep", "detached", "view"])
def test_a_hook_that_keeps_an_output_is_told_with_its_line(findings, name):
    (row,) = findings("forward", "1", name)
    assert (row.rule, row.severity, row.target) == ("hook_misuse", "warning", "1")
    assert row.place.endswith("c.yaml:1: hooks[0]")


@pytest.mark.parametrize("name", ["number", "clone", "nothing", "module_"])
def test_numbers_clones_and_modules_may_be_kept(findings, name):
    assert not findings("forward", "1", name)


def test_a_kept_gradient_of_an_activation_is_told(findings):
    assert findings("tensor", "1:output", "gradient")
    assert not findings("tensor", "1:output", "norm")


def test_a_kept_gradient_of_a_parameter_is_told_for_torch_then_copies_it(findings):
    assert findings("tensor", "0.bias", "gradient")
    assert not findings("tensor", "0.bias", "norm")
