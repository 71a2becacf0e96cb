"""Where there is nothing to go backward from, the error says so, where, and the way out."""

from __future__ import annotations

from tests.conftest import run_cli

SOURCE = """
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.f = torch.nn.Linear(4, 3)
    def forward(self, x):
        return self.f(x).argmax(-1)
example_inputs = torch.ones(2, 4)
"""


def test_an_output_without_a_gradient_is_three_lines_with_the_model_s_place(tmp_path):
    path = tmp_path / "net.py"
    path.write_text(SOURCE)
    result = run_cli("grads", path, "-q")
    assert result.status == 3
    what, where, hint = result.err.splitlines()[-3:]
    assert what.startswith("error: in loss: backward cannot start: the output contains no tensor")
    assert where.endswith("net.py:3")
    assert "choose another loss: `--loss output:PATH`" in hint
