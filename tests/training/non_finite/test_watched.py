"""What a watched training reports of its first non-finite step."""

from __future__ import annotations

import gc
import inspect
import math
import random
from pathlib import Path

import pytest
import torch
from torch import nn

from hookcli.report.training import ScriptInfo
from hookcli.spec.request import ModelSpec, Spec
from hookcli.spec.training import RunJob, ScriptSpec, TrainingSpec, parse_steps
from hookcli.training import watch as watching
from hookcli.training.script.ending import EndOfRun
from tests.rules.non_finite_faults import FORWARD, Net, Part, batch
from tests.training.non_finite.loop import same, state

HERE = Path(__file__).name


def watched(train, stop_on=None, file=None):
    """The report of a training; a script that is ended raises."""
    training = TrainingSpec(parse_steps("0-2", ""), stop_on=stop_on)
    job = RunJob(ScriptSpec("train.py"), training, Spec("grads", ModelSpec("train.py")), file)
    watch = watching.start(job)
    try:
        train()
    except EndOfRun:
        assert stop_on is not None
    finally:
        report = watch.finish(ScriptInfo("train.py", (), False, "completed", 0))
    assert report.tracking.detached is None
    return report


class Switched(nn.Module):
    """Has a fault if its batch contains a value above 1."""

    def __init__(self, fault="zero_by_zero"):
        super().__init__()
        torch.manual_seed(0)
        self.good, self.bad = Net(torch.relu), Net(FORWARD[fault].function)
        self.drop, self.norm = nn.Dropout(0.2), nn.BatchNorm1d(4)

    def forward(self, x):
        return self.norm(self.drop((self.bad if bool((x > 1).any()) else self.good)(x)))


def loop(model, batches, loss_of=torch.Tensor.sum, every=1):
    def train():
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for i, x in enumerate(batches, 1):
            loss = loss_of(model(x))  # the loss
            loss.backward()
            if i % every == 0:
                optimizer.step()
                optimizer.zero_grad()

    return train


@pytest.mark.parametrize("every", [1, 2])
def test_the_layer_is_named_and_training_does_not_change(every):
    batches = [batch(), batch(), batch() * 2, batch()]
    random.seed(0)
    plain = Switched()
    torch.manual_seed(1)
    loop(plain, batches, every=every)()
    wanted = state(plain)
    model = Switched()
    torch.manual_seed(1)
    first = watched(loop(model, batches, every=every)).first_non_finite
    assert same(state(model), wanted)
    assert (first.step, first.what, first.phase) == (2 // every, "loss", "forward")
    assert (first.layer, first.operator, first.found_by) == ("bad.part", "torch.div", "replay")


class Nested(Switched):
    """Takes a dictionary with a list of tensors."""

    def forward(self, batch):
        return super().forward(sum(batch["xs"]))


def test_a_small_batch_in_containers_is_kept_until_the_step():
    """The fault is in the first of two forwards of a step."""
    batches = [{"xs": [batch(), batch()]}, {"xs": [batch() * 0, batch()]}]
    first = watched(loop(Nested(), batches, every=2)).first_non_finite
    assert (first.step, first.layer, first.found_by) == (0, "bad.part", "replay")


def test_the_loss_of_the_script_is_named_with_its_line():
    model = nn.Sequential(Net(torch.relu), Part(lambda x: x * 0))
    first = watched(loop(model, [batch()], lambda out: out.log().mean())).first_non_finite
    lines, start = inspect.getsourcelines(loop)
    line = start + next(i for i, text in enumerate(lines) if text.endswith("# the loss\n"))
    assert (first.phase, first.layer, first.operator) == ("loss", None, "torch.log")
    assert first.place.endswith(f"{HERE}:{line}")
    assert first.reason == "`torch.log` got 0"


def scaled(model, batches, optimizer, loss_of):
    def train():
        scaler = torch.amp.GradScaler("cpu", init_scale=2.0**80)
        for x in batches:
            optimizer.zero_grad()
            scaler.scale(loss_of(model(x))).backward()
            scaler.step(optimizer)
            scaler.update()

    return train


@pytest.mark.parametrize("fused", [False, True])
def test_a_step_that_a_scaler_skips_is_no_fault_unless_its_loss_is(fused):
    model = Switched()
    optimizer = torch.optim.Adam(model.parameters(), fused=fused)
    overflow = scaled(model, [batch()] * 3, optimizer, lambda out: (out * 1e30).sum())
    assert watched(overflow).first_non_finite is None
    gc.collect()  # the scaler of the training above is in a cycle
    nan = scaled(model, [batch(), batch(), batch() * 2, batch()], optimizer, torch.Tensor.sum)
    first = watched(nan).first_non_finite
    assert (first.layer, first.operator, first.what) == ("bad.part", "torch.div", "loss")


def test_the_script_ends_at_the_first_bad_step(tmp_path):
    model = Switched()
    train = loop(model, [batch(), batch() * 2, batch()])
    report = watched(train, "nonfinite", str(tmp_path / "bad.pt"))
    assert report.records[0].training.total == 2
    assert report.first_non_finite.batch.endswith("bad.pt")
    saved = torch.load(tmp_path / "bad.pt", weights_only=True)
    assert torch.equal(saved["x"], batch() * 2)
    weights = torch.load(tmp_path / "bad.weights.pt", weights_only=True)
    assert all(bool(torch.isfinite(weights[name]).all()) for name, _ in model.named_parameters())
    assert any(math.isnan(float(p.detach().sum())) for p in model.parameters())


def test_values_that_are_read_late_name_the_step_only():
    """As those of a GPU, and of a training without an optimizer."""
    model, x = Net(torch.relu), batch()

    def by_hand():
        for more in (0.0, math.inf):
            (model(x).sum() + more).backward()
            with torch.no_grad():
                for p in model.parameters():
                    p -= 0.1 * p.grad
                    p.grad = None

    first = watched(by_hand).first_non_finite
    assert (first.step, first.what, first.found_by) == (1, "loss", None)
