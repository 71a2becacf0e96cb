"""The range of the colours, the palette, and the kinds of cells, all computed by hand."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from hookcli.formats.parts.color_scale import (
    PALETTE,
    cell_kind,
    color_at,
    position,
    robust_range,
)


def test_the_range_is_between_the_quantiles_of_the_logarithms():
    # 51 powers of ten: 50 * 0.02 = 1 and 50 * 0.98 = 49
    low, high = robust_range(10.0**power for power in range(51))
    assert math.isclose(low, 1e1)
    assert math.isclose(high, 1e49)
    # 3 values: 2 * 0.02 = 0.04 of the way from 1e0 to 1e2, and 0.96 from 1e2 to 1e8
    low, high = robust_range([1e8, 1.0, 1e2])
    assert math.isclose(low, 10**0.08)
    assert math.isclose(high, 10 ** (2 + 6 * 0.96))


def test_what_has_no_logarithm_does_not_count():
    wanted = robust_range([0.001, 10.0])
    others = [0, 0.0, -5.0, math.nan, math.inf, "nan", "inf", None, True, "5"]
    assert robust_range([*others, 0.001, 10.0]) == wanted
    assert robust_range(others) is None
    assert robust_range([]) is None


def test_an_outlier_does_not_take_the_colours():
    usual = [10 ** (i / 50) for i in range(100)]
    low, high = robust_range([*usual, 1e30])
    assert low >= 1
    assert high < 100


def test_a_narrow_range_is_widened_to_a_power_of_ten_around_its_middle():
    for values in ([5.0], [5.0, 5.0], [4.0, 6.25]):  # 4 * 6.25 = 5 * 5
        low, high = robust_range(values)
        assert math.isclose(low, 5 / math.sqrt(10))
        assert math.isclose(high, 5 * math.sqrt(10))


def test_the_smallest_and_the_largest_floats_have_a_range():
    low, high = robust_range([5e-324, 1.7e308])
    assert 0 < low < high < math.inf
    low, high = robust_range([5e-324])
    assert 0 < low < high
    low, high = robust_range([1.7e308])
    assert low < 1e308 == high


def test_positions_are_on_a_log_scale_and_end_at_the_range():
    assert math.isclose(position(1.0, (0.01, 100.0)), 0.5)
    assert math.isclose(position(10.0, (0.01, 100.0)), 0.75)
    assert position(1e-9, (0.01, 100.0)) == 0.0
    assert position(1e9, (0.01, 100.0)) == 1.0
    assert [position(value, (5.0, 5.0)) for value in (1.0, 5.0, 9.0)] == [0.5] * 3


def test_colours_are_those_of_the_palette_and_halfway_between_them():
    assert [color_at(i / 8) for i in range(9)] == list(PALETTE)
    (a, b, c), (d, e, f) = PALETTE[0], PALETTE[1]
    assert color_at(1 / 16) == (round((a + d) / 2), round((b + e) / 2), round((c + f) / 2))
    assert color_at(-1) == PALETTE[0]
    assert color_at(2) == PALETTE[-1]


def lightness(color):
    """L* of CIELAB, from sRGB (IEC 61966-2-1), with the white of D65."""
    linear = [
        v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4
        for v in (c / 255 for c in color)
    ]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return 116 * luminance ** (1 / 3) - 16


def test_equal_steps_of_the_palette_are_about_equal_steps_of_lightness():
    levels = [lightness(color) for color in PALETTE]
    steps = [b - a for a, b in pairwise(levels)]
    mean = sum(steps) / len(steps)
    assert all(0.75 * mean < step < 1.25 * mean for step in steps), steps


@pytest.mark.parametrize(
    ("grad", "status", "kind"),
    [
        ({"norm": 0.5, "nans": 0, "infs": 0}, "ok", "value"),
        ({"norm": 0.0, "nans": 0, "infs": 0}, "zero", "zero"),
        ({"norm": "nan", "nans": 1, "infs": 0}, "non_finite", "nan"),
        ({"norm": "nan"}, "non_finite", "nan"),
        ({"norm": "inf", "nans": 0, "infs": 2}, "non_finite", "inf"),
        ({"norm": "inf", "nans": 0, "infs": 0}, "non_finite", "inf"),
        ({"norm": "nan", "nans": 1, "infs": 1}, "non_finite", "nan"),
        (None, "none", "none"),
        (None, "frozen", "frozen"),
        (None, None, "unknown"),
        ({"mean": 0.1}, "ok", "unknown"),
    ],
)
def test_the_kind_of_a_cell(grad, status, kind):
    assert cell_kind(grad, status) == kind
