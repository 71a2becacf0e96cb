"""Parts of tensors are joined as torch lays them out, and plain parts in the layout that fits."""

from __future__ import annotations

import itertools

import pytest
import torch

from hookcli.engine.parallel.layouts import distance, join
from hookcli.engine.parallel.portions import Portions, start_of
from hookcli.engine.parallel.recorder import direct_gradients
from hookcli.spec.compared.parallel import Mesh

TWO = Mesh(("tp",), (2,))
FOUR = Mesh(("dp", "tp"), (2, 2))


def plain(*parts):
    return {rank: {"local": part, "placements": None, "ranks": None}
            for rank, part in enumerate(parts)}  # fmt: skip


def placed(ranks, placements, *parts):
    return {rank: {"local": part, "placements": placements, "ranks": ranks}
            for rank, part in enumerate(parts)}  # fmt: skip


@pytest.fixture
def whole():
    return torch.randn(4, 6, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("dim", [0, 1])
def test_slices_of_a_plain_tensor_are_joined_along_their_dimension(whole, dim):
    found = join(plain(*whole.chunk(2, dim)), whole, TWO, 1e-6)
    assert (found.layout, found.declared, found.exact) == ((f"shard({dim})",), (False,), True)


def test_copies_and_sums_are_told_apart(whole):
    copies = join(plain(whole, whole.clone()), whole, TWO, 1e-6)
    sums = join(plain(whole * 0.25, whole * 0.75), whole, TWO, 1e-6)
    assert (copies.layout, copies.fits) == (("replicate",), True)
    assert (sums.layout, sums.fits) == (("partial",), True)


def test_copies_of_which_one_is_wrong_do_not_fit(whole):
    wrong = whole.clone()
    wrong[0, 0] += 1
    for parts in ((whole, wrong), (wrong, whole)):
        found = join(plain(*parts), whole, TWO, 1e-6)
        assert not found.fits
        assert found.relative == pytest.approx(float(1 / whole.norm()))


def test_slices_in_another_order_do_not_fit(whole):
    assert not join(plain(*reversed(whole.chunk(2))), whole, TWO, 1e-6).fits


def test_a_slice_that_no_layout_explains_has_no_figure(whole):
    found = join(plain(whole[:3], whole[:3]), whole, TWO, 1e-6)
    assert (found.fits, found.relative, found.shape) == (False, None, (3, 6))


def test_two_dimensions_of_a_dtensor_split_from_left_to_right(whole):
    first, second = (half.chunk(2) for half in whole.chunk(2))
    ranks, both = [[0, 1], [2, 3]], [["shard", 0], ["shard", 0]]
    found = join(placed(ranks, both, *first, *second), whole, FOUR, 1e-6)
    assert (found.layout, found.exact) == (("shard(0)", "shard(0)"), True)


def test_a_strided_shard_splits_what_the_right_dimension_has_split(whole):
    # fully_shard after tensor parallelism: tp takes halves, of which dp takes halves again.
    a, b = (half.chunk(2) for half in whole.chunk(2))
    ranks, both = [[0, 1], [2, 3]], [["strided", 0], ["shard", 0]]
    found = join(placed(ranks, both, a[0], b[0], a[1], b[1]), whole, FOUR, 1e-6)
    assert found.exact


def test_uneven_and_empty_parts_are_joined():
    whole = torch.arange(3.0)
    mesh = Mesh(("dp",), (4,))
    parts = placed([0, 1, 2, 3], [["shard", 0]], whole[:1], whole[1:2], whole[2:], whole[:0])
    assert join(parts, whole, mesh, 1e-6).exact


def test_a_partial_dtensor_is_summed_up(whole):
    parts = placed([0, 1], [["partial", "sum"]], whole * 2, -whole)
    assert join(parts, whole, TWO, 1e-6).fits


def test_samples_of_data_ranks_beside_slices_of_others(whole):
    parts = [p for half in whole.chunk(2) for p in half.chunk(2, 1)]
    assert join(plain(*parts), whole, FOUR, 1e-6).layout == ("shard(0)", "shard(1)")


def test_a_loss_of_each_part_is_averaged():
    mesh = Mesh(("dp",), (2,))
    found = join(plain(torch.tensor(1.0), torch.tensor(3.0)), torch.tensor(2.0), mesh, 1e-6)
    assert (found.layout, found.fits) == (("mean",), True)


def test_integers_must_be_equal_and_nan_equals_nan():
    whole = torch.tensor([1, 2])
    assert distance(whole, whole) == 0
    assert distance(whole + 1, whole) == float("inf")
    nan = torch.tensor([float("nan"), 1.0])
    assert distance(nan, nan) == 0
    assert distance(torch.tensor([1.0, 1.0]), nan) == float("inf")


def test_gradients_of_parts_average_to_that_of_the_whole():
    weight = torch.randn(5, 3, requires_grad=True)
    x, gradient = torch.randn(4, 3), torch.randn(4, 5)
    (x @ weight.T).backward(gradient)
    means = []
    for rank in range(2):
        portions = Portions(Mesh(("dp",), (2,)), (rank,), 4)
        own = weight.detach().clone().requires_grad_()
        output = portions.part(x) @ own.T
        output.backward(start_of(output, gradient, portions))
        means.append(own.grad)
    torch.testing.assert_close(sum(means) / 2, weight.grad)


def test_a_slice_of_an_output_starts_from_its_slice_of_the_gradient():
    gradient = torch.randn(2, 6)
    for place in itertools.product(range(2), range(2)):
        portions = Portions(FOUR, place, 2)
        start = start_of(torch.zeros(1, 3), gradient, portions)
        rows, columns = slice(place[0], place[0] + 1), slice(3 * place[1], 3 * place[1] + 3)
        assert torch.equal(start, 2 * gradient[rows, columns])
    assert start_of(torch.zeros(1, 5), gradient, Portions(FOUR, (0, 0), 2)) is None


def test_backward_starts_from_what_the_loss_itself_uses():
    x = torch.randn(3, requires_grad=True)
    logits = x * 2
    loss = logits.tanh().sum()
    found = dict(direct_gradients(loss, [("logits", logits), ("loss", loss)]))
    assert {path: float(g) for path, g in found.items()} == {"loss": 1.0}
    other = logits.exp()
    total = (other * 3).sum() + logits.sum()
    found = dict(direct_gradients(total, [("logits", logits), ("other", other)]))
    assert torch.equal(found["other"], torch.full((3,), 3.0))
    torch.testing.assert_close(found["logits"], torch.ones(3))
