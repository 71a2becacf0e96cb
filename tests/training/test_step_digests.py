"""Digests of parameters: any change of one element changes them, and they follow the memory."""

from __future__ import annotations

import pytest
import torch
from torch.nn import Parameter

from hookcli.training.parallel import step_digests
from hookcli.training.parallel.step_digests import Bits, DigestKeeper

TENSORS = {
    "float32": torch.randn(5, 3),
    "one": torch.randn(1),
    "even": torch.randn(4, 8),
    "bfloat16": torch.randn(7).bfloat16(),
    "float64": torch.randn(3, dtype=torch.float64),
    "complex": torch.randn(3, dtype=torch.complex64),
    "transposed": torch.randn(4, 6).t(),
    "channels_last": torch.randn(2, 3, 4, 4).contiguous(memory_format=torch.channels_last),
    "offset": torch.randn(9)[1:8],
    "bytes": torch.arange(11, dtype=torch.uint8),
    "large": torch.randn(3, step_digests._PART),
}


def all_bits(tensor):
    bits = Bits(tensor, 0)
    return [int(bits.sum(step)) for step in range(bits.turns)]


@pytest.mark.parametrize("name", TENSORS)
def test_each_element_counts(name):
    tensor = TENSORS[name].clone(memory_format=torch.preserve_format)
    before = all_bits(tensor)
    assert before == all_bits(tensor.clone(memory_format=torch.preserve_format))
    flat = torch.as_strided(tensor, (tensor.numel(),), (1,))
    for i in {0, tensor.numel() // 2, tensor.numel() - 1}:
        kept = flat[i].item()
        flat[i] = kept + 1
        assert all_bits(tensor) != before, i
        flat[i] = kept
    assert all_bits(tensor) == before


def test_tensors_without_readable_bits_are_unknown():
    gaps = torch.randn(4, 4)[:, :2]
    for tensor in (torch.empty(3, device="meta"), gaps, torch.empty(0), torch.eye(2).to_sparse()):
        assert Bits(tensor, 0).sum(0) is None


def test_new_memory_is_read():
    parameter = Parameter(torch.ones(4))
    keeper = DigestKeeper()
    keeper.note(0, [parameter])
    keeper.note(2, [parameter])
    parameter.data = torch.full((4,), 2.0)
    keeper.note(4, [parameter])
    rows = keeper.rows({id(parameter): "w"}, 0)
    assert rows.names == ("w",)
    assert rows.moments[0] == rows.moments[2] != rows.moments[4]
    assert rows.each[0] != rows.each[4]


def test_digests_stay_bounded(monkeypatch):
    monkeypatch.setattr(step_digests, "_MOST_STEPS", 10)
    monkeypatch.setattr(step_digests, "_MOST_EACH", 12)
    parameter = Parameter(torch.zeros(2))
    keeper = DigestKeeper()
    for step in range(100):
        for moment in (2 * step, 2 * step + 1):
            keeper.note(moment, [parameter])
    rows = keeper.rows({}, 0)
    assert len(rows.moments) <= 22 and len(rows.each) <= 14
    assert {0, 199} <= rows.moments.keys() & rows.each.keys()


def test_the_model_is_left_as_it_is():
    parameter = Parameter(torch.randn(5))
    version, data = parameter._version, parameter.detach().clone()
    keeper = DigestKeeper()
    for moment in range(4):
        keeper.note(moment, [parameter])
    assert parameter._version == version and torch.equal(parameter, data)
    assert parameter.requires_grad and parameter.grad is None
