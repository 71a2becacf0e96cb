"""Modules of torch.nn and compositions, scripted: calls, values and gradients are those of Python.

`python -m benchmarks.proof.scripted` compares all of them; this is a part of it.
"""

from __future__ import annotations

import importlib.util
import sys
import warnings

import pytest
import torch
from torch import Tensor, nn

import hookcli
from benchmarks.proof import (
    scripted as proof,
    scripted_foreign,
    scripted_hooks,
    scripted_modules,
    scripted_nets,
)
from hookcli.errors import ModelError
from tests.hooks.running import carry_out, hook
from tests.models.torchscript.sides import loaded, norms, same_norms, scripted, traced

ATTENTION = (
    "MultiheadAttention, masks", "MultiheadAttention, dropout, bias_kv",
    "TransformerEncoderLayer, norm first, inside", "TransformerEncoder, masks",
    "TransformerDecoder, masks", "Transformer",
)  # fmt: skip
LAYERS = (
    "Bilinear", "EmbeddingBag, offsets", "LSTM, state", "LSTM, packed", "GRU", "LSTMCell, state",
    "MaxPool2d, indices", "CTCLoss", "BatchNorm2d, inside", "Dropout, inside",
    "ConvTranspose2d, output size", "Upsample", "CosineSimilarity",
)  # fmt: skip
WITHOUT_FORWARD = {"RNN", "GRU", "LSTM"}
SHOWN_MORE = {"interface"}  # Python runs no hooks where `forward` itself is called
CASES = dict(proof.cases())


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    """A configuration that records the norms of all inputs and outputs."""
    path = tmp_path_factory.mktemp("scripted") / "hooks.yaml"
    path.write_text(proof.HOOKS)
    return path


def test_every_class_of_torch_nn_has_a_case():
    assert scripted_modules.missing() == []


@pytest.mark.parametrize("name", [*ATTENTION, *(n for n in LAYERS if n.split(",")[0]
                                                not in WITHOUT_FORWARD)])  # fmt: skip
def test_a_module_of_torch_nn_is_as_in_python(name, config):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert proof.compare(name, CASES[name], "train", config) == ("equal", [])


@pytest.mark.parametrize("name", [n for n in scripted_nets.NETS if n not in SHOWN_MORE])
def test_a_composition_is_as_in_python(name, config):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mode = "eval" if name in {"hooked", "encoder"} else "train"
        found = proof.compare(f"net: {name}", CASES[f"net: {name}"], mode, config)
    assert found == ("equal", [])


FOREIGN_NETS = ("trail", "detector", "uses outputs", "recurrence", "lists of tuples", "enums")


@pytest.mark.parametrize("name", FOREIGN_NETS)
def test_a_published_net_is_as_in_python(name, config):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = proof.compare(f"net: {name}", CASES[f"net: {name}"], "train", config)
    assert found == ("equal", [])


@pytest.mark.parametrize("form", ["trace", "freeze", "optimize"])
def test_other_forms_are_as_in_python(form, config):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = proof.compare(
            "net: sequential", CASES["net: sequential"], "eval", config, form=form
        )
    assert found == ("equal", [])


@pytest.mark.parametrize(
    ("name", "plan", "action"),
    [
        ("hooked", "around", "scale: 0.5"), ("hooked inside", "around", "scale: 0.5"),
        ("hooked inside", "global", "scale: 0.5"), ("lists of tuples", "both", "negate"),
        ("trail", "both", "clip_norm: 0.7"), ("values", "both", "add_noise: 0.1"),
    ],
)  # fmt: skip
def test_hooks_run_and_change_values_as_hooks_attached_by_hand(name, plan, action, tmp_path):
    make, inputs, _ = proof.NETS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert scripted_hooks.compare(make, inputs, plan, action, tmp_path) == "equal"


def test_a_copy_keeps_the_mode_of_each_module():
    script = scripted(scripted_nets.Shared())
    script.train()
    script.norm.eval()
    rows = hookcli.inspect(script, torch.randn(2, 4), mode="as-is").layers
    assert {row.name: row.training for row in rows} == {"": True, "a": True, "norm": False}


def test_operator_hooks_see_what_other_hooks_do():
    kinds = [hook("forward", "linear", ("scale", 2.0)), hook("op", index=1)]
    torch.manual_seed(0)
    model, x = scripted_foreign.Unused(), torch.randn(2, 4)
    script = loaded(scripted(model), lambda _: True)
    found = [
        [
            (event.node, event.target)
            for event in carry_out(side, x, kinds).events
            if event.target == "linear"
        ]
        for side in (model, script)
    ]
    assert ("aten.mul.Tensor", "linear") in found[0]
    assert found[1] == found[0]


def test_a_layer_that_ignores_its_input_is_found_in_a_script():
    torch.manual_seed(0)
    script, x = scripted(scripted_nets.Hooked()), torch.randn(2, 4)
    found = hookcli.check(script, inputs=x, mode="eval").findings
    assert ("low_variance", "tanh") in {(row.rule, row.target) for row in found}


def test_a_traced_module_with_constants_is_not_a_frozen_one(config):
    assert proof.compare("Softsign", CASES["Softsign"], "eval", config, form="trace")[0] == "equal"


def test_a_module_without_forward_is_refused():
    with pytest.raises(ModelError, match="LSTM has no method forward") as caught:
        hookcli.inspect(scripted(nn.LSTM(4, 4)), torch.randn(2, 3, 4))
    assert "whose `forward` calls" in caught.value.hint


@pytest.mark.parametrize("times", [5])
def test_every_event_in_a_fork_has_its_call(times):
    torch.manual_seed(0)
    script, x = loaded(scripted(scripted_nets.ForksInForks())), torch.randn(2, 4)
    for _ in range(times):
        recording = carry_out(script, x, [hook("forward_pre", "*"), hook("forward", "*", index=1)])
        assert recording.error is None
        names = {call.order: call.name for call in recording.calls}
        assert len(names) == 26
        assert len(recording.events) == 2 * 26
        for event in recording.events:
            assert names[event.order] == event.target
        for call in recording.calls:
            inside = call.name.rpartition(".")[0]
            assert call.parent is None or names[call.parent] == inside


def outcome(model, x, one):
    recording = carry_out(model, x, [one], command="grads", loss="sum", mode="eval")
    if recording.error is not None:
        raise recording.error
    return recording.losses, norms(model, recording)


@pytest.mark.parametrize("kind", ["forward_pre", "forward"])
@pytest.mark.parametrize(
    ("name", "at"),
    [("tied", "*"), ("tied", "head"), ("hooked", "linear"),
     ("hooked", ""), ("hooked inside", "*"), ("forks", "*"), ("forks in forks", "inner*"),
     ("attention", "*"), ("shared", "a")],
)  # fmt: skip
def test_an_action_changes_what_it_changes_in_python(name, at, kind):
    make, inputs, kwargs = scripted_nets.NETS[name]
    torch.manual_seed(0)
    model, x = make(), inputs()
    assert not kwargs
    script = loaded(scripted(model), lambda _: True)
    (losses, wanted), (others, found) = (
        outcome(side, x, hook(kind, at, ("scale", 2.0))) for side in (model, script)
    )
    assert others == pytest.approx(losses, rel=1e-4)
    assert same_norms(found, wanted)


class TakesPairs(nn.Module):
    def forward(self, pairs: list[scripted_nets.Pair]) -> Tensor:
        return pairs[0].first


class GivesPairs(nn.Module):
    def __init__(self):
        super().__init__()
        self.takes = TakesPairs()

    def forward(self, x: Tensor) -> Tensor:
        return self.takes([scripted_nets.Pair(x, 2)])


def test_what_cannot_be_replaced_is_named(cli, tmp_path):
    scripted(GivesPairs()).save(str(tmp_path / "net.pt"))
    config = tmp_path / "hooks.yaml"
    config.write_text("hooks: [{kind: forward_pre, at: takes, do: {scale: 2.0}}]\n")
    result = cli("trace", tmp_path / "net.pt", "-i", "2x4", "-c", config)
    assert "a hook cannot replace [0], a list, of TakesPairs in TorchScript" in result.err
    assert "hint: attach the hook to a module whose values are tensors" in result.err


def test_an_action_keeps_integers():
    torch.manual_seed(0)
    model, x = scripted_nets.Values(), torch.randn(2, 4)
    script = loaded(scripted(model), lambda _: True)
    for at in ("", "number", "nothing", "word", "maybe"):
        (losses, wanted), (others, found) = (
            outcome(side, x, hook("forward_pre", at, ("scale", 2.0))) for side in (model, script)
        )
        assert others == pytest.approx(losses, rel=1e-4)
        assert same_norms(found, wanted)


@pytest.mark.parametrize("kind", ["forward_pre", "forward"])
def test_an_action_does_not_change_the_weight_that_a_trace_passes_on(kind):
    torch.manual_seed(0)
    model, x = scripted_nets.Tied(), torch.randint(0, 10, (2, 3))
    script = loaded(traced(model, x), lambda _: True)
    (losses, wanted), (others, found) = (
        outcome(side, (x,), hook(kind, "*", ("scale", 2.0))) for side in (model, script)
    )
    assert others == pytest.approx(losses, rel=1e-4)
    assert same_norms(found, wanted)


def test_classes_that_only_the_file_knows_do_not_stop_a_run(cli, tmp_path, monkeypatch):
    (tmp_path / "save.py").write_text(FOREIGN)
    spec = importlib.util.spec_from_file_location("only_here", tmp_path / "save.py")
    module = importlib.util.module_from_spec(spec)
    with warnings.catch_warnings(), monkeypatch.context() as patch:
        warnings.simplefilter("ignore")
        patch.setitem(sys.modules, "only_here", module)
        spec.loader.exec_module(module)
        scripted(module.Outer()).save(str(tmp_path / "net.pt"))
    report = cli("trace", tmp_path / "net.pt", "-i", "2x4", "-f", "json").report
    rows = [(row["name"], [leaf["shape"] for leaf in row["inputs"]]) for row in report["layers"]]
    assert rows == [("", [[2, 4]]), ("inner", [[2, 4]]), ("inner.linear", [[2, 4]])]
    assert report["error"] is None


FOREIGN = """
from enum import Enum
import torch
from torch import Tensor, nn

class Color(Enum):
    RED = 1

@torch.jit.script
class Size:
    def __init__(self, number: int):
        self.number = number

class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
    def forward(self, x: Tensor, color: Color, size: Size, both: list[Size]):
        return self.linear(x) * size.number, color, both

class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
    def forward(self, x: Tensor):
        size = Size(2)
        y, color, both = self.inner(x, Color.RED, size, [size])
        return y
"""
