"""Whole findings about values that are not finite, and about orders, of runs that are given."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hookcli.catalogue.reasons import REASONS
from hookcli.report.events import EventRow
from hookcli.report.findings import Measurement
from hookcli.report.training import FirstNonFinite
from hookcli.rules.finite import OPERATOR, SEEN, judge_run
from hookcli.rules.firing_order import callees
from hookcli.rules.first_operator import advice_for, explanation, sentence
from hookcli.rules.rule import RuleFinding
from tests.comparison.reports import call, report
from tests.comparison.trainings import record
from tests.formats.training_reports import GAN
from tests.rules.judging import found, only
from tests.rules.test_given_reports import bad
from tests.rules.test_unknown_values import second_run

NET = report(
    call("a", (1,), (1,)), call("b", (1,), (1,)),
    parameters=[("a.weight", 1, None), ("b.weight", 1, None)], place="net.py:1",
)  # fmt: skip
READ = Measurement(SEEN, "", None, 9, None)


def passes(message, value=None, limit=None):
    return [RuleFinding("pass", "", "", message, value, limit)]


def run(*rows, read=True, **more):
    """A run whose values were read, with these measurements."""
    rows = (*rows, READ) if read else rows
    return replace(NET, measurements=rows, run=replace(NET.run, **more))


def not_finite(target, kind, message, value, place):
    return [RuleFinding("fail", target, kind, message, value, 0, place)]


# Values that are not finite


@pytest.mark.parametrize(
    ("row", "steps", "message", "value", "place"),
    [
        (bad("parameter", "a.weight", None, infs=2, minus_infs=3, numel=1000), 1,
         "the parameter a.weight contains 1 NaN, 2 Inf, 3 -Inf in 1,000 elements before the run", 6,
         "train.py:11"),
        (bad("parameter", "a.weight", None, nans=0, minus_infs=3), 1,
         "the parameter a.weight contains 3 -Inf in 4 elements before the run", 3, "train.py:11"),
        (bad("buffer", "b.mean", None, numel=1), 1,
         "the buffer b.mean contains 1 NaN in 1 element before the run", 1, "train.py:12"),
        (bad("parameter_gradient", "b.weight", None, step=0), 1,
         "the gradient of b.weight contains 1 NaN in 4 elements, but the gradients at the layers "
         "are finite", 1, "train.py:12"),
        (bad("parameter_gradient", "b.weight", None, step=1), 2,
         "the gradient of b.weight (step 1) contains 1 NaN in 4 elements, but the gradients at the "
         "layers are finite", 1, "train.py:12"),
        (bad("updated", "b.weight", None, step=0), 2,
         "the parameter b.weight contains 1 NaN in 4 elements after the step (step 0), but it and "
         "its gradient were finite before", 1, "train.py:12"),
        (bad("input", "", 0, path="[0]", type="Net", nans=0, infs=1), 1,
         "the input[0] of the model (Net) contains 1 Inf in 4 elements: the batch is not finite", 1,
         "train.py:10"),
        (bad("input", "b", 2, path="[0]"), 1,
         "the input[0] of b (Linear) contains 1 NaN in 4 elements: it was computed outside any "
         "module, and all earlier values are finite", 1, "train.py:12"),
        (bad("output", "b", 99), 1,
         "the output of b (Linear) contains 1 NaN in 4 elements, but its inputs are finite", 1,
         "train.py:12"),
        (bad("gradient", "a", 1, taken_by=[2]), 1,
         "the gradient at the input of b (Linear) contains 1 NaN in 4 elements, but the gradient "
         "at its output is finite", 1, "train.py:12"),
        (bad("gradient", "a", 1, taken_by=[], path="[1]", nans=0, minus_infs=1), 1,
         "the gradient at the output[1] of a (Linear) contains 1 -Inf in 4 elements, but the "
         "gradients computed before it are finite", 1, "train.py:11"),
    ],
)  # fmt: skip
def test_a_value_that_is_not_finite_is_told_with_its_amount(row, steps, message, value, place):
    target = "b" if "input of b" in message else row.target
    expected = not_finite(target, row.value["at"], message, value, place)
    assert found("finite", run(row, steps=steps)) == expected
    later = bad("output", "b", 2), bad("updated", "a.weight", None)
    assert found("finite", run(row, *later, steps=steps)) == expected


INFINITE = {"nans": 0, "minus_infs": 1}


@pytest.mark.parametrize(
    ("rows", "losses", "kind"),
    [
        ([bad("output", "a", 1, **INFINITE)], (), None),
        ([bad("input", "a", 1, **INFINITE)], (1.0,), None),
        ([bad("buffer", "a.least", None, nans=0, infs=1)], (), None),
        ([bad("output", "a", 1, nans=0, infs=1)], (), "output"),
        ([bad("output", "a", 1, nans=1, minus_infs=1)], (), "output"),
        ([bad("updated", "a.weight", None, **INFINITE)], (), "updated"),
        ([bad("output", "a", 1, **INFINITE)], ("nan",), "output"),
        ([bad("input", "a", 1, **INFINITE)], ("nan",), "loss"),
        ([bad("buffer", "a.least", None, nans=0, infs=1)], ("nan",), "loss"),
        ([bad("input", "a", 1, **INFINITE), bad("output", "a", 1, **INFINITE)], ("nan",), "output"),
    ],
)
def test_infinity_alone_in_a_forward_is_taken_for_a_mask(rows, losses, kind):
    made = run(*rows, losses=losses)
    if kind is None:
        message = "no NaN and no Inf in 9 tensors (-Inf in some, as in masks)"
        assert found("finite", made) == passes(message, 0, 0)
    else:
        assert only("finite", made).kind == kind


def test_a_mask_is_the_cause_if_it_went_into_the_call():
    mask, output = bad("output", "a", 1, **INFINITE), bad("output", "b", 2)
    of_b, of_a = (bad("input", name, order, **INFINITE) for name, order in (("b", 2), ("a", 1)))
    for rows, target in (
        ([mask, output], "b"), ([mask, of_b, output], "a"), ([mask, of_a, output], "b"),
        ([mask, bad("input", "b", 2)], "b"), ([mask, bad("updated", "b.weight", 2)], "a"),
    ):  # fmt: skip
        assert only("finite", run(*rows)).target == target


@pytest.mark.parametrize(
    ("losses", "steps", "which", "value"),
    [
        (("nan",), 1, "", "nan"),
        ((1.0, "inf", "nan"), 3, " of step 1", "inf"),
        (("nan",), 2, " of step 0", "nan"),
    ],
)
def test_a_loss_that_is_not_finite_is_told(losses, steps, which, value):
    message = f"the loss{which} is {value}"
    made = run(losses=losses, steps=steps, read=False)
    assert found("finite", made) == not_finite("", "loss", message, value, "net.py:1")
    message += ", but every value before it is finite"
    made = run(losses=losses, steps=steps, loss_place="loss.py:2")
    assert found("finite", made) == not_finite("", "loss", message, value, "loss.py:2")


def test_the_gradient_that_backward_computes_first_is_told():
    rows = tuple(replace(row, status="non_finite") for row in NET.parameters)
    made = replace(run(read=False, losses=(1.0,)), parameters=rows)
    message = "the gradient of b.weight is not finite"
    expected = not_finite("b.weight", "parameter_gradient", message, None, "train.py:12")
    assert found("finite", made) == expected
    made = replace(made, parameters=(rows[0], replace(rows[1], status="ok")))
    assert only("finite", made).target == "a.weight"


def test_what_was_looked_at_is_counted():
    message = "no NaN and no Inf in the loss or a gradient"
    assert found("finite", run(read=False, losses=(1.0,))) == passes(message, 0, 0)
    assert found("finite", run()) == passes("no NaN and no Inf in 9 tensors", 0, 0)
    trained = record([1.0], {"a.weight": 0.5, "b.weight": 0.5})
    skip = RuleFinding("skip", "", "", "this run did not check any values")
    assert found("finite", trained) == [skip]
    rows = (trained.parameters[0], replace(trained.parameters[1], status="ok"))
    assert found("finite", replace(trained, parameters=rows)) == passes(message, 0, 0)
    assert found("finite", replace(trained, parameters=rows, training=None)) == [skip]


# The operator of a second run


def by_operator(target, kind, place="net.py:5", value=1):
    known = place if place == "net.py:5" else None  # else it is the place of the first finding
    text = sentence({**second_run().value, "place": known}, 1)
    return [RuleFinding("fail", target, kind, text, value, 0, place)]


def test_the_operator_of_the_second_run_is_told_with_the_target_of_the_first():
    operator = second_run()
    output, entered = bad("output", "b", 2), bad("input", "b", 2)
    assert found("finite", run(operator)) == by_operator("a", "operator")
    assert found("finite", run(operator, output)) == by_operator("a", "output")
    assert found("finite", run(operator, entered)) == by_operator("b", "input")
    assert found("finite", run(operator, entered, read=False)) == by_operator("a", "input")
    unnamed = replace(operator, target="")
    assert found("finite", run(unnamed, output)) == by_operator("b", "output")
    assert found("finite", run(unnamed, output, read=False)) == by_operator("", "output")
    assert found("finite", run(operator, losses=("nan",))) == by_operator("", "loss")
    gradient = bad("parameter_gradient", "b.weight", None)
    assert found("finite", run(operator, gradient)) == by_operator("b.weight", "parameter_gradient")
    nowhere = second_run(place=None)
    assert found("finite", run(nowhere, output)) == by_operator("a", "output", "train.py:12")
    assert found("finite", run(nowhere)) == by_operator("a", "operator", None)
    several = second_run(nans=1, infs=2, minus_infs=4)
    assert only("finite", run(several)).value == 7
    assert "(step 0)" in only("finite", run(several, steps=2)).message
    known = second_run(reason="by_zero")
    assert only("finite", run(known)).advice == REASONS["by_zero"].advice


@pytest.mark.parametrize("at", ["parameter", "buffer", "updated"])
def test_what_a_parameter_or_buffer_contains_needs_no_operator(at):
    first = bad(at, "b.mean", None, step=0)
    assert found("finite", run(second_run(), first)) == found("finite", run(first))


def test_a_batch_that_is_not_finite_needs_no_operator():
    first = bad("input", "", 0, type="Net")
    operator = second_run(reason="input")
    assert found("finite", run(operator, first)) == found("finite", run(first))
    assert only("finite", run(operator)).kind == "operator"


def test_why_the_second_run_found_nothing_is_told():
    why = Measurement(OPERATOR, "", None, {"why": "the second run is finite"}, None)
    first = bad("output", "a", 1)
    [finding] = found("finite", run(first))
    message = f"{finding.message} (the second run is finite)"
    assert found("finite", run(why, first)) == [replace(finding, message=message)]
    assert only("finite", run(why)).status == "pass"


def test_a_buffer_that_the_second_run_blames_is_told_as_it_was_measured():
    operator = second_run(reason="buffer", facts={"name": "b.mean"})
    kept = bad("buffer", "b.mean", None, nans=0, infs=1)
    others = bad("buffer", "a.mean", None, nans=0, infs=1), bad("output", "b.mean", 2, infs=5)
    made = run(operator, *others, kept)
    assert only("finite", made).message == (
        "the buffer b.mean contains 1 Inf in 4 elements before the run"
    )
    assert only("finite", run(operator, *others)).kind == "output"


# Its sentence

INPUTS = [
    {"dtype": "float32", "shape": [2], "finite": True, "min": 0.5, "max": 2.0},
    {"dtype": "float16", "shape": [], "finite": False, "min": 7.0, "max": 7.0},
    {"dtype": "int64", "shape": [3], "finite": True, "min": 4, "max": 4},
    {"dtype": "int64", "shape": [4], "finite": True, "min": 8, "max": 9},
]
TOLD = "`x / y` returned it for values from 0.5 to 9"


@pytest.mark.parametrize(
    ("more", "steps", "text"),
    [
        ({}, 1, "NaN first appears in 'a' at net.py:5: `x / y` returned it (finite inputs)"),
        ({"step": 3}, 4,
         "NaN first appears in 'a' at net.py:5 (step 3): `x / y` returned it (finite inputs)"),
        ({"nans": 0, "infs": 1, "layer": "", "phase": "loss", "place": None}, 1,
         "Inf first appears in the loss: `x / y` returned it (finite inputs)"),
        ({"nans": 0, "layer": "", "type": "Net", "minus_infs": 1}, 1,
         "-Inf first appears in the model (Net) at net.py:5: `x / y` returned it (finite inputs)"),
        ({"layer": None, "type": "Block"}, 1,
         "NaN first appears in Block at net.py:5: `x / y` returned it (finite inputs)"),
        ({"layer": None}, 1,
         "NaN first appears in the run at net.py:5: `x / y` returned it (finite inputs)"),
        ({"layer": "", "type": None}, 1,
         "NaN first appears in the run at net.py:5: `x / y` returned it (finite inputs)"),
        ({"node": "DivBackward0"}, 1,
         "NaN first appears in the backward of 'a' at net.py:5: `x / y` returned it "
         "(DivBackward0)"),
        ({"inputs": INPUTS}, 1,
         f"NaN first appears in 'a' at net.py:5: {TOLD} (finite inputs: float32 [2] from 0.5 to 2, "
         "int64 [3] of 4)"),
        ({"inputs": [{**INPUTS[0], "min": None}]}, 1,
         "NaN first appears in 'a' at net.py:5: `x / y` returned it (finite inputs: float32 [2])"),
        ({"reason": "domain", "facts": {"low": -2.0, "high": -2.0}, "inputs": INPUTS[:1]}, 1,
         "NaN first appears in 'a' at net.py:5: `x / y` got values of -2, outside of its domain "
         "(finite inputs: float32 [2] from 0.5 to 2)"),
        ({"reason": "domain", "facts": {"low": -2.5, "high": 2e6}, "node": "F"}, 1,
         "NaN first appears in the backward of 'a' at net.py:5: `x / y` got values from -2.5 to "
         "2e+06, outside of its domain (F)"),
        ({"reason": "cast_overflow",
          "facts": {"low": 7e4, "high": 7e4, "dtype": "float16", "limit": 65504.0}}, 1,
         "NaN first appears in 'a' at net.py:5: `x / y` casts values of 70,000 to float16, whose "
         "largest value is 65,504 (finite inputs)"),
        ({"written": ""}, 1,
         "NaN first appears in 'a' at net.py:5: outside of torch returned it (finite inputs)"),
    ],
)  # fmt: skip
def test_the_sentence_about_an_operator(more, steps, text):
    value = second_run(**more).value
    assert sentence(value, steps) == text
    shorter, _, _ = text.partition(" (finite inputs")
    assert explanation(value, inputs=False) == shorter.partition(": ")[2]


def test_what_becomes_of_a_value_is_told_last():
    then = {**second_run().value, "written": "y - z", "place": "net.py:8"}
    for more, text in (
        ({}, "`y - z` at net.py:8"), ({"place": None}, "`y - z`"),
        ({"node": "SubBackward0"}, "the backward of `y - z` at net.py:8"),
        ({"reason": "input"}, "the batch at net.py:8"),
    ):  # fmt: skip
        value = second_run(becomes_nan={**then, **more}).value
        expected = f"`x / y` returned it (finite inputs); it becomes NaN in {text}"
        assert explanation(value, inputs=True) == expected


@pytest.mark.parametrize("reason", ["constant", "outside", "uninitialized", "of_nan"])
def test_inputs_of_a_value_that_was_given_are_not_told(reason):
    value = second_run(reason=reason, inputs=INPUTS[:1]).value
    assert "inputs" not in explanation(value, inputs=True)
    assert advice_for(value) == REASONS[reason].advice
    assert advice_for(second_run().value) is None


def test_the_first_value_of_a_training_is_a_whole_finding():
    first = FirstNonFinite(
        record="Net", step=7, what="loss", phase="forward", place="t.py:3", layer="fc",
        operator="x / y", found_by=None, inputs=(), reason=None, batch="batch.pt",
    )  # fmt: skip
    message = "NaN or Inf first appears at step 7 in 'fc' at t.py:3: `x / y` returned it"
    advice = "run the step again with the batch that was saved in batch.pt"
    expected = RuleFinding(
        "fail", "fc", "first", message, "loss", 0, "t.py:3", step=7, advice=advice
    )
    one = replace(GAN, records=GAN.records[:1], first_non_finite=first)
    assert list(judge_run(one, {})) == [expected]
    several = replace(GAN, first_non_finite=first)
    assert list(judge_run(several, {})) == [replace(expected, target="Net: fc")]
    nowhere = replace(first, layer=None, batch=None)
    [finding] = judge_run(replace(one, first_non_finite=nowhere), {})
    assert (finding.target, finding.advice) == ("", None)
    assert list(judge_run(replace(one, first_non_finite=None), {})) == []


# Orders


def ordered(*names):
    return report(*(call(name, (1,), (1,)) for name in names))


def out_of_order(message, seen, order, place):
    finding = f"order of {', '.join(order[:3])}"
    return [RuleFinding("fail", "", finding, message, seen, order, place)]


def test_the_first_name_out_of_order_is_told_with_its_place():
    made = ordered("b", "a", "c")
    message = "b is before a, expected after it"
    expected = out_of_order(message, ["b", "a", "c"], ["a", "b"], "train.py:11")
    assert found("firing_order", made, order=("a", "b")) == expected
    message = "position 0 is b, expected a, which is at position 1"
    expected = out_of_order(message, ["b", "a", "c"], ["a", "b"], "train.py:11")
    assert found("firing_order", made, order=("a", "b"), match="prefix") == expected
    assert found("firing_order", made, order=("a", "c")) == passes(
        "layers ran in the expected order (subsequence)"
    )
    assert found("firing_order", made, order=("b", "a"), match="prefix") == passes(
        "layers ran in the expected order (prefix)"
    )
    assert only("firing_order", made, order=("b", "a"), match="exact").status == "fail"
    assert only("firing_order", made, order=("b", "c"), match="exact", at="[bc]").status == "pass"
    assert only("firing_order", made, order=("", "b"), match="prefix").status == "pass"


def test_twenty_names_of_an_order_are_shown():
    names = [f"l{i}" for i in range(30)]
    finding = only("firing_order", ordered(*names), order=(*names[:25], "x"))
    assert (finding.value, finding.limit) == (names[:20], names[:20])
    assert finding.kind == "order of l0, l1, l2 and 23 more"


def test_twenty_names_of_an_order_within_a_module_are_shown():
    names = [f"l{i}" for i in range(30)]
    rows = [call("h", (1,), (1,)), *(call(f"h.{name}", (1,), (1,), parent=1) for name in names)]
    finding = only("firing_order", report(*rows), order=(*names[:25], "x"), within="h")
    assert (finding.value, finding.limit) == (names[:20], names[:20])


@pytest.mark.parametrize(
    "order",
    [({"of": ["h.{0..999}"], "times": 1001},), ("{0..99999999}",), ("{0.." + "9" * 1000 + "}",)],
)
def test_an_order_with_too_many_names_is_not_judged(order):
    message = "the order has more than 1,000,000 names"
    expected = RuleFinding("error", "", "too long", message)
    assert found("firing_order", ordered("a"), order=order) == [expected]


def test_calls_inside_of_another_named_module_are_not_its_caller_s():
    rows = [
        call("a", (1,), (1,)), call("a.x", (1,), (1,), parent=1),
        call("a.x.y", (1,), (1,), parent=2), call(None, (1,), (1,), parent=1),
        call("a.z", (1,), (1,), parent=4), call("a.lost", (1,), (1,), parent=1),
    ]  # fmt: skip
    made = report(*rows)
    assert callees(made, {1}) == {1: ["x", "z", "lost"]}
    cut_off = replace(made.layers[6], parent=99)
    assert callees(replace(made, layers=(*made.layers[:6], cut_off)), {1}) == {1: ["x", "z"]}


def test_calls_that_are_made_again_for_backward_and_modules_without_a_name_have_no_order():
    calls = [call("a", (1,), (1,)), call("a", (1,), (1,), recomputed=True), call(None, (1,), (1,)),
             call("b", (1,), (1,))]  # fmt: skip
    assert only("firing_order", report(*calls), order=("a", "b"), match="exact").status == "pass"


def test_only_firings_of_the_kind_that_match_are_compared():
    events = tuple(
        EventRow(i, 0, "forward", kind, target, 0, None, 0)
        for i, (kind, target) in enumerate([("forward", "x"), ("tensor", "b"), ("forward", "a")])
    )
    made = replace(ordered("a", "b"), events=events)
    options = {"order": ("a",), "kind": "forward", "match": "exact"}
    assert found("firing_order", made, at="a", **options) == passes(
        "forward hooks fired in the expected order (exact)"
    )
    assert only("firing_order", made, **options).status == "fail"


def test_each_module_that_calls_others_out_of_order_is_told_once():
    calls = [call(name, (1,), (1,)) for name in ("h.0", "h.1", "h.1", "h.2")]
    inner = [("x", "y"), ("y", "x"), ("y", "x"), ("y",)]
    rows, order = [], 0
    for outer, names in zip(calls, inner, strict=True):
        rows.append(outer)
        order = len(rows)
        rows += [call(f"{outer['name']}.{name}", (1,), (1,), parent=order) for name in names]
    made = report(*rows)
    places = {row.name: row.place for row in reversed(made.layers)}

    def wrong(target, message, seen, place):
        message = f"in {target} (Linear), {message}"
        return RuleFinding("fail", target, "order within", message, seen, ["x", "y"], place)

    assert found("firing_order", made, order=("x", "y"), within="h.*[0-9]") == [
        wrong("h.1", "y is before x, expected after it", ["y", "x"], places["h.1.y"]),
        wrong("h.2", "x is missing", ["y"], places["h.2"]),
    ]
    message = "layers ran in the expected order in 1 call (exact)"
    exact = {"order": ("x", "y"), "match": "exact"}
    assert found("firing_order", made, within="h.0", **exact) == passes(message)
    missing = RuleFinding("error", "zz", "no match", "no module that ran matches 'zz'")
    assert found("firing_order", made, within="zz", order=("x",)) == [missing]
    skip = RuleFinding("skip", "", "", "the run did not finish")
    assert found("firing_order", replace(made, error="any"), within="h.0", **exact) == [skip]
