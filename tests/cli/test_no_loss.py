"""Where there is nothing to go backward from, the error says so, where, and the way out."""

from __future__ import annotations

import pytest

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


LOSSES = """
def raises(output, target):
    raise ValueError("no such class")

def a_number(output):
    return 3.0

def needs_a_target(output, target):
    return output.sum()
"""


@pytest.mark.parametrize(
    ("loss", "more", "status", "message", "where", "hint"),
    [
        ("losses.py:raises", ("--target", "2x3"), 3, "ValueError in loss losses.py:raises: no such",
         "losses.py:3", "the target float32 [2, 3]"),
        ("losses.py:a_number", (), 3, "in loss losses.py:a_number: losses.py:a_number must return "
         "a tensor, got float", "losses.py:5", "return the loss itself"),
        ("losses.py:needs_a_target", (), 2, "requires a target, and none was given",
         "losses.py:8", "pass `--target SPEC`"),
        ("cross_entropy", ("--target", "5:int64"), 3, "in loss cross_entropy: ValueError: Expected",
         "--loss cross_entropy", "with the target int64 [5], which was given"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_loss_is_said_of_the_loss(
    loss, more, status, message, where, hint, cli, tmp_path
):
    (tmp_path / "net.py").write_text(SOURCE.replace(".argmax(-1)", ""))
    (tmp_path / "losses.py").write_text(LOSSES)
    result = cli("grads", "net.py", "--loss", loss, *more, "-q")
    said, place, what = result.error()
    assert (result.status, place) == (status, where)
    assert message in said
    assert hint in what
