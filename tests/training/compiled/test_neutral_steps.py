"""`hookcli run --compiled --verify-neutral`: the first steps beside those without hooks."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from torch import nn

from hookcli.cli.training.neutral_steps import PlainSteps, neutral_row
from tests.conftest import run_cli
from tests.training.test_loops import watched

SCRIPT = """
import torch

def backend(graph, inputs):
    # As a compiler that fuses other operators when there are hooks.
    hooked = any("observe" in str(node.target) for node in graph.graph.nodes)
    if not hooked:
        return graph
    return lambda *args: [x * (1 + 1e-5) if x.dtype.is_floating_point else x for x in graph(*args)]

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Linear(3, 2))
model = torch.compile(net, backend=backend)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(5):
    loss = model(torch.randn(8, 4)).square().mean()
    optimizer.zero_grad(); loss.backward(); optimizer.step()
print("trained", step)
"""


def test_a_difference_is_found_and_its_size_is_told(tmp_path, monkeypatch):
    (tmp_path / "train.py").write_text(SCRIPT)
    monkeypatch.chdir(tmp_path)
    flags = ("--compiled", "layers", "--verify-neutral", "--fail-on", "warning")
    result = run_cli("run", *flags, "train.py")
    assert result.out == "trained 4\n"
    assert result.status == 1
    said = " ".join(result.err.split())
    assert "not neutral: from step 0 on, values differ from those of a run without hooks" in said
    assert "first is the loss: " in said
    assert ", by 2e-05 of its size" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["train.py"]


def report(scale=1.0):
    """Return the report of a training of three steps."""
    torch.manual_seed(0)
    net = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def train():
        for _ in range(3):
            loss = (net(torch.randn(8, 4)) * scale).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    return watched(train)[0]


@pytest.mark.parametrize(
    ("plain", "status", "said"),
    [
        (
            lambda: PlainSteps((report(), report())),
            "pass",
            "figures of the first 3 steps are equal",
        ),
        (lambda: PlainSteps((report(1.1), report(1.1))), "fail", "not neutral: from step 0"),
        (lambda: PlainSteps((report(1.1), report(1.2))), "skip", "does not repeat itself"),
        (lambda: PlainSteps(failure="ImportError: x"), "skip", "no steps to compare: ImportError"),
    ],
)
def test_what_two_plain_runs_show(plain, status, said):
    row = neutral_row(report(), plain())
    assert (row.rule, row.status) == ("neutral", status)
    assert said in row.message
    assert bool(row.advice) == (status == "fail")


def test_no_step_in_common_is_no_proof():
    without = dataclasses.replace(report(), records=())
    row = neutral_row(report(), PlainSteps((without, without)))
    assert (row.status, row.value) == ("skip", None)
