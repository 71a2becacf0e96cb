"""A hook's own fault is not the batch's."""

from __future__ import annotations

import json

import pytest

MODEL = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 2)

    def example_inputs(self):
        return (torch.zeros(3, 4),)

    def forward(self, x):
        hidden = self.a(x)
        if x.shape[0] == 3:
            hidden.mul_(2)
        return self.b(hidden)
"""


@pytest.mark.parametrize("kind", ["full_backward", "full_backward_pre", "global_full_backward"])
@pytest.mark.parametrize("action", ["record", "stats"])
def test_what_a_backward_hook_forbids_is_no_fault_of_the_declared_batch(
    kind, action, cli, tmp_path
):
    (tmp_path / "net.py").write_text(MODEL)
    at = "" if kind.startswith("global") else "at: a, "
    (tmp_path / "hooks.yaml").write_text(
        f"preset: none\nhooks:\n  - {{kind: {kind}, {at}do: {action}}}\n"
    )
    result = cli("trace", "net.py", "-c", "hooks.yaml", "-f", "json=report.json")
    said, where, _ = result.error()
    assert f"kind {kind} (hooks.yaml:3: hooks[0]) made it a view" in said
    assert "the model's own code changes a tensor in place" in said
    assert where == "net.py:16"
    assert result.status == 3
    inputs = json.loads((tmp_path / "report.json").read_text())["inputs"]
    assert inputs["origin"] == "declared"
    assert inputs["args"][0]["shape"] == [3, 4]


def test_what_two_kinds_of_an_entry_find_is_said_once(cli, tmp_path):
    (tmp_path / "net.py").write_text(MODEL)
    (tmp_path / "hooks.yaml").write_text(
        "hooks:\n  - {kind: [tensor, post_accumulate_grad], at: '*.wieght'}\n"
    )
    said, _, hint = cli("grads", "net.py", "-c", "hooks.yaml").error()
    assert "no parameter matches '*.wieght'" in said
    assert "a.weight" in hint
