"""The commands that a user types, as processes of their own."""

from __future__ import annotations

import json

import torch

from tests.conftest import run_cli

SCRIPT = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(4, 16), nn.Linear(16, 1)

    def forward(self, x):
        return self.two(torch.relu(self.one(x)))


if __name__ == "__main__":
    torch.manual_seed(0)
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(60):
        x = torch.randn(8, 4)
        if step == 50:
            x[3] = 1000.0
        loss = (net(x) - x.sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def test_the_step_that_stops_a_run_is_repeated_with_its_samples(tmp_path):
    (tmp_path / "train.py").write_text(SCRIPT)
    ran = run_cli(
        "run", "--stop-on", "spike", "-o", "run.json", "train.py", cwd=tmp_path, real=True
    )
    assert ran.status == 0, ran.err
    report = json.loads((tmp_path / "run.json").read_text())
    assert report["script"]["ended"] == "stopped"
    (spike,) = report["spikes"]
    assert (spike["step"], spike["batch"]) == (50, "hookcli-batch.pt")
    assert [one["sample"] for one in spike["samples"]["dominant"]] == [3]
    (finding,) = [row for row in report["checks"] if row["rule"] == "step_spikes"]
    assert (finding["status"], finding["severity"], finding["step"]) == ("fail", "warning", 50)
    assert "sample 3 of 8 makes its gradient" in finding["message"]
    assert torch.equal(torch.load(tmp_path / "hookcli-batch.pt")["x"][3], torch.full((4,), 1000.0))
    (note,) = [text for text in report["warnings"] if "to repeat the step" in text]
    words = note.split("`")[1].split()
    again = run_cli(*words[1:], "--per-sample", "--loss", "sum", "-f", "json", cwd=tmp_path)
    assert again.status == 0, again.err
    rows = json.loads(again.out)["measurements"]
    (value,) = [row["value"] for row in rows if row["probe"] == "per_sample"]
    assert value["dominant"] == [3]


def test_a_run_that_goes_on_keeps_the_batch_if_asked(tmp_path):
    (tmp_path / "train.py").write_text(SCRIPT)
    ran = run_cli("run", "--keep-batches", "1MiB", "-o", "run.json", "train.py", cwd=tmp_path)
    assert ran.status == 0, ran.err
    report = json.loads((tmp_path / "run.json").read_text())
    assert report["script"]["ended"] == "completed"
    assert report["spikes"][0]["batch"] == "hookcli-batch.pt"
    (finding,) = [row for row in report["checks"] if row["rule"] == "step_spikes"]
    assert finding["severity"] == "note"
    assert (tmp_path / "hookcli-batch.weights.pt").exists()
