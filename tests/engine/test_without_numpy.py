"""Digests and sketches, which read the memory of tensors, in an environment without NumPy."""

from __future__ import annotations

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from hookcli.engine.statistics.digest import digest
from hookcli.engine.statistics.sketch import Projector
from hookcli.models.bits import memory_of

DTYPES = (
    torch.float64, torch.float32, torch.bfloat16, torch.float8_e4m3fn, torch.complex64,
    torch.int64, torch.uint8, torch.bool,
)  # fmt: skip
SHAPES = ((), (0,), (3,), (2, 0, 3), (70_000,), (2, 3, 4))


class Wrapper(torch.Tensor):
    """A tensor without memory of its own."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return Wrapper._make_wrapper_subclass(Wrapper, (16,), dtype=torch.uint8)


@pytest.fixture
def no_numpy(monkeypatch):
    def unavailable(*_):
        raise RuntimeError("Numpy is not available")  # torch's own words

    def switch():
        monkeypatch.setattr(torch.Tensor, "numpy", unavailable)

    return switch


def tensors():
    generator = torch.Generator().manual_seed(0)
    for dtype in DTYPES:
        for shape in SHAPES:
            value = torch.rand(shape, generator=generator).mul(200).to(dtype)
            yield value
            yield value.transpose(0, -1) if value.dim() > 1 else value[::2] if shape else value
    yield torch.ones(3).to_sparse()
    yield torch.ones(1).expand(4, 5)
    yield torch.tensor([float("nan"), float("inf"), -0.0])


def test_digests_and_sketches_are_the_same_without_numpy(no_numpy):
    def measured():
        projector = Projector()
        return [(digest(tensor), projector.sketch(tensor)) for tensor in tensors()]

    expected = measured()
    no_numpy()
    assert repr(measured()) == repr(expected)  # repr: NaN equals itself


def test_what_has_no_memory_is_refused(no_numpy):
    no_numpy()
    with FakeTensorMode():
        fake = torch.ones(4)
    wrapper = Wrapper._make_wrapper_subclass(Wrapper, (4,))
    for tensor in (fake, wrapper, torch.ones(4, device="meta")):
        with pytest.raises((RuntimeError, NotImplementedError)):
            memory_of(tensor)
