"""How an exported program is called: names, constants, structures, and the batch of its file."""

from __future__ import annotations

import inspect

import pytest
import torch
from torch import nn
from torch.export import Dim, export

from hookcli.errors import ModelError
from hookcli.models.exported.signature import Signature, _bound, _names


class Scale(nn.Module):
    def forward(self, x, factor, states, *, flag=True):
        y = x * factor + states["h"][0]
        return {"y": y, "last": y[-1]} if flag else y


@pytest.fixture(scope="module")
def program():
    states = {"h": [torch.zeros(3, dtype=torch.int64), torch.zeros(1, dtype=torch.complex64)]}
    shapes = {
        "x": {0: Dim("n", min=3, max=9)},
        "factor": None,
        "states": {"h": [None, None]},
        "flag": None,
    }
    return export(Scale(), (torch.ones(4, 3), 2.0, states), {"flag": True}, dynamic_shapes=shapes)


def test_a_constant_may_be_omitted_and_what_follows_it_is_named(program):
    signature = Signature(program)
    parameters = signature.of_forward().parameters
    assert {n: (p.default, p.kind.name) for n, p in parameters.items()} == {
        "x": (inspect.Parameter.empty, "POSITIONAL_OR_KEYWORD"),
        "factor": (2.0, "POSITIONAL_OR_KEYWORD"),
        "states": (inspect.Parameter.empty, "KEYWORD_ONLY"),
        "flag": (True, "KEYWORD_ONLY"),
    }
    assert [e.label for e in signature.expected] == [
        "x", "factor", "states['h'][0]", "states['h'][1]", "flag",
    ]  # fmt: skip


def test_the_leaves_of_a_batch_are_in_the_order_of_the_graph(program):
    states = {"h": [torch.zeros(3, dtype=torch.int64), torch.zeros(1, dtype=torch.complex64)]}
    leaves = Signature(program).flatten((torch.ones(5, 3),), {"states": states})
    assert [getattr(leaf, "shape", leaf) for leaf in leaves] == [(5, 3), 2.0, (3,), (1,), True]


@pytest.mark.parametrize(
    ("states", "message"),
    [
        ({"h": [torch.zeros(3, dtype=torch.int64)]}, "the structure of the batch differs"),
        ({"c": []}, "the structure of the batch differs"),
    ],
)
def test_a_batch_of_another_structure_is_refused(program, states, message):
    with pytest.raises(ModelError, match=message) as caught:
        Signature(program).flatten((torch.ones(5, 3),), {"states": states})
    assert "x [s" in caught.value.hint


def test_an_argument_too_many_does_not_bind(program):
    with pytest.raises(TypeError):
        Signature(program).flatten((1, 2, 3, 4, 5), {})


def test_the_batch_is_that_of_the_file_or_made_of_its_sizes(program):
    signature = Signature(program)
    source, batch = signature.example(program)
    assert source == "the file's example inputs"
    assert batch.args[0].shape == (4, 3)
    kept = program.example_inputs
    program._example_inputs = None
    try:
        source, batch = signature.example(program)
    finally:
        program._example_inputs = kept
    assert source == "the sizes given in the file"
    x, factor, states = batch.args
    assert (x.shape, x.dtype, factor) == ((3, 3), torch.float32, 2.0)
    assert states["h"][0].tolist() == [0, 0, 0]
    assert states["h"][1].dtype == torch.complex64
    assert batch.kwargs == {"flag": True}


def test_outputs_get_the_structure_of_the_original(program):
    assert Signature(program).unflatten([1, 2]) == {"y": 1, "last": 2}


def test_a_program_without_a_call_signature_is_refused(program):
    entry = program.module_call_graph[0]
    kept, entry.signature = entry.signature, None
    try:
        with pytest.raises(ValueError, match="no call signature"):
            Signature(program)
    finally:
        entry.signature = kept


def test_positional_arguments_without_a_name_are_numbered():
    assert _names(3, ["mask"], None) == ["input_0", "input_1", "input_2"]
    assert _names(3, ["mask"], ["x", "mask"]) == ["x", "input_1", "input_2"]
    assert _names(1, [], ["*args", "y"]) == ["input_0"]


def test_an_infinite_limit_is_none():
    assert [_bound(v) for v in (3, 1 << 62, -(1 << 62), None, "oo", float("inf"))] == [
        3, None, None, None, None, None,
    ]  # fmt: skip
