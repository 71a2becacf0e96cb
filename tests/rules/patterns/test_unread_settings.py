"""Arguments of constructors that have no effect, and those that only seem to have none."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

import hookcli
from hookcli.engine.probes.code import user_source


class Stored(nn.Module):
    def __init__(self, size=4, kl_weight=0.01):
        super().__init__()
        self.kl_weight = kl_weight
        self.net = nn.Linear(size, size)

    def forward(self, x):
        return self.net(x)


class Dropped(nn.Module):
    def __init__(self, size=4, keep_rate=0.5):
        super().__init__()
        self.net = nn.Linear(size, size)

    def forward(self, x):
        return self.net(x)


class Child(Dropped):
    """A class whose constructor is inherited says nothing of its own."""


class ReadLater(nn.Module):
    """Another function reads the attributes, one of them by its name."""

    def __init__(self, size=4, temperature_t=0.5, by_name=2):
        super().__init__()
        self.temperature_t = temperature_t
        self.by_name = by_name
        self.net = nn.Linear(size, size)

    def forward(self, x):
        return self.net(x)


def loss_of(model, output):
    return output / model.temperature_t * getattr(model, "by_name")


class ReadAndStored(nn.Module):
    """The constructor uses what it stores too."""

    def __init__(self, size=4, drop_rate_r=0.5):
        super().__init__()
        self.drop_rate_r = drop_rate_r
        self.net = nn.Sequential(nn.Linear(size, size), nn.Dropout(drop_rate_r))

    def forward(self, x):
        return self.net(x)


class OfLibrary(nn.Linear):
    """The base class may read its attributes."""

    def __init__(self, size=4, scale_s=0.5):
        super().__init__(size, size)
        self.scale_s = scale_s


class Everything(nn.Module):
    def __init__(self, size=4, width_w=0.5):
        super().__init__()
        self.given = dict(locals())
        self.net = nn.Linear(4, 4)

    def forward(self, x):
        return self.net(x)


class Configured(nn.Module):
    """So many arguments are those of an interface."""

    def __init__(self, size=4, a_1=0, a_2=0, a_3=0, a_4=0, a_5=0):
        super().__init__()
        self.net = nn.Linear(size, size)

    def forward(self, x):
        return self.net(x)


STORED = "kl_" + "weight"  # this file must not have the name in quotes, nor behind a dot


@pytest.fixture(autouse=True)
def only_this_file(monkeypatch):
    """The user's files are this one: in the tests, there are too many to be read."""
    text = Path(__file__).read_text()
    monkeypatch.setattr(user_source, "own_sources", lambda: [(__file__, text)])


def found(model):
    report = hookcli.check(model, inputs=torch.randn(2, 4))
    return [r for r in report.checks if r.rule == "unread_setting" and r.status == "fail"]


def line_of(text):
    lines = Path(__file__).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


@pytest.mark.parametrize(
    ("model", "words", "text"),
    [
        (
            Stored(),
            f"the argument '{STORED}' of Stored has no effect: nothing reads `self.{STORED}`, "
            "where it is stored",
            "        self.kl_weight = kl_weight",
        ),
        (
            Dropped(),
            "the argument 'keep_rate' of Dropped has no effect: nothing reads it",
            "size=4, keep_rate=0.5",
        ),
    ],
)
def test_an_argument_that_nothing_reads_is_a_note(model, words, text):
    [row] = found(model)
    assert (row.message, row.severity) == (words, "note")
    assert row.place.endswith(f"test_unread_settings.py:{line_of(text)}")


@pytest.mark.parametrize(
    "kind", [Child, ReadLater, ReadAndStored, OfLibrary, Everything, Configured]
)
def test_an_argument_that_may_be_read_is_not_reported(kind):
    assert found(kind()) == []


def test_very_much_text_is_not_read(monkeypatch):
    long = "x = 1\n" * 400_000
    monkeypatch.setattr(user_source, "own_sources", lambda: [("a.py", long), ("b.py", "")])
    assert found(Stored()) == []
    assert len(found(Dropped())) == 1  # the constructor alone tells that
