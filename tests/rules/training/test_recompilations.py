"""Trainings that compile their model again and again, beside those that compile as they should."""

from __future__ import annotations

import logging

import pytest
import torch
from torch import nn

from hookcli.report.encode import training_to_json
from hookcli.report.schema import training_from_json
from tests.rules.training.test_script_mistakes import findings, judged

RULE = "recompilations"


@pytest.fixture(autouse=True)
def fresh():
    torch.compiler.reset()
    yield
    torch.compiler.reset()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.step = nn.Linear(4, 4), "0"

    def forward(self, x):
        if self.step == "x":
            x = x + 1
        return self.linear(x)


def training(change, batch=lambda step: torch.randn(8, 4), **options):
    """A training of 30 steps of a compiled model; `change(net, step)` comes before each."""

    def train():
        net = Net()
        compiled = torch.compile(net, backend="eager", **options)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for step in range(30):
            change(net, step)
            optimizer.zero_grad()
            compiled(batch(step)).square().mean().backward()
            optimizer.step()

    return train


def set_step(net, step):
    net.step = str(step)


def test_an_attribute_that_changes_in_each_step_reaches_the_limit():
    report = judged(training(set_step))
    [message] = findings(report, RULE)
    line = Net.forward.__code__.co_firstlineno
    assert message == (
        f"forward (tests/rules/training/test_recompilations.py:{line}) was compiled 8 times, the "
        "limit of recompilations, and runs eagerly since: a guard failed, self.step == '0'"
    )
    [row] = [row for row in report.checks if row.rule == RULE]
    assert row.place == f"tests/rules/training/test_recompilations.py:{line + 1}"
    assert report.compiler.steps == 30
    assert report.compiler.compiling_steps == 8  # the last of them reaches the limit


def test_lengths_that_change_without_dynamic_shapes():
    with torch._dynamo.config.patch(recompile_limit=100):
        train = training(lambda *_: None, lambda step: torch.randn(2 + step, 4), dynamic=False)
        report = judged(train)
    [message] = findings(report, RULE)
    assert message.startswith("the compiler ran before 29 of 30 steps: a guard failed, ")
    assert "size" in message


def test_lengths_that_change_with_dynamic_shapes_are_right():
    report = judged(training(lambda *_: None, lambda step: torch.randn(2 + step, 4)))
    assert findings(report, RULE) == []
    assert report.compiler.compiling_steps == 1


def test_train_and_eval_modes_are_right():
    def change(net, step):
        net.train(step % 5 != 0)

    report = judged(training(change))
    assert findings(report, RULE) == []
    assert report.compiler.graphs <= 3


def test_a_training_that_does_not_compile_is_not_judged():
    def train():
        net = nn.Linear(4, 4)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(5):
            optimizer.zero_grad()
            net(torch.randn(8, 4)).square().mean().backward()
            optimizer.step()

    report = judged(train)
    assert report.compiler is None
    [row] = [row for row in report.checks if row.rule == RULE]
    assert (row.status, row.message) == ("skip", "nothing was compiled")
    assert "compiler" not in training_to_json(report)


# torch's own warning, of its look at inputs of the second graph
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
def test_graph_breaks_are_in_the_report_and_are_no_finding():
    class Broken(Net):
        def forward(self, x):
            x = self.linear(x)
            torch._dynamo.graph_break()
            return x + 1

    def train():
        net = Broken()
        compiled = torch.compile(net, backend="eager")
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(5):
            optimizer.zero_grad()
            compiled(torch.randn(8, 4)).square().mean().backward()
            optimizer.step()

    report = judged(train)
    assert findings(report, RULE) == []
    [found] = report.compiler.breaks
    line = Broken.forward.__code__.co_firstlineno
    assert found.place == f"tests/rules/training/test_recompilations.py:{line + 2}"
    again = training_from_json(training_to_json(report))
    assert again.compiler == report.compiler


def test_loggers_have_the_handlers_and_levels_that_they_had():
    loggers = [logging.getLogger(name) for name in ("torch", "torch._dynamo", "")]
    before = [(logger.level, list(logger.handlers)) for logger in loggers]
    judged(training(set_step))
    assert [(logger.level, list(logger.handlers)) for logger in loggers] == before
