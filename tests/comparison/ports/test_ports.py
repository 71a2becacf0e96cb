"""Two implementations with other names: weights are mapped, the first difference is named."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

import hookcli
from hookcli.api.live_diff import _Live
from hookcli.comparison.ports.plan import has_weights_of, port_settings
from hookcli.comparison.tolerance import Tolerances
from hookcli.engine.diff.mapped_weights import load_mapped_weights
from hookcli.spec.request import ModelSpec, Spec
from tests.comparison.ports.models import Original, Port, batch


def trained(model):
    """Give a model weights with which each layer counts, and norms that are not ones."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape) * 0.5)
    return model.eval()


def pair(a=Original, b=Port, **settings):
    torch.manual_seed(0)
    ours, theirs = trained(a()), trained(b(**settings))
    live = _Live(ours, theirs, batch(), Spec("inspect", ModelSpec("a.py")), None)
    found = port_settings(
        live.run(0), live.run(1), None, own_weights=False, tolerances=Tolerances()
    )
    state = {**dict(ours.named_parameters()), **dict(ours.named_buffers())}
    load_mapped_weights(theirs, state, list(found.made.values()))
    return ours, theirs, found


def test_the_map_makes_the_port_compute_what_the_original_does():
    ours, theirs, found = pair()
    with torch.no_grad():
        torch.testing.assert_close(theirs(batch()), ours(batch())["logits"])
    assert (found.unused, found.missing) == ((), ())
    diff = hookcli.diff(ours, theirs, batch())
    assert (diff.verdict, diff.first) == ("same", None)
    assert diff.port.map == {
        "tokens": "wte",
        "layers.{i}.first": "h.{i}.ln_1",
        "layers.{i}.qkv": ["h.{i}.attn.q_proj", "h.{i}.attn.k_proj", "h.{i}.attn.v_proj"],
        "layers.{i}.out": "h.{i}.attn.o_proj",
        "layers.{i}.second": "h.{i}.ln_2",
        "layers.{i}.expand": "h.{i}.mlp.up.T",
        "layers.{i}.contract": "h.{i}.mlp.down",
        "norm": "ln_f",
        "classify": "head",
    }


def test_weights_that_b_already_has_stay():
    ours, theirs, found = pair()
    spec = Spec("inspect", ModelSpec("a.py"))

    def has_them():
        live = _Live(ours, theirs, batch(), spec, None)
        return has_weights_of(live.run(0), live.run(1), found.made)

    assert has_them()
    with torch.no_grad():  # in another order of rows, as if heads were interleaved
        theirs.layers[0].qkv.weight.copy_(theirs.layers[0].qkv.weight.flip(0))
    assert has_them()
    trained(theirs)
    assert not has_them()


def test_a_fused_layer_is_split_for_the_other_model():
    ours, theirs, found = pair(Port, Original)
    assert (found.unused, found.missing) == ((), ())
    with torch.no_grad():
        torch.testing.assert_close(theirs(batch())["logits"], ours(batch()))
    assert hookcli.diff(ours, theirs, batch()).verdict == "same"


FAULTS = {
    "activation": (
        {"act": lambda x: F.gelu(x, approximate="tanh")},
        "the input of h.0.mlp.down (Linear) and layers.0.contract (Linear) differs",
        "in the code of h.0 (Block) and layers.0 (Layer) after h.0.mlp.up",
    ),
    "scale": (
        {"scale": 1.0},
        "the input of h.0.attn.o_proj (Linear) and layers.0.out (Linear) differs",
        "after h.0.attn.v_proj (Linear) and layers.0.qkv (Linear) (from ",
    ),
    "epsilon": (
        {"eps": 1e-2},
        "the inputs of h.0.ln_1 (LayerNorm) and layers.0.first (LayerNorm) agree, but their",
        "(eps=1e-05 in A and 0.01 in B)",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_first_difference_has_the_names_of_both(fault):
    settings, *said = FAULTS[fault]
    ours, theirs, _ = pair(**settings)
    diff = hookcli.diff(ours, theirs, batch())
    assert diff.verdict == "different"
    for text in said:
        assert text in diff.first.sentence, diff.first.sentence


def test_weights_that_differ_are_named():
    ours, theirs, _ = pair()
    with torch.no_grad():
        theirs.layers[1].contract.bias[2] += 1
    diff = hookcli.diff(ours, theirs, batch())
    assert "h.1.mlp.down (Linear) and layers.1.contract (Linear) agree" in diff.first.sentence
    assert diff.first.sentence.endswith("(layers.1.contract.bias differs)")
    assert {row.b for row in diff.state if row.status == "different"} == {"layers.1.contract.bias"}
    assert {row.status for row in diff.state} == {"same", "close", "different"}


def logits(output):
    return (output["logits"] if isinstance(output, dict) else output).square().sum()


class Scaled(torch.autograd.Function):
    """Changes what passes in backward only."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 1.01


def test_gradients_are_compared_if_the_losses_agree():
    ours, theirs, _ = pair()
    diff = hookcli.diff(ours, theirs, batch(), grads=True)
    assert diff.verdict == "same"
    assert any("gradients are not compared" in text for text in diff.warnings)
    diff = hookcli.diff(ours, theirs, batch(), grads=True, loss=logits)
    assert diff.verdict == "same"
    assert all(row.gradient.status in {"same", "close"} for row in diff.state)
    last = theirs.layers[1]
    plain = last.forward
    last.forward = lambda x: plain(Scaled.apply(x))
    diff = hookcli.diff(ours, theirs, batch(), grads=True, loss=logits)
    assert diff.first.fault == "gradient"
    assert "at h.0.mlp.down.bias and layers.0.contract.bias" in diff.first.sentence
    assert diff.reasons == ("13 of 28 gradients",)


def test_fused_calls_are_judged_together():
    ours, theirs, _ = pair()
    with torch.no_grad():
        theirs.layers[1].qkv.bias[19] += 1  # of v
    sentence = hookcli.diff(ours, theirs, batch()).first.sentence
    assert sentence.startswith("h.1.attn.q_proj (Linear), h.1.attn.k_proj (Linear), h.1.attn.v_pr")
    assert "and layers.1.qkv (Linear) get equal inputs, but what they return" in sentence


def test_a_difference_inside_that_the_output_does_not_show_is_a_note():
    ours, theirs, _ = pair()
    with torch.no_grad():  # softmax does not depend on the bias of k that all keys share
        theirs.layers[0].qkv.bias[8:16] += 0.01
    diff = hookcli.diff(ours, theirs, batch())
    assert diff.verdict == "same"
    note = next(text for text in diff.warnings if "agree within tolerance, but" in text)
    assert "layers.0.qkv" in note


def test_models_whose_names_agree_are_compared_by_names():
    ours = trained(Original())
    assert hookcli.diff(ours, ours, batch()).port is None


def test_zeros_and_equal_layers_are_matched_by_place():
    """All values are alike, so that values tell nothing."""
    torch.manual_seed(0)
    ours, theirs = Original(depth=3).eval(), Port(depth=3).eval()
    with torch.no_grad():
        for model in (ours, theirs):
            for parameter in model.parameters():
                parameter.zero_()
    diff = hookcli.diff(ours, theirs, batch())
    assert diff.verdict == "same"
    names = {
        (row.a.name, row.b.name) for row in diff.rows if row.a is not None and row.b is not None
    }
    assert {("h.1.ln_1", "layers.1.first"), ("h.2.mlp.down", "layers.2.contract")} <= names
