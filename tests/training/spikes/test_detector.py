"""When a figure leaves what the steps before it were, by hand-made series."""

from __future__ import annotations

import math
import random

import numpy
import pytest

from hookcli.training.spikes.detector import SpikeDetector


def spikes_of(values):
    """The places of the values that are spikes."""
    detector = SpikeDetector()
    return [i for i, value in enumerate(values) if detector.judge(value) is not None]


def normal(count, deviation, seed=0):
    """Values whose logarithms are normal around 0."""
    rng = random.Random(seed)
    return [math.exp(rng.gauss(0, deviation)) for _ in range(count)]


def test_a_single_value_far_above_the_last_ones_is_a_spike():
    values = [*normal(100, 0.2), 30.0, *normal(100, 0.2, seed=1)]
    assert spikes_of(values) == [100]


def test_the_limit_is_the_trend_and_six_deviations_of_the_logarithms():
    """Worked out beside it, with numpy: the window is the last 64 values."""
    values = [math.exp(-0.01 * i) * value for i, value in enumerate(normal(90, 0.7))]
    window = numpy.log(values[-64:])
    slope = (numpy.median(window[32:]) - numpy.median(window[:32])) / 32
    flat = window - slope * numpy.arange(64)
    middle = numpy.median(flat)
    usual = math.exp(middle + slope * 64)
    limit = usual * math.exp(6 * 1.4826 * numpy.median(abs(flat - middle)))
    assert limit > max(5 * usual, 3 * max(values[-32:]), max(values[:5]))  # so that it decides
    assert spikes_of([*values, limit * 0.999]) == []
    assert spikes_of([*values, limit * 1.001]) == [90]
    detector = SpikeDetector()
    for value in values:
        detector.judge(value)
    excess = detector.judge(limit * 1.001)
    assert excess is not None
    assert excess.limit == pytest.approx(limit)
    assert excess.usual == pytest.approx(usual)
    assert excess.window == 64


@pytest.mark.parametrize("times, found", [(4.9, []), (5.1, [50])])
def test_a_steady_training_has_a_floor(times, found):
    """Its deviation is 0, as that of gradients that are always clipped to the same norm."""
    assert spikes_of([1.0] * 50 + [times]) == found


def test_the_first_twenty_steps_are_not_judged():
    assert spikes_of([1.0] * 19 + [1000.0]) == []
    assert spikes_of([1.0] * 20 + [1000.0]) == [20]


def test_a_value_that_the_last_steps_also_had_is_no_spike():
    """Single steps of small batches differ by orders of magnitude."""
    usual = [*normal(19, 0.1), 40.0, *normal(31, 0.1, seed=1)]  # of the steps not judged
    assert spikes_of([*usual, 119.0]) == []
    assert spikes_of([*usual, 121.0]) == [51]


def test_gradients_that_are_those_of_the_first_steps_again_are_no_spike():
    """A model that fits nearly all of its data: one hard sample."""
    falling = [*(8 * 0.9**i for i in range(60)), *(0.01 * value for value in normal(90, 0.2))]
    assert spikes_of([*falling, 7.9]) == []
    assert spikes_of([*falling, 8.1]) == [150]


def test_a_warm_up_and_a_decay_are_no_spikes():
    warm = [0.1 * (1 + i) for i in range(100)]
    assert spikes_of(warm) == []
    assert spikes_of([1000 * 0.95**i for i in range(300)]) == []


def test_spikes_do_not_hide_the_next_one():
    values = [*normal(60, 0.2), 100.0, *normal(5, 0.2), 90.0]
    assert spikes_of(values) == [60, 66]


def test_a_new_level_is_no_endless_row_of_spikes():
    values = [1.0] * 60 + [50.0] * 200
    assert spikes_of(values) == list(range(60, 68))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_values_that_are_not_finite_are_not_judged(value):
    assert spikes_of([1.0] * 40 + [value] + [1.0] * 40 + [20.0]) == [81]


def test_a_loss_that_crosses_zero_is_not_judged():
    rng = random.Random(0)
    assert spikes_of([rng.gauss(0, 1) for _ in range(200)] + [1e6]) == []


def test_values_at_the_ends_of_floating_point_are_judged():
    assert spikes_of([1e-300] * 30 + [1e300]) == [30]
    assert spikes_of([1e300] * 30 + [1e308]) == [30]


@pytest.mark.parametrize("deviation", [0.05, 0.3, 1.0])
def test_normal_logarithms_give_no_alarm_in_thousands_of_steps(deviation):
    assert spikes_of(normal(5_000, deviation)) == []
