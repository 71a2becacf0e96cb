"""`--weights`: strict, safe, and by name what does not fit; real and fake alike."""

from __future__ import annotations

import numpy
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from hookcli.errors import ModelError, RequestError
from hookcli.models import places
from hookcli.models.files import weights
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


def refused(model, state):
    with pytest.raises(ModelError) as caught:
        load_weights(model, [state], "w.pt")
    return caught.value


def layers(count, kind=nn.Linear):
    return nn.Sequential(*(kind(2, 2, bias=False) for _ in range(count)))


def test_four_names_of_each_kind_are_shown():
    few, many = layers(1).state_dict(), {f"x{i}": torch.ones(1) for i in range(5)}
    error = refused(layers(6), few | many)
    assert error.message.endswith(
        "missing: 1.weight, 2.weight, 3.weight, 4.weight and 1 more; "
        "unexpected: x0, x1, x2, x3 and 1 more"
    )


def test_of_a_checkpoint_the_innermost_state_dict_is_read(tmp_path):
    path = str(tmp_path / "w.pt")
    tensors = {"a": torch.ones(2)}
    for value in (
        {"state_dict": tensors}, {"model": {"state_dict": tensors}, "epoch": 1},
        {"state_dict": {}, "model": tensors},
        {"state_dict": "a name", "model": tensors},
    ):  # fmt: skip
        torch.save(value, path)
        [found] = read_weights(path, sizes_only=False)
        assert list(found) == ["a"]
    plain = {"model": torch.ones(2), "state_dict": torch.ones(1)}  # parameters of these names
    torch.save(plain, path)
    assert [list(found) for found in read_weights(path, sizes_only=False)] == [[*plain]]


def test_names_of_a_compiled_model_are_those_of_the_model():
    model, saved = layers(2), layers(2)
    compiled = {f"_orig_mod.{name}": value for name, value in saved.state_dict().items()}
    load_weights(model, [compiled], "w.pt")
    assert model[1].weight.equal(saved[1].weight)


def test_names_of_a_model_that_contains_a_compiled_one_stay_as_they_are(monkeypatch):
    mixed = nn.ModuleDict({"_orig_mod": layers(1), "other": layers(1)})
    monkeypatch.setattr(weights, "is_wrapper", lambda module: module is mixed)
    load_weights(mixed, [mixed.state_dict()], "w.pt")
    assert "missing: _orig_mod.0.weight" in refused(mixed, layers(1).state_dict()).message


class Raising(nn.Module):
    """Its own code fails while its state is loaded."""

    def __init__(self, error):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))
        self.error = error

    def _load_from_state_dict(self, *_):
        raise self.error


def test_what_a_module_raises_while_it_is_loaded_is_one_line(monkeypatch):
    state = {"weight": torch.ones(2), "other": torch.ones(1)}
    monkeypatch.setattr(places, "of_error", lambda error: None)
    for error, text in (
        (RuntimeError("one\n two \n  the last line "), "the last line"),
        (KeyError("zero_point"), "KeyError: 'zero_point'"),
    ):
        message = refused(Raising(error), state).message
        assert message == f"the weights do not fit the model: {text}; unexpected: other"
    monkeypatch.setattr(places, "of_error", lambda error: "model.py:3")
    with pytest.raises(KeyError):  # code of the user, which is shown with its place
        load_weights(Raising(KeyError("x")), [state], "w.pt")
    message = refused(Raising(RuntimeError("x")), state).message
    assert message.endswith("model: x; unexpected: other")


def test_a_tied_parameter_may_be_saved_under_any_of_its_names():
    model = layers(3)
    model[2].weight = model[0].weight
    for lacking in ("0.weight", "2.weight"):
        state = {name: value for name, value in model.state_dict().items() if name != lacking}
        load_weights(model, [state], "w.pt")
    shared = nn.Sequential(*[nn.Linear(2, 2)] * 2)  # one module of two names
    for first in "01":
        load_weights(shared, [{f"{first}.{name}": torch.ones(2, 2) if name == "weight" else
                               torch.ones(2) for name in ("weight", "bias")}], "w.pt")  # fmt: skip
    state = {"1.weight": torch.ones(2, 2)}
    assert "missing: 0.weight, 2.weight" in refused(model, state).message


@pytest.mark.parametrize(
    ("names", "hint"),
    [
        (["module.0.weight", "module.1.weight"], "save `model.module.state_dict()`"),
        (["module.0.weight", "x"], "names in the file begin with 'module.'"),
        (["net.0.weight", "net.1.weight"], "names in the file begin with 'net.'"),
        (["net.0.weight", "x.1.weight"], "names in the file begin with 'net.'"),  # half of them
        (["net.0.weight", "x"], "names in the file begin with 'net.'"),
        (["module.a.weight", "module.b.weight"], "pass weights of this architecture"),
        (["net.0.other", "x"], "pass weights of this architecture"),
        ([".0.weight", ".1.weight"], "pass weights of this architecture"),
    ],
)
def test_names_of_another_prefix_have_a_hint(names, hint):
    assert hint in refused(layers(2), {name: torch.ones(2, 2) for name in names}).hint


def test_names_without_the_prefix_of_the_model_have_a_hint():
    model = nn.ModuleDict({"net": layers(3)})
    state = {f"{i}.weight": torch.ones(2, 2) for i in range(3)}
    assert "names in the file lack the prefix 'net.'" in refused(model, state).hint
    state["3.weight"] = state["4.weight"] = state["5.weight"] = torch.ones(2, 2)
    assert "lack the prefix 'net.'" in refused(model, state).hint  # three of six
    state["6.weight"] = torch.ones(2, 2)
    assert "weights of this architecture" in refused(model, state).hint
