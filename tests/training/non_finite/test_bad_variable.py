"""A variable behind the loss that is not finite, of a loss that its source does not tell."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
import torch
from torch import nn

from tests.training.non_finite.test_watched import watched

HERE = Path(__file__).name


def policy(lengths, weights_of, *, seen=lambda model: None):
    """A training by the log-probabilities of the steps of episodes, each with its own weight."""

    def train():
        torch.manual_seed(0)
        model = nn.Linear(3, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for length in lengths:
            logs = [model(torch.randn(3)).log_softmax(-1)[0] for _ in range(length)]
            weights = weights_of(torch.rand(length))
            terms = []
            for log, weight in zip(logs, weights, strict=True):
                terms.append(-log * weight)
            loss = torch.stack(terms).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seen(model)

    return train


def line_of(text):
    lines, start = inspect.getsourcelines(policy)
    return start + next(i for i, one in enumerate(lines) if text in one)


def test_a_variable_behind_a_list_of_terms_is_named_with_its_line():
    first = watched(policy([4, 4], lambda r: r / 0 if r[0] > 0.5 else r)).first_non_finite
    assert (first.phase, first.found_by, first.layer) == ("loss", "source", None)
    assert first.reason == "`weights` is not finite, and the loss is computed from it"
    assert first.place.endswith(f"{HERE}:{line_of('weights = ')}")


def one(rewards):
    def train():
        torch.manual_seed(0)
        model = nn.Linear(3, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        logs = [model(torch.randn(3)).log_softmax(-1)[0] for _ in rewards]
        gains = torch.tensor(rewards)
        weights = (gains - gains.mean()) / (gains.std() + 1e-8)
        terms = [-log * weight for log, weight in zip(logs, weights, strict=True)]
        sum(terms).backward()
        optimizer.step()

    return train


def test_the_standard_deviation_of_one_value_is_the_reason():
    with pytest.warns(UserWarning, match="degrees of freedom"):
        first = watched(one([0.5])).first_non_finite
    assert first.reason == "`weights` is NaN: `std` of one value divides by 0"
    assert first.cause == "one_element"
    assert watched(one([0.5, 1.0])).first_non_finite is None


def test_the_standard_deviation_of_several_values_is_no_reason():
    """Its values are NaN already, so that their deviation is."""

    def train():
        model = nn.Linear(3, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        given = torch.tensor([1.0, torch.nan, 2.0])
        weight = 1 / given.std()
        terms = [row.sum() * weight for row in model(torch.randn(4, 3))]
        sum(terms).backward()
        optimizer.step()

    first = watched(train).first_non_finite
    assert (first.reason, first.cause) == (
        "`weight` is not finite, and the loss is computed from it",
        None,
    )


def test_outputs_that_are_not_finite_are_the_reason_of_both():
    """Values that a script computes of such outputs are not finite either."""

    def train():
        model = nn.Linear(3, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        out = model(torch.full((4, 3), torch.inf))
        weight = out.detach().mean()
        terms = [row.sum() * weight for row in out]
        sum(terms).backward()
        optimizer.step()

    first = watched(train).first_non_finite
    assert "weight" not in (first.reason or "")
