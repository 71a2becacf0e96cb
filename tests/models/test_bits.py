"""Tensors are compared by their bits, and their values that are not finite are counted."""

from __future__ import annotations

import math

import pytest
import torch

from hookcli.models.bits import memory_of, parts_of, same_bits, written
from hookcli.operators.finite import counts_of, described

LAYOUTS = {
    "strided": lambda x: x,
    "coo": torch.Tensor.to_sparse,
    "csr": torch.Tensor.to_sparse_csr,
    "csc": torch.Tensor.to_sparse_csc,
    "bsr": lambda x: x.to_sparse_bsr((2, 2)),
    "bsc": lambda x: x.to_sparse_bsc((2, 2)),
}


@pytest.mark.filterwarnings("ignore:Sparse .* tensor support:UserWarning")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_nan_equals_itself_in_each_layout(layout):
    values = torch.tensor([[0.0, math.nan], [2.0, 0.0]])
    first, again, other = (LAYOUTS[layout](x) for x in (values, values.clone(), values * 2))
    assert same_bits(first, again)
    assert not same_bits(first, other)
    assert not same_bits(first, again.double())
    assert layout == "strided" or not same_bits(first, values)


def test_a_mkldnn_tensor_is_compared_as_it_is_written():
    first, other = torch.ones(2), torch.full((2,), 2.0)
    assert same_bits(first.to_mkldnn(), first.clone().to_mkldnn())
    assert not same_bits(first.to_mkldnn(), other.to_mkldnn())
    with pytest.raises(RuntimeError):
        parts_of(first.to_mkldnn())


def test_a_tensor_that_cannot_be_written_is_its_class():
    class Odd(torch.Tensor):
        def __str__(self):
            raise RuntimeError("no text")

        def detach(self):
            raise RuntimeError("no copy")

    odd = torch.ones(2).as_subclass(Odd)
    assert written(odd) == "<Odd>"
    assert same_bits(odd, odd)


def test_a_tensor_without_memory_has_no_bytes():
    with pytest.raises(RuntimeError, match="no memory"):
        memory_of(torch.ones(2, device="meta"))


INF, NAN = math.inf, math.nan
COUNTED = {
    "complex": (torch.tensor([complex(NAN, INF), complex(INF, 0), 1j]), (1, 1, 0)),
    "float8": (torch.tensor([NAN, 1.0]).to(torch.float8_e5m2), (1, 0, 0)),
    "sparse": (torch.tensor([[0.0, -INF], [1.0, 0.0]]).to_sparse(), (0, 0, 1)),
    "expanded": (torch.tensor([INF]).expand(7), (0, 7, 0)),
    "a sum that overflows": (torch.tensor([3e38, 3e38]), None),
    "integers": (torch.tensor([1]), None),
    "meta": (torch.ones(2, device="meta"), None),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:Sparse .* tensor support:UserWarning")
@pytest.mark.parametrize("name", COUNTED)
def test_values_that_are_not_finite_are_counted(name):
    tensor, expected = COUNTED[name]
    counts = counts_of(tensor)
    found = counts and (counts["nans"], counts["infs"], counts["minus_infs"])
    assert found == expected


def test_a_value_is_described_as_far_as_it_can_be_read():
    assert described("x", INF) == {"name": "x", "value": "inf"}
    assert described("x", 2) == {"name": "x", "value": 2}
    row = described("x", torch.tensor([NAN, -1.5, 2.0]).to(torch.float8_e5m2))
    assert (row["min"], row["max"], row["finite"], row["nans"]) == (-1.5, 2.0, False, 1)
    assert described("x", torch.ones(2, device="meta"))["finite"] is None
    assert described("x", torch.ones(2).to_sparse())["finite"] is None
    row = described("x", torch.tensor([NAN]))
    assert (row["min"], row["max"]) == (None, None)
