"""Quantized modules: which ones a model has, and the sizes of the float ones in their place."""

from __future__ import annotations

import pytest
from torch import nn
from torch.ao.nn import quantized
from torch.ao.nn.intrinsic.quantized import ConvReLU2d
from torch.ao.nn.quantized import dynamic

from hookcli.models.converted.quantized import (
    float_counterpart,
    is_layer,
    is_packed,
    is_quantized,
    quantized_types,
)  # fmt: skip

pytestmark = [
    pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor:UserWarning"),
    pytest.mark.filterwarnings("ignore:torch.ao:DeprecationWarning"),
]


@pytest.mark.parametrize(
    ("make", "kind", "sizes"),
    [
        (lambda: quantized.Linear(3, 4), nn.Linear, {"in_features": 3, "out_features": 4}),
        (lambda: dynamic.Linear(3, 4), nn.Linear, {"in_features": 3, "out_features": 4}),
        (
            lambda: ConvReLU2d(3, 8, 5), nn.Conv2d,
            {"in_channels": 3, "out_channels": 8, "kernel_size": (5, 5)},
        ),
        (
            lambda: dynamic.LSTM(3, 4, batch_first=True), nn.LSTM,
            {"input_size": 3, "hidden_size": 4, "batch_first": True},
        ),
        (
            lambda: quantized.Embedding(7, 4), nn.Embedding,
            {"num_embeddings": 7, "embedding_dim": 4},
        ),
    ],
    ids=["linear", "dynamic linear", "fused convolution", "lstm", "embedding"],
)  # fmt: skip
def test_a_quantized_layer_has_the_sizes_of_its_float_one(make, kind, sizes):
    module = make()
    counterpart = float_counterpart(module)
    assert type(counterpart) is kind
    assert {name: getattr(counterpart, name) for name in sizes} == sizes
    assert is_quantized(module)
    assert is_layer(module)


def test_a_module_without_a_float_class_stays_what_it_is():
    for module in (nn.Linear(3, 4), quantized.Quantize(1.0, 0, None), nn.Sequential()):
        assert float_counterpart(module) is module


def test_a_layer_is_a_module_without_children_or_one_that_packs_its_weights():
    assert is_layer(nn.Linear(3, 4))
    assert is_layer(nn.MultiheadAttention(4, 2))
    assert not is_layer(nn.Sequential(nn.Linear(3, 4)))


def test_the_quantized_types_of_a_model_are_told_once_and_without_the_packed_weights():
    lstm = dynamic.LSTM(3, 4)
    packed = [type(m) for m in lstm.modules() if is_packed(type(m))]
    assert [kind.__name__ for kind in packed] == ["PackedParameter"]
    root = nn.Sequential(nn.Linear(3, 3), dynamic.Linear(3, 3), lstm, dynamic.Linear(4, 4))
    assert quantized_types(root) == ["Linear", "LSTM"]
    assert quantized_types(nn.Sequential(nn.Linear(3, 3))) == []
