"""A tensor in pieces: each element once, in memory order, without a copy."""

from __future__ import annotations

import pytest
import torch

from hookcli.engine.statistics.chunks import chunks, compact, pieces
from hookcli.engine.statistics.statistics import norm_of, statistics

BASE = torch.arange(24.0).reshape(2, 3, 4)


@pytest.mark.parametrize(
    ("tensor", "sizes", "repeats"),
    [
        (BASE, [24], 1),
        (BASE.permute(2, 0, 1), [24], 1),  # contiguous in another order of dimensions
        (BASE.transpose(0, 1), [24], 1),
        (torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last), [120], 1),
        (BASE[:, :2], [2, 8], 1),  # a gap after two of three rows
        (BASE[:, :, ::2], [12], 1),
        (BASE[:, :, 1:2], [6], 1),
        (BASE[0, 0, 0], [1], 1),
        (BASE[:1, :1, :1], [1], 1),
        (BASE[:, :, :1].expand(2, 3, 7), [6], 7),
        (BASE[0, :1].expand(5, 4).unsqueeze(0).expand(6, 5, 4), [4], 30),
        (torch.ones(1).expand(3, 4), [1], 12),
    ],
)
def test_a_compact_view_has_each_distinct_element_once(tensor, sizes, repeats):
    view, times = compact(tensor)
    assert (list(view.shape), times) == (sizes, repeats)
    assert view.untyped_storage().data_ptr() == tensor.untyped_storage().data_ptr()
    assert sorted(view.flatten().tolist() * times) == sorted(tensor.flatten().tolist())
    addresses = [view.flatten()[i].item() for i in range(view.numel())]
    if tensor.untyped_storage().data_ptr() == BASE.untyped_storage().data_ptr():
        assert addresses == sorted(addresses)  # BASE counts in memory order


@pytest.mark.parametrize(
    ("shape", "size", "expected"),
    [
        ((10,), 10, [(10,)]),
        ((10,), 4, [(4,), (4,), (2,)]),
        ((4, 3), 12, [(4, 3)]),
        ((4, 3), 6, [(2, 3), (2, 3)]),
        ((4, 3), 5, [(1, 3)] * 4),
        ((4, 3), 3, [(1, 3)] * 4),
        ((2, 3), 2, [(2,), (1,)] * 2),
        ((2, 2, 3), 3, [(1, 3)] * 4),
    ],
)
def test_chunks_cover_a_tensor_in_order(shape, size, expected):
    tensor = torch.arange(float(torch.Size(shape).numel())).reshape(shape)
    found = [*chunks(tensor, size)]
    assert [tuple(chunk.shape) for chunk in found] == expected
    assert torch.cat([chunk.flatten() for chunk in found]).equal(tensor.flatten())


def test_pieces_are_of_the_asked_type_and_may_be_written():
    tensor = torch.arange(1_500_000, dtype=torch.int32).reshape(3, -1)[:, 1:]
    before, found = tensor.clone(), []
    for piece in pieces(tensor, torch.float64):
        assert (piece.dtype, piece.dim()) == (torch.float64, 1)
        found.append(piece.clone())
        piece.zero_()
    assert len(found) == 3
    assert torch.cat(found).equal(tensor.flatten().double())
    assert tensor.equal(before)


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_pieces_of_complex_elements_are_their_moduli(dtype):
    tensor = torch.tensor([3 + 4j, -5 + 12j, 0, complex("inf"), complex(1, float("nan"))]).to(dtype)
    [piece] = pieces(tensor, torch.float32)
    assert piece.dtype is torch.float64
    assert piece[:4].tolist() == [5.0, 13.0, 0.0, float("inf")]
    assert piece[4].isnan()
    large = torch.tensor([[3e200 + 4e200j, 1e-200j]], dtype=torch.complex128)
    [piece] = pieces(large, torch.float64)
    assert piece.tolist() == pytest.approx([5e200, 1e-200], rel=1e-12, abs=0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_a_short_last_piece_counts_as_it_is(dtype):
    tensor = torch.zeros((1 << 19) + 5, dtype=dtype)
    tensor[-5:] = 2.0**-9
    if dtype is torch.float32:  # is read in place unless there are gaps
        tensor = torch.stack([tensor, torch.ones_like(tensor)], dim=1)[:, 0]
    wanted = 2.0**-9 * 5**0.5
    row = statistics(tensor)
    assert (row["norm"], norm_of(tensor)["norm"]) == pytest.approx((wanted, wanted), rel=1e-6)
    assert row["mean"] == pytest.approx(5 * 2.0**-9 / tensor.numel(), rel=1e-6)
    assert (row["zeros"], row["min"], row["max"]) == (1 << 19, 0.0, 2.0**-9)


def test_a_repeated_element_that_is_not_finite_counts_each_time():
    values = torch.tensor([float("nan"), float("inf"), -float("inf"), float("-inf"), 0.0, 1.0])
    row = statistics(values.expand(5, 6))
    assert (row["nans"], row["infs"], row["zeros"], row["numel"]) == (5, 15, 5, 30)
    assert (row["finite"]["min"], row["finite"]["max"]) == (0.0, 1.0)


@pytest.mark.parametrize("value", [(1 << 53) + 1, -(1 << 53) - 1, (1 << 60) + 1, -(1 << 60) - 1])
def test_the_ends_of_large_integers_are_exact(value):
    row = statistics(torch.tensor([value, *[0] * 199]))
    assert (row["min"], row["max"]) == (min(value, 0), max(value, 0))
    assert row["abs_max"] == abs(value)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_huge_and_tiny_elements_neither_overflow_nor_vanish(size, sign):
    tensor = torch.full((200,), size * sign, dtype=torch.float64)
    tensor[0] = -tensor[0] / 2
    wanted = (torch.linalg.vector_norm(tensor / size) * size).item()
    assert statistics(tensor)["norm"] == pytest.approx(wanted, rel=1e-12, abs=0)
    assert norm_of(tensor)["norm"] == pytest.approx(wanted, rel=1e-12, abs=0)
