"""Real trainings with hooks, compared: the first figure that differs is where one was changed."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from hookcli.comparison.tolerance import Tolerances
from hookcli.comparison.training.compare_trainings import compare_trainings
from hookcli.config.load import read_config
from hookcli.config.merge import Flags, training_spec_of
from hookcli.report.training import ScriptInfo
from hookcli.spec.training import RunJob, ScriptSpec, TrainingSpec, parse_steps
from hookcli.training import watch as watching

YAML = """\
hooks:
  - {kind: forward, at: "0", do: stats}
  - {kind: tensor, at: "0:output", do: stats}
  - {kind: full_backward, at: "1", do: stats}
  - {kind: tensor, at: "*.weight", do: stats}
"""


def net(*layers):
    torch.manual_seed(0)
    return nn.Sequential(*(layers or (nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2))))


@pytest.fixture
def run(tmp_path):
    """The report of five steps; `change(model, step)` may change the model, and returns a batch."""
    (tmp_path / "hooks.yaml").write_text(YAML)

    def train(change=None, *, model=None, steps="0-4", hooks=True, optimizer=torch.optim.SGD,
              name="net", **options):  # fmt: skip
        flags = Flags(kinds=None if hooks else ())
        config = read_config(str(tmp_path / "hooks.yaml"))
        spec = training_spec_of("grads", config, flags, "train.py")
        job = RunJob(ScriptSpec("train.py"), TrainingSpec(parse_steps(steps, "")), spec)
        watch = watching.start(job)
        try:
            torch.manual_seed(1)
            names = {name: model or net()}
            stepper = optimizer(names[name].parameters(), **{"lr": 0.1, **options})
            for step in range(5):
                x = torch.randn(6, 4)
                x = x if change is None else change(names[name], step, x)
                stepper.zero_grad()
                names[name](x).square().mean().backward()
                stepper.step()
        finally:
            report = watch.finish(ScriptInfo("train.py", (), False, "completed", 0))
        assert report.tracking.detached is None
        return report

    return train


def compared(a, b):
    return compare_trainings(a, b, Tolerances(()))


def test_equal_trainings_have_equal_events(run):
    diff = compared(run(), run())
    assert (diff.verdict, diff.first, diff.warnings) == ("same", None, ())
    assert diff.records[0].figures > 100


def test_another_batch_is_seen_in_the_forward(run):
    diff = compared(run(), run(lambda _, step, x: x * 1.5 if step == 2 else x))
    first = diff.first.figure
    assert (first.step, first.phase) == (2, "forward")
    assert first.name.startswith("0")
    assert diff.verdict == "different"


def test_a_batch_of_another_size_has_another_shape(run):
    diff = compared(run(), run(lambda _, step, x: x[:3] if step == 0 else x))
    first = diff.first.figure
    assert (first.step, first.phase, first.kind) == (0, "forward", "shape")
    assert (first.a, first.b) == ("[6, 4]", "[3, 4]")


def test_a_gradient_that_a_hook_of_the_script_changes_is_named_in_backward(run):
    def change(model, step, x):
        if step == 3:
            out = model[1].register_full_backward_hook(lambda _, grads, __: (grads[0] * 2,))
            model.handle = out
        elif step == 4:
            model.handle.remove()
        return x

    first = compared(run(), run(change)).first
    assert (first.figure.step, first.figure.phase) == (3, "backward")
    assert first.figure.kind == "event"


def test_another_optimizer_with_equal_gradients_is_the_reason(run):
    diff = compared(run(), run(weight_decay=0.5))
    first = diff.first
    assert (first.figure.step, first.figure.phase) == (0, "optimizer")
    assert first.meaning == "the gradients are equal: the optimizer or its options differ"
    assert any("weight_decay" in row.name for row in diff.settings)


def test_layers_and_parameters_of_one_side_are_told(run):
    deeper = net(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2), nn.Linear(2, 2))
    for a, b in ((run(), run(model=deeper)), (run(model=net(*deeper)), run())):
        diff = compared(a, b)
        told = {row.name for row in diff.settings}
        assert {"layer 3", "parameter 3.weight", "parameter 3.bias"} <= told


def test_steps_that_are_not_sampled_in_both_are_not_compared_in_detail(run):
    diff = compared(run(steps="0-1"), run(steps="3-4"))
    assert diff.verdict == "same"
    assert any("no step is sampled in both runs" in text for text in diff.warnings)
