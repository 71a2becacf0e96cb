"""What is said of parameters that get no gradient: the sentence, its cause, and what to try."""

from __future__ import annotations

import pytest

from hookcli.report.findings import Measurement
from hookcli.report.path_ends.end_sentences import end
from hookcli.rules.gradients.cut_advice import why_not
from hookcli.rules.gradients.grad_path import advice_of, cause_of, reasons, sentence


def row(why, cut_off=("encoder",), **more):
    value = {
        "why": why, "cut_off": list(cut_off), "parameters": 2, "place": "net.py:4",
        "operator": "detach", "kind": "detach", "layer": "head", "module": "Linear", **more,
    }  # fmt: skip
    return Measurement("unreached", "encoder", None, value, None)


@pytest.mark.parametrize(
    ("reason", "said", "cause", "tip"),
    [
        (
            row("cut"),
            "'encoder' is cut off from the loss: `detach` at net.py:4 in 'head' (Linear) ends the "
            "gradient's path, so 2 parameters get no gradient",
            "cut_off", "remove `detach`",
        ),
        (
            row("cut", ("encoder", ""), parameters=1, kind="no_grad", operator="no_grad"),
            "'encoder', the model are cut off from the loss: `no_grad` at net.py:4 in 'head' "
            "(Linear) records no gradients, so 1 parameter gets no gradient",
            "cut_off", "move the layers out of `no_grad`",
        ),
        (
            row("swallowed", operator="Quantize"),
            "'encoder' is cut off from the loss: the custom function `Quantize` at net.py:4 passes "
            "no gradient on in backward, so 2 parameters get no gradient",
            "cut_off", "return a gradient from its `backward`",
        ),
        (
            row("swallowed", operator="Quantize", place=None),
            "'encoder' is cut off from the loss: the custom function `Quantize` passes "
            "no gradient on in backward, so 2 parameters get no gradient",
            "cut_off", "return a gradient from its `backward`",
        ),
        (
            row("left", kind="number", operator="item"),
            "'encoder' is cut off from the loss: `item` at net.py:4 in 'head' (Linear) turns the "
            "tensor into Python numbers, and only Python code reads the result, so 2 parameters "
            "get no gradient",
            "cut_off", "keep the value a tensor",
        ),
        (
            row("rounding", operator="round"),
            "'encoder' gets a gradient that is exactly zero: the derivative of `round` at net.py:4 "
            "is zero",
            "rounded_gradient", "straight-through",
        ),
        (
            row("rounding", ("a", "b"), operator="floor", place=None),
            "'a', 'b' get a gradient that is exactly zero: the derivative of `floor` is zero",
            "rounded_gradient", "straight-through",
        ),
        (
            row("other_output", output="[1]"),
            "the loss does not use output[1], which 'encoder' computes, so 2 parameters get no "
            "gradient",
            "other_output", "add this output to the loss",
        ),
        (
            row("other_output", ("a", "b"), output="[1]"),
            "the loss does not use output[1], which 'a', 'b' compute, so 2 parameters get no "
            "gradient",
            "other_output", "add this output to the loss",
        ),
        (
            row("cut_output"),
            "the only output behind 'encoder' has no gradient: `detach` at net.py:4 in 'head' "
            "(Linear) ends the gradient's path, so 2 parameters get no gradient",
            "cut_output", "remove `detach`",
        ),
        (
            row("unused_output"),
            "nothing that the loss uses depends on the output of 'head' (Linear), so 2 parameters "
            "get no gradient",
            "unused_output", "use the output",
        ),
        (
            row("unused"),
            "no operator uses the parameters of 'encoder', so 2 parameters get no gradient",
            "unused", "use it in `forward`",
        ),
        (
            row("lost"),
            "the loss does not reach 'encoder', so 2 parameters get no gradient",
            "lost", None,
        ),
        (
            row("unused", copy_of="online"),
            "no operator uses the parameters of 'encoder', so 2 parameters get no gradient",
            "target_network", "use it in `forward`",
        ),
    ],
)  # fmt: skip
def test_each_reason_has_its_sentence(reason, said, cause, tip):
    assert sentence(reason) == said
    assert cause_of(reason) == cause
    assert (advice_of(reason) is None) == (tip is None)
    assert (tip or "") in (advice_of(reason) or "")


@pytest.mark.parametrize(
    ("cut", "said"),
    [
        ({"operator": "data"}, "`.data` at net.py:4 in 'head' (Linear)"),
        ({"operator": "__setitem__", "layer": ""}, "`[] =` at net.py:4"),
        ({"layer": None, "place": None}, "`detach` in an unregistered Linear"),
        ({"layer": "", "place": None}, "`detach` in the model (Linear)"),
        ({"layer": "", "place": None, "module": None}, "`detach` in the model (Module)"),
        ({"operator": ""}, "code of 'head' (Linear) that is not Python at net.py:4"),
    ],
)
def test_where_a_path_ends(cut, said):
    assert end({**row("cut").value, **cut}) == f"{said} ends the gradient's path"


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (3, None),
        ({"error": "it failed"}, "the model could not be run again: it failed"),
        ({"why": "no loss"}, "no loss"),
        ({"why": "cut", "parameters": 2}, None),
        ({"count": 0}, None),
    ],
)
def test_why_nothing_was_measured(value, problem):
    assert why_not([Measurement("unreached", "", None, value, None)]) == problem


def test_only_rows_with_parts_are_reasons():
    from types import SimpleNamespace

    rows = [row("cut"), Measurement("unreached", "", None, {"count": 1}, None),
            Measurement("unreached", "", None, 3, None)]  # fmt: skip
    assert reasons(SimpleNamespace(measurements=rows)) == rows[:1]
    assert reasons(SimpleNamespace(measurements=[])) == []
