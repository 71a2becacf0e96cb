"""`finite` names the first place truly: forward, backward, steps, dtypes, modes, archives."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from tests.conftest import HEAD
from tests.rules.judging import judge, rows

SOURCE = (
    HEAD
    + """
example_inputs = torch.linspace(-1, 1, 24).view(3, 8)


class Part(nn.Module):
    def forward(self, x):
        return PART


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 8)
        self.part = Part()
        self.b = nn.Linear(8, 4)

    def forward(self, x):
        y = self.a(x)
        y = self.part(y)
        return self.b(y)
"""
)
OPERATOR = SOURCE.splitlines().index("        return PART") + 1


@pytest.fixture
def finite(tmp_path):
    """The row of `finite` for a Net whose part does something."""

    def judged(part, run="{}", *changes):
        text = SOURCE.replace("PART", part)
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        count = len(list(tmp_path.iterdir()))
        folder = tmp_path / str(count)  # the same file twice in a second may be the first's code
        folder.mkdir()
        (folder / "net.py").write_text(text)
        (row,) = rows(judge(f"{folder / 'net.py'}:Net", f"run: {run}"), "finite")
        return row

    return judged


@pytest.mark.parametrize("mode", ["train", "eval", "as-is"])
@pytest.mark.parametrize(
    ("part", "said"),
    [
        ("x.relu().log() * 0", "-Inf first appears in 'part' at {}: `torch.log` got 0"),
        ("x / (x - x)", "Inf first appears in 'part' at {}: `torch.div` divides by 0"),
        ("(x * 1e30).exp() - 1e38", "Inf first appears in 'part' at {}: `torch.exp` got values up"),
        ("x.sub(9).sqrt()", "NaN first appears in 'part' at {}: `torch.sqrt` got values down to -"),
    ],
)
def test_a_forward_in_each_mode(part, said, mode, finite):
    row = finite(part, f"{{mode: {mode}}}")
    assert (row.status, row.target) == ("fail", "part")
    assert row.message.startswith(said.format(row.place))
    assert " (finite inputs: float32 [3, 8] from " in row.message
    assert row.place.endswith(f"net.py:{OPERATOR}")


@pytest.mark.parametrize(
    "part",
    ["x + (x * 0).sqrt()", "x + (x * 0).abs().pow(0.5)",
     "x + torch.where(x > 9, (x * 0).sqrt(), x * 0)"],
)  # fmt: skip
def test_a_backward_that_makes_it(part, finite):
    row = finite(part)
    assert (row.status, row.target) == ("fail", "part"), row.message
    place = row.place
    assert f" first appears in the backward of 'part' at {place}: the derivative of" in row.message
    assert row.place.endswith(f"net.py:{OPERATOR}")


def test_half_precision_overflows_where_single_does_not(finite):
    assert finite("x * 1e6").status == "pass"
    row = finite("x * 60000 * 60000", "{dtype: float16}")
    assert (row.status, row.target) == ("fail", "part")
    assert "Inf first appears in 'part'" in row.message
    assert "`torch.mul` exceeds 65,504, the largest float16 value" in row.message
    assert finite("x * 60000", "{dtype: bfloat16}").status == "pass"
    sums = finite("x * 0 + 60000", "{dtype: float16}", ("self.b(y)", "y"))  # the sum is infinite
    assert sums.status == "pass", sums.message


def test_a_batch_that_is_not_finite_is_named(finite):
    row = finite("x", "{}", ("torch.linspace(-1, 1, 24)", "torch.full((24,), float('nan'))"))
    assert row.message.endswith("contains 24 NaN in 24 elements: the batch is not finite")


def test_a_buffer_that_is_not_finite_is_named(finite):
    buffer = "self.register_buffer('scale', torch.tensor([1.0, float('inf')]))"
    change = ("self.part = Part()", f"self.part = Part()\n        {buffer}")
    assert finite("x", "{}", change).status == "pass"  # a running minimum begins so
    used = ("y = self.part(y)", "y = self.part(y) * self.scale.sum()")
    row = finite("x", "{}", change, used)
    assert (row.target, row.message) == (
        "scale", "the buffer scale contains 1 Inf in 2 elements before the run",
    )  # fmt: skip


def test_code_between_two_modules_is_named_by_who_takes_it(finite):
    row = finite("x", "{}", ("y = self.part(y)", "y = self.part(y) / 0"))
    assert row.target == "b"
    assert row.message.startswith(f"Inf first appears in the model (Net) at {row.place}: ")
    row = finite("x", "{}", ("return self.b(y)", "return self.b(y) / 0"))
    assert row.target == ""
    assert row.message.startswith(f"Inf first appears in the model (Net) at {row.place}: ")


def test_a_value_made_in_place_after_a_call_is_seen(finite):
    row = finite("x * 2", "{}", ("return self.b(y)", "y.mul_(0).div_(0)\n        return self.b(y)"))
    assert row.target == "b"
    assert row.message.startswith(f"NaN first appears in the model (Net) at {row.place}: ")
    assert "`Tensor.div_` divides 0 by 0" in row.message


def test_an_optimizer_s_step_that_makes_it_is_named(finite):
    run = "{steps: 3, optimizer: {name: SGD, lr: 1e38}, loss: sum}"
    row = finite("x * 1e4", run)
    assert row.status == "fail"
    assert "after the step (step 0), but it and its gradient were finite before" in row.message
    row = finite("x * 1e4", "{steps: 1, optimizer: {name: SGD, lr: 1e38}, loss: sum}")
    assert row.message.endswith("after the step, but it and its gradient were finite before")


def test_a_gradient_of_an_earlier_step_comes_before_a_later_loss(finite):
    row = finite("x + (x * 0).sqrt()", "{steps: 3}")
    assert row.target == "part"
    assert row.message.startswith("Inf first appears in the backward of 'part' at ")
    assert f"{row.place} (step 0): " in row.message


def test_a_loss_of_a_later_step_is_named_with_its_step(finite, tmp_path):
    (tmp_path / "loss.py").write_text(
        "count = 0\n"
        "def loss(output):\n"
        "    global count\n"
        "    count += 1\n"
        "    return output.sum() * (float('nan') if count == 2 else 1.0)\n"
    )
    row = finite("x", f"{{steps: 3, loss: '{tmp_path / 'loss.py'}:loss'}}")
    assert row.message.startswith("the loss of step 1 is nan, but every value before it is finite")


def test_a_gradient_of_a_parameter_alone_is_named(finite):
    change = ("return self.b(y)", "return self.b(y) + (self.a.bias[:4] * 0).sqrt()")
    row = finite("x", "{}", change)
    assert row.target == "a.bias"
    said = f"Inf first appears in the backward of the model (Net) at {row.place}"
    assert row.message.startswith(said)


class Net(nn.Module):
    def __init__(self, part):
        super().__init__()
        torch.manual_seed(0)
        self.a = nn.Linear(8, 8)
        self.part = part
        self.b = nn.Linear(8, 4)

    def forward(self, x):
        x = self.a(x)
        x = self.part(x)
        return self.b(x)


class Log(nn.Module):
    def forward(self, x):
        return x.relu().log() * 0.0


class Root(nn.Module):
    def forward(self, x):
        return x + (x * 0).sqrt()


def archive(kind, part, folder):
    if kind == "torchscript":
        torch.jit.script(Net(part)).save(folder / "m.ts")
        return folder / "m.ts"
    torch.export.save(torch.export.export(Net(part), (torch.ones(3, 8),)), folder / "m.pt2")
    return folder / "m.pt2"


@pytest.mark.parametrize("kind", ["torchscript", "exported"])
@pytest.mark.parametrize(
    ("part", "said"),
    [(Log(), "`torch.log` got 0 (finite inputs"), (Root(), "the backward of 'part'")],
    ids=["forward", "backward"],
)
def test_archives(kind, part, said, tmp_path):
    path = archive(kind, part, tmp_path)
    (row,) = rows(judge(path, "inputs: ['3x8']"), "finite")
    assert (row.status, row.target) == ("fail", "part"), row.message
    assert said in row.message
    file, _, line = row.place.rpartition(":")
    assert file.endswith("test_finite_places.py")
    assert Path(__file__).read_text().splitlines()[int(line) - 1].strip() == "x = self.part(x)"
