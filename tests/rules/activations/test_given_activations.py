"""Whole findings about activations that are given, and their limits from both sides."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hookcli.report.findings import Measurement
from hookcli.rules.activations.measured import (
    A_FEW,
    CONSTANT,
    DEAD,
    EVERY,
    KINDS,
    MASKED,
    ONE_HOT,
    RANGE,
    SATURATED,
    SEEN,
    SPREAD,
    ZERO,
)
from hookcli.rules.catalogue import CATALOGUE
from hookcli.rules.rule import RuleFinding
from tests.comparison.reports import call, report
from tests.rules.judging import found, only

NET = report(call("a", (1,), (1,)), call("b", (1,), (1,)), call("c", (1,), (1,)))
PLACES = {"": "train.py:10", "a": "train.py:11", "b": "train.py:12", "c": "train.py:13"}


def of_run(*rows, **read):
    """The report of a run that read 9 activations of each kind, with rows (kind, target, facts)."""
    made = [Measurement(SEEN, "", None, {**dict.fromkeys(KINDS, 9), **read}, None)]
    for kind, target, facts in rows:
        value = {"type": "ReLU", "order": [*PLACES].index(target), **facts}
        made.append(Measurement(kind, target, None, value, None))
    return replace(NET, measurements=tuple(made))


def told(findings):
    """The findings without advice."""
    return [replace(finding, advice=None) for finding in findings]


def targets(findings):
    return [finding.target for finding in findings]


# Zero or constant outputs

LAYER = {"samples": 4, "weights_zero": False}
MODEL = {**LAYER, "model": True, "zero": False, "spread": 0.0}
ZERO_MODEL = (CONSTANT, "", {**MODEL, "zero": True})


def zero(target, place):
    name = f"'{target}' (ReLU)" if target else "the model"
    message = (
        f"the output of {name} is zero for each of 4 samples, but its input is not: "
        "no gradient depends on it"
    )
    return RuleFinding("fail", target, "zero", message, 0, None, place, cause="all_zero")


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        ([(ZERO, "a", LAYER)], ["a"]),
        ([ZERO_MODEL], [""]),
        ([ZERO_MODEL, (ZERO, "a", LAYER)], ["a", ""]),
    ],
)
def test_a_layer_and_a_model_that_return_zeros_are_told(rows, names):
    expected = [zero(name, PLACES[name]) for name in names]
    assert told(found("all_zero", of_run(*rows))) == expected


def test_outputs_that_are_not_zero_are_counted():
    constant = of_run((CONSTANT, "", MODEL), (CONSTANT, "a", LAYER))
    expected = RuleFinding("pass", "", "", "none of 9 outputs is zero")
    assert found("all_zero", constant) == [expected]


@pytest.mark.parametrize(("rule", "kind"), [("all_zero", ZERO), ("low_variance", CONSTANT)])
def test_layers_are_chosen_by_globs_and_by_their_weights(rule, kind):
    rows = [(kind, "a", LAYER), (kind, "b", {**LAYER, "weights_zero": True}), (kind, "c", LAYER)]
    made = of_run(*rows)
    assert targets(found(rule, made)) == ["a", "c"]
    assert targets(found(rule, made, at=("zz", "c"))) == ["c"]
    assert targets(found(rule, made, at=("b",), zero_weights=True)) == ["b"]
    assert only(rule, made, at=("b",)).status == "pass"


def constant(target, value, limit):
    name, what = ("'a' (ReLU)", "it") if target else ("the model", "the model")
    same = f"differs by {value:.1e} of its largest value between" if value else "is the same for"
    message = (
        f"the output of {name} {same} 4 samples, but the inputs differ: {what} ignores its input"
    )
    return RuleFinding("fail", target, "constant", message, value, limit, PLACES[target],
                       cause="low_variance")  # fmt: skip


def test_the_same_output_for_each_sample_is_told_of_layers_and_of_the_model():
    made = of_run((CONSTANT, "", {**MODEL, "spread": 1e-6}), (CONSTANT, "a", LAYER))
    assert told(found("low_variance", made)) == [constant("a", 0.0, 0.0)]
    for limit, names in ((1e-6, ["", "a"]), (0.99e-6, ["a"])):
        findings = told(found("low_variance", made, spread=limit))
        assert findings == [constant(name, 0.0 if name else 1e-6, limit) for name in names]
    assert told(found("low_variance", of_run((CONSTANT, "", MODEL)))) == [constant("", 0.0, 0.0)]


def test_outputs_that_vary_are_counted():
    expected = RuleFinding("pass", "", "", "9 outputs vary over the batch", None, 1e-5)
    assert found("low_variance", of_run(ZERO_MODEL), spread=1e-5) == [expected]


def test_only_the_first_softmax_over_one_entry_is_told():
    one, other = {"length": 1, "output": True}, {"length": 1, "output": False}
    rows = [(ONE_HOT, "a", {"length": 2, "output": True}), (ONE_HOT, "b", other)]
    assert only("low_variance", of_run(*rows)).status == "pass"
    rows += [(ONE_HOT, "c", one), (ONE_HOT, "a", one), (CONSTANT, "", MODEL)]
    message = (
        "softmax of 'c' (ReLU) is over a dimension of size 1, so it returns 1 for every input: "
        "the model ignores its input"
    )
    expected = RuleFinding("fail", "c", "softmax of one", message, 0.0, None, PLACES["c"],
                           cause="low_variance")  # fmt: skip
    assert told(found("low_variance", of_run(*rows))) == [expected]


# Dead units


def dead(count, units, *, values=8, zero=None):
    return {"dead": count, "on": 0, "units": units, "zero": zero, "values": values,
            "function": "relu", "after": None}  # fmt: skip


@pytest.mark.parametrize(
    ("row", "status"),
    [
        (dead(7, 7), "fail"), (dead(6, 6), "pass"),  # 2^-7 < 1 % < 2^-6
        (dead(10, 11), "fail"), (dead(9, 10), "pass"),  # 2^-10 < 0.1 % < 2^-9
        (dead(7, 7, values=7), "pass"),
        (dead(21, 40), "fail"), (dead(20, 40), "pass"),
        (dead(10, 10, zero=0.1), "fail"), (dead(10, 10, zero=0.9), "pass"),  # 0.9^40 = 1.5 %
    ],
)  # fmt: skip
def test_units_are_dead_by_more_than_chance(row, status):
    assert only("dead_units", of_run((DEAD, "a", row))).status == status


def test_a_share_of_dead_units_is_told():
    message = (
        "20 of 30 units of 'a' (ReLU) are dead: relu passes no gradient for any of the 8 values "
        "of each"
    )
    expected = RuleFinding("fail", "a", "dead relu", message, 0.6667, 0.5, PLACES["a"],
                           cause="dead_units")  # fmt: skip
    made = of_run((DEAD, "a", dead(20, 30)))
    assert told(found("dead_units", made, at=("zz", "a"))) == [expected]
    message = "no layer with more than 70% dead units in 9 activations"
    expected = RuleFinding("pass", "", "", message, None, 0.7)
    assert found("dead_units", made, share=0.7) == [expected]


# Masks


def mask(masked, what="query"):
    return {"masked": masked, "rows": 4, "what": what, "mask": "attn_mask"}


def test_a_mask_that_is_empty_is_told_at_its_first_call():
    rows = [(MASKED, "a", mask(2)), (MASKED, "b", mask(2)), (MASKED, "c", mask(2, "sample"))]
    findings = told(found("empty_mask", of_run(*rows)))
    assert findings == [
        RuleFinding(
            "fail", target, f"empty {what}",
            f"attn_mask of '{target}' (ReLU) masks every position for 2 of 4 {many}: "
            "nothing is left to attend to",
            2, 0, PLACES[target], cause="empty_mask",
        )
        for target, what, many in (("a", "query", "queries"), ("c", "sample", "samples"))
    ]  # fmt: skip
    assert targets(found("empty_mask", of_run(*rows), at=("zz", "b"))) == ["b"]
    expected = RuleFinding("pass", "", "", "no mask is empty in 9 attentions", None, 0)
    assert found("empty_mask", of_run(*rows), at=("zz",)) == [expected]


# Saturated values


def saturated(flat, values=90, **more):
    return {"function": "tanh", "flat": flat, "stuck": 0, "values": values, "output": False,
            "dtype": "float32", "after": None, **more}  # fmt: skip


def test_a_share_of_saturated_values_is_told():
    made = of_run((SATURATED, "a", saturated(60)), (SATURATED, "b", saturated(46)),
                  (SATURATED, "c", saturated(45)))  # fmt: skip
    first, second = told(found("saturated_activation", made))
    message = (
        "tanh of 'a' (ReLU) is saturated: less than 1 % of its slope is left at 60 of 90 values "
        "(67%)"
    )
    assert first == RuleFinding("fail", "a", "saturated tanh", message, 0.6667, 0.5, PLACES["a"],
                                cause="saturated_activation")  # fmt: skip
    assert (second.target, second.value) == ("b", 0.5111)
    assert targets(found("saturated_activation", made, at=("zz", "b"))) == ["b"]


def test_what_the_model_returns_counts_where_no_slope_is_left():
    stuck = saturated(90, stuck=60, output=True)
    for row, status in (
        (stuck, "fail"), ({**stuck, "dtype": "float64"}, "fail"), ({**stuck, "stuck": 45}, "pass"),
        ({**stuck, "dtype": "bfloat16"}, "pass"),
    ):  # fmt: skip
        assert only("saturated_activation", of_run((SATURATED, "a", row))).status == status
    message = "tanh of 'a' (ReLU) is saturated: no slope is left at 60 of 90 values (67%)"
    assert only("saturated_activation", of_run((SATURATED, "a", stuck))).message == message
    assert only("saturated_activation", of_run((ONE_HOT, "a", stuck))).status == "pass"


@pytest.mark.parametrize(
    ("kind", "values", "status"),
    [(SATURATED, 32, "fail"), (SATURATED, 31, "pass"), (ONE_HOT, 8, "fail"), (ONE_HOT, 7, "pass")],
)
def test_a_few_values_are_not_judged(kind, values, status):
    made = of_run((kind, "a", saturated(values, values)))
    assert only("saturated_activation", made).status == status


@pytest.mark.parametrize(("rows", "values", "read"), [(3, 4, 7), (3, 0, 3), (0, 4, 4), (0, 0, 0)])
def test_activations_of_both_kinds_are_counted(rows, values, read):
    made = of_run((SATURATED, "a", saturated(9)), **{ONE_HOT: rows, SATURATED: values})
    message = f"none of {read} activations is saturated"
    expected = RuleFinding("pass", "", "", message, None, 0.5)
    assert found("saturated_activation", made) == [expected]


@pytest.mark.parametrize(
    ("rule", "options", "probe"),
    [
        ("saturated_activation", {}, A_FEW),
        ("saturated_activation", {"share": 0.4}, EVERY),
        ("saturated_activation", {"ends": 0.8}, EVERY),
        ("saturated_activation", {"share": 0.6, "ends": 0.95}, A_FEW),
        ("dead_units", {}, A_FEW), ("dead_units", {"share": 0.6}, A_FEW),
        ("dead_units", {"share": 0.4}, EVERY),
    ],
)  # fmt: skip
def test_all_activations_are_read_if_a_smaller_share_counts(rule, options, probe):
    assert CATALOGUE[rule].watches(CATALOGUE[rule].filled(options)) == (probe,)


# Ranges of values


def test_tensors_behind_a_gradient_that_is_not_judged_are_judged():
    values = [
        ("", {"dtype": "float16", "max": 1000.0, "tiny": 1e-4}),
        ("a.weight", {"at": "gradient", "abs_max": 900.0, "tiny": 0, "values": 32}),
        ("a", {"at": "output", "abs_max": 900.0, "tiny": 0, "values": 32}),
        ("b", {"at": "output", "abs_max": 1.0, "tiny": 0, "values": 0}),
    ]
    rows = tuple(Measurement(RANGE, target, None, value, None) for target, value in values)
    made = replace(NET, measurements=rows, run=replace(NET.run, loss="sum"))
    message = (
        "the output of 'a' has little room in float16: it reaches 900: 90% of the largest float16"
    )
    expected = RuleFinding("fail", "a", "output overflow", message, 0.9, 0.1, PLACES["a"])
    assert told(found("range_headroom", made)) == [expected]
    fits = RuleFinding("pass", "", "", "2 tensors fit into float16", None, 0.95)
    assert found("range_headroom", made, headroom=0.95) == [fits]


# The spread over the depth


def spread(*sizes):
    """A report of layers "0", "1" and so on, whose outputs have these standard deviations."""
    rows = [Measurement(SPREAD, str(i), None, {"std": size}, None) for i, size in enumerate(sizes)]
    made = report(*(call(str(i), (1,), (1,)) for i in range(len(sizes))))
    return replace(made, measurements=tuple(rows))


def test_a_trend_needs_four_layers():
    message = "fewer than 4 layers have an output with a spread"
    for sizes in ((1.0, 20.0, 400.0), (1.0, 20.0, 400.0, 0.0)):
        assert found("poor_initialization", spread(*sizes)) == [
            RuleFinding("skip", "", "", message)
        ]
    made = spread(1.0, 20.0, 400.0, 0.0, 8000.0)
    message = (
        "activations grow by a factor of 20 per layer from '1' on: their standard deviation is 1 "
        "at '0' and 8e+03 at '4'"
    )
    expected = RuleFinding("fail", "1", "spread grow", message, 8000.0, 10, "train.py:12")
    assert told(found("poor_initialization", made)) == [expected]
    few = RuleFinding("skip", "", "", "fewer than 4 layers have an output with a spread")
    assert found("poor_initialization", made, at=("0", "1", "2", "zz")) == [few]


@pytest.mark.parametrize("sizes", [(1.0, 2.0, 5.0, 10.0), (10.0, 5.0, 2.0, 1.0)])
def test_a_spread_may_change_by_the_ratio(sizes):
    message = "the outputs of 4 layers have a similar spread"
    expected = RuleFinding("pass", "", "", message, 10.0, 10)
    assert found("poor_initialization", spread(*sizes)) == [expected]
    verb = "grow" if sizes[0] == 1 else "fall"
    finding = only("poor_initialization", spread(*sizes), ratio=9.9)
    assert (finding.kind, finding.value, finding.limit) == (f"spread {verb}", 10.0, 9.9)


def test_a_spread_that_less_than_doubles_grows():
    finding = only("poor_initialization", spread(1.0, 1.2, 1.5, 1.8), ratio=1.5)
    assert (finding.kind, finding.value) == ("spread grow", 1.8)
    assert finding.message.startswith("activations grow by a factor of 1.2 per layer from '1' on")


@pytest.mark.parametrize(("trend", "status"), [(0.8, "fail"), (0.81, "pass")])
def test_a_trend_is_a_rank_correlation(trend, status):
    made = spread(1.0, 20.0, 5.0, 100.0)  # of 4 ranks, two neighbours are exchanged
    assert only("poor_initialization", made, trend=trend).status == status


@pytest.mark.parametrize(
    ("steps", "start"),
    [
        ((0.6, 1.4, 1.4), "2"), ((0.8, 1.4, 1.4), "1"),
        ((0.74, 9, 2), "2"), ((0.76, 9, 2), "1"),  # a step counts 1.5 decades at most
        ((0, 0, 0, 1, 1), "4"), ((-1, 0, 0, 1, 1, 1), "4"),
    ],
)  # fmt: skip
def test_the_layer_named_has_half_of_the_usual_step(steps, start):
    for sign in (1, -1):
        logs = [sum(steps[:i]) for i in range(len(steps) + 1)]
        made = spread(*(10.0 ** (sign * log) for log in logs))
        assert only("poor_initialization", made, ratio=5, trend=0.5).target == start
