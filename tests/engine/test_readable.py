"""Any tensor as a strided one: without lazy bits, and of a DTensor the whole or a rank's part."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from hookcli.engine.statistics.readable import dense, read_parts, readable, whole
from hookcli.engine.statistics.statistics import norm_of, norm_of_change, statistics

pytestmark = [
    pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors"),
    pytest.mark.filterwarnings("ignore:Sparse invariant checks"),
]

NUMBERS = torch.tensor([[1 + 2j, 3 - 1j], [0.5 - 4j, -2j]])


class Spread(torch.Tensor):
    """A DTensor of two ranks, without the other rank."""

    _local_tensor: torch.Tensor

    def full_tensor(self):
        assert not torch.is_grad_enabled()
        with torch.no_grad():
            return torch.cat([self._local_tensor, self._local_tensor + 10])


class Trap(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        raise AssertionError(func)


@pytest.fixture
def spread(monkeypatch):
    module = SimpleNamespace(DTensor=Spread)
    monkeypatch.setitem(sys.modules, "torch.distributed.tensor", module)
    tensor = torch.zeros(4).as_subclass(Spread)
    tensor._local_tensor = torch.tensor([3.0, 4.0])
    return tensor


def test_a_dtensor_is_whole_unless_only_parts_are_read(spread):
    with Trap():
        assert whole(spread).tolist() == [3.0, 4.0, 13.0, 14.0]
    assert statistics(spread)["numel"] == 4
    assert norm_of(spread)["norm"] == pytest.approx(390**0.5)
    assert norm_of_change(torch.zeros(4), spread) == pytest.approx(390**0.5)
    read_parts(only=True)
    try:
        assert whole(spread) is spread._local_tensor
        assert statistics(spread)["norm"] == norm_of(spread)["norm"] == 5.0
        assert norm_of_change(torch.zeros(2), spread) == 5.0
    finally:
        read_parts(only=False)
    assert whole(spread).numel() == 4


def test_a_tensor_that_is_no_dtensor_is_itself(spread, monkeypatch):
    plain = torch.ones(2)
    assert whole(plain) is plain
    monkeypatch.delitem(sys.modules, "torch.distributed.tensor")  # nobody has imported it
    assert whole(spread) is spread
    assert statistics(plain)["mean"] == 1.0


@pytest.mark.parametrize(
    "tensor",
    [NUMBERS.conj(), NUMBERS.conj().imag, torch._neg_view(NUMBERS), torch._neg_view(NUMBERS.real),
     torch._neg_view(NUMBERS).conj(), torch._neg_view(NUMBERS.conj())],
    ids=["conj", "imaginary part", "neg", "real and neg", "neg and conj", "conj and neg"],
)  # fmt: skip
def test_the_result_has_no_lazy_bit_and_the_same_values(tensor):
    assert tensor.is_conj() or tensor.is_neg()
    for result in (readable(tensor)[0], dense(tensor)):
        assert not result.is_conj()
        assert not result.is_neg()
        assert result.tolist() == tensor.tolist()


def test_a_plain_tensor_is_not_copied():
    assert readable(NUMBERS)[0] is NUMBERS
    assert dense(NUMBERS) is NUMBERS
    assert readable(NUMBERS)[1] == 0


def test_a_jagged_tensor_may_begin_after_the_first_row_of_its_values():
    data, offsets = torch.arange(20.0).view(10, 2), torch.tensor([2, 5, 9])
    whole_rows = torch.nested.nested_tensor_from_jagged(data, offsets=offsets)
    with_lengths = torch.nested.nested_tensor_from_jagged(
        data, offsets=offsets, lengths=offsets.diff()
    )
    expected = statistics(data[2:9])
    assert statistics(whole_rows) == statistics(with_lengths) == expected
    assert readable(whole_rows)[0].tolist() == data[2:9].flatten().tolist()


def test_a_nested_tensor_without_components_has_no_elements():
    found = statistics(torch.nested.nested_tensor([]))
    assert (found["numel"], found["norm"], found["mean"]) == (0, 0.0, None)
