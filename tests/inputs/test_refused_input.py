"""The hint for a layer that refuses its input. The messages are those of the installed torch."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from hookcli.inputs.refused_input import RefusedInput
from hookcli.report.values import Leaf

IDS = torch.full((2, 5), 100)
SIZES = [  # a layer, the shape of its input, what it takes, the shape that fits
    (nn.Linear(8, 4), (2, 9), "8 features, not 9", "2x8"),
    (nn.Linear(8, 4), (2, 3, 9), "8 features, not 9", "2x3x8"),
    (nn.Linear(1, 4), (9,), "1 feature, not 9", "1"),
    (nn.Conv2d(1, 8, 3), (2, 3, 9, 9), "1 channel, not 3", "2x1x9x9"),
    (nn.Conv2d(1, 8, 3), (3, 9, 9), "1 channel, not 3", "1x9x9"),
    (nn.Conv1d(4, 8, 3), (2, 6, 9), "4 channels, not 6", "2x4x9"),
    (nn.ConvTranspose2d(8, 4, 3), (2, 6, 9, 9), "8 channels, not 6", "2x8x9x9"),
    (nn.BatchNorm2d(8), (2, 9, 4, 4), "8 channels, not 9", "2x8x4x4"),
    (nn.InstanceNorm2d(8, affine=True), (2, 9, 4, 4), "8 channels, not 9", "2x8x4x4"),
    (nn.LayerNorm(8), (2, 9), "8 features, not 9", "2x8"),
    (nn.RMSNorm(8), (2, 9), "8 features, not 9", "2x8"),
    (nn.GRU(8, 4), (5, 2, 9), "8 features, not 9", "5x2x8"),
    (nn.LSTMCell(8, 4), (2, 9), "8 features, not 9", "2x8"),
    (nn.TransformerEncoderLayer(8, 2).self_attn, (5, 2, 9), "8 features, not 9", "5x2x8"),
]


def refused(layer, value, **known):
    """Return the hint for the error that a layer raises."""
    weight = getattr(layer, "weight", None)
    inputs = (Leaf("", tuple(value.shape), "float32"),)
    values = [value] * 3 if isinstance(layer, nn.MultiheadAttention) else [value]
    with pytest.raises((RuntimeError, ValueError, IndexError, AssertionError)) as error:
        layer(*values)
    call = {"batch": inputs, "is_one": True, **known}
    shape = None if weight is None else tuple(weight.shape)
    return RefusedInput("net.part", shape, inputs, **call).hint(str(error.value))


@pytest.mark.parametrize(
    ("layer", "shape", "takes", "fits"), SIZES, ids=[str(row[0])[:24] for row in SIZES]
)
def test_the_size_that_a_layer_takes_is_named_with_the_batch_to_pass(layer, shape, takes, fits):
    assert refused(layer, torch.ones(shape)) == f"try `-i {fits}`: 'net.part' takes {takes}"


@pytest.mark.parametrize("layer", [nn.Embedding(100, 4), nn.EmbeddingBag(100, 4)], ids=str)
@pytest.mark.parametrize("value", [torch.ones(2, 5), IDS], ids=["floats", "too large"])
def test_the_ids_that_a_table_takes_are_named(layer, value):
    expected = "try `-i 2x5:int64:0..100`: 'net.part' takes integers below 100"
    assert refused(layer, value) == expected


@pytest.mark.parametrize("layer", [nn.Linear(8, 4), nn.Conv1d(8, 4, 1)], ids=str)
def test_floats_are_asked_for_instead_of_integers(layer):
    value = torch.ones(8, 8, dtype=torch.int64)
    assert refused(layer, value) == "try `-i 8x8`: 'net.part' takes floats"


def test_one_of_several_inputs_is_named_by_its_shape():
    hint = refused(nn.Linear(8, 4), torch.ones(2, 9), is_one=False)
    assert hint == "pass 2x8 instead of 2x9 with `--input`: 'net.part' takes 8 features, not 9"


def test_an_input_that_other_layers_made_has_no_shape_to_pass():
    hint = refused(nn.Linear(8, 4), torch.ones(2, 9), batch=(Leaf("", (2, 3), "float32"),))
    assert hint == (
        "pass another batch with `--input`, or change 'net.part', which takes 8 features, not 9"
    )


def test_a_message_about_another_operand_gives_no_size():
    call = RefusedInput("fc", (4, 8), (Leaf("", (2, 8), "float32"),), (), is_one=True)
    assert call.hint("mat1 and mat2 shapes cannot be multiplied (2x9 and 8x4)") is None
    assert call.hint("index out of range in self") is not None
    assert (
        RefusedInput("fc", None, call.inputs, (), is_one=True).hint("index out of range in self")
        is None
    )
    assert call.hint("something else") is None
