"""Where the gradients of two models part: the layer nearest to the loss, and what cuts them."""

from __future__ import annotations

import torch

import hookcli
from tests.rules.gradient_cuts import Chain, argmax, detach, line_of

X = torch.linspace(-2, 2, 20).view(5, 4)


def first(a, b):
    b.load_state_dict(a.state_dict())
    found = hookcli.diff(a, b, X, grads=True)
    assert (found.verdict, found.first.fault) == ("different", "gradient")
    return found.first.sentence


def test_a_partial_cut_is_named_on_its_side():
    plain = Chain(4, 2, lambda x: x * 1, around=True)
    cut = Chain(4, 2, detach, around=True)
    place = f"tests/rules/gradient_cuts.py:{line_of(detach)}"
    end = f"`detach` at {place} in 'layers.2' (Layer) ends the gradient's path"
    sentence = first(plain, cut)  # 0.5, as estimated from sketches
    assert sentence.startswith(
        "all calls agree, but in backward, gradients first differ at layers.2.fc (Linear): the "
        "gradient of layers.2.fc.bias differs by 0."
    )
    assert sentence.endswith(f" of its norm; 6 of 10 gradients differ: in B, {end}")
    assert first(cut, plain).endswith(f": in A, {end}")


def test_gradients_that_are_gone_are_told_from_the_layer_nearest_to_the_loss():
    sentence = first(Chain(4, 1, lambda x: x), Chain(4, 1, lambda x: x.detach()))
    assert (
        "gradients first differ at layers.1.fc (Linear): the gradient of layers.1.fc.bias "
        in sentence
    )
    assert "exists only in A; 4 of 10 gradients differ: in B, `detach` at " in sentence


def test_cuts_that_both_have_are_not_named():
    one, two = Chain(3, 1, argmax, around=True), Chain(3, 1, argmax, around=True)
    two.head.register_full_backward_hook(lambda module, ins, outs: tuple(2 * g for g in ins))
    assert "argmax" not in first(one, two)
