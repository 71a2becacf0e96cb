"""Modules that some steps do not run, and gradients that are zero in the first step only."""

from __future__ import annotations

import json
import random

import pytest
import torch
from torch import nn

import hookcli
from hookcli.formats.registry import FORMATS
from hookcli.formats.view import View
from tests.rules.trainability.models import assert_same

X = torch.randn(4, 8, generator=torch.Generator().manual_seed(1))


def check(model, inputs=X, **options):
    torch.manual_seed(0)
    return hookcli.check(model, inputs=inputs, **options)


def problems(report):
    return [row.sentence for row in report.diagnoses if row.severity != "note"]


def layers(count, drop=None):
    return nn.ModuleList(nn.Linear(8, 8) for _ in range(count))


class Dropped(nn.Module):
    """A layer is left out by chance."""

    def __init__(self, draw):
        super().__init__()
        self.layers, self.draw = layers(6), draw

    def forward(self, x):
        for layer in self.layers:
            x = x if self.draw() < 0.6 else torch.relu(layer(x))
        return x


class Routed(nn.Module):
    """Each sample is sent to one of 16 experts."""

    def __init__(self):
        super().__init__()
        self.gate, self.experts = nn.Linear(8, 16), layers(16)

    def forward(self, x):
        weight, best = self.gate(x).softmax(-1).max(-1)
        y = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            if bool((best == i).any()):
                y[best == i] = expert(x[best == i]) * weight[best == i, None]
        return y


class Tasks(nn.Module):
    """The caller names a head."""

    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleDict({name: nn.Linear(8, 2) for name in ("a", "b")})

    def forward(self, x, task="a"):
        return self.heads[task](x)


class Forgotten(Dropped):
    """A layer that no draw reaches."""

    def __init__(self):
        super().__init__(lambda: torch.rand(()).item())
        self.last = nn.Linear(8, 8)


@pytest.mark.parametrize(
    "model", [Dropped(lambda: torch.rand(()).item()), Dropped(random.random), Routed(), Tasks()]
)
def test_a_module_that_other_steps_run_is_no_problem(model):
    report = check(model)
    assert report.uncalled  # in this run
    assert problems(report) == []


def test_a_module_that_no_draw_reaches_is_named():
    (sentence,) = problems(check(Forgotten()))
    assert sentence == "'last' never ran, so its 2 parameters got no gradient"


class Adapter(nn.Module):
    """Zeros one behind the other, as in LoRA and adaLN-zero: they need a step each."""

    def __init__(self, zeros):
        super().__init__()
        self.down, self.up, self.last = nn.Linear(8, 4), nn.Linear(4, 8), nn.Linear(8, 2)
        for module in (self.up, self.last)[:zeros]:
            nn.init.zeros_(module.weight)

    def forward(self, x):
        return self.last(x + self.up(torch.tanh(self.down(x))))


@pytest.mark.parametrize(("zeros", "steps", "count"), [(1, 1, 2), (2, 2, 4)])
def test_a_zero_initialization_is_one_note(zeros, steps, count):
    model = Adapter(zeros)
    before = {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}
    report = check(model, loss=lambda y: (y - 1).pow(2).sum())
    assert_same(before, model.state_dict())
    (note,) = report.diagnoses
    assert (note.severity, note.cause, note.target) == ("note", "zero_initialization", "up")
    assert note.sentence.startswith(f"{count} parameters got zero gradients because 'up.weight'")
    assert f"; after {steps} step" in note.sentence
    assert [row.severity for row in report.checks if row.status == "fail"] == ["note"]
    assert report.passed


def test_zeros_that_no_step_changes_are_a_problem():
    model = Adapter(1)
    nn.init.zeros_(model.down.weight)
    nn.init.zeros_(model.down.bias)
    (sentence,) = problems(check(model, loss=lambda y: (y**2).sum()))
    assert "no gradient changes" in sentence


def test_a_note_is_one_in_every_format():
    report = check(Adapter(1), loss=lambda y: (y**2).sum())
    view = View(fail_on="warning")
    for name in ("table", "markdown"):
        text = " ".join(FORMATS[name].render(report, view).split())
        assert "no problem found" in text, name
        assert text.count("a zero initialization; after 1 step") >= 1, name
    names = ("json", "github", "junit", "sarif")
    made = {name: FORMATS[name].render(report, view) for name in names}
    assert [d["severity"] for d in json.loads(made["json"])["diagnoses"]] == ["note"]
    assert made["github"].startswith("::notice ")
    assert "<failure" not in made["junit"]
    assert [r["level"] for r in json.loads(made["sarif"])["runs"][0]["results"]] == ["note"]


class Critic(nn.Module):
    """The bias of its last layer cancels: no shift of the outputs matters."""

    def __init__(self):
        super().__init__()
        self.last = nn.Linear(8, 1)

    def forward(self, real, fake):
        return {"loss": self.last(fake).mean() - self.last(real).mean()}


def test_a_bias_that_cancels_is_no_problem():
    report = check(Critic(), (X, X + 1))
    assert [row.name for row in report.parameters if row.status == "zero"] == ["last.bias"]
    assert report.diagnoses == ()


class Reads(nn.Module):
    """A module that is not called, but whose weight is used, or whose forward is."""

    def __init__(self, function):
        super().__init__()
        self.pos, self.body, self.function = nn.Linear(8, 8), nn.Linear(8, 8), function

    def forward(self, x):
        return self.body(x) + self.function(self.pos, x)


@pytest.mark.parametrize(
    "function",
    [
        lambda pos, x: pos.weight[0].detach(),
        lambda pos, x: pos.forward(x).detach(),
        lambda pos, x: sum(p.sum() for p in pos.parameters()).detach(),
    ],
)
def test_a_module_that_is_read_is_not_said_to_be_unused(function):
    (row,) = check(Reads(function)).diagnoses
    assert "`detach`" in row.sentence
    assert "constructor" not in row.advice


def test_a_module_that_nothing_reads_never_ran():
    (row,) = check(Reads(lambda pos, x: 0.0)).diagnoses
    assert row.sentence == "'pos' never ran, so its 2 parameters got no gradient"
