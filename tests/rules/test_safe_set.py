"""The safe set: what is planted is caught by name, and what only looks like it is not."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import hookcli
from tests.conftest import SAMPLES, run_cli
from tests.rules.judging import HERE, failed, judge, rows

FAULTS = [
    ("LogOfZero", "finite", "middle"),
    ("RootOfZero", "finite", "middle"),
    ("ZeroByZero", "finite", "middle"),
    ("Overflows", "finite", "middle"),
    ("HoldsNan", "finite", "b.weight"),
    ("Detached", "grad_exists", "a"),
    ("UnusedParameter", "grad_exists", ""),
    ("ForgottenMode", "dropout_in_eval", "middle"),
    ("MadeInForward", "dropout_in_eval", ""),
    ("TimesZero", "grad_exists", "a"),
    ("UnusedHead", "uncalled_modules", "head"),
    ("UnusedBlock", "uncalled_modules", "block"),
    ("NormTwice", "uncalled_modules", "norm"),
    ("SystemNoise", "deterministic", ""),
    ("Clock", "deterministic", ""),
    ("FreshGenerator", "deterministic", ""),
    ("Centred", "batch_independent", ""),
    ("Rolled", "batch_independent", ""),
    ("Summed", "batch_independent", ""),
    ("NoRunningStatistics", "batch_independent", ""),
]
LOOKALIKES = [
    "Base", "Masks", "MasksInAModule", "LargeButFinite", "RootWithEps", "RootBehindRelu",
    "FrozenPart", "Tied", "SmallGradient", "UsedWithoutACall", "UnusedDropout", "LinearTwice",
    "AlwaysDropout", "TrainModeDropout", "OwnGenerator", "Counts", "BatchNormed", "TimeFirst",
    "AttendsAlongTime", "Contrasts", "EmptyTail", "Siamese",
]  # fmt: skip


def model(name):
    return f"{HERE / 'models.py'}:{name}"


@pytest.mark.parametrize(("name", "rule", "target"), FAULTS)
def test_a_planted_fault_is_caught_by_name(name, rule, target):
    found = [one for one in failed(judge(model(name))) if one[0] == rule]
    assert found == [(rule, target)]


@pytest.mark.parametrize("name", LOOKALIKES)
def test_what_only_looks_like_a_fault_is_none(name):
    report = judge(model(name))
    assert report.error is None
    # Some of these models have no activation, which is a note of its own.
    others = [row for row in report.checks if row.rule != "linear_after_linear"]
    assert {row.status for row in others} <= {"pass", "skip"}


def test_finite_says_where_in_the_forward_and_that_its_inputs_were_finite():
    (row,) = rows(judge(model("ZeroByZero")), "finite")
    assert row.message.startswith(f"NaN first appears in 'middle' at {row.place}: `torch.div` ")
    assert "divides 0 by 0 (finite inputs: float32 [3, 8] of 0" in row.message
    assert (row.value, row.limit, row.severity) == (24, 0, "error")
    source = (HERE / "models.py").read_text().splitlines()
    line = int(row.place.rpartition(":")[2])
    assert "/" in source[line - 1]


def test_finite_says_whose_backward_made_it():
    (row,) = rows(judge(model("RootOfZero")), "finite")
    assert row.message.startswith(f"Inf first appears in the backward of 'middle' at {row.place}: ")
    assert "the derivative of `torch.sqrt` at 0 is infinite (SqrtBackward0)" in row.message


def test_grad_exists_tells_the_states_apart():
    none, zero = (rows(judge(model(n)), "grad_exists")[0] for n in ("Detached", "TimesZero"))
    assert none.message == "weight, bias got no gradient: the loss does not reach them"
    assert zero.message == (
        "weight, bias got a gradient that is exactly zero: they are multiplied by zeros at "
        f"{zero.place}"
    )
    assert none.fingerprint != zero.fingerprint
    (fine,) = rows(judge(model("FrozenPart")), "grad_exists")
    assert fine.message == "2 parameters got a gradient (2 frozen)"


def test_a_seed_that_changes_no_kind_of_problem_changes_no_fingerprint():
    one = judge(model("ZeroByZero"))
    other = judge(model("ZeroByZero"), "run: {seed: 5}")
    assert [r.fingerprint for r in one.checks] == [r.fingerprint for r in other.checks]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("AttendsAlongTime", "outputs grow along dimensions 0 and 1: set dim to"),
        ("Contrasts", "the batch dimension is unknown: output[1] does not grow"),
    ],
)
def test_samples_are_not_judged_where_the_batch_dimension_is_not_known(name, why):
    (row,) = rows(judge(model(name)), "batch_independent")
    assert row.status == "skip"
    assert row.message.startswith(why)


NODES = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(7, 4)

    def forward(self, x, {}):
        return self.lin(x - x.mean(0))
"""


@pytest.mark.parametrize(("more", "status"), [("edges: torch.Tensor", "skip"), ("", "fail")])
def test_an_inferred_batch_of_several_inputs_may_have_no_samples(model_file, more, status):
    path = model_file(NODES.format(more))
    report = run_cli("check", str(path), "-f", "json").report
    (row,) = [row for row in report["checks"] if row["rule"] == "batch_independent"]
    assert row["status"] == status
    given = ["--input", "2x7", *(["--input", "2x3"] if more else [])]
    report = run_cli("check", str(path), *given, "-f", "json").report
    (row,) = [row for row in report["checks"] if row["rule"] == "batch_independent"]
    assert row["status"] == "fail"


QUANTIZED = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(4, 8), nn.Linear(8, 2)
        self.centred = False

    def forward(self, x):
        x = self.last(torch.relu(self.first(x)))
        return x - x.mean(0) if self.centred else x


def dynamic():
    return torch.ao.quantization.quantize_dynamic(Net(), {nn.Linear}, dtype=torch.qint8)


def plain():
    return Net()


def centred():
    model = Net()
    model.centred = True
    return model
"""


@pytest.mark.parametrize(
    ("name", "status"), [("dynamic", "skip"), ("plain", "pass"), ("centred", "fail")]
)
@pytest.mark.filterwarnings("ignore:.*torch.ao.quantization.*:DeprecationWarning")
def test_dynamic_quantization_is_no_coupling_of_samples(model_file, name, status):
    """Such layers round with the range of all samples."""
    path = model_file(QUANTIZED)
    report = run_cli("check", f"{path}:{name}", "--input", "2x4", "-f", "json").report
    (row,) = [row for row in report["checks"] if row["rule"] == "batch_independent"]
    assert row["status"] == status
    if status == "skip":
        assert row["message"].startswith("layers quantize with the range of all samples")


class Ranged(nn.Module):
    """Rounds with the range of all samples, or subtracts their mean; a gradient may pass."""

    def __init__(self, shift, is_cut):
        super().__init__()
        self.first, self.shift, self.is_cut = nn.Linear(4, 8), shift, is_cut

    def forward(self, x):
        x = self.first(x)
        value = self.shift(x)
        return x - (value.detach() if self.is_cut else value)


@pytest.mark.parametrize("shift", [torch.amax, lambda x: x.mean(0)])
@pytest.mark.parametrize(("is_cut", "status"), [(True, "skip"), (False, "fail")])
def test_what_couples_samples_without_a_gradient_is_no_problem(shift, is_cut, status):
    report = hookcli.check(Ranged(shift, is_cut), inputs=torch.randn(3, 4))
    (row,) = rows(report, "batch_independent")
    assert row.status == status


def test_a_dimension_that_is_given_is_judged():
    yaml = "checks: [{rule: batch_independent, dim: 0}]"
    (row,) = rows(judge(model("AttendsAlongTime"), yaml), "batch_independent")
    assert row.status == "fail"
    yaml = "checks: [{rule: batch_independent, dim: 1}]"
    (row,) = rows(judge(model("AttendsAlongTime"), yaml), "batch_independent")
    assert (row.status, row.value) == ("pass", 0.0)


def test_train_mode_is_run_twice_where_that_is_asked_for():
    yaml = "checks: [{rule: deterministic, modes: train}]"
    (row,) = rows(judge(model("AlwaysDropout"), yaml), "deterministic")
    assert row.message == "two runs with the same seed are bitwise equal: 5 tensors in train mode"
    (row,) = rows(judge(model("Clock"), yaml), "deterministic")
    assert row.status == "fail"
    assert row.message.startswith("two runs in train mode with the same seed differ in output")


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_no_sample_fails_with_the_defaults(path):
    done = run_cli("check", str(path))
    assert done.status == 0, done.out + done.err
    assert done.out.splitlines()[-1].startswith("PASSED: ")
    assert "not judged" not in done.out
