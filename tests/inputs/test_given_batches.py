"""A batch that is given: drawn tensors, declared inputs, loaders, and how it is split."""

from __future__ import annotations

from collections import namedtuple
from types import ModuleType

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset

from hookcli.engine.batch.targets import target_fields, with_target
from hookcli.errors import RequestError
from hookcli.inputs.declared import declarations
from hookcli.inputs.infer.state_clues import by_state, state_guesses
from hookcli.inputs.infer.trial import Reached, Trial
from hookcli.inputs.loaders import FirstBatch, first_batch, is_loader
from hookcli.inputs.materialise import given_batch, given_target, make_tensor
from hookcli.inputs.split import split_batch
from hookcli.models.batch import Batch, LossTarget
from hookcli.spec.inferred import Hypothesis, InferredList, Slot
from hookcli.spec.inputs import (
    DictSpec,
    Fill,
    FunctionSpec,
    InputSpec,
    ListSpec,
    TensorSpec,
    TupleSpec,
    ValueSpec,
)
from hookcli.spec.losses import LABELS
from hookcli.spec.request import ModelSpec, RunSpec, Spec

X, Y = torch.ones(2, 3), torch.zeros(2, dtype=torch.int64)


def net(signature):
    """A model with this signature of forward."""
    space = {"nn": nn}
    exec(f"class Net(nn.Module):\n    def forward(self, {signature}): ...", space)
    return space["Net"]()


Pair = namedtuple("Pair", "x y")


@pytest.mark.parametrize(
    ("signature", "value", "loaded", "args", "names", "target"),
    [
        ("x", X, True, 1, [], False),
        ("x", (X, Y), True, 1, [], True),
        ("x", [X, Y], True, 1, [], True),
        ("x", [X, Y], False, 1, [], True),
        ("x", [X, X], False, 1, [], False),  # one argument, which is a list
        ("x", [X, X, X], False, 1, [], False),
        ("x", [X, torch.tensor(1.0)], False, 1, [], False),
        ("x", [X], True, 1, [], False),
        ("x", (X,), True, 1, [], False),
        ("x, y", (X, Y), True, 2, [], False),
        ("x, target=None", (X, Y), True, 2, [], True),
        ("x, mask=None", (X, Y), True, 1, [], True),
        ("x, mask=None", (X, Y), False, 2, [], False),
        ("x, mask=None", (X, X, Y), True, 2, [], True),
        ("*xs", (X, Y), True, 1, [], True),
        ("x, y", ((X, X), Y), True, 2, [], True),
        ("x", ((X, X), Y), True, 1, [], True),
        ("a, b", ({"a": X, "b": X}, Y), True, 0, ["a", "b"], True),
        ("x", ({"a": X}, Y), True, 1, [], True),
        ("x", ({}, Y), True, 1, [], True),
        ("a, b", {"a": X, "b": X}, False, 0, ["a", "b"], False),
        ("a", {"a": X, "label": Y}, True, 0, ["a"], True),
        ("batch", {"image": X, "label": Y}, True, 1, [], True),
        ("batch", {"image": X}, True, 1, [], False),
        ("image", {"imgae": X}, True, 0, ["imgae"], False),
        ("a, b", {"image": X, "label": Y}, True, 0, ["image", "label"], False),
        ("x", {3: X}, True, 1, [], False),
    ],
)
def test_a_value_is_split_as_forward_takes_it(signature, value, loaded, args, names, target):
    batch = split_batch(net(signature), FirstBatch(value, loaded=loaded))
    assert len(batch.args) == args
    assert list(batch.kwargs) == names
    assert (batch.target is not None) == target


def test_a_batch_and_a_named_tuple_stay_what_they_are():
    batch = Batch((X,))
    assert split_batch(net("x"), FirstBatch(batch, loaded=True)) is batch
    pair = Pair(X, Y)
    assert split_batch(net("x"), FirstBatch(pair, loaded=True)).args == (pair,)


@pytest.mark.parametrize(
    ("dtype", "fill", "low", "high"),
    [
        (None, Fill("range", 3, 5), 3, 5),
        (None, Fill("rand"), 0, 1),
        ("float8_e4m3fn", Fill("rand"), 0, 1),
        ("int64", Fill("range", 3, 5), 3, 4),
        ("int8", Fill("zeros"), 0, 0),
        ("uint8", Fill("randn"), 0, 1),
        ("bool", Fill("randn"), 0, 1),
    ],
)
def test_drawn_values_are_in_their_range(dtype, fill, low, high):
    made = make_tensor(TensorSpec((50,), dtype, fill), torch.float32, "cpu")
    assert made.dtype == (torch.float32 if dtype is None else getattr(torch, dtype))
    values = made.float()
    assert low <= values.min()
    assert values.max() <= high


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental:UserWarning")
def test_a_complex_half_is_drawn():
    made = make_tensor(TensorSpec((3,), "complex32", Fill("randn")), torch.float32, "cpu")
    assert made.dtype == torch.complex32


def test_a_range_that_the_dtype_lacks_is_an_overflow():
    with pytest.raises(OverflowError, match="int8 cannot represent 0 to 999"):
        make_tensor(TensorSpec((3,), "int8", Fill("range", 0, 1000)), torch.float32, "cpu")


def declared(root, module=None):
    dropped = []
    found = list(declarations(root, module, lambda *why: dropped.append(why), batch_size=2))
    return [item.name for item in found], dropped


def test_declared_inputs_are_tried_in_order_and_dropped_with_a_reason():
    root, module = net("x"), ModuleType("file")
    assert declared(root) == ([], [])
    root.example_inputs = lambda: (X,)
    module.example_inputs = {"z": X}
    root.example_input_array = None
    root.pretrained_cfg = {"input_size": (3, 8, 8)}
    names, dropped = declared(root, module)
    assert names == ["the model's example_inputs", "the model's pretrained_cfg"]
    assert [name for name, _ in dropped] == ["the file's example_inputs"]
    root.pretrained_cfg = {"input_size": None}
    root.dummy_inputs = property(lambda self: 1 / 0)
    type(root).dummy_inputs = property(lambda self: 1 / 0)
    names, dropped = declared(root)
    assert names == ["the model's example_inputs"]
    assert dropped == [("the model's dummy_inputs", "ZeroDivisionError: division by zero")]


def test_a_declaration_must_have_the_main_input():
    root = net("input_ids=None, mask=None")
    root.main_input_name = "input_ids"
    root.dummy_inputs = {"mask": X}
    assert declared(root)[1] == [
        ("the model's dummy_inputs", "it does not contain 'input_ids', the model's main input")
    ]
    root.dummy_inputs = {"input_ids": Y}
    assert declared(root)[0] == ["the model's dummy_inputs"]


class Numbers(Dataset):
    def __init__(self, count):
        self.count = count

    def __getitem__(self, i):
        return torch.tensor(float(i))

    def __len__(self):
        return self.count


class Endless(Dataset):
    def __getitem__(self, i):
        return i


class Stream(IterableDataset):
    def __iter__(self):
        yield from range(5)


class Sequence:
    """No Dataset, but samples by number."""

    def __getitem__(self, i):
        return [0.5, 1.5, 2.5][i]

    def __len__(self):
        return 3


def generator():
    yield X
    yield Y


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Numbers(3), [0, 1]),
        (Numbers(1), [0]),
        (Endless(), [0, 1]),
        (Stream(), [0, 1]),
        (Sequence(), [0.5, 1.5]),
        (DataLoader(Numbers(3), batch_size=3), [0, 1, 2]),
        (iter([[7, 8]]), [7, 8]),
    ],
)
def test_the_first_batch_of_each_kind_of_loader(value, expected):
    found = first_batch(value, 2)
    assert found.loaded
    assert torch.as_tensor(found.value).tolist() == expected


def test_a_generator_is_closed_after_its_first_batch():
    values = generator()
    assert first_batch(values, 2).value is X
    assert list(values) == []
    with pytest.raises(StopIteration):
        first_batch(Numbers(0), 2)


class Named:
    """A batch whose iteration yields its names, as BatchEncoding does, or its parts."""

    def __init__(self, *items):
        self.items = items

    def __iter__(self):
        return iter(self.items)


def test_a_batch_that_yields_its_own_parts_is_no_loader():
    for batch in (Named("ids", "mask"), Named(("ids", X)), Named(X, Y)):
        found = first_batch(batch, 2)
        assert (found.value is batch, found.loaded) == (True, False)
    assert first_batch(Named([1, 2]), 2).value == [1, 2]
    for value in (X, {"x": X}, {X}, "text", b"x", [X], (X,), int, torch, nn.Linear(1, 1)):
        assert not is_loader(value)
    assert first_batch(X, 2) == FirstBatch(X, loaded=False)


@pytest.mark.parametrize(
    ("name", "layer", "expected"),
    [
        ("hidden", nn.GRU(3, 4), [(1, 2, 4)]),
        ("hidden", nn.LSTM(3, 4, 2, bidirectional=True, proj_size=2), [[(4, 2, 2), (4, 2, 4)],
                                                                       (4, 2, 2)]),
        ("h", nn.LSTM(3, 4), [(1, 2, 4), [(1, 2, 4), (1, 2, 4)]]),
        ("cell", nn.LSTM(3, 4), [(1, 2, 4)]),
        ("state", nn.LSTMCell(3, 4), [[(2, 4), (2, 4)], (2, 4)]),
        ("state", nn.GRUCell(3, 4), [(2, 4)]),
        ("state", nn.Linear(3, 4), []),
        ("other", nn.GRU(3, 4), []),
    ],
)  # fmt: skip
def test_the_state_of_a_recurrent_layer(name, layer, expected):
    def shape(guess):
        return [s.shape for s in guess.items] if isinstance(guess, InferredList) else guess.shape

    assert [shape(guess) for guess in state_guesses(name, [nn.ReLU(), layer], 2)] == expected


def stated(layer, shapes, slots, error="Expected hidden size", **guesses):
    guesses = {n: TensorSpec(g) if isinstance(g, tuple) else g for n, g in guesses.items()}
    hypothesis = Hypothesis(tuple(Slot(n, g, False) for n, g in guesses.items()))
    failed = Reached(layer, "rnn", shapes, (), slots)
    trial = Trial(hypothesis, False, error=error, failed=failed)
    return [dict(changed.tensors()) for changed, _ in by_state(trial, failed)]


def test_a_state_that_does_not_fit_is_replaced():
    first = stated(nn.LSTM(3, 4), ((5, 2, 3),), ("x", "h", "c"), x=(5, 2, 3), h=(1,), c=(1,))[0]
    assert {name: spec.shape for name, spec in first.items()} == {
        "x": (5, 2, 3), "h": (1, 2, 4), "c": (1, 2, 4),
    }  # fmt: skip
    first = stated(nn.GRUCell(3, 4), ((2, 3),), ("x", "state"), x=(2, 3), state=(9,))[0]
    assert first["state"].shape == (2, 4)
    single = stated(nn.GRUCell(3, 4), ((3,),), ("x", "state"), x=(3,), state=(9,))[0]
    assert single["state"].shape == (4,)
    flat = stated(nn.GRU(3, 4, batch_first=True), ((5, 3),), (None,), x=(5, 3), other=(9,))
    assert [found["other"].shape for found in flat if found["other"].shape != (9,)] == [(1, 4)]


def test_a_part_of_the_list_that_is_the_input_is_not_its_state():
    items = InferredList((TensorSpec((5, 2, 3)), TensorSpec((9,))))
    found = stated(nn.GRU(3, 4), ((5, 2, 3),), ("xs[0]",), xs=items)
    assert [list(names) for names in found] == [["xs[0]", "xs[1]"]]


@pytest.mark.parametrize(
    ("layer", "shapes", "error"),
    [
        (nn.Linear(3, 4), ((5, 3),), "hidden"),
        (nn.GRU(3, 4), (), "hidden"),
        (nn.GRU(3, 4), ((5, 2, 3),), "size mismatch"),
    ],
)
def test_an_error_that_is_not_about_a_state_suggests_none(layer, shapes, error):
    assert stated(layer, shapes, ("x",), error, x=(5, 2, 3), h=(1,)) == []


def spec(loss=LABELS):
    return Spec("grads", ModelSpec("net.py"), run=RunSpec(loss=loss))


def test_labels_of_a_batch_that_has_a_target_are_that_target():
    batch = Batch((X,), {}, LossTarget(Y, "batch"))
    made = with_target(batch, spec(), net("x, labels=None"), torch.float32, lambda text: None)
    assert made.kwargs == {"labels": Y}
    assert target_fields(made)["target_origin"] == "batch"
    assert target_fields(Batch((X,))) == {}


def test_labels_that_are_given_are_kept():
    for batch in (Batch((X,), {"labels": Y}), Batch((X, Y))):
        made = with_target(batch, spec(), net("x, labels=None"), torch.float32, lambda text: None)
        assert made == batch
    other = Batch((X,))
    assert with_target(other, spec("probe"), net("x"), torch.float32, lambda text: None) is other


@pytest.mark.parametrize(
    ("signature", "message", "hint"),
    [
        ("x", "it has no parameter 'labels'", "choose another loss"),
        ("x, labels=None", "it is not known which labels fit", "--input labels=SPEC"),
    ],
)
def test_labels_that_nobody_knows_are_asked_for(signature, message, hint):
    with pytest.raises(RequestError, match=message) as caught:
        with_target(Batch((X,)), spec(), net(signature), torch.float32, lambda text: None)
    assert hint in caught.value.hint


def test_inputs_are_values_inside_each_other():
    def load(spec, _place):
        return FirstBatch(spec.name, loaded=True)

    how = {"floating": torch.float32, "device": "cpu", "call": load}
    function = FunctionSpec("data.py", "mask")
    specs = (
        InputSpec(None, ListSpec((function, ValueSpec(2))), "--input"),
        InputSpec("pair", TupleSpec((ValueSpec(3), TensorSpec((2,)))), "--input"),
        InputSpec("named", DictSpec((("a", ValueSpec(4)), ("b", function))), "--input"),
    )
    batch = given_batch(specs, **how)
    assert batch.args == (["mask", 2],)
    assert type(batch.kwargs["pair"]) is tuple
    assert (batch.kwargs["pair"][0], batch.kwargs["pair"][1].shape) == (3, (2,))
    assert batch.kwargs["named"] == {"a": 4, "b": "mask"}


def test_the_parts_of_a_target_have_names_or_none():
    how = {"floating": torch.float32, "device": "cpu", "call": None}
    one, other = ValueSpec(1), ValueSpec(2)

    def target(*parts):
        return given_target(tuple(InputSpec(n, v, f"--target {n}") for n, v in parts), **how)

    assert target((None, one)) == 1
    assert target((None, one), (None, other)) == (1, 2)
    assert target(("a", one), ("b", other)) == {"a": 1, "b": 2}
    with pytest.raises(RequestError, match="a target cannot have parts with and without names"):
        target(("a", one), (None, other))


def test_a_batch_for_a_forward_of_unknown_signature_is_passed_as_it_is():
    class Unknown(nn.Module):
        forward = torch.add

    batch = split_batch(Unknown(), FirstBatch((X, Y), loaded=False))
    assert (batch.args, batch.target) == ((X, Y), None)
