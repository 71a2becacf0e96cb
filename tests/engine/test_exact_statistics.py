"""Figures of tensors for which one of the ways to compute them would not be exact enough."""

from __future__ import annotations

import math

import pytest
import torch

from hookcli.engine.statistics.statistics import norm_of, norm_of_sum, statistics


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        (torch.float64, 1.1),
        (torch.float64, 1e-50),
        (torch.float64, -1e50),
        (torch.int32, (1 << 24) + 1),
        (torch.int64, (1 << 50) + 1),
        (torch.complex128, 1.1 + 0.3j),
    ],
    ids=str,
)
@pytest.mark.parametrize("size", [200, 8_193, 20_000])
def test_a_norm_of_elements_that_float32_would_round_is_exact(dtype, value, size):
    tensor = torch.full((size,), value, dtype=dtype)
    tensor[::3] = 0
    wanted = abs(value) * math.sqrt(size - (size + 2) // 3)
    assert norm_of(tensor)["norm"] == pytest.approx(wanted, rel=1e-13, abs=0)
    assert statistics(tensor)["norm"] == pytest.approx(wanted, rel=1e-13, abs=0)


@pytest.mark.parametrize("columns", [slice(3, None), slice(None, -1), slice(1, 150, 2)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_a_norm_of_rows_with_gaps_leaves_out_the_gaps(columns, dtype):
    generator = torch.Generator().manual_seed(0)
    one, other = (torch.randn(300, 200, generator=generator).to(dtype) for _ in range(2))
    for a, b in (
        (one[:, columns], other[:, columns]),
        (one[:, columns].t(), other[:, columns].t()),
    ):
        assert norm_of(a)["norm"] == pytest.approx(a.double().norm().item(), rel=1e-6, abs=0)
        wanted = (a + b).double().norm().item()
        assert norm_of_sum(a, b)["norm"] == pytest.approx(wanted, rel=1e-6, abs=0)


@pytest.mark.parametrize("value", [1.7e-21, 3e-19, 1e-16, 1.1e-15, 9e14, 2e18, 1e20])
def test_many_elements_whose_squares_leave_the_range_of_float32_have_a_norm(value):
    tensor = torch.full((1 << 20,), value)
    wanted = 1024 * tensor[0].double().item()
    assert norm_of(tensor)["norm"] == pytest.approx(wanted, rel=1e-6, abs=0)
    tensor[0] = 0
    assert statistics(tensor)["norm"] == pytest.approx(wanted, rel=1e-6, abs=0)


@pytest.mark.parametrize("base", [3.3333, 1.0, 10_001.0])
def test_elements_that_differ_by_one_rounding_have_that_spread(base):
    """The sum of such elements in float32 has an error that is larger than their spread."""
    tensor = torch.full((20_480,), base)
    tensor[::64] = torch.nextafter(tensor[0], torch.tensor(math.inf))
    wide, found = tensor.double(), statistics(tensor)
    assert found["std"] == pytest.approx(wide.std().item(), rel=1e-6, abs=0)
    assert abs(found["mean"] - wide.mean().item()) < 1e-6 * wide.std().item()


@pytest.mark.parametrize("size", [200, 20_000])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("value", "rest"), [(1e300, 1.0), (1e300, 0.0), (1e-300, 0.0)])
def test_huge_and_tiny_elements_of_one_sign_have_a_norm(value, rest, sign, size):
    tensor = torch.full((size,), sign * value, dtype=torch.float64)
    tensor[0] = -sign * rest
    found = statistics(tensor)
    assert found["norm"] == pytest.approx(value * math.sqrt(size - 1), rel=1e-12, abs=0)
    assert found["mean"] == pytest.approx(sign * value * (size - 1) / size, rel=1e-12, abs=0)
    assert found["std"] == pytest.approx(value / math.sqrt(size), rel=1e-9, abs=0)
