"""The batch that a name in a Python file gives: a value, a function's, or a loader's first one."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from hookcli.engine.batch.functions import caller, loader_of, take_first, value_of
from hookcli.errors import ModelError, RequestError
from hookcli.models import places
from hookcli.spec.inputs import FileSpec, FunctionSpec, InputSpec, ListSpec, TensorSpec

FILE = """\
import torch
from torch.utils.data import DataLoader, TensorDataset

samples = TensorDataset(torch.arange(6.0).reshape(3, 2))
loader = DataLoader(samples, batch_size=2)
empty = DataLoader(samples, batch_size=4, drop_last=True)
batch = {"x": torch.ones(1, 2)}
number = 3

def make():
    return torch.full((2, 2), 5.0)

def make_loader():
    return loader

def broken():
    raise OSError("no disk")

def stuck():
    yield from [][0]

class Group:
    make = staticmethod(make)
"""


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.setattr(places, "START", tmp_path)
    (tmp_path / "data.py").write_text(FILE)
    return lambda name: caller(2)(FunctionSpec("data.py", name), "--input")


def test_a_value_is_the_batch_and_a_function_makes_it(call):
    assert call("batch").value["x"].tolist() == [[1, 1]]
    assert call("make").value.tolist() == [[5, 5], [5, 5]]
    assert call("Group.make").value.shape == (2, 2)
    assert not call("make").loaded


@pytest.mark.parametrize("name", ["loader", "make_loader", "samples"])
def test_a_loader_gives_its_first_batch(call, name):
    found = call(name)
    assert found.loaded
    assert found.value[0].tolist() == [[0, 1], [2, 3]]


@pytest.mark.parametrize(
    ("name", "error", "message", "hint"),
    [
        ("number", RequestError, "must be a function, a loader or a batch, got int", "DataLoader"),
        ("lodaer", RequestError, "'lodaer' not found in data.py", "`loader`"),
        ("q", RequestError, "'q' not found in data.py", "name a function"),
        ("empty", RequestError, "empty gives no batch", "--batch-size"),
        ("broken", ModelError, "broken() failed: OSError: no disk", "function without arguments"),
        ("stuck", ModelError, "stuck() failed: IndexError", "in plain Python"),
    ],
)
def test_a_name_without_a_batch_is_refused(call, name, error, message, hint):
    with pytest.raises(error) as caught:
        call(name)
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_a_file_that_is_not_there_is_told(call):
    with pytest.raises(RequestError) as caught:
        caller(2)(FunctionSpec("absent.py", "make"), "--input")
    assert "absent.py" in caught.value.message


def test_one_input_is_a_file_a_function_or_a_list(call, tmp_path):
    torch.save(torch.arange(3), tmp_path / "x.pt")
    saved = InputSpec(None, FileSpec(str(tmp_path / "x.pt")), "x.pt")
    assert value_of(saved, 2).tolist() == [0, 1, 2]
    made = value_of(InputSpec(None, FunctionSpec("data.py", "make"), "data.py:make"), 2)
    assert made.shape == (2, 2)
    items = ListSpec((TensorSpec((2, 3)), TensorSpec((4,), "int64")))
    made = value_of(InputSpec("named", items, "[2x3, 4:int64]"), 2)
    assert [(tuple(x.shape), x.dtype) for x in made] == [
        ((2, 3), torch.float32), ((4,), torch.int64),
    ]  # fmt: skip


def test_a_loader_without_a_batch_is_an_error_of_the_request():
    with pytest.raises(RequestError, match="mine gives no batch"):
        take_first(iter([]), 2, "mine", "--input")


class MisconfigurationException(Exception):
    """Lightning's, which its base class raises."""


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (None, None),
        (3, None),
        (lambda: [1], [1]),
        (lambda: exec("raise NotImplementedError"), None),
    ],
    ids=["none", "a value", "a method", "not implemented"],
)
def test_a_model_may_have_its_own_loader(make, expected):
    root = nn.Linear(2, 2)
    if make is not None:
        root.train_dataloader = make
    assert loader_of(root) == expected


def test_lightnings_base_class_has_no_loader_and_a_broken_one_is_told():
    def misconfigured():
        raise MisconfigurationException("implement it")

    def broken():
        raise FileNotFoundError("data/train.csv")

    root = nn.Linear(2, 2)
    root.train_dataloader = misconfigured
    assert loader_of(root) is None
    root.train_dataloader = broken
    with pytest.raises(ModelError, match=r"train_dataloader\(\) failed: FileNotFoundError"):
        loader_of(root)
