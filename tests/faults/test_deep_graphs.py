"""A graph of many operators in a row: torch frees nodes that Python has read recursively.

The stack has 1 MiB instead of 8, so that 1,000 calls of a cell are as deep as 8,000 usually are.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.faults.process_marks import HOOKCLI

MODEL = """\
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.out = torch.nn.LSTMCell(4, 4), torch.nn.Linear(4, 1)
    def forward(self, x):
        state = None
        for one in x:
            state = self.cell(one, state)
        return self.out(state[0])
"""
SCRIPT = (
    MODEL
    + """\
net = Net()
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for step in range(2):
    optimizer.zero_grad()
    loss = net(torch.ones(1000, 1, 4)).sum()
    loss.backward()
    optimizer.step()
print("trained")
"""
)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the stack is that of ulimit")
@pytest.mark.parametrize(
    "words",
    [("grads", "net.py", "--input", "1000x1x4"), ("run", "train.py")],
    ids=["grads", "run"],
)
def test_a_deep_graph_is_freed_without_a_deep_stack(words, tmp_path):
    (tmp_path / "net.py").write_text(MODEL)
    (tmp_path / "train.py").write_text(SCRIPT)
    done = subprocess.run(
        ["/bin/sh", "-c", 'ulimit -s 1024; exec "$@"', "sh", *HOOKCLI, *words],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    if words[0] == "run":
        assert "trained" in done.stdout
