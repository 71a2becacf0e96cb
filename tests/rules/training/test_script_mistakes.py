"""Mistakes of training scripts in plain PyTorch, each next to the healthy script that it resembles.

The expected steps, counts and names are worked out by hand.
"""

from __future__ import annotations

import torch
from torch import nn

from hookcli.diagnosis.training import with_training_verdict
from hookcli.rules.catalogue import with_training_set
from hookcli.rules.judge_training import all_checks, judge_training
from tests.training.test_loops import watched


def judged(train):
    """The report of a training that is watched with the default steps, with its verdict."""
    torch.manual_seed(0)
    report, _ = watched(train, steps="0-2,every:10")
    return with_training_verdict(judge_training(report, with_training_set(())))


def findings(report, rule):
    """The messages of a rule's findings."""
    rows = all_checks(report)
    assert any(row.rule == rule for row in rows)
    return [row.message for row in rows if row.rule == rule and row.status == "fail"]


def first(report):
    """The first sentence of the verdict."""
    return report.diagnoses[0].sentence


# Modes


def with_modes(change):
    """A training of 30 steps; `change(net, step)` changes modes before the step."""

    def train():
        net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.1), nn.Linear(8, 1))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for step in range(30):
            change(net, step)
            optimizer.zero_grad()
            net(torch.randn(8, 4)).square().mean().backward()
            optimizer.step()

    return train


def test_a_validation_without_train_after_it_is_seen_at_the_step_where_it_begins():
    report = judged(with_modes(lambda net, step: net.eval() if step == 17 else None))
    assert (
        first(report)
        == "'1', '2' run in eval mode while training from step 17 on, after train mode"
    )
    assert report.diagnoses[0].step == 17


def test_steps_in_eval_mode_in_between_are_counted():
    report = judged(with_modes(lambda net, step: net.train(step not in (3, 4, 13))))
    [message] = findings(report, "eval_while_training")
    assert "in 3 of 30 steps, first at step 3" in message


def test_batch_norm_that_is_kept_in_eval_mode_is_on_purpose():
    def keep(net, step):
        net.train()
        if step > 10:
            net[1].eval()
            net[2].eval()

    report = judged(with_modes(keep))
    assert findings(report, "eval_while_training") == []


# What is trained


def test_a_frozen_network_through_which_an_image_is_optimised_is_not_trained():
    def train():
        net = nn.Sequential(nn.Linear(4, 4), nn.Tanh()).requires_grad_(False)
        image = torch.randn(2, 4, requires_grad=True)
        optimizer = torch.optim.Adam([image], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            net(image).square().mean().backward()
            optimizer.step()

    report = judged(train)
    assert [record.training.unit for record in report.records] == ["optimizer"]
    assert report.diagnoses == ()


def test_an_unused_part_of_the_same_optimizer_is_named_as_itself():
    """Adam has the parameters of three roots, and the loss does not reach those of `codes`."""

    def train():
        encoder, codes, decoder = nn.Linear(4, 4), nn.Embedding(4, 4), nn.Linear(4, 4)
        parts = nn.ModuleList([encoder, codes, decoder])
        optimizer = torch.optim.Adam([*encoder.parameters(), *codes.parameters()], lr=0.01)
        optimizer.add_param_group({"params": [*decoder.parameters()]})
        del parts
        for _ in range(20):
            h = encoder(torch.randn(8, 4))
            h = h + (codes(torch.arange(8) % 4) - h).detach()
            optimizer.zero_grad()
            decoder(h).square().mean().backward()
            optimizer.step()

    report = judged(train)
    assert findings(report, "optimizer_model") == []
    assert any("weight" in message for message in findings(report, "grad_exists"))
