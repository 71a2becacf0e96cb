"""How a histogram is rebuilt from figures: its edges, and the distribution of maximum entropy."""

from __future__ import annotations

import math
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from hookcli.formats.tensorboard import histograms as module
from hookcli.formats.tensorboard.histograms import rebuild


def figures(low, high, mean, std, numel=1000, **more):
    return {"numel": numel, "min": low, "max": high, "mean": mean, "std": std, **more}


def moments(histogram):
    """The mean and the mean square, if the values of a bucket are spread evenly over it."""
    pairs = [*pairwise((histogram.min, *histogram.limits))]
    first = sum(n * (a + b) / 2 for n, (a, b) in zip(histogram.counts, pairs, strict=True))
    second = sum(
        n * (a * a + a * b + b * b) / 3 for n, (a, b) in zip(histogram.counts, pairs, strict=True)
    )
    return first / histogram.count, second / histogram.count


SHAPES = [
    figures(-4.0, 4.0, 0.0, 1.0),
    figures(0.0, 1.0, 0.5, math.sqrt(1 / 12)),  # uniform
    figures(0.0, 8.0, 1.0, 1.0),  # exponential
    figures(-100.0, 3.0, 0.5, 2.0),  # a long tail
    figures(-1.0, 1.0, 0.0, 0.9),  # most at the ends
    figures(1e3, 1e3 + 5, 1e3 + 4, 1.0),
    figures(0.0, 1.0, 0.001528, 0.001523),  # nearly all close to the minimum
    figures(-3.0, 5.0, 4.9952, 0.005),  # and to the maximum
]


@pytest.mark.parametrize("given", SHAPES)
def test_the_buckets_have_the_mean_and_the_deviation(given):
    rebuilt = rebuild(given)
    variance = given["std"] ** 2 * (given["numel"] - 1) / given["numel"]
    mean, square = moments(rebuilt)
    assert sum(rebuilt.counts) == pytest.approx(1000)
    assert mean == pytest.approx(given["mean"], abs=1e-7 * given["std"])
    assert square - mean**2 == pytest.approx(variance, rel=1e-6)
    assert rebuilt.sum == pytest.approx(1000 * given["mean"])
    assert rebuilt.sum_squares == pytest.approx(1000 * (variance + given["mean"] ** 2))


@pytest.mark.parametrize("given", SHAPES)
def test_the_density_is_the_exponential_of_a_square_function(given):
    """Of all distributions on these buckets with this mean and deviation, it alone is so."""
    rebuilt = rebuild(given)
    pairs = [*pairwise(((given["min"]), *rebuilt.limits))]
    known = [
        (math.log(n / (b - a)), (a + b) / 2, (a * a + a * b + b * b) / 3)
        for n, (a, b) in zip(rebuilt.counts, pairs, strict=True)
        if n > 1e-9
    ]
    logs = np.array([row[0] for row in known])
    center, scale = given["mean"], given["std"]
    columns = [
        [1.0, (x - center) / scale, (y - 2 * center * x + center**2) / scale**2]
        for _, x, y in known
    ]
    fitted, *_ = np.linalg.lstsq(np.array(columns), logs, rcond=None)
    assert np.abs(np.array(columns) @ fitted - logs).max() < 1e-6


def test_edges_are_narrow_around_the_mean():
    left = [-10 + 6 * i / 4 for i in range(4)]
    core = [-4 + 8 * i / 24 for i in range(24)]
    right = [4 + 26 * i / 4 for i in range(4)]
    assert module._edges(-10.0, 30.0, 0.0, 1.0) == pytest.approx([*left, *core, *right, 30.0])
    # A core that reaches over the ends has no tails.
    assert module._edges(-1.0, 3.0, 0.0, 1.0) == pytest.approx(
        [-1 + 4 * i / 24 for i in range(24)] + [3.0]
    )
    # A deviation of 0 gets a core of a millionth of the range, wherever that is.
    edges = module._edges(100.0, 200.0, 150.0, 0.0)
    assert (edges[4], edges[28]) == pytest.approx((150 - 5e-5, 150 + 5e-5), abs=1e-9)
    edges = module._edges(0.0, 100.0, 50.0, 0.0)
    assert (edges[4], edges[28]) == pytest.approx((50 - 5e-5, 50 + 5e-5), abs=1e-9)


def test_one_value_is_in_one_bucket():
    for mean, at in ((0.0, 0), (0.5, 0), (1.0, 1), (3.5, 2), (7.0, 2)):
        shares = module._shares([0.0, 1.0, 3.0, 7.0], mean, (7 * 4.9e-7) ** 2)
        assert shares == [float(i == at) for i in range(3)]
    assert module._shares([0.0, 1.0, 3.0, 7.0], 2.0, 1.0).count(0.0) == 0
    shares = module._shares([-8.0, -7.0, -5.0, -1.0], -6.0, (7 * 5.1e-7) ** 2)
    assert shares != [0.0, 1.0, 0.0]


def test_a_deviation_of_just_the_width_of_one_value_is_none():
    narrow = 7.0 * 5e-7
    for variance, one in ((narrow * narrow, True), (narrow * narrow * 1.1, False)):
        shares = module._shares([-8.0, -7.0, -5.0, -1.0], -6.0, variance)
        assert (shares == [0.0, 1.0, 0.0]) == one


def test_a_small_deviation_gets_narrow_buckets():
    rebuilt = rebuild(figures(-1.0, 1.0, 0.0, 0.01))
    assert sum(abs(limit) <= 0.04 for limit in rebuilt.limits) == 25


def test_each_figure_of_a_report_has_its_tag_and_its_step():
    one, none = figures(-1.0, 1.0, 0.0, 0.5), {"numel": 3, "norm": 2.0}
    output = SimpleNamespace(path="[0]", stats=one, grad=one)
    unknown = SimpleNamespace(path="[1]", stats=None, grad=none)
    leaves = [output, unknown]
    parameters = [
        SimpleNamespace(name="a", steps=({"grad": one, "step": 4}, {"grad": one}), stats=one),
        SimpleNamespace(name="b", steps=(), grad=one, stats=None),
    ]
    layers = [
        SimpleNamespace(name="net", type="Net", call=0, outputs=leaves),
        SimpleNamespace(name=None, type="Relu", call=2, outputs=leaves[:1]),
    ]
    for training, first in ((None, 0), (SimpleNamespace(sampled=[3, 5]), 3)):
        report = SimpleNamespace(parameters=parameters, layers=layers, training=training)
        found = [*module.histograms(report)]
        assert [(tag, step) for tag, step, _ in found] == [
            ("gradients/a", 4), ("gradients/a", 1), ("weights/a", 1), ("gradients/b", 0),
            ("outputs/net[0]", first), ("output gradients/net[0]", first),
            ("outputs/(Relu)[0] call 2", first), ("output gradients/(Relu)[0] call 2", first),
        ]  # fmt: skip
        assert all(histogram == rebuild(one) for *_, histogram in found)


def test_a_deviation_that_no_distribution_has_leaves_the_mean():
    """Uniform below the mean and above it, with the mean in between."""
    shares = module._shares([0.0, 2.0, 4.0, 8.0], 2.0, 1e6)
    assert shares == pytest.approx([0.75, 0.25 / 3, 0.5 / 3])


@pytest.mark.parametrize(("low", "high", "at"), [(1.0, 1000.0, 0), (-1000.0, 1.0, -1)])
def test_a_mean_that_is_rounded_to_an_end_loses_no_value(low, high, at):
    rebuilt = rebuild(figures(low, high, 1.0, 0.03, numel=10**6))
    assert sum(rebuilt.counts) == pytest.approx(10**6)
    assert rebuilt.counts[at] == pytest.approx(10**6)


def test_the_step_of_newton_s_method_solves_the_linear_equations():
    shares = np.array([0.1, 0.2, 0.3, 0.4])
    features = np.array([(-2.0, 4.5), (-0.5, 0.6), (0.7, 0.5), (1.9, 3.7)])
    first, second = shares @ features
    centered = features - (first, second)
    matrix = centered.T @ (centered * shares[:, None])
    expected = np.linalg.solve(matrix, [-first, 1 - second])
    found = module._newton([*shares], [*map(tuple, features)], first, second)
    assert found == pytest.approx(tuple(expected))
    assert module._newton([1.0], [(1.0, 1.0)], 1.0, 1.0) is None
    assert module._newton([0.5, 0.5], [(1e200, 1.0), (-1e200, 2.0)], 0.0, 1.5) is None
    small = module._newton([0.5, 0.5], [(1e-3, 1.0), (-1e-3, 1.0)], 0.0, 1.001)
    assert small is not None


def test_the_dual_is_the_logarithm_of_the_sum_less_the_target():
    features, widths = [(-1.0, 1.5), (0.5, 0.4), (2.0, 4.2)], [0.1, -0.7, 0.4]
    sums = [math.exp(w + 0.3 * x - 0.8 * y) for w, (x, y) in zip(widths, features, strict=True)]
    shares, dual = module._exponential(features, widths, 0.3, -0.8)
    assert shares == pytest.approx([one / sum(sums) for one in sums])
    assert dual == pytest.approx(math.log(sum(sums)) + 0.8)
    assert module._exponential([(0.0, 0.0)] * 2, [2e3, 2e3], 0.0, 0.0)[0] == [0.5, 0.5]


def test_zeros_have_a_narrow_bucket_that_divides_another():
    edges, counts = module._with_zeros([-4.0, 0.0, 4.0, 16.0], [6.0, 10.0, 2.0], 5)
    half = 20 * 5e-7
    assert edges == pytest.approx([-4, -half, half, 4, 16])
    assert counts == pytest.approx([6, 5, 10, 2])
    edges, counts = module._with_zeros([-4.0, 4.0], [8.0], 5)
    assert edges == pytest.approx([-4, -4e-6, 4e-6, 4])
    assert counts == pytest.approx([4, 5, 4])
    edges, counts = module._with_zeros([0.0, 4.0], [8.0], 5)  # zero is the least value
    assert edges == pytest.approx([0, 2e-6, 4])
    assert counts == pytest.approx([5, 8])
    edges, counts = module._with_zeros([-4.0, -1e-6, 1e-6, 4.0], [1.0, 3.0, 1.0], 5)
    assert edges == pytest.approx([-4, -4e-6, 4e-6, 4])
    assert counts == pytest.approx([1, 8, 1])


@pytest.mark.parametrize(
    ("changed", "count", "zeros"),
    [
        ({}, 1000, None),
        ({"zeros": 7}, 1000, 7),
        ({"zeros": 7, "min": 0.5}, 1000, None),
        ({"zeros": 7, "max": -0.5, "mean": -1.0}, 1000, None),
        ({"zeros": 7, "nans": 100, "infs": 20}, 880, 7),
    ],
)
def test_what_is_not_finite_does_not_count_and_zeros_do_if_they_are_in_the_range(
    changed, count, zeros
):
    given = {**figures(-3.0, 5.0, 1.0, 1.0), **changed}
    rebuilt = rebuild(given)
    assert rebuilt.count == count
    assert sum(rebuilt.counts) == pytest.approx(count)
    width = (given["max"] - given["min"]) * 5e-7
    narrow = [
        i for i, limit in enumerate(rebuilt.limits) if limit == pytest.approx(width, rel=1e-9)
    ]
    assert [rebuilt.counts[i] for i in narrow] == ([] if zeros is None else [zeros])


def test_a_tensor_of_zeros_has_one_bucket():
    rebuilt = rebuild(figures(0.0, 0.0, 0.0, 0.0, numel=9, zeros=9))
    assert (rebuilt.limits, rebuilt.counts, rebuilt.sum_squares) == ((0.0,), (9.0,), 0.0)
    one = rebuild(figures(3.0, 3.0, 3.0, None, numel=1))
    assert (one.count, one.sum, one.sum_squares, one.counts) == (1, 3.0, 9.0, (1.0,))
    assert rebuild(figures(-1.0, 1.0, 0.0, 1.0, numel=0)) is None
    assert rebuild(figures(-1.0, 1.0, 2.0, 1.0)) is None
    assert rebuild(figures(-1.0, 1.0, 0.0, None)) is None


@pytest.mark.parametrize("scale", [1e100, 1e200, 1e308])
def test_values_whose_squares_are_no_floats_have_no_histogram(scale):
    given = figures(-scale, scale, 0.5 * scale, 0.25 * scale, numel=4)
    assert (rebuild(given) is None) == (scale > 1e154)
