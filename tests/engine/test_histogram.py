"""Histograms of values, held against numpy's bins and counts by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from hookcli.engine.statistics.histogram import BINS, with_histogram
from hookcli.engine.statistics.statistics import statistics


def counts_of(tensor):
    return with_histogram(tensor)["histogram"]["counts"]


def by_hand(values):
    """Counts of the finite values in bins of equal width from the least to the largest."""
    numbers = values.detach().double().flatten().numpy()
    numbers = numbers[np.isfinite(numbers)]
    counts, _ = np.histogram(numbers, bins=BINS, range=(numbers.min(), numbers.max()))
    return counts.tolist()


def made(seed=0, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize(
    "values",
    [
        made(0, 1000),
        made(1, 40, 50).t(),
        made(2, 8, 6, 4).to(torch.bfloat16),
        made(3, 700_000) * 1e-20,  # several pieces
        torch.arange(33),  # each bin has one, the last both its ends
        torch.tensor([True, False, True]),
        torch.cat([made(4, 100), torch.tensor([math.nan, math.inf, -math.inf])]),
        made(5, 3, 3).requires_grad_(),
    ],
)
def test_the_counts_are_those_of_numpy(values):
    row = with_histogram(values)
    histogram = row["histogram"]
    assert histogram["counts"] == by_hand(values)
    finite = values.detach().double()[torch.isfinite(values)]
    assert (histogram["low"], histogram["high"]) == (finite.min().item(), finite.max().item())
    assert sum(histogram["counts"]) == finite.numel()
    # The other figures are those without a histogram, NaN among them.
    assert str({k: v for k, v in row.items() if k != "histogram"}) == str(statistics(values))


def test_elements_that_share_memory_or_are_not_stored_are_counted():
    row = torch.tensor([0.0, 1.0, 4.0])
    assert counts_of(row.expand(5, 3)) == [5 * count for count in counts_of(row)]
    sparse = torch.tensor([[0.0, 0.0, 2.0], [-1.0, 0.0, 0.0]])
    assert counts_of(sparse.to_sparse()) == counts_of(sparse) == by_hand(sparse)


def test_equal_elements_are_in_the_first_bin():
    assert counts_of(torch.full((4, 2), 3.0)) == [8] + [0] * (BINS - 1)


@pytest.mark.parametrize(
    "values",
    [
        torch.empty(0),
        torch.tensor([math.nan, math.inf]),
        torch.tensor([1 + 2j, 3j]),
        torch.tensor([-1.7e308, 1.7e308], dtype=torch.float64),  # the width is not finite
    ],
)
def test_without_a_finite_range_there_is_no_histogram(values):
    row = with_histogram(values)
    assert row["histogram"] is None
    assert row["numel"] == values.numel()


def test_without_values_there_are_no_statistics():
    assert with_histogram(torch.empty(3, device="meta")) is None


def test_the_tensor_is_not_written():
    values = made(6, 100)
    before = values.clone()
    with_histogram(values)
    assert values._version == 0
    assert torch.equal(values, before)
