"""A thread calls modules while another one trains, is observed, and the journal is written."""

from __future__ import annotations

import json
import sys

import pytest

from hookcli.training.observed_script import SeenById

SCRIPT = """\
import sys, threading
import torch
from torch import nn

sys.setswitchinterval(1e-5)  # threads take turns often
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(net.parameters())
ended = False

def evaluate():
    while not ended:
        with torch.no_grad():
            nn.Sequential(nn.Linear(8, 4), nn.ReLU())(torch.ones(4, 8))
            net(torch.ones(4, 8))

thread = threading.Thread(target=evaluate, daemon=True)
thread.start()
for step in range(400):
    loss = net(torch.ones(16, 8)).square().mean()
    optimizer.zero_grad(); loss.backward(); optimizer.step()
    print(repr(loss.item()))
ended = True
thread.join()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a journal is not written there")
def test_a_thread_calls_modules_while_their_hooks_change_and_the_journal_is_written(cli, tmp_path):
    (tmp_path / "train.py").write_text(SCRIPT)
    done = cli("run", "-q", "--steps", "every:5", "-o", "run.json", "train.py")
    assert (done.status, done.err) == (0, "")
    report = json.loads((tmp_path / "run.json").read_text())
    assert "detached" not in report["tracking"]
    (record,) = report["records"]
    rows = {row["step"]: row["loss"] for row in record["training"]["steps"]}
    printed = [float(line) for line in done.out.split()]
    # The backward pass of a step is not seen if the other thread called the root meanwhile.
    assert {step: loss for step, loss in rows.items() if loss not in (None, printed[step])} == {}
    assert len(rows) + record["training"].get("unwatched", 0) == len(printed) == 400


def test_values_that_are_gone_through_are_those_of_the_beginning():
    seen = SeenById({1: "a", 2: "b"})
    for value in seen.values():
        seen[len(seen) + 1] = value * 2
    assert list(seen.values()) == ["a", "b", "aa", "bb"]


AGAIN = """\
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), 0.01)
for step in range(4):
    if step % 2 == 0:
        optimizer.zero_grad()
        loss = net(torch.ones(2, 4)).square().mean()
        loss.backward()
        print(repr(loss.item()))
    optimizer.step()
"""


def test_a_step_without_a_backward_pass_has_not_the_loss_of_the_step_before(cli, tmp_path):
    (tmp_path / "train.py").write_text(AGAIN)
    done = cli("run", "-q", "-o", "run.json", "train.py")
    first, second = [float(line) for line in done.out.split()]
    steps = json.loads((tmp_path / "run.json").read_text())["records"][0]["training"]["steps"]
    assert [row["loss"] for row in steps] == [first, None, second, None]
    assert [row["backwards"] for row in steps] == [1, 0, 1, 0]
