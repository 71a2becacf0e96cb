"""A model that calls itself without end: its first calls are shown, the others are counted."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import hookcli
from hookcli.formats.registry import FORMATS
from hookcli.formats.view import View


class Endless(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return self(self.fc(x))


@pytest.fixture(scope="module")
def report():
    return hookcli.inspect(Endless(), torch.ones(2, 4))


@pytest.mark.parametrize("name", ["table", "tree", "markdown"])
def test_the_first_calls_of_an_endless_recursion_are_shown(name, report):
    assert report.error.type == "RecursionError"
    text = FORMATS[name].render(report, View(width=100))
    assert text.count("fc") < 10
    hidden = sum(row.depth > 5 for row in report.layers)
    assert f"{hidden} calls below depth 5 not shown" in text
    assert "no formula" not in text


def test_a_depth_that_was_asked_for_is_kept(report):
    text = FORMATS["table"].render(report, View(width=200, depth=1000))
    assert text.count("fc (Linear)") == sum(row.name == "fc" for row in report.layers)
