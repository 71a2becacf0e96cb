"""Digests of tensors: the same for the same dtype, shape and bits, and for nothing else."""

from __future__ import annotations

import hashlib
import struct

import pytest
import torch
from torch import nn

from hookcli.engine.statistics.digest import digest, digests_of_model, digests_of_output
from hookcli.models.backend import backend_of


def test_a_digest_is_a_hash_of_dtype_shape_and_bits():
    bits = struct.pack("=3f", 3.0, float("inf"), -0.0)
    wanted = hashlib.sha256(b"torch.float32 [3] " + bits).hexdigest()
    found = digest(torch.tensor([3.0, float("inf"), -0.0], requires_grad=True))
    assert len(found) == 32
    assert wanted.startswith(found)


@pytest.mark.parametrize(
    "other",
    [
        torch.tensor([[1.0, 2.0], [3.0, 5.0]]),
        torch.tensor([[1.0, 2.0], [0.0, 4.0]]),
        torch.tensor([1.0, 2.0, 3.0, 4.0]),
        torch.tensor([[1.0, 3.0], [2.0, 4.0]]),
        torch.tensor([[1.0, 2.0], [3.0, 4.0]]).view(torch.int32),
        torch.tensor([[1.0, 2.0], [3.0, 4.0]]).double(),
        torch.tensor([[1.0, 2.0], [3.0, 4.0]]).to_sparse(),
        torch.tensor([[1.0, 2.0], [3.0, 4.0]]).to("meta"),
    ],
    ids=str,
)
def test_another_tensor_has_another_digest(other):
    tensor = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert digest(tensor) == digest(tensor.t().contiguous().t())
    assert digest(other) == digest(other.clone())
    assert digest(tensor) != digest(other)


def test_zeros_of_different_signs_have_different_digests():
    assert digest(torch.tensor([0.0])) != digest(torch.tensor([-0.0]))


def test_each_component_of_an_output_has_its_digest():
    output = {"logits": torch.ones(2), "state": (torch.zeros(2), torch.ones(2))}
    found = digests_of_output(output, 4)
    assert list(found) == [
        "step 4 output.logits", "step 4 output.state[0]", "step 4 output.state[1]"
    ]  # fmt: skip
    assert [*found.values()] == [
        digest(torch.ones(2)),
        digest(torch.zeros(2)),
        digest(torch.ones(2)),
    ]
    assert list(digests_of_output(torch.ones(2), 0)) == ["step 0 output"]


def test_digests_are_those_of_gradients_that_exist_parameters_and_buffers():
    net = nn.BatchNorm1d(2)
    net.weight.grad = torch.ones(2)
    found = digests_of_model(backend_of(net), 3)
    same = {"step 3 gradient of weight", "step 3 parameter weight", "step 3 buffer running_var"}
    zero = {"step 3 parameter bias", "step 3 buffer running_mean"}
    counter = {"step 3 buffer num_batches_tracked"}
    assert found.keys() == same | zero | counter
    assert {found[name] for name in same} == {digest(torch.ones(2))}
    assert {found[name] for name in zero} == {digest(torch.zeros(2))}
