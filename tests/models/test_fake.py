"""What a Faker makes is what `nn.Parameter` makes of a fake tensor, without running an operator."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import TorchDispatchMode

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
