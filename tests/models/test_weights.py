"""`--weights`: strict, safe, and by name what does not fit; real and fake alike."""

from __future__ import annotations

import numpy
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from hookcli.errors import ModelError, RequestError
from hookcli.models.files.tensors import read_tensors
from hookcli.models.files.weights import load_weights, read_weights
from tests.conftest import HEAD, attempt

SOURCE = HEAD + (
    "class Net(nn.Sequential):\n"
    "    def __init__(self): super().__init__(nn.Linear(4, 3), nn.Linear(3, 2))\n"
)


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "net.py"
    path.write_text(SOURCE)
    return path


def state():
    return nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2)).state_dict()


@pytest.mark.parametrize("tensors", ["real", "fake"])
@pytest.mark.parametrize("form", ["safetensors", "pt", "wrapped"])
def test_weights_that_fit_are_loaded(source, tmp_path, form, tensors):
    file = tmp_path / f"w.{form}"
    if form == "safetensors":
        save_file(state(), file)
    else:
        torch.save(state() if form == "pt" else {"epoch": 3, "state_dict": state()}, file)
    assert attempt(source, "2x4", tensors=tensors, weights=str(file)).status == "complete"


@pytest.mark.parametrize("tensors", ["real", "fake"])
def test_what_does_not_fit_is_named(source, tmp_path, tensors):
    odd = state()
    odd["0.weight"] = torch.ones(3, 5)
    del odd["1.bias"]
    odd["head.weight"] = torch.ones(1)
    file = tmp_path / "w.pt"
    torch.save(odd, file)
    with pytest.raises(ModelError) as caught:
        attempt(source, "2x4", tensors=tensors, weights=str(file))
    assert caught.value.message == (
        "the weights do not fit the model: different shapes: 0.weight is [3, 5], expected [3, 4]; "
        "missing: 1.bias; unexpected: head.weight"
    )


def test_names_of_a_wrapped_model_are_explained(source, tmp_path):
    file = tmp_path / "w.pt"
    torch.save({f"module.{k}": v for k, v in state().items()}, file)
    with pytest.raises(ModelError) as caught:
        attempt(source, "2x4", weights=str(file))
    assert "'module.'" in caught.value.hint


def test_a_pickled_module_is_refused_before_it_can_run_code(source, tmp_path):
    file = tmp_path / "w.pt"
    torch.save(nn.Linear(4, 3), file)
    with pytest.raises(RequestError, match="could run code"):
        attempt(source, "2x4", weights=str(file))


def test_a_file_without_a_state_dict_is_refused(source, tmp_path):
    file = tmp_path / "w.pt"
    torch.save([1, 2], file)
    with pytest.raises(RequestError, match="must contain a state dict, got list"):
        attempt(source, "2x4", weights=str(file))


def test_the_values_are_those_of_the_file(tmp_path):
    """A model whose shapes depend on its weights shows that they were loaded."""
    path = tmp_path / "net.py"
    path.write_text(
        HEAD + "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.n = nn.Parameter(torch.ones(()))\n"
        "    def forward(self, x): return x[: int(self.n)]\n"
    )
    file = tmp_path / "w.safetensors"
    save_file({"n": torch.tensor(3.0)}, file)
    report = attempt(path, "5", weights=str(file))
    assert report.layers[0].outputs[0].shape == (3,)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({1: torch.ones(2)}, "is not a state dict: its key 1 is not a string"),
        ({"a": torch.ones(2), "b": 3}, "is not a state dict: 'b' must be a tensor, got int"),
        ({}, "must contain a state dict, got an empty dict"),
        ([torch.ones(2)], "must contain a state dict, got list"),
    ],
)
def test_what_is_in_a_file_instead_of_a_state_dict_is_said(value, reason, tmp_path):
    path = str(tmp_path / "w.pt")
    torch.save(value, path)
    with pytest.raises(RequestError) as caught:
        [*read_weights(path, sizes_only=False)]
    assert caught.value.message == f"{path} {reason}"


def test_arrays_are_read_as_tensors(tmp_path):
    path = str(tmp_path / "x.npy")
    numpy.save(path, numpy.arange(6.0).reshape(2, 3))
    assert read_tensors(path, "here").equal(torch.arange(6.0, dtype=torch.float64).reshape(2, 3))
    assert read_tensors(path, "here", device="meta").device.type == "meta"


@pytest.mark.parametrize("prefix", ["m", "module_x", "a.b"])
def test_a_prefix_of_any_length_is_named(prefix):
    model = nn.Sequential(nn.Linear(2, 2))
    named = {f"{prefix}.{name}": value for name, value in model.state_dict().items()}
    with pytest.raises(ModelError) as caught:
        load_weights(model, [named], "w.pt")
    first = prefix.partition(".")[0]
    known = f"begin with '{first}.'" if first == prefix else "weights of this architecture"
    assert known in caught.value.hint
