"""The figures of several tensors together are those of one tensor with all elements."""

from __future__ import annotations

import math

import pytest
import torch

from hookcli.report.rows.statistics import combined


def figures(tensor):
    """The figures of a tensor, by PyTorch; those of its finite elements if others occur."""
    bad = ~tensor.isfinite()
    known = {"numel": tensor.numel(), "norm": tensor.norm().item(), "mean": tensor.mean().item(),
             "std": tensor.std().item() if tensor.numel() > 1 else None,
             "min": tensor.min().item(), "max": tensor.max().item(),
             "abs_max": tensor.abs().max().item(), "zeros": int((tensor == 0).sum()),
             "nans": int(tensor.isnan().sum()), "infs": int(tensor.isinf().sum())}  # fmt: skip
    if bad.any():
        finite = figures(tensor[~bad])
        names = ("norm", "mean", "std", "min", "max", "abs_max")
        known["finite"] = {name: finite[name] for name in names}
    return known


def tensors(*parts):
    return [torch.tensor(part, dtype=torch.float64) for part in parts]


@pytest.mark.parametrize(
    "parts",
    [
        ([1.0, -2.0, 0.0], [4.0, 5.0]),
        ([3.0], [0.0], [-1.0, 1.0]),
        ([1e12, 1e12 + 1], [1e12 + 3, 1e12 + 4]),
    ],
)
def test_finite_figures_are_those_of_all_elements(parts):
    parts = tensors(*parts)
    assert combined([figures(part) for part in parts]) == pytest.approx(
        figures(torch.cat(parts)), rel=1e-12, abs=0.0
    )


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_squares_beyond_the_range_of_a_float_still_have_a_deviation(unit):
    parts = tensors([1.0, 2.0], [3.0, 6.0])
    whole = figures(torch.cat(parts))
    scaled = [
        {name: x * unit if isinstance(x, float) else x for name, x in one.items()}
        for one in map(figures, parts)
    ]
    made = combined(scaled)
    for name in ("norm", "mean", "std", "min", "max"):
        assert made[name] == pytest.approx(whole[name] * unit, rel=1e-12, abs=0.0)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_figures_of_the_finite_elements_are_kept_beside_those_of_all(value):
    parts = tensors([1.0, 2.0, value], [3.0, 7.0], [])
    made = combined([figures(part) for part in parts[:2]] + [{**figures(parts[0]), "numel": 0}])
    whole = figures(torch.cat(parts))
    assert made["finite"] == pytest.approx(whole["finite"], rel=1e-12)
    assert (made["nans"], made["infs"], made["zeros"]) == (whole["nans"], whole["infs"], 0)
    assert made["max"] == pytest.approx(whole["max"], nan_ok=True)
    assert math.isnan(made["std"])


def test_a_figure_that_is_not_known_of_one_is_not_known_of_all():
    parts = [figures(part) for part in tensors([1.0, 2.0], [3.0, 7.0])]
    unknown = {**parts[0], "mean": None, "std": None, "min": None, "zeros": None}
    made = combined([unknown, parts[1]])
    assert (made["mean"], made["std"], made["min"], made["zeros"]) == (None,) * 4
    assert (made["max"], made["numel"]) == (7.0, 4)


def test_if_no_element_is_finite_there_are_no_figures_of_finite_elements():
    names = ("norm", "mean", "std", "min", "max", "abs_max")
    part = {"numel": 2, "zeros": 0, "nans": 2, "infs": 0, **dict.fromkeys(names, math.nan),
            "finite": dict.fromkeys(names)}  # fmt: skip
    assert combined([part, part])["finite"] == dict.fromkeys(names)


def test_one_tensor_or_none_is_returned_as_it_is():
    (part,) = [figures(part) for part in tensors([1.0, 2.0])]
    assert combined([part]) is part
    assert combined([]) is None
