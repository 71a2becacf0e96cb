"""What a Faker makes is what `nn.Parameter` makes of a fake tensor, without running an operator."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

from hookcli.errors import NoFakeError, is_own
from hookcli.models.fake.fake import Faker, on_meta


def built():
    net = nn.Sequential(nn.Linear(2, 3), nn.Linear(2, 3), nn.BatchNorm1d(3))
    net[1].weight = net[0].weight
    net[0].bias.requires_grad_(False)
    net[0].bias.note = "kept"
    return net


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_parameters_are_those_that_torch_would_make(device):
    with torch.device(device):
        real = built()
    names = {name: one.requires_grad for name, one in real.named_parameters()}
    faker = Faker("cpu")
    faker.module(real)
    assert {name: one.requires_grad for name, one in real.named_parameters()} == names
    assert real[1].weight is real[0].weight
    assert real[0].bias.note == "kept"
    for one in real.parameters():
        by_torch = nn.Parameter(one, requires_grad=one.requires_grad)
        assert isinstance(one, nn.Parameter)
        assert type(one) is type(by_torch) is FakeTensor
        assert (one.is_leaf, one.device, one.dtype, one.shape, one.stride()) == (
            by_torch.is_leaf, by_torch.device, by_torch.dtype, by_torch.shape, by_torch.stride(),
        )  # fmt: skip
    for one in real.buffers():
        assert isinstance(one, FakeTensor)
        assert not isinstance(one, nn.Parameter)


def test_gradients_come_to_fake_parameters():
    with on_meta():
        net = nn.Linear(2, 3)
    faker = Faker("cpu")
    faker.module(net)
    with faker.mode:
        net(torch.ones(4, 2)).sum().backward()
    assert net.weight.grad.shape == (3, 2)


class Count(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.operators = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if any(isinstance(one, FakeTensor) for one in args):
            self.operators.append(func)
        return func(*args, **(kwargs or {}))


def test_no_operator_runs_for_a_parameter_on_meta():
    with on_meta():
        net = nn.Linear(2, 3)
    with Count() as count:
        Faker("cpu").module(net)
    assert count.operators == []


class Quantized(torch.Tensor):
    """A tensor that computes its values from others, as libraries of quantisation make them."""

    @staticmethod
    def __new__(cls, whole, scale):
        return torch.Tensor._make_wrapper_subclass(
            cls, whole.shape, dtype=torch.float32, device=whole.device
        )

    def __init__(self, whole, scale):
        self.whole, self.scale = whole, scale

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func is torch.ops.aten.detach.default:
            return cls(args[0].whole, args[0].scale)
        args = tree_map_only(cls, lambda one: one.whole * one.scale, args)
        return func(*args, **(kwargs or {}))


def test_the_error_of_a_tensor_without_a_fake_counterpart_is_the_reason_of_a_real_run():
    with on_meta():
        net = nn.Linear(2, 2)
        weight = Quantized(torch.ones(2, 2, dtype=torch.int8), torch.tensor(0.5))
        net.weight = nn.Parameter(weight, requires_grad=False)
    with pytest.raises(NoFakeError) as caught:
        Faker("cpu").module(net)
    assert is_own(caught.value)
