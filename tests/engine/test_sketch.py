"""Sketches estimate the norm of a difference with the error that they state."""

from __future__ import annotations

import hashlib
import math

import numpy as np
import pytest
import torch

from hookcli.engine.statistics import sketch as module
from hookcli.engine.statistics.sketch import CHUNK, SPAN, WIDTH, Projector, dense


@pytest.fixture(scope="module")
def projector():
    return Projector()


def estimate(one, other):
    gaps = (a - b for a, b in zip(one.projections, other.projections))
    return math.sqrt(sum(gap * gap for gap in gaps) / WIDTH)


def ratios(projector, numel, changed, tries):
    """The estimate over the true norm, for differences in `changed` elements."""
    found = []
    for seed in range(tries):
        generator = torch.Generator().manual_seed(seed)
        one = torch.randn(numel, generator=generator, dtype=torch.float64)
        other = one.clone()
        at = torch.randint(0, numel, (changed,), generator=generator)
        other[at] += torch.randn(changed, generator=generator, dtype=torch.float64) * 1e-3
        gap = (one - other).norm().item()
        found.append(estimate(projector.sketch(one), projector.sketch(other)) / gap)
    return found


@pytest.mark.parametrize(
    ("numel", "changed", "tries"),
    [(1000, 1000, 200), (1000, 1, 200), (3 * CHUNK, 50, 100), (2 * SPAN, 1000, 25)],
)
def test_the_estimate_has_the_stated_error(projector, numel, changed, tries):
    found = ratios(projector, numel, changed, tries)
    square = sum(one * one for one in found) / tries
    # its square is chi-squared over its degrees of freedom: mean 1, variance 2 / WIDTH
    assert abs(square - 1) < 4 * math.sqrt(2 / WIDTH / tries)
    outside = sum(not 1 / 1.53 < one < 1 / 0.74 for one in found)
    assert outside <= 0.05 * tries + 4 * math.sqrt(0.05 * 0.95 * tries)


def test_a_constant_difference_over_many_spans_is_not_lost_or_multiplied(projector):
    one = torch.zeros(4 * SPAN)
    other = torch.full((4 * SPAN,), 1e-3)
    gap = 1e-3 * math.sqrt(4 * SPAN)
    assert 0.5 < estimate(projector.sketch(one), projector.sketch(other)) / gap < 1.6


@pytest.mark.parametrize("numel", [0, 1, 7, CHUNK, CHUNK + 1, SPAN + 3])
def test_the_norm_is_torch_s(projector, numel):
    tensor = torch.randn(numel, generator=torch.Generator().manual_seed(1))
    assert projector.sketch(tensor).norm == pytest.approx(tensor.double().norm().item(), rel=1e-12)


def test_the_layout_in_memory_does_not_matter(projector):
    tensor = torch.randn(6, 50, 700)
    turned = tensor.permute(2, 0, 1).contiguous().permute(1, 2, 0)
    assert projector.sketch(turned) == projector.sketch(tensor)


def test_a_sketch_is_the_same_in_every_process_and_leaves_generators_alone(projector):
    torch.manual_seed(0)
    expected = torch.randn(3)
    torch.manual_seed(0)
    fresh = Projector().sketch(torch.arange(SPAN + 5.0))
    assert torch.equal(torch.randn(3), expected)
    assert fresh == projector.sketch(torch.arange(SPAN + 5.0))
    one = Projector().sketch(torch.ones(1)).projections
    generator = torch.Generator().manual_seed(0x5CE7C4)
    drawn = torch.randn(CHUNK, WIDTH, dtype=torch.float64, generator=generator)
    assert one == tuple(drawn[0].tolist())


def test_threads_are_as_before(projector):
    before = torch.get_num_threads()
    projector.sketch(torch.ones(10))
    assert torch.get_num_threads() == before


@pytest.mark.parametrize(
    "dtype",
    ["float16", "bfloat16", "float8_e4m3fn", "int8", "int64", "bool", "complex64", "uint8"],
)
def test_every_dtype_is_read_as_it_is(projector, dtype):
    dtype = getattr(torch, dtype)
    tensor = (torch.arange(12.0) % 2 + 1).to(dtype)
    wide = tensor.to(torch.complex128 if dtype.is_complex else torch.float64)
    assert projector.sketch(tensor).norm == pytest.approx(wide.norm().item(), rel=1e-12)


def test_what_is_not_finite_is_counted_and_left_out(projector):
    found = projector.sketch(torch.tensor([3.0, math.nan, math.inf, -4.0]))
    assert (found.norm, found.nonfinite) == (5.0, 2)
    assert found.projections == projector.sketch(torch.tensor([3.0, 0, 0, -4.0])).projections


def test_one_bit_changes_the_digest(projector):
    one = torch.zeros(SPAN + 10)
    other = one.clone()
    other[-1] = -0.0
    assert projector.sketch(one).digest != projector.sketch(other).digest
    assert projector.sketch(one).digest == projector.sketch(one.clone()).digest
    assert projector.sketch(one).digest != projector.sketch(one.view(2, -1)).digest


def test_a_tensor_without_elements_to_read_has_no_sketch(projector):
    assert projector.sketch(torch.empty(3, device="meta")) is None


def test_elements_beyond_those_with_vectors_are_added_with_random_signs_first(projector):
    """The projections, computed one element at a time with NumPy as the module's text says it."""
    seed, numel = 0x5CE7C4, 2 * SPAN + 2 * CHUNK + 5
    values = np.random.default_rng(4).standard_normal(numel)

    def generator(offset):
        return torch.Generator().manual_seed(seed + offset)

    vectors = torch.cat(
        [
            torch.randn(CHUNK, WIDTH, dtype=torch.float64, generator=generator(index))
            for index in range(SPAN // CHUNK)
        ]
    ).numpy()
    signs = (torch.randint(0, 2, (SPAN,), generator=generator(-1)) * 2 - 1).numpy()
    starts, sums = generator(-2), np.zeros(SPAN)
    for first in range(SPAN, numel, SPAN):
        part = values[first : first + SPAN]
        start, sign = torch.randint(0, SPAN, (2,), generator=starts).tolist()
        at = np.arange(len(part))
        np.add.at(sums, (start + at) % SPAN, part * signs[(sign + at) % SPAN])
    expected = values[:SPAN] @ vectors + sums @ vectors
    assert projector.sketch(torch.from_numpy(values)).projections == pytest.approx(tuple(expected))


def test_a_position_within_a_block_has_the_vectors_of_that_position(projector):
    """Rows that are no multiple of a block in size are read in pieces that cross its ends."""
    values = torch.randn(
        7, CHUNK // 3, dtype=torch.float64, generator=torch.Generator().manual_seed(2)
    )
    whole = projector.sketch(values.reshape(-1)).projections
    strided = torch.empty(7, 2 * (CHUNK // 3), dtype=torch.float64)[:, ::2].copy_(values)
    assert projector.sketch(strided).projections == pytest.approx(whole)


def test_a_sketch_as_it_is_written(projector):
    tensor = torch.tensor([3.0, math.inf, -4.0])
    found = projector.sketch(tensor)
    bits = tensor.numpy().tobytes()
    digest = hashlib.sha256(b"torch.float32 [3] " + bits).hexdigest()[:32]
    assert found.row() == {
        "digest": digest, "norm": 5.0, "nonfinite": 1, "projections": list(found.projections),
        "sums": [-1.0, 7.0, 25.0],
    }  # fmt: skip


def test_other_layouts_are_read(projector):
    plain = torch.tensor([[0.0, 2.0], [3.0, 0.0]])
    assert projector.sketch(plain.to_sparse()) == projector.sketch(plain)


def test_vectors_and_signs_are_drawn_as_they_always_were():
    """Reports of other versions hold sketches that are compared with these."""
    drawn = Projector()
    for index in (0, 1, 3):
        generator = torch.Generator().manual_seed(0x5CE7C4 + index)
        expected = torch.randn(CHUNK, WIDTH, dtype=torch.float64, generator=generator)
        assert drawn._block(index).equal(expected)
        assert drawn._block(index) is drawn._block(index)
    generator = torch.Generator().manual_seed(0x5CE7C4 - 1)
    bits = torch.randint(0, 2, (SPAN,), generator=generator)
    signs = drawn._all_signs()
    assert signs[:SPAN].equal(torch.where(bits == 1, 1.0, -1.0).double())
    assert signs[SPAN : 2 * SPAN].equal(signs[:SPAN])
    assert drawn._all_signs() is signs


SMALL_CHUNK, SMALL_SPAN = 8, 32


@pytest.fixture
def small(monkeypatch):
    """A projector with vectors for 32 elements, which are read in pieces of 8."""
    monkeypatch.setattr(module, "CHUNK", SMALL_CHUNK)
    monkeypatch.setattr(module, "SPAN", SMALL_SPAN)
    return Projector()


@pytest.mark.parametrize("numel", [1, 8, 9, 31, 32, 33, 40, 41, 64, 65, 96, 97, 300])
def test_the_projections_are_those_of_the_definition(small, numel):
    values = torch.randn(numel, dtype=torch.float64, generator=torch.Generator().manual_seed(7))
    vectors = torch.cat([small._block(index) for index in range(SMALL_SPAN // SMALL_CHUNK)])
    signs, starts = small._all_signs(), torch.Generator().manual_seed(0x5CE7C4 - 2)
    sums = torch.zeros(SMALL_SPAN, dtype=torch.float64)
    sums[: min(numel, SMALL_SPAN)] = values[:SMALL_SPAN]
    for first in range(SMALL_SPAN, numel, SMALL_SPAN):
        start, sign = torch.randint(0, SMALL_SPAN, (2,), generator=starts).tolist()
        for i, value in enumerate(values[first : first + SMALL_SPAN].tolist()):
            sums[(start + i) % SMALL_SPAN] += value * signs[(sign + i) % SMALL_SPAN]
    found = small.sketch(values)
    assert found.projections == pytest.approx(tuple((sums @ vectors).tolist()))
    assert found.norm == pytest.approx(values.norm().item())


@pytest.mark.parametrize(("rows", "columns"), [(7, 3), (5, 6), (9, 7), (30, 5)])
def test_pieces_of_rows_are_folded_without_leaving_the_sums(small, rows, columns):
    """Rows are read whole, so that pieces do not end where blocks and spans do."""
    values = torch.randn(rows, columns, dtype=torch.float64).abs()
    strided = torch.empty(rows, 2 * columns, dtype=torch.float64)[:, ::2].copy_(values)
    found = small.sketch(strided)
    assert found.norm == pytest.approx(values.norm().item())
    assert found.digest == small.sketch(values).digest
    doubled = small.sketch(strided * 2).projections  # linear
    assert doubled == pytest.approx([2 * one for one in found.projections])
    if rows * columns <= SMALL_SPAN:
        assert found.projections == pytest.approx(small.sketch(values).projections)


@pytest.mark.parametrize("numel", [4, 41, 100])
def test_the_tensor_stays_as_it_is(small, numel):
    tensor = torch.randn(numel, dtype=torch.float64)
    tensor[3] = math.nan
    before, version = tensor.clone(), tensor._version
    assert small.sketch(tensor).nonfinite == 1
    assert torch.equal(tensor.nan_to_num(9.0), before.nan_to_num(9.0))
    assert tensor._version == version
    tensor.resize_(2 * numel)  # its memory is not held
    assert tensor.numel() == 2 * numel


@pytest.mark.filterwarnings("ignore:.*quantized tensor creation")
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("layout", [torch.strided, torch.jagged, "quantized"], ids=str)
def test_nested_and_quantized_tensors_are_their_elements(small, layout):
    parts = [torch.ones(2, 3), torch.arange(12.0).view(4, 3)]
    flat = torch.cat([part.reshape(-1) for part in parts])
    if layout == "quantized":
        tensor = torch.quantize_per_tensor(flat, 0.5, 2, torch.quint8)
    else:
        tensor = torch.nested.nested_tensor(parts, layout=layout)
    assert small.sketch(tensor) == small.sketch(flat)
    assert dense(tensor).equal(flat)


def test_a_sketch_is_computed_by_one_thread(projector, monkeypatch):
    seen = []
    plain = module._plain
    monkeypatch.setattr(
        module, "_plain", lambda tensor: seen.append(torch.get_num_threads()) or plain(tensor)
    )
    before = torch.get_num_threads()
    try:
        for threads in (3, 2):
            torch.set_num_threads(threads)
            projector.sketch(torch.ones(4))
            projector.sketch(torch.empty(4, device="meta"))  # which fails
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert seen == [1] * 4
