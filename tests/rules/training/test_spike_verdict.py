"""What the verdict says of a step that is a spike."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from hookcli.diagnosis.training import with_training_verdict
from hookcli.rules.catalogue import with_training_set
from hookcli.rules.judge_training import all_checks, judge_training
from tests.training.spikes.test_watched_spikes import Loop, mlp, watched


def judged(times, **training):
    """The report of a regression with a label that is `times` as large, with its verdict."""
    loop = Loop(mlp())
    loop.label = times
    report, _ = watched(loop, **training)
    return with_training_verdict(judge_training(report, with_training_set(())))


def told(report):
    return [(d.severity, d.rules) for d in report.diagnoses if "step_spikes" in d.rules]


def test_a_spike_is_a_note_unless_the_user_asks_for_it():
    assert told(judged(100.0)) == [("note", ("step_spikes",))]
    assert told(judged(100.0, stop_on="spike")) == [("warning", ("step_spikes",))]


def test_one_step_is_told_once_with_its_sample():
    report = judged(1e6, stop_on="spike")
    assert told(report) == [("warning", ("step_spikes", "grad_norm_spikes"))]
    (diagnosis,) = [d for d in report.diagnoses if "step_spikes" in d.rules]
    assert "sample 5 of 8 makes its gradient" in diagnosis.sentence
    assert diagnosis.step == 40


def test_the_reason_why_no_sample_is_named_is_told_to_who_asks():
    net = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 1))
    report, _ = watched(Loop(net), stop_on="spike")
    (row,) = [
        row
        for row in all_checks(judge_training(report, with_training_set(())))
        if row.rule == "step_spikes"
    ]
    why = "its samples were not compared: the samples share the statistics of '1' (BatchNorm1d)"
    assert row.message.endswith(why)


def test_a_steady_training_passes_and_a_short_one_is_not_judged():
    for count, status in ((60, "pass"), (10, "skip")):
        net = mlp()

        def train(count=count, net=net):
            torch.manual_seed(0)
            optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
            for _ in range(count):
                optimizer.zero_grad()
                x = torch.randn(8, 4)
                nn.functional.mse_loss(net(x), x.sum(1, keepdim=True)).backward()
                optimizer.step()

        report, _ = watched(train)
        report = judge_training(report, with_training_set(()))
        (row,) = [row for row in all_checks(report) if row.rule == "step_spikes"]
        assert row.status == status
        assert "step_spikes" in (with_training_verdict(report).examined or ()) or status == "skip"


@pytest.mark.parametrize("many, word", [(1, "sample 5"), (2, "samples 6, 5")])
def test_samples_that_dominate_together_are_named(many, word):
    loop = Loop(mlp(), size=24)
    loop.label = 1000.0
    loop.spoiled = slice(5, 5 + many)
    report, _ = watched(loop, stop_on="spike")
    (row,) = [
        row
        for row in all_checks(judge_training(report, with_training_set(())))
        if row.rule == "step_spikes"
    ]
    verb = "makes" if many == 1 else "make"
    assert f"{word} of 24 {verb} its gradient" in row.message
