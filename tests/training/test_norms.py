"""Norms of many tensors at once, held against torch.linalg.vector_norm in double precision."""

from __future__ import annotations

import math
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from hookcli.training import norms
from hookcli.training.norms import (
    change_norms,
    each_norm,
    gradient_norm,
    gradients_of,
    local,
    outside_modes,
    total_norm,
)
from hookcli.training.parallel.placements import is_part


def exact(*tensors):
    whole = torch.cat([tensor.detach().to_dense().double().flatten() for tensor in tensors])
    return torch.linalg.vector_norm(whole).item()


def made(*shapes, dtype=torch.float32, scale=1.0):
    generator = torch.Generator().manual_seed(0)
    return [(torch.randn(shape, generator=generator) * scale).to(dtype) for shape in shapes]


@pytest.mark.parametrize(
    "tensors",
    [
        made((3, 4)),
        made((3, 4), (5,), (2, 2, 2)),
        made((3, 4), (5,), dtype=torch.float64),
        made((3, 4), (5,), dtype=torch.bfloat16),
        [*made((3,)), *made((4,), dtype=torch.float64)],
        made((300, 40), (5,), dtype=torch.bfloat16, scale=1e3),
        [*made((3, 50)), *made((7, 9), dtype=torch.bfloat16), *made((4,), dtype=torch.float16)],
        made((3, 4), (5,), scale=1e25),  # the squares overflow in single precision
        made((3, 4), (5,), scale=1e-25),  # and underflow
        [torch.nn.Parameter(one) for one in made((3, 4), (5,))],
        [torch.eye(3).to_sparse(), *made((2,))],
    ],
)
def test_the_total_norm_is_that_of_all_elements(tensors):
    assert total_norm(tensors) == pytest.approx(exact(*tensors), rel=1e-6)


@pytest.mark.parametrize(
    "dtypes",
    [[torch.float32], [torch.bfloat16], [torch.float16, torch.float32], [torch.bfloat16] * 2],
    ids=str,
)
@pytest.mark.parametrize("devices", [["cuda"], ["cuda", "cpu"], ["cpu", "cuda"]], ids=str)
def test_norms_on_a_gpu_are_not_read(monkeypatch, dtypes, devices):
    """Tensors without values stand for those on a GPU: reading one would raise an error."""
    with FakeTensorMode():
        tensors = [torch.ones(3, 2, dtype=t, device=d) for t in dtypes for d in devices]
        monkeypatch.setattr(norms, "_TYPES", {type(tensors[0])})
        monkeypatch.setattr(norms, "outside_modes", nullcontext)
        reads = []
        monkeypatch.setattr(torch.Tensor, "item", lambda self: reads.append(self.device.type) or 1)
        norm = total_norm(tensors)
    assert isinstance(norm, torch.Tensor)
    assert norm.device.type == "cuda"
    assert set(reads) <= {"cpu"}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_the_norm_of_many_elements_is_exact(dtype):
    """PyTorch's own norm on the CPU is off by 1e-4 there."""
    tensors = made((3_000_000,), (17,), dtype=dtype)
    assert total_norm(tensors) == pytest.approx(exact(*tensors), rel=1e-6)
    assert each_norm(tensors) == pytest.approx([exact(one) for one in tensors], rel=1e-6)
    (change, _) = change_norms([torch.zeros_like(one) for one in tensors], tensors)
    assert change == pytest.approx(exact(tensors[0]), rel=1e-6)


def test_the_total_norm_of_nothing_and_of_zeros_is_zero():
    assert total_norm([]) == 0.0
    assert total_norm([torch.zeros(3), torch.zeros(2)]) == 0.0


@pytest.mark.parametrize(
    ("value", "other", "norm"),
    [("inf", 1.0, math.inf), ("nan", 1.0, math.nan), ("inf", math.nan, math.nan)],
)
def test_the_total_norm_is_not_finite_if_an_element_is_not(value, other, norm):
    tensors = [torch.tensor([1.0, float(value)]), torch.tensor([other])]
    assert total_norm(tensors) == pytest.approx(norm, nan_ok=True)


def test_norms_are_computed_outside_of_modes_and_of_autograd():
    class Seen(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            raise AssertionError(f"{function} was seen")

    weight = torch.nn.Parameter(torch.tensor([3.0, 4.0]))
    before = [torch.zeros(2)]
    with Seen():
        assert total_norm([weight]) == 5.0
        assert change_norms(before, [weight]) == [5.0]
        with outside_modes():
            assert (weight * 2).tolist() == [6.0, 8.0]
    with outside_modes():
        assert (weight * 2).requires_grad


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_each_change_has_its_norm(dtype):
    before, after = made((3, 4), (5,), dtype=dtype), made((3, 4), (5,), dtype=dtype, scale=3)
    wanted = [exact(b - a) for a, b in zip(before, after, strict=True)]
    kept = [one.clone() for one in after]
    assert change_norms(before, after) == pytest.approx(wanted, rel=1e-6)
    assert all(one.equal(other) for one, other in zip(after, kept, strict=True))


def test_no_change_is_zero_and_nothing_has_no_norms():
    weights = made((3, 4), (5,))
    assert change_norms([one.clone() for one in weights], weights) == [0.0, 0.0]
    assert change_norms([], []) == []


@pytest.mark.parametrize("scale", [1e-25, 1e25])
def test_small_and_large_changes_do_not_leave_the_range(scale):
    before, after = [torch.zeros(3), torch.zeros(2)], made((3,), (2,), scale=scale)
    wanted = [exact(one) for one in after]
    assert change_norms(before, after) == pytest.approx(wanted, rel=1e-6)


def test_changes_of_other_types_are_computed_one_by_one():
    before = [torch.zeros(2), torch.zeros(2, dtype=torch.bfloat16), torch.zeros(3)]
    after = [torch.tensor([3.0, 4.0]), torch.ones(2, dtype=torch.bfloat16), torch.zeros(4)]
    assert change_norms(before, after) == [5.0, pytest.approx(math.sqrt(2)), None]


def test_a_change_that_is_not_finite():
    found = change_norms([torch.zeros(2), torch.zeros(2)], [torch.tensor([1.0, math.inf])] * 2)
    assert found == [math.inf, math.inf]
    [found] = change_norms([torch.zeros(1)], [torch.tensor([math.nan])])
    assert math.isnan(found)


def test_gradients_are_those_that_exist_with_values():
    weights = [torch.nn.Parameter(torch.ones(2)) for _ in range(3)]
    weights[0].grad, weights[2].grad = torch.ones(2), torch.zeros(2)
    assert [id(one) for one in gradients_of(weights)] == [id(weights[0].grad), id(weights[2].grad)]
    meta = torch.nn.Parameter(torch.ones(2, device="meta"))
    meta.grad = torch.ones(2, device="meta")
    assert gradients_of([meta]) == []


def test_of_a_sharded_tensor_the_part_of_this_rank_counts():
    part = torch.ones(2)
    assert local(SimpleNamespace(_local_tensor=part)) is part
    assert local(part) is part


def placement(replicated):
    return SimpleNamespace(is_replicate=lambda: replicated)


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({}, False),
        ({"_is_flat_param": True}, True),
        ({"_is_flat_param": False}, False),
        ({"_fsdp_flattened": True}, True),
        ({"placements": (placement(True),)}, False),
        ({"placements": (placement(True), placement(False))}, True),
        ({"placements": None}, False),
    ],
)
def test_a_rank_has_a_part_if_the_tensor_is_not_replicated(attributes, expected):
    tensor = torch.zeros(1)
    for name, value in attributes.items():
        setattr(tensor, name, value)
    assert is_part(tensor) is expected


def test_fake_tensors_are_not_mixed_with_others():
    with FakeTensorMode():
        fake = torch.ones(2)
    assert total_norm([fake, torch.tensor([3.0, 4.0])]) == 5.0


def elsewhere(*shape):
    """A tensor on a device whose numbers must not be waited for."""
    return torch.ones(*shape, device="meta")


@pytest.mark.parametrize(
    "tensors",
    [[elsewhere(3)], [elsewhere(3), torch.nn.Parameter(elsewhere(2, 2))]],
    ids=["tensor", "tensor and parameter"],
)
def test_the_total_norm_of_another_device_is_not_read(tensors):
    total = total_norm(tensors)
    assert isinstance(total, torch.Tensor)
    assert (total.device.type, total.shape, total.dtype) == ("meta", (), torch.float64)


def test_tensors_of_several_devices_dtypes_or_layouts_are_read_one_by_one():
    some = torch.tensor([3.0, 4.0])
    assert total_norm([some, elsewhere(2)]) == 5.0  # those that have values
    assert total_norm([elsewhere(2), some.double()]) == 5.0
    assert total_norm([torch.eye(3).to_sparse().to("meta"), some]) == 5.0
    assert total_norm([some.half()]) == 5.0


def test_what_was_before_is_overwritten_by_the_change_if_that_saves_a_copy():
    before, after = [torch.ones(2), torch.ones(3)], [torch.zeros(2), torch.ones(3)]
    change_norms(before, after)
    assert [one.abs().tolist() for one in before] == [[1.0, 1.0], [0.0, 0.0, 0.0]]


def with_gradients(*gradients):
    parameters = []
    for gradient in gradients:
        shape = (2,) if gradient is None else gradient.shape
        dtype = torch.float32 if gradient is None else gradient.dtype
        parameters.append(torch.zeros(shape, dtype=dtype, requires_grad=True))
        parameters[-1].grad = gradient
    return parameters


@pytest.mark.parametrize(
    "gradients",
    [
        [],
        [None],
        made((3, 4), (5,)),
        [*made((3,)), None],
        [*made((3,)), *made((4,), dtype=torch.float64)],
        [made((3, 4))[0].to_sparse(), *made((5,))],
        [(torch.ones(3, requires_grad=True) * 2), *made((5,))],  # with a graph
        made((3,), dtype=torch.complex64),
        [torch.tensor([math.inf, 1.0]), *made((5,))],
        made((3, 4), (5,), scale=1e25),
        made((300, 40), (5,), dtype=torch.bfloat16, scale=1e3),
        [*made((3, 50)), *made((7, 9), dtype=torch.bfloat16), *made((4,), dtype=torch.float16)],
    ],
    ids=["nothing", "no gradient", "plain", "one missing", "two dtypes", "sparse", "graph",
         "complex", "infinite", "large", "bfloat16", "three dtypes"],
)  # fmt: skip
def test_the_norm_of_a_step_is_that_of_its_gradients(gradients):
    """Each step looks at plain gradients only once; the others take the general way."""
    parameters = with_gradients(*gradients)
    assert gradient_norm(parameters) == total_norm(gradients_of(parameters))
    present = [gradient for gradient in gradients if gradient is not None]
    if present and all(gradient.layout is torch.strided for gradient in present):
        expected = math.hypot(
            *(
                torch.linalg.vector_norm(
                    g.detach().to(torch.complex128 if g.is_complex() else torch.float64)
                ).item()
                for g in present
            )
        )
        assert gradient_norm(parameters) == pytest.approx(expected, rel=1e-6)
