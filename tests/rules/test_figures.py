"""The figures of rules on reports whose values are given: each limit from both sides."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from hookcli.report.findings import Measurement
from hookcli.rules import order_patterns
from hookcli.rules.activations import dead_units, headroom, initialization
from hookcli.rules.first_operator import explanation
from hookcli.rules.gradients.profile import Profile, power_of_ten, profiles
from hookcli.rules.judge import all_rows
from hookcli.rules.order_patterns import expand_order, prefix, subsequence
from hookcli.rules.rule import RuleFinding
from hookcli.spec.checks import CheckSpec
from tests.comparison.reports import call, report
from tests.rules.judging import found, only

# Gradients over the depth


def profile(*sizes, what="weights"):
    return Profile(what, tuple(map(str, range(len(sizes)))), sizes)


def test_a_step_of_biases_counts_at_most_one_and_a_half_decades():
    sizes = (1.0, 1e-4, 1e-5, 1.0)
    assert profile(*sizes).logs == pytest.approx((0, -4, -5, 0))
    assert profile(*sizes, what="biases").logs == pytest.approx((0, -1.5, -2.5, -1))
    later = (1e-2, 1e-6, 1e-7)
    assert profile(*later, what="biases").logs == pytest.approx((-2, -3.5, -4.5))
    assert profile(what="biases").logs == ()
    assert profile(0.0, 1.0).logs == pytest.approx((-46, 0))  # a gradient of zero


@pytest.mark.parametrize(
    ("logs", "fall"),
    [
        ((0, 1), 1), ((0, 5, 9, 1), 1), ((0, 0, 0, 0, 0, 0, 3), 3),
        ((0, 2, 9, 9, 9, 9, 4, 6), 4),  # a quarter of eight: two each
        ((0, 2, 8, 9, 9, 9, 1, 4, 6), 4), ((3, 1, 2), -1),
    ],
)  # fmt: skip
def test_the_fall_is_that_of_the_medians_of_the_quarters(logs, fall):
    assert profile(*(10.0**log for log in logs)).fall == pytest.approx(fall)


@pytest.mark.parametrize(
    ("sizes", "steady"),
    [
        ((1, 2, 3, 4), 1.0), ((4, 3, 2, 1), 1.0), ((1, 3, 2, 4), 2 / 3), ((4, 2, 3, 1), 2 / 3),
        ((1, 2, 3, 1), 1 / 3), ((1,), 1.0), ((1, 1.5), 1.0), ((1, 1, 2), 0.5),
    ],
)  # fmt: skip
def test_the_share_of_steps_in_the_direction_of_the_fall(sizes, steady):
    assert profile(*sizes).steady == pytest.approx(steady)


@pytest.mark.parametrize(
    ("sizes", "trend"),
    [
        ((1, 2, 3, 4), 1.0), ((4, 3, 2, 1), -1.0), ((1, 3, 2, 4), 0.8), ((1, 1, 1, 1), 0.0),
        ((1, 1, 2, 3), 4.5 / 22.5**0.5), ((1, 2, 3, 3), 4.5 / 22.5**0.5),
    ],
)  # fmt: skip
def test_the_trend_is_spearmans_correlation_and_equal_sizes_share_their_ranks(sizes, trend):
    assert profile(*sizes).trend == pytest.approx(trend)


@pytest.mark.parametrize(
    ("logs", "start"),
    [((0, 1.5, 2, 9, 0, 0, 0, 0, 5, 3, 2, 2.5), 2), ((0, 1, 4, 2), 1), ((0, 0.9, 4, 2), 2)],
)
def test_the_usual_sizes_begin_within_a_decade_of_the_last_quarter(logs, start):
    assert profile(*(10.0**log for log in logs)).start(falls=True) == start
    assert profile(*(10.0**-log for log in logs)).start(falls=False) == start


@pytest.mark.parametrize(("decades", "power"), [(2, 100.0), (-400, 1e-307), (400, 1e307)])
def test_a_power_of_ten_and_its_inverse_are_numbers(decades, power):
    assert power_of_ten(decades) == pytest.approx(power, rel=1e-9, abs=0)


def test_profiles_are_those_of_weights_and_their_biases():
    made = deep((3.0, 2.0, 1.0), biases=(6.0, 5.0, 4.0))
    rows = [
        replace(row, name=f"act0.{row.name[3:]}") for row in made.parameters if row.name[1] == "0"
    ]
    table = replace(made.parameters[0], name="act1.weight", module_type="Embedding")
    lost = replace(made.parameters[0], name="zz.weight")
    norm = replace(rows[1], name="act2.weight")
    made = replace(made, parameters=(table, lost, norm, rows[1], *made.parameters[::-1]))
    weights, biases = profiles(made)
    assert (weights.what, weights.names, weights.sizes) == (
        "weights", ("l0", "l1", "l2"), (3.0, 2.0, 1.0)
    )  # fmt: skip
    assert (biases.what, biases.names, biases.sizes) == (
        "biases", ("l0", "l1", "l2"), (6.0, 5.0, 4.0)
    )  # fmt: skip


@pytest.mark.parametrize(
    ("sizes", "kept"),
    [
        ((0.0, 1e-30, 1.0), 2), ((0.0, 0.99e-30, 1.0), 3), ((0.0, 1.5e-30, 1.0), 2),
        ((0.0, 0.0, 0.0), 0),
    ],
)  # fmt: skip
def test_a_gradient_of_zero_counts_only_beside_one_that_nearly_underflows(sizes, kept):
    assert len(profiles(deep(sizes))[0].sizes) == kept


def test_the_factor_per_layer_is_the_mean_one():
    sizes = profile(1.0, 10.0, 400.0, 1000.0)
    assert sizes.per_layer(0, 3) == pytest.approx(0.1)
    assert sizes.per_layer(1, 2) == pytest.approx(1 / 40)
    assert sizes.per_layer(0, 2) == pytest.approx(400**-0.5)
    assert sizes.per_layer(2, 2) == 1.0


def deep(sizes, *, between="ReLU", dtype="float32", tensors="real", biases=None):
    """Layers with gradients of these sizes; `biases` are those of their biases."""
    calls = []
    for i in range(len(sizes)):
        calls += [call(f"l{i}", (1,), (1,)), call(f"act{i}", (1,), (1,), type=between)]
    made = report(*calls, parameters=[(f"l{i}.weight", 1, 2 * s) for i, s in enumerate(sizes)])
    rows = [
        replace(
            row, shape=(2, 2), numel=4, status="ok" if row.grad["norm"] else "zero", dtype=dtype
        )
        for row in made.parameters
    ]
    for row, size in zip(list(rows), biases or (), strict=False):
        name = row.name.replace("weight", "bias")
        rows.append(replace(row, name=name, shape=(4,), grad={"norm": 2 * size}))
    return replace(made, parameters=tuple(rows), run=replace(made.run, tensors=tensors))


DECADES = tuple(10.0**-i for i in range(8))


def test_a_vanishing_gradient_is_told_with_its_figures():
    finding = only("vanishing_gradient", deep(DECADES[::-1], between="Sigmoid"))
    assert finding.message == (
        "the gradient vanishes towards the input: its size falls from 0.1 at 'l6' to 1e-07 at "
        "'l0', by a factor of 0.1 per layer through 6 Sigmoid layers"
    )
    assert (finding.status, finding.target, finding.value) == ("fail", "l0", 1e-6)
    assert finding.place == "train.py:11"
    assert "ReLU" in finding.advice
    finding = only("vanishing_gradient", deep(DECADES[::-1]))
    assert "through" not in finding.message
    assert "kaiming" in finding.advice


def test_an_exploding_gradient_is_told_with_its_figures():
    finding = only("exploding_gradient", deep(DECADES))
    assert finding.message.startswith(
        "the gradient explodes towards the input: its size grows from 1e-06 at 'l6' to 1 at 'l0', "
        "by a factor of 10 per layer"
    )
    assert "clip" in finding.advice


def test_gradients_of_biases_tell_of_the_outputs_and_need_steady_steps():
    alike, falling = [1.0] * 8, list(DECADES[::-1])
    finding = only("vanishing_gradient", deep(alike, biases=falling))
    assert finding.message.startswith("the gradient of the outputs vanishes towards the input")
    shaken = [*falling]
    shaken[3], shaken[4] = shaken[4], shaken[3]  # 6 of 7 steps go up
    assert only("vanishing_gradient", deep(alike, biases=shaken)).status == "pass"
    assert only("vanishing_gradient", deep(shaken)).status == "fail"  # of weights that is enough


@pytest.mark.parametrize(
    ("dtype", "least", "loses"),
    [
        ("float32", 1.1e-38, True), ("float32", 1.2e-38, False), ("bfloat16", 1.1e-38, True),
        ("bfloat16", 1.2e-38, False), ("float64", 1.2e-38, False), ("float64", 2.2e-308, True),
        ("float64", 2.3e-308, False), ("float32", 2.0**-126, False), ("float16", 1e-7, False),
    ],
)  # fmt: skip
def test_sizes_below_the_normal_numbers_of_the_dtype_lose_precision(dtype, least, loses):
    finding = only("vanishing_gradient", deep([least, *DECADES[::-1]], dtype=dtype))
    assert ("lose precision" in finding.message) is loses


def test_the_dtype_is_that_of_the_layer_with_the_smallest_gradient():
    made = deep([1e-39, *DECADES[::-1]])
    rows = tuple(
        replace(row, dtype="float32" if row.name == "l0.weight" else "float64")
        for row in made.parameters
    )
    finding = only("vanishing_gradient", replace(made, parameters=rows))
    assert finding.message.endswith("; numbers below 1.2e-38 lose precision")


@pytest.mark.parametrize(
    ("kinds", "through"),
    [
        ("TTTRRRR", " through 3 Tanh layers"), ("STTSTRR", " through 3 Tanh layers"),
        ("TTTRRRRT", " through 3 Tanh layers"), ("TTRRRRR", ""), ("SSTTRRR", ""),
    ],
)  # fmt: skip
def test_activations_are_told_if_half_of_the_layers_have_them(kinds, through):
    made = deep(DECADES[::-1])
    names = {"S": "Sigmoid", "T": "Tanh", "R": "ReLU"}
    of = {f"act{i}": names[kind] for i, kind in enumerate(kinds)}
    rows = tuple(replace(row, type=of.get(row.name, row.type)) for row in made.layers)
    finding = only("vanishing_gradient", replace(made, layers=rows))
    assert finding.message.endswith(f"by a factor of 0.1 per layer{through}")


def test_without_layers_that_squash_a_gradient_may_become_a_hundred_thousandth():
    sizes = DECADES[4::-1]  # 1 to 1e-4
    assert only("vanishing_gradient", deep(sizes)).status == "pass"
    assert only("vanishing_gradient", deep(sizes, between="Sigmoid")).status == "fail"
    assert only("vanishing_gradient", deep(sizes), ratio=1e-2).status == "fail"


@pytest.mark.parametrize(
    ("rule", "sizes", "ratio"),
    [("vanishing_gradient", DECADES[3::-1], 1e-3), ("exploding_gradient", DECADES[:5], 1e4)],
)
def test_a_gradient_changes_by_more_than_the_ratio_and_with_the_trend(rule, sizes, ratio):
    message = f"{len(sizes)} layers have gradients of similar size"
    expected = RuleFinding("pass", "", "", message, ratio, ratio)
    assert found(rule, deep(sizes)) == [expected]
    beyond = 1.01 if rule == "vanishing_gradient" else 0.99
    finding = only(rule, deep(sizes), ratio=beyond * ratio)
    assert (finding.status, finding.kind, finding.value) == ("fail", rule, ratio)
    assert (finding.limit, finding.target) == (beyond * ratio, "l0")
    turned = (sizes[0], sizes[2], sizes[1], *sizes[3:])  # of 4 ranks the correlation is 0.8
    least = 0.8 if len(sizes) == 4 else 0.9
    for trend, status in ((least, "fail"), (least + 0.01, "pass")):
        assert only(rule, deep(turned), ratio=beyond * ratio, trend=trend).status == status


def test_the_ratio_of_what_passed_is_that_of_the_layers_that_are_counted():
    made = deep((1.0, 2.0, 3.0, 4.0), biases=(5.0, 3.0, 2.0, 1.0))
    for rule in ("vanishing_gradient", "exploding_gradient"):
        assert only(rule, made).value == 0.25


@pytest.mark.parametrize(
    ("sizes", "name", "end"),
    [
        ((2e-5, 1e-5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0), "l1", "l2"),
        ((3e-5, 4e-5, 1.0, 1e-5, 2.0, 3.0, 4.0, 5.0), "l0", "l2"),
    ],
)
def test_the_layer_named_has_the_smallest_gradient_before_the_usual_ones(sizes, name, end):
    finding = only("vanishing_gradient", deep(sizes))
    assert finding.target == name
    assert f"its size falls from 1 at '{end}' to" in finding.message


def test_a_gradient_that_became_zero_is_too_small_for_its_dtype():
    sizes = [0.0, *(10.0**i for i in range(-44, -36))]
    assert only("vanishing_gradient", deep(sizes)).message.endswith("too small for its dtype")


def test_nine_of_ten_steps_are_steady():
    sizes = [10.0**-i for i in range(11)][::-1]
    sizes[4], sizes[5] = sizes[5], sizes[4]
    assert only("vanishing_gradient", deep([1.0] * 11, biases=sizes)).status == "fail"


def test_the_layer_named_is_the_first_that_changes_the_spread():
    assert initialization._start(profile(1, 1, 10, 100, 1000), grows=True) == 2
    assert initialization._start(profile(1, 0.8, 0.1, 0.01), grows=False) == 2
    for logs, start in (((0, 0.5, 1.5, 2.5), 1), ((0, 0.49, 1.5, 2.5), 2)):
        assert initialization._start(SimpleNamespace(logs=logs), grows=True) == start


def test_what_cannot_be_judged_is_skipped():
    for made, reason in (
        (deep(DECADES, tensors="fake"), "fake tensors have no values"),
        (deep(DECADES[:3]), "fewer than 4 layers have weights with a gradient"),
        (report(), "no backward pass ran"),
    ):
        finding = only("vanishing_gradient", made)
        assert (finding.status, finding.message) == ("skip", reason)
    passed = only("vanishing_gradient", deep((1.0, 1.1, 0.9, 1.0)))
    assert (passed.status, passed.message) == ("pass", "4 layers have gradients of similar size")


def test_the_share_of_the_gradients_of_a_part():
    made = deep((3.0, 4.0))
    for share, within, at, status in (
        (0.6, 1.0, "l0.*", "pass"), (0.3, 2.0, "l0.*", "pass"), (0.3, 1.99, "l0.*", "fail"),
        (1.2, 2.0, "l0.*", "pass"), (1.2, 1.99, "l0.*", "fail"),
    ):  # fmt: skip
        assert only("grad_share", made, at=(at,), share=share, within=within).status == status
    more = only("grad_share", made, at=("l0.*",), share=0.1, within=2.0)
    assert more.message == (
        "the gradients of l0.* have 0.6 of the norm of all gradients, expected about 0.1, 6 times "
        "more"
    )
    less = only("grad_share", made, at=("l0.*", "l9.*"), share=2.4, within=2.0)
    assert less.message.startswith("the gradients of l0.*, l9.* have 0.6 of")
    assert less.message.endswith("expected about 2.4, 4 times less")
    assert (less.target, less.kind, less.place) == ("l0.*, l9.*", "share less", "train.py:11")


@pytest.mark.parametrize(
    ("frozen", "count", "odd"),
    [
        ([3], 8, ["l3"]), ([3, 4], 8, ["l3", "l4"]), ([3, 4, 5], 8, []), ([0], 8, []), ([7], 8, []),
        ([1], 4, ["l1"]), ([1], 3, []), ([1, 2], 5, []), ([0, 3], 8, []),
    ],
)  # fmt: skip
def test_a_quarter_of_a_series_may_be_frozen_by_mistake(frozen, count, odd):
    names = [f"l.{i}" for i in range(count)]
    made = report(*(call(name, (1,), (1,)) for name in names),
                  parameters=[(f"{name}.weight", 1, 1.0) for name in names])  # fmt: skip
    rows = [
        replace(row, requires_grad=i not in frozen, status="frozen" if i in frozen else "ok")
        for i, row in enumerate(made.parameters)
    ]
    findings = found("frozen_by_mistake", replace(made, parameters=tuple(rows)))
    message = f"requires_grad of {count} parameters fit its neighbours"
    if not odd:
        assert findings == [RuleFinding("pass", "", "", message)]
    failed = [finding for finding in findings if finding.kind]
    assert len(failed) == len(findings) - (not odd)
    assert [finding.target.replace(".", "") for finding in failed] == odd
    for finding in failed:
        number = int(finding.target.rpartition(".")[2])
        assert finding.place == f"train.py:{11 + number}"
        assert (finding.kind, finding.value, finding.limit) == ("frozen", 1, 0)
        assert f"the {count - 1} layers like it are trained" in finding.message


# Activations


@pytest.mark.parametrize(
    ("successes", "trials", "chance", "bound"),
    [
        (0, 0, 0.5, 1.0), (0, 10, 0.0, 1.0), (5, 10, 0.5, 1.0), (4, 10, 0.5, 1.0),
        (10, 10, 0.5, 2.0**-10), (1, 10, 0.0, 0.0), (8, 10, 0.5, (0.625**0.8 * 2.5**0.2) ** 10),
        (3, 4, 0.25, ((1 / 3) ** 0.75 * 3**0.25) ** 4),
    ],
)  # fmt: skip
def test_chernoffs_bound(successes, trials, chance, bound):
    assert dead_units.at_most(successes, trials, chance) == pytest.approx(bound)


@pytest.mark.parametrize(
    ("row", "chance"),
    [
        ({"dead": 10, "on": 0, "units": 10, "zero": None, "values": 8}, 2.0**-10),
        ({"dead": 10, "on": 0, "units": 10, "zero": 0.5, "values": 8}, 2.0**-10),
        ({"dead": 10, "on": 0, "units": 10, "zero": 0.9, "values": 8}, 0.9**40),
        ({"dead": 10, "on": 10, "units": 20, "zero": 0.5, "values": 8}, 1.0),
    ],
)
def test_the_chance_of_dead_units_is_the_larger_of_two(row, chance):
    assert dead_units.by_chance(row) == pytest.approx(chance)


def with_rows(probe, *values, seen=None):
    rows = [] if seen is None else [Measurement(probe, "", None, {"read": seen}, None)]
    rows += [Measurement(probe, target, None, value, None) for target, value in values]
    made = report(call("a", (1,), (1,)), call("b", (1,), (1,)))
    return replace(made, measurements=tuple(rows))


RANGE = {"dtype": "float16", "max": 1000.0, "tiny": 1e-4}


def ranged(*rows, **run):
    """A report whose tensors have ranges: (target, where, largest, values below `tiny`)."""
    values = [("", RANGE)]
    values += [
        (target, {"at": at, "abs_max": largest, "tiny": tiny, "values": 32})
        for target, at, largest, tiny in rows
    ]
    made = with_rows("range", *values)
    made = replace(made, measurements=tuple(
        replace(row, probe=headroom.RANGE) for row in made.measurements
    ))  # fmt: skip
    return replace(made, run=replace(made.run, **run))


@pytest.mark.parametrize(
    ("largest", "message"),
    [
        (100.0, None),
        (101.0, "has little room in float16: it reaches 101: 10% of the largest float16"),
        (1000.0, "has little room in float16: it reaches 1e+03: 100% of the largest float16"),
        (1500.0, "overflows: it reaches 1.5e+03: 1.5 times the largest float16"),
        (2500.0, "overflows: it reaches 2.5e+03: 2.5 times the largest float16"),
    ],
)
def test_a_tensor_stays_below_the_headroom(largest, message):
    finding = only("range_headroom", ranged(("a", "output", largest, 0)))
    assert finding.message == (
        "1 tensor fit into float16" if message is None else f"the output of 'a' {message}"
    )
    if message is not None:
        assert (finding.value, finding.kind) == (largest / 1000, "output overflow")
        assert finding.place == "train.py:11"


def test_a_tenth_of_the_values_may_underflow():
    for tiny, status in ((3, "pass"), (4, "fail")):
        finding = only(
            "range_headroom", ranged(("a.weight", "parameter", 1.0, tiny)), underflow=0.1
        )
        assert finding.status == status
    assert (finding.value, finding.limit) == (0.125, 0.1)
    assert only("range_headroom", ranged(("a", "output", 1.0, 4)), underflow=0.125).status == "pass"
    assert finding.message == (
        "the parameter 'a.weight' underflows: 4 of 32 values (12%) are below 0.0001, the smallest "
        "normal float16"
    )
    assert finding.place == "train.py:11"
    shares = ranged(("a", "output", 1.0, 11), ("", "output", 1.0, 12))
    finding = only("range_headroom", shares)
    assert finding.message.startswith("the output of the model underflows: 12 of 32")
    assert finding.message.endswith("; also 1 tensor")
    many = ranged(("a", "output", 1.0, 1234))
    many.measurements[1].value["values"] = 9999
    assert only("range_headroom", many).value == 0.1234
    assert only("range_headroom", ranged(("a", "output", 123.44, 0))).value == 0.1234
    few = ranged(("a", "output", 1.0, 4))
    few.measurements[1].value["values"] = 31
    assert only("range_headroom", few).status == "pass"


def test_gradients_of_a_loss_without_a_real_size_are_not_judged():
    row = ("a.weight", "gradient", 900.0, 0)
    for loss, status in (("sum", "pass"), ("file.py:loss", "fail")):
        assert only("range_headroom", ranged(row, loss=loss)).status == status
    assert only("range_headroom", ranged(row), at=("b",)).status == "pass"
    assert only("range_headroom", ranged(row), at=("b", "a.*")).status == "fail"


# Orders of names


def test_an_order_has_at_most_so_many_names(monkeypatch):
    monkeypatch.setattr(order_patterns, "MOST", 6)
    assert expand_order(["a", "h.{0..2}", {"of": ["b"], "times": 2}]) == ["a", "h.0", "h.1", "h.2",
                                                                         "b", "b"]  # fmt: skip
    for order in (
        ["a", "h.{0..2}", {"of": ["b"], "times": 3}],
        ["a", {"of": ["b", "c"], "times": 3}],
    ):
        with pytest.raises(ValueError, match="more than 6 names"):
            expand_order(order)
    assert expand_order(["h.{2..1}", "h.{3..3}"]) == ["h.{2..1}", "h.3"]
    assert expand_order(["h.{5..9}.x"]) == [f"h.{i}.x" for i in range(5, 10)]
    assert len(expand_order(["{0..5}"])) == 6
    for pattern in ("{0..6}", "{0..9}", "{0..9999999}"):
        with pytest.raises(ValueError, match="more than 6 names"):
            expand_order([pattern])


def test_an_order_has_at_most_a_million_names():
    rounds = {"of": ["h.{0..999}"], "times": 1000}
    assert len(expand_order([rounds])) == 1_000_000
    with pytest.raises(ValueError, match="more than 1,000,000 names"):
        expand_order([rounds, "x"])


@pytest.mark.parametrize(
    ("seen", "order", "message", "name"),
    [
        ("xayb", "ab", "", ""), ("ab", "abb", "b is before b, expected after it", "b"),
        ("ba", "ab", "b is before a, expected after it", "b"),
        ("ba", "ac", "c is missing after a", "c"), ("ba", "ca", "c is missing", "c"),
    ],
)  # fmt: skip
def test_why_an_order_is_not_a_subsequence(seen, order, message, name):
    assert subsequence([*seen], [*order]) == (message, name)


@pytest.mark.parametrize(
    ("seen", "order", "whole", "message", "name"),
    [
        ("ab", "ab", True, "", ""),
        ("abc", "ab", False, "", ""),
        ("abc", "ab", True, "the expected names are followed by c", "c"),
        ("a", "ab", False, "b is missing: the run has only 1 name", "b"),
        ("axb", "ab", False, "position 1 is x, expected b, which is at position 2", "x"),
        ("axc", "ab", False, "position 1 is x, expected b, which is missing", "x"),
        ("abcx", "abca", False, "position 3 is x, expected a, which is not repeated", "x"),
        ("", "a", False, "a is missing: the run has only 0 names", "a"),
    ],
)
def test_why_an_order_is_not_a_prefix(seen, order, whole, message, name):
    assert prefix([*seen], [*order], whole=whole) == (message, name)


# A saved report


def same(now, then, **options):
    return found("same_as", now, report="good.json", saved=then, **options)


def messages(findings):
    return [finding.message for finding in findings if finding.status == "fail"]


def test_a_report_is_the_same_as_itself_and_what_was_compared_is_counted():
    one = report(call("a", (1,), (2,)), call("a", (1,), (2,), recomputed=True), call("b", (), ()),
                 parameters=[("a.weight", 1, 1.0), ("b.weight", 2, 2.0)])  # fmt: skip
    [finding] = same(one, one)
    assert finding.message == "5 parameters and calls match good.json"
    [finding] = same(one, one, at="b*")
    assert finding.message == "2 parameters and calls match good.json"
    # A call that is made again for backward is not one of the order.
    fewer = replace(one, layers=tuple(row for row in one.layers if not row.recomputed))
    assert [row.status for row in (*same(one, fewer), *same(fewer, one))] == ["pass", "pass"]


def test_each_parameter_that_is_missing_or_new_is_told():
    rows = [(f"{name}.weight", 1, None) for name in "abc"]
    one, two = report(parameters=rows), report(parameters=[rows[2], ("d.weight", 1, None)])
    missing = [f"parameter {name}.weight is missing" for name in "ab"]
    assert messages(same(two, one)) == [*missing, "parameter d.weight is new"]


def test_norms_of_inputs_and_outputs_are_compared():
    now = report(call("a", (1,), (2,)), call("b", (3,), (4,)))
    then = report(call("a", (1,), (2.5,)), call("b", (3.5,), (4 * (1 + 0.9e-4),)))
    assert messages(same(now, then)) == [
        "the norm of output[0] of a is 2, was 2.5", "the norm of input[0] of b is 3, was 3.5",
    ]  # fmt: skip
    more = report(call("a", (1,), (2, 7)), call("b", (3,), ()))
    assert messages(same(now, more)) == [
        "output[1] of a (Linear) is nothing, was [2] float32",
        "output[0] of b (Linear) is [2] float32, was nothing",
    ]  # fmt: skip


# What every rule shares


def test_of_a_run_that_did_not_finish_only_what_failed_is_told():
    def rows(made, only_failures=False):
        check = CheckSpec("grad_share", {"at": ("l0.*",), "share": 0.1, "within": 2.0})
        check = replace(check, only_failures=only_failures)
        return [(row.status, row.message.partition(",")[0]) for row in all_rows(made, [check])]

    error = replace(deep((3.0, 4.0)), error="any")
    assert [status for status, _ in rows(error)] == ["fail"]
    healthy = replace(deep((1.0, 10.0)), error="any")
    assert rows(healthy) == [("skip", "the run did not finish")]
    assert [status for status, _ in rows(replace(healthy, error=None))] == ["pass"]
    assert rows(replace(healthy, error=None), only_failures=True) == []


# Sentences about the first value that is not finite


OPERATOR = {"nans": 1, "infs": 0, "reason": None, "node": None, "written": "x / y", "facts": {},
            "inputs": [], "from": None, "becomes_nan": None, "place": None, "phase": "forward",
            "layer": "a"}  # fmt: skip


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (1.0, 1.0, "for values from 1 to 1"),
        (-0.0, 999_999.0, "from 0 to 999,999"),
        (0.5, 1e6, "from 0.5 to 1e+06"),
        (-1e6, 2.0, "from -1e+06 to 2"),
    ],
)
def test_figures_are_short(low, high, text):
    value = {**OPERATOR, "inputs": [{"min": low, "max": high}, {"min": None, "max": None}]}
    assert text in explanation(value, inputs=False)
    assert "values" not in explanation(OPERATOR, inputs=False)
    assert "values" not in explanation({**OPERATOR, "inputs": [{"min": 1.0}]}, inputs=False)


@pytest.mark.parametrize(
    ("place", "written", "line"),
    [("m.py:3", "a / b", " at m.py:3"), ("m.py:3", None, ""), (None, "a / b", "")],
)
def test_where_a_value_comes_from_has_a_line_if_an_operator_is_there(place, written, line):
    given = {**OPERATOR, "nans": 0, "infs": 1, "place": place, "written": written}
    text = explanation({**OPERATOR, "from": given}, inputs=False)
    what = f"`{written}`" if written else "outside of torch"
    assert text.endswith(f"; the Inf comes from {what}{line}")
