"""Whole findings of rules that get a run ready for training, on reports that are given."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from hookcli.report.findings import CheckRow, Measurement
from hookcli.report.steps import UpdateRow
from hookcli.report.values import Leaf
from hookcli.rules.catalogue import CATALOGUE
from hookcli.rules.rule import RuleFinding
from hookcli.spec.checks import request_probe
from tests.comparison.reports import call, report
from tests.comparison.trainings import record
from tests.formats.fabricate import event
from tests.rules.judging import found, only

ROWS = [("a.weight", 1.0, 1.0), ("b.weight", 1.0, 1.0), ("c.weight", 1.0, 1.0)]
NET = report(*(call(name, (1,), (1,)) for name in "abc"), parameters=ROWS, place="net.py:1")
NET = replace(
    NET,
    run=replace(NET.run, loss="nll_loss", losses=(1.0,)),
    parameters=tuple(replace(row, status="ok") for row in NET.parameters),
)


def measured(*rows):
    """The net with measurements (probe, target, value)."""
    made = tuple(Measurement(probe, target, None, value, None) for probe, target, value in rows)
    return replace(NET, measurements=made)


def passes(message, value=None, limit=None):
    return [RuleFinding("pass", "", "", message, value, limit)]


def skips(message):
    return [RuleFinding("skip", "", "", message)]


def told(findings):
    return [replace(finding, advice=None) for finding in findings]


def fails(target, kind, message, value=None, limit=None, place="net.py:1", **more):
    return RuleFinding("fail", target, kind, message, value, limit, place, **more)


# Batch norms


@pytest.mark.parametrize(
    ("shape", "options", "counts"),
    [
        ((1, 3, 4, 5), {}, (1, 20, "samples", 1, 2)), ((2, 3), {}, None),
        ((2, 3), {"values": 3}, (2, 2, "values", 2, 3)),
        ((2, 3), {"samples": 3}, (2, 2, "samples", 2, 3)),
        ((2, 1, 4), {"values": 8}, None), ((2, 1, 4), {"values": 9}, (2, 8, "values", 8, 9)),
        ((2, 3, 4, 5), {"values": 40}, None),
        ((2, 3, 4, 5), {"values": 41}, (2, 40, "values", 40, 41)),
        ((1,), {}, None), ((1, None, 4), {}, None),
    ],
)  # fmt: skip
def test_a_batch_norm_sees_enough_samples_and_values(shape, options, counts):
    made = report(call("bn", (1,), (1,), type="BatchNorm2d"))
    rows = tuple(replace(row, inputs=(Leaf("[0]", shape, "float32"),)) for row in made.layers)
    made = replace(made, layers=rows)
    if counts is None:
        expected = passes("1 batch norm with enough samples")
        assert found("batch_norm_single", made, **options) == expected
        return
    samples, values, kind, value, limit = counts
    noun = "sample" if samples == 1 else "samples"
    message = (
        f"bn (BatchNorm2d) computes statistics of {samples} {noun} in train mode, {values} values "
        "per channel"
    )
    expected = fails("bn", kind, message, value, limit, "train.py:11")
    assert told(found("batch_norm_single", made, **options)) == [expected]


def test_each_batch_norm_is_told_once():
    names = ("x", "x", "y", "z")
    made = report(*(call(name, (1,), (1,), type="BatchNorm1d") for name in names))
    shapes = [(2, 3), None, (1, 3), (1, 3), (1, 3)]
    rows = [
        replace(row, inputs=() if shape is None else (Leaf("[0]", shape, "float32"),))
        for row, shape in zip(made.layers, shapes, strict=True)
    ]
    twice = replace(made, layers=tuple(rows))
    assert [one.target for one in found("batch_norm_single", twice)] == ["x", "y", "z"]


# Later inputs


@pytest.mark.parametrize(
    ("dtype", "limit"),
    [("float64", 1e-13), ("float32", 1e-5), ("float16", 4e-3), ("bfloat16", 3e-2), ("int64", 0.0)],
)
def test_an_output_depends_on_later_inputs_by_more_than_rounding(dtype, limit):
    def causal(relative, **options):
        value = {"dtype": dtype, "relative": relative, "output": "[0]", "time": 3, "size": 6,
                 "dim": 1}  # fmt: skip
        return found("causal", measured(("causality", "", value)), **options)

    message = "no output depends on later inputs, at 6 times along dimension 1"
    assert causal(limit) == passes(message, limit, limit)
    assert causal(0.5, tolerance=0.5) == passes(message, 0.5, 0.5)
    assert causal(1.01 * limit or 1e-300)[0].status == "fail"
    message = (
        "output[0] at time 3 changes by 0.5 of its largest value if inputs after time 3 are "
        "replaced"
    )
    assert told(causal(0.5)) == [fails("", "later inputs", message, 0.5, limit)]


def test_only_a_measurement_with_the_same_options_is_judged():
    options = {"dim": 2, "input": None, "output": None}
    made = measured(("causality", "", {"options": options, "why": "one time"}))
    assert found("causal", made, dim=2) == skips("one time")
    assert found("causal", made) == skips("this run did not replace later inputs")
    options = {"steps": 3, "drop": 0.5, "lr": None}
    made = measured(("overfit", "", {"options": options, "why": "no optimizer"}))
    assert found("overfits_one_batch", made, steps=3) == skips("no optimizer")
    assert found("overfits_one_batch", made) == skips("the model was not trained on the batch")


# What the loss gets


@pytest.mark.parametrize(
    ("loss", "module", "target", "message", "advice"),
    [
        ("nll_loss", "Softmax", "a", "nll_loss gets the softmax of 'a' instead of "
         "log-probabilities, so the loss is negative", "replace softmax by log_softmax"),
        ("cross_entropy", "Net", "", "cross_entropy gets the softmax of the model's forward "
         f"instead of logits, so the loss cannot fall below {math.log(1 + 9 / math.e):.3g}",
         "remove the softmax, and pass logits to cross_entropy"),
        ("binary_cross_entropy_with_logits", None, "", "binary_cross_entropy_with_logits gets the "
         "softmax instead of logits, so each prediction stays between 0.5 and 0.731",
         "remove the softmax, and pass logits to binary_cross_entropy_with_logits"),
    ],
)  # fmt: skip
def test_a_loss_that_gets_probabilities_is_told(loss, module, target, message, advice):
    value = {"loss": loss, "gets": "softmax", "module": module, "classes": 10, "place": None}
    made = measured(("loss_inputs", target, value))
    assert told(found("double_softmax", made)) == [fails(target, f"softmax in {loss}", message)]
    assert only("double_softmax", made).advice.startswith(advice)
    made = measured(("loss_inputs", target, {**value, "place": "loss.py:2"}))
    assert only("double_softmax", made).place == "loss.py:2"


# Eval mode


def test_what_a_forward_in_eval_mode_changes_is_told():
    value = {"buffers": ["a.mean", "zz.mean"], "parameters": ["c.weight"], "tensors": 5}
    made = measured(("eval_forward", "", value))
    changed = [
        fails(name, "changed", f"a forward in eval mode changes the {kind} {name}", place=place)
        for kind, name, place in (
            ("buffer", "a.mean", "train.py:11"), ("buffer", "zz.mean", "net.py:1"),
            ("parameter", "c.weight", "train.py:13"),
        )
    ]  # fmt: skip
    assert told(found("eval_stateless", made)) == changed
    assert told(found("eval_stateless", made, at=("x", "zz*"))) == changed[1:2]
    message = "a forward in eval mode changes none of 5 buffers and parameters"
    assert found("eval_stateless", made, at=("x",)) == passes(message)


def test_dropout_that_is_active_in_eval_mode_is_told():
    entries = [
        {"name": "a", "module": "Block", "function": "dropout", "p": 0.5, "place": "net.py:7"},
        {"name": "b", "module": "Block", "function": "dropout", "p": 0.25, "place": None},
        {"name": None, "module": None, "function": "dropout", "p": 0.5, "place": None},
        {"name": None, "module": "Block", "function": "dropout", "p": 0.5, "place": None},
    ]
    made = measured(("eval_forward", "", {"dropout": entries}))
    made = replace(
        made,
        layers=tuple(replace(row, place=None) if row.name == "" else row for row in made.layers),
    )
    message = "dropout with p={} is active in eval mode, in {}"
    assert told(found("dropout_in_eval", made)) == [
        fails("a", "active net.py", message.format("0.5", "a (Block)"), 0.5, 0, "net.py:7"),
        fails("b", "active train.py", message.format("0.25", "b (Block)"), 0.25, 0, "train.py:12"),
        fails("", "active", message.format("0.5", "the model"), 0.5, 0, None),
        fails("", "active", message.format("0.5", "an unregistered Block"), 0.5, 0, None),
    ]
    made = measured(("eval_forward", "", {"dropout": []}))
    assert found("dropout_in_eval", made) == passes("no dropout is active in eval mode")


# Clipping


def clipped(*norms, **options):
    """The finding for a run with these norms of all gradients, of two parameters 3 : 4."""
    made = replace(NET, run=replace(NET.run, steps=len(norms)))
    parts = [[{"grad": {"norm": part * norm}} for norm in norms] for part in (0.6, 0.8)]
    rows = [
        replace(row, steps=tuple(steps))
        for row, steps in zip(made.parameters, [*parts, ()], strict=True)
    ]
    return found("gradient_clipping", replace(made, parameters=tuple(rows)), limit=2, **options)


def test_norms_above_the_limit_in_each_step_are_told():
    message = (
        "the norm of all gradients is above 2 in each of 3 steps, at least 2.5: every step is "
        "clipped"
    )
    assert told(clipped(5.0, 2.5, 10.0)) == [fails("", "limit", message, pytest.approx(2.5), 2)]
    assert clipped(5.0, 2.5, 1.0) == passes("2 of 3 steps are clipped", pytest.approx(1.0), 2)
    assert clipped(5.0, 10.0) == skips("the run has 2 steps: pass `--steps 3`")
    one = replace(NET, totals=replace(NET.totals, grad_norm=2.0))
    expected = passes("0 of 1 steps are clipped", 2.0, 2)
    assert found("gradient_clipping", one, limit=2, least=1) == expected


@pytest.mark.parametrize(
    ("norms", "options", "message", "fail"),
    [
        ((2.0, 1.999, 2.0), {}, "the norm of all gradients is 2 at each of 3 steps: every step is "
         "clipped", True),
        ((2.0, 1.998, 2.0), {}, "the norm of all gradients is 2 at each of 3 steps: every step is "
         "clipped", True),
        ((2.0, 1.997, 2.0), {}, "2 of 3 steps are clipped", False),
        ((2.0, 1.0, 2.0), {"limit": 1}, "the norm of all gradients is 1 at each of 3 steps: every "
         "step is clipped", True),
        ((2.0, 2.0), {}, "the gradient norms of 2 steps are known", None),
    ],
)  # fmt: skip
def test_norms_of_a_training_at_the_limit_in_each_step_are_told(norms, options, message, fail):
    made = record([1.0] * len(norms), {"a.weight": list(norms)})
    made = replace(made, model=replace(made.model, place="net.py:1"))
    limit = options.get("limit", 2.0)
    expected = skips(message) if fail is None else passes(message, min(norms), limit)
    if fail:
        expected = [fails("", "limit", message, min(norms), limit)]
    assert told(found("gradient_clipping", made, **options)) == expected


def test_each_target_that_a_hook_always_clips_is_told():
    value = {"hook": 1, "action": "clip", "limit": 0.5, "place": "c.yaml:3"}
    firings = [("a", 0.0), ("b", 2.0), ("c", 1.0), ("b", 2.0), ("a", 2.0), ("c", 1.0)]
    events = tuple(
        event(seq, "backward", "tensor", target, 0, hook=1, changed=changed)
        for seq, (target, changed) in enumerate(firings)
    )
    made = replace(measured(("clipping", "", value)), events=events)
    assert told(found("gradient_clipping", made, least=2)) == [
        fails(target, "hook", f"clip 0.5 clips '{target}' in all 2 firings", 2, 2, "c.yaml:3")
        for target in "bc"
    ]


def test_hooks_that_clip_are_read_only_without_a_limit():
    rule = CATALOGUE["gradient_clipping"]
    assert rule.watches(rule.filled({})) == (request_probe("clipping"),)
    assert rule.watches(rule.filled({"limit": 1.0})) == ()
    message = "no hook clips gradients: set `limit` to the max_norm of your training"
    assert found("gradient_clipping", NET) == skips(message)


# The first loss


@pytest.mark.parametrize(
    ("loss", "status"), [(2.4, "pass"), (2.41, "fail"), (1.6, "pass"), (1.59, "fail")]
)
def test_a_loss_starts_near_the_expected_one(loss, status):
    made = replace(NET, run=replace(NET.run, losses=(loss,)))
    [finding] = found("initial_loss", made, expected=2.0)
    assert finding.status == status
    kind = "above" if loss > 2 else "below"
    if status == "fail":
        message = f"the loss starts at {loss}, far {kind} the 2"
        assert told([finding]) == [fails("", f"{kind} chance", message, loss, 2.0)]
        assert finding.advice.startswith("let" if loss > 2 else "check")
    else:
        message = f"the loss starts at {loss}; a guess has 2"
        assert [finding] == passes(message, loss, 2.0)


def test_a_loss_may_differ_by_just_the_tolerance():
    made = replace(NET, run=replace(NET.run, losses=(2.5,)))
    assert only("initial_loss", made, expected=2.0, tolerance=0.25).status == "pass"


def term(**more):
    value = {"loss": 3.0, "chance": 2.0, "random": 3.0, "spread": 1.0, "targets": 100,
             "classes": 10, **more}  # fmt: skip
    return "loss_terms", "", value


def test_each_term_of_a_loss_that_is_far_from_a_guess_is_told():
    message = "the loss starts at {}, far {} the 2 of a guess among 10 classes"
    high, low = term(), term(loss=0.5)
    fine = term(loss=2.0)
    made = measured(fine, high, low)
    assert told(found("initial_loss", made)) == [
        fails("", "above chance 1", message.format("3", "above"), 3.0, 2.0),
        fails("", "below chance 2", message.format("0.5", "below"), 0.5, 2.0),
    ]
    assert only("initial_loss", measured(high)).kind == "above chance"
    assert found("initial_loss", measured(fine, fine)) == passes(
        "the loss starts at 2; a guess has 2", 2.0
    )
    binary = term(classes=None), term(classes=None, loss=0.5)
    message = "the loss starts at 3, far above the 2 of a guess of 1/2"
    assert told(found("initial_loss", measured(*binary))) == [
        fails("", "above chance", message, 3.0, 2.0)
    ]
    unknown = "the loss of a guess is not known for this loss: set `classes` or `expected`"
    assert found("initial_loss", measured(term(targets=0))) == skips(unknown)


@pytest.mark.parametrize(("loss", "status"), [(0.79, "fail"), (0.81, "pass")])
def test_a_loss_is_too_small_by_two_standard_errors(loss, status):
    made = measured(term(loss=loss, random=1.0))  # the error is 1 / sqrt(100)
    assert only("initial_loss", made).status == status


# One batch


def overfit(*losses, **more):
    value = {"losses": losses, "lr": 0.01, "optimizer": "Adam", "drop": 0.75, **more}
    return found("overfits_one_batch", measured(("overfit", "", value)))


def test_training_on_one_batch_brings_the_loss_down():
    using = "Adam (lr 0.01)"
    message = f"3 steps of {using} bring the loss from 2 to 0.6"
    assert overfit(2.0, 1.0, 0.5, 0.6) == passes(message, 0.5, 0.5)
    lowest = "it is lowest, 0.51, after step 2"
    message = f"3 steps of {using} on one batch bring the loss from 2 to 0.6; {lowest}"
    assert told(overfit(2.0, 1.0, 0.51, 0.6)) == [fails("", "no drop", message, 0.51, 0.5)]
    message = "2 steps of Adam on one batch bring the loss from 2 to 3; it never falls"
    assert told(overfit(2.0, 2.5, 3.0, lr=None)) == [fails("", "no drop", message, 2.0, 0.5)]
    message = f"the loss is nan after 1 step of {using} on one batch; it starts at 2"
    assert told(overfit(2.0, "nan", "inf")) == [fails("", "not finite", message, "nan", 0.5)]
    for start in (0.0, -1.0):
        message = f"the loss starts at {start:.4g}: a share of it is not defined"
        assert overfit(start, -2.0) == skips(message)
    assert overfit(0.5, 0.1)[0].status == "pass"


# Parameters with several names


def shared(*rows, **options):
    return told(found("tied_weights", measured(*rows), **options))


def test_parameters_that_must_be_one_are_told():
    message = "'a.weight' and 'b.weight' are not one parameter"
    not_tied = fails("a.weight", "not tied", message, 2, 1, "train.py:11")
    assert shared(at=("a*", "b*")) == [not_tied]
    message = "'a.weight', 'b.weight', 'c.weight' are not one parameter"
    assert shared(at=("*",)) == [replace(not_tied, message=message, value=3)]
    assert shared(at=("*",), tied=False) == passes("3 names of 3 parameters")
    message = "no parameter matches 'x', 'y'"
    assert shared(at=("a*", "x", "y")) == [RuleFinding("error", "", "no match", message)]
    assert found("tied_weights", replace(NET, parameters=())) == skips(
        "the model has no parameters"
    )
    rows = (replace(NET.parameters[0], shared_with=("head.weight",)), *NET.parameters[1:])
    made = replace(NET, parameters=rows)
    several = ("head*", "a*")
    assert found("tied_weights", made, at=several) == passes("2 names of 1 parameter")
    message = "'a.weight' and 'head.weight' are one parameter, but must not be"
    tied = fails("a.weight", "tied", message, place="train.py:11")
    assert told(found("tied_weights", made, at=several, tied=False)) == [tied]
    one_name = found("tied_weights", made, at=("a*",), tied=False)
    assert one_name == passes("1 name of 1 parameter")
    assert found("tied_weights", made) == passes("1 parameter with several names")
    rule = CATALOGUE["tied_weights"]
    assert rule.watches(rule.filled({})) == (request_probe("shared_memory"),)
    assert rule.watches(rule.filled({"at": ("*",)})) == ()


def test_parameters_in_one_memory_are_told_if_one_is_trained():
    def memory(target, *others):
        return "shared_memory", target, {"with": list(others)}

    def one(names, count, place):
        message = (
            f"{names} share memory, but are {count} parameters: each has its own gradient and is "
            "updated by it"
        )
        target = names[1:].partition("'")[0]
        return fails(target, "one memory", message, count, 1, place, severity="warning")

    rows = memory("a.weight", "b.weight"), memory("c.weight", "x", "a.weight")
    expected = [
        one("'a.weight' and 'b.weight'", 2, "train.py:11"),
        one("'c.weight', 'x', 'a.weight'", 3, "train.py:13"),
    ]
    assert shared(("other", "", {}), *rows) == expected
    frozen = [replace(row, requires_grad=row.name == "a.weight") for row in NET.parameters]
    made = replace(measured(memory("b.weight", "c.weight"), *rows), parameters=tuple(frozen))
    assert told(found("tied_weights", made)) == expected
    none = tuple(replace(row, requires_grad=False) for row in frozen)
    message = "0 parameters with several names"
    assert found("tied_weights", replace(made, parameters=none)) == passes(message)


def test_embeddings_that_a_configuration_ties_are_told():
    value = {"tied": False, "alike": True, "setting": "tie_word_embeddings", "output": "b.weight",
             "input": "a.weight"}  # fmt: skip
    rows = [("shared_memory", "", {**value, **more})
            for more in ({"tied": True}, {"alike": False}, {})]  # fmt: skip
    message = "tie_word_embeddings is true, but 'b.weight' and 'a.weight' are two parameters"
    expected = fails("b.weight", "config", message, 2, 1, "train.py:12", severity="warning")
    assert shared(*rows) == [expected]
    assert shared(*rows[:2])[0].status == "pass"


# Parameters that are not registered

LEFT = "an optimizer of `model.parameters()` does not change"


@pytest.mark.parametrize(
    ("kind", "count", "message"),
    [
        ("tensor", 1, "'a.x' is a tensor that requires grad, but not an nn.Parameter: "
         f"{LEFT} it"),
        ("copy", 1, "forward makes a new nn.Parameter of 'a.x', so the gradient goes to the copy: "
         f"{LEFT} 'a.x'"),
        ("replaced", 1, f"forward replaces 'a.x' by a new nn.Parameter: {LEFT} the new one"),
        ("late", 1,
         "forward registers 'a.x': an optimizer that was made before does not change it"),
        ("list", 2,
         f"'a.x' is a plain list, so its 2 parameters are not registered: {LEFT} them"),
        ("dict", 1,
         f"'a.x' is a plain dict, so its 1 parameter is not registered: {LEFT} it"),
        ("made", 2,
         f"2 parameters that 'a.x' uses are made in forward and not registered: {LEFT} them"),
        ("made in forward", 1,
         f"1 parameter that 'a.x' uses is made in forward and not registered: {LEFT} it"),
        ("Holder", 1, f"'a.x' (Holder) has 1 parameter that is not registered: {LEFT} it"),
        ("Holder", 2,
         f"'a.x' (Holder) has 2 parameters that are not registered: {LEFT} them"),
    ],
)  # fmt: skip
def test_parameters_that_are_not_registered_are_told(kind, count, message):
    made = measured(("unregistered", "a.x", {"kind": kind, "count": count}))
    expected = fails("a.x", kind, message, count, 0, "train.py:11")
    assert told(found("unregistered_parameters", made)) == [expected]


def test_a_model_that_registers_its_parameters_passes():
    message = "all parameters in the graph are parameters of the model"
    states = tuple(replace(row, status=None) for row in NET.parameters)
    one = replace(NET, parameters=(*states[:2], NET.parameters[2]))
    assert found("unregistered_parameters", one) == passes(message)


# Updates


def updated(*rows, lr=0.1, **options):
    about = ("update", "", {"lr": lr, "optimizer": "SGD"})
    values = [
        ("update", name, {"weight": weight, "change": change, "graded": graded})
        for name, weight, change, graded in rows
    ]
    return told(found("update_ratio", measured(about, *values), min=0.5, max=2.0, **options))


def changes(name, ratio, way, limit, more="", row=1):
    message = f"a step of SGD changes '{name}' by {ratio:g} of its norm, {way} {limit:g}{more}"
    return fails(name, way, message, ratio, limit, f"train.py:{10 + row}")


def test_updates_outside_of_the_limits_are_told_with_the_worst():
    a, b, c = (
        ("a.weight", 4.0, 1.0, True),
        ("b.weight", 4.0, 1.5, True),
        ("c.weight", 2.0, 6.0, True),
    )
    small = changes("a.weight", 0.25, "below", 0.5, "; 1 other parameter too")
    assert updated(a, b, c) == [small, changes("c.weight", 3.0, "above", 2.0, row=3)]
    larger = ("b.weight", 1.0, 5.0, True), ("a.weight", 1.0, 4.0, True)
    more = "; 2 other parameters too"
    assert updated(*larger, c) == [changes("b.weight", 5.0, "above", 2.0, more, row=2)]
    assert updated(a, c, at=("zz", "c*")) == [changes("c.weight", 3.0, "above", 2.0, row=3)]
    within = ("a.weight", 2.0, 1.0, True), ("b.weight", 1.0, 2.0, True)
    message = "a step changes 2 parameters by 0.5 to 2 of the norm"
    assert updated(*within) == passes(message)
    useless = ("a.weight", 0.0, 1.0, True), ("b.weight", 1.0, 9.0, False)
    assert updated(*useless) == skips("no parameter has a gradient and a norm above 0")
    half = ("a.weight", 0.5, 0.5, True)
    assert updated(half) == passes("a step changes 1 parameter by 1 to 1 of the norm")
    message = "the learning rate of SGD is 0: a step changes no parameter"
    expected = fails("", "learning rate", message, 0, 0.5, None, cause="learning_rate_zero")
    assert updated(a, lr=0) == [expected]
    assert updated(a, lr=1)[0].kind == "below"
    assert found("update_ratio", NET) == skips("the run made no optimizer step")


def test_updates_of_a_training_are_judged_by_their_largest_and_their_median():
    def judged(*ratios, whole=(), losses=(1.0, 1.0, 1.0), **options):
        made = record(list(losses), {"a.weight": 1.0})
        updates = (UpdateRow("a.weight", ratios, True),)
        steps = [
            replace(row, update_ratio=value)
            for row, value in zip(made.training.steps, [*whole, None, None, None], strict=False)
        ]
        made = replace(made, training=replace(made.training, updates=updates, steps=tuple(steps)))
        made = replace(made, model=replace(made.model, place="net.py:1"))
        return told(found("update_ratio", made, min=0.5, max=2.0, **options))

    assert judged(0.1, 0.2, 0.25) == [changes("a.weight", 0.25, "below", 0.5)]
    assert judged(0.1, 0.2, 0.5)[0].status == "pass"
    assert judged(9.0, 2.5, 1.0, 0.0, "nan") == [changes("a.weight", 2.5, "above", 2.0)]
    assert judged(9.0, 2.0, 1.0)[0].status == "pass"
    assert judged(9.0, at=("zz", "a*"))[0].status == "fail"
    assert judged(9.0, at=("zz",))[0].status == "skip"
    message = "a step of SGD changes all parameters by 2.5 of their norm, above 2"
    late = fails("", "above", message, 2.5, 2.0, step=1)
    assert judged(1.0, whole=(2.0, 2.5, 3.0)) == [late]
    assert judged(1.0, whole=(2.5,), losses=(1.0, 0.9, 2.0))[0].status == "pass"
    assert judged(1.0, whole=(2.5,), losses=(1.0, 1.0, 0.5))[0].step == 0


def test_the_comparison_with_runs_without_hooks_is_told_as_it_was_made():
    row = CheckRow("neutral", "a", "fail", "warning", 2, 1, "differs", "c.yaml:3", "print")
    made = replace(NET, checks=(replace(row, rule="hooks_fired"), row))
    expected = RuleFinding(
        "fail", "a", "", "differs", 2, 1, "c.yaml:3", severity="warning", fingerprint="print"
    )
    assert found("neutral", made) == [expected]
    passed = replace(made, checks=(replace(row, status="pass"),))
    assert found("neutral", passed) == [replace(expected, status="pass")]
