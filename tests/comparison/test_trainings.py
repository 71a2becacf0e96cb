"""Where two trainings part: the first step, and in it the first figure of the computation."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from hookcli.comparison.tolerance import Tolerances
from hookcli.comparison.training.compare_trainings import compare_trainings
from hookcli.comparison.training.figure_limits import compare_figures, rounding
from hookcli.comparison.training.parting import SideNames, how_much, percent, subject
from tests.comparison.trainings import record, training, with_rows

NAMES = ("stem.weight", "body.weight", "head.weight")
LOSSES = [2.0, 1.5, 1.2, 1.0, 0.9, 0.8]


def norms(**steps):
    """Gradients of 0.5 in six steps; `body={3: 0.7}` changes that of one parameter at a step."""
    made = {name: [0.5] * len(LOSSES) for name in NAMES}
    for name, by in steps.items():
        for step, norm in by.items():
            made[f"{name}.weight"][step] = norm
    return made


def losses(**steps):
    return [steps.get(f"at{i}", loss) for i, loss in enumerate(LOSSES)]


def compared(a, b, **tolerances):
    given = tuple(tolerances.items())
    return compare_trainings(training(a), training(b), Tolerances(given))


def test_equal_trainings_are_the_same():
    diff = compared(record(LOSSES, norms()), record(LOSSES, norms()))
    assert (diff.verdict, diff.first, diff.settings, diff.warnings) == ("same", None, (), ())
    assert diff.records[0].status == "same"
    assert diff.records[0].figures == 6 * (2 + 1 + 1 + 1 + len(NAMES))  # forwards, backwards, …


def test_the_gradient_nearest_to_the_loss_is_named_and_the_loss_that_follows():
    b = norms(stem={3: 0.9}, body={3: 0.57})
    diff = compared(record(LOSSES, norms()), record(losses(at4=1.1, at5=1.2), b))
    first = diff.first
    assert (first.figure.step, first.figure.name, first.layer) == (3, "body.weight", "body")
    assert first.place == "train.py:12"
    assert first.sentence == (
        "the trainings part at step 3: the gradient of body.weight differs first "
        "(0.5 in A and 0.57 in B, 14 % > 1 %); the loss follows at step 4"
    )
    assert diff.reasons == ("3 of 6 steps",)
    apart = [row.a for row in diff.records[0].parameters if row.status == "different"]
    assert apart == ["body.weight", "stem.weight"]  # in the order of backward


def test_the_loss_comes_before_the_gradients_of_its_step():
    diff = compared(record(LOSSES, norms()), record(losses(at2=1.3), norms(head={2: 0.9})))
    assert diff.first.figure.kind == "loss"
    assert diff.first.sentence.endswith(
        "the gradient of head.weight is the first to follow, at the same step"
    )


def test_a_difference_within_the_limit_is_not_one_and_is_told_as_where_it_began():
    b = norms(head={1: 0.501, 4: 0.6})
    diff = compared(record(LOSSES, norms()), record(LOSSES, b))
    assert diff.first.figure.step == 4
    assert "smaller differences of at most 0.2 % begin at step 1" in diff.first.meaning
    row = diff.records[0]
    assert (row.first_inexact.step, row.first_inexact.status) == (1, "close")
    close = compared(record(LOSSES, norms()), record(LOSSES, norms(head={1: 0.501})))
    assert (close.verdict, close.records[0].status) == ("same", "close")


def test_a_given_tolerance_replaces_the_default_by_name():
    pair = record(LOSSES, norms()), record(losses(at1=1.505), norms(head={2: 0.501}))
    assert compared(*pair).verdict == "same"
    assert compared(*pair, loss=1e-3).first.figure.kind == "loss"
    assert compared(*pair, **{"head.*": 1e-3}).first.figure.name == "head.weight"
    assert compared(*pair, **{"*": 0.0}).first.figure.step == 1


def test_a_gradient_that_is_zero_but_for_rounding_does_not_differ():
    a, b = norms(stem={2: 1e-9}), norms(stem={2: 4e-9})
    diff = compared(record(LOSSES, a), record(LOSSES, b))
    assert (diff.verdict, diff.records[0].status) == ("same", "close")
    assert compared(record(LOSSES, a), record(LOSSES, b), **{"*": 0.5}).verdict == "different"


def test_a_missing_gradient_differs_from_one_of_any_size():
    cut = norms(stem=dict.fromkeys(range(6), "none"))
    diff = compared(record(LOSSES, norms()), record(LOSSES, cut))
    figure = diff.first.figure
    assert (figure.step, figure.name, figure.a, figure.b) == (0, "stem.weight", 0.5, "none")
    assert diff.first.sentence.endswith("(0.5 in A and none in B); the loss does not follow")


@pytest.mark.parametrize(("a", "b", "same"), [("nan", "nan", True), ("nan", 2.0, False)])
def test_nan_equals_nan_only(a, b, same):
    diff = compared(record(losses(at0=a), norms()), record(losses(at0=b), norms()))
    assert (diff.verdict == "same") is same


def test_a_learning_rate_differs_by_any_amount():
    b = record(LOSSES, norms(), lr=[0.1] * 5 + [0.1001])
    diff = compared(record(LOSSES, norms()), b)
    assert (diff.first.figure.kind, diff.first.figure.step) == ("lr", 5)
    assert "(0.1 in A and 0.1001 in B)" in diff.first.sentence


def test_weights_that_no_step_changed_have_the_limit_of_their_dtype():
    a, b = (
        with_rows(record(LOSSES, norms()), weight_norm={0: first, 1: second})
        for first, second in ((10.0, 10.0), (10.01, 10.01))
    )
    diff = compared(a, b)
    assert (diff.first.figure.kind, diff.first.figure.step) == ("weight_norm", 0)
    assert "the seed" in diff.first.meaning


def test_thinned_and_unsampled_steps_are_compared_as_far_as_both_have_them():
    a = record(LOSSES, norms(), sampled=(0, 1, 5), thin=(2,))
    b = record(losses(at4=2.0, at5=2.0), norms(), sampled=(0, 2, 5), thin=(3,))
    diff = compared(a, b)
    row = diff.records[0]
    assert [step.step for step in row.rows] == [0, 1, 4, 5]
    assert row.sampled == (0, 5)
    assert diff.first.figure.step == 4
    assert diff.first.advice == ("run both scripts with `hookcli run --steps 3-4` to see the layer")


def test_another_number_of_steps_is_told_and_is_no_difference():
    diff = compared(record(LOSSES, norms()), record(LOSSES[:3], norms(), sampled=(0, 1, 2)))
    assert diff.verdict == "same"
    assert diff.warnings == (
        "Net (SGD) has 6 steps in A and 3 in B: only steps of both are compared",
    )
    assert [(s.name, s.a, s.b) for s in diff.settings] == [("steps", "6", "3")]


def test_records_are_matched_by_name_then_types():
    generator = record(LOSSES, norms(), name="netG", root="G", optimizer="Adam")
    critic = record(LOSSES, norms(), name="netD", root="D", optimizer="Adam")
    renamed = record(losses(at1=9.0), norms(), name="critic", root="D", optimizer="Adam")
    diff = compare_trainings(training(generator, critic), training(renamed, generator))
    assert [(r.a, r.b, r.matched) for r in diff.records] == [
        ("netG", "netG", "name"),
        ("netD", "critic", "type"),
    ]
    assert diff.first.sentence.startswith("the trainings part at step 1 of netD: the loss")
    alone = compare_trainings(training(generator, critic), training(generator))
    assert (alone.verdict, alone.reasons) == ("different", ("record netD only in A",))


def test_settings_that_differ_are_told_and_are_no_difference():
    a = training(record(LOSSES, norms(), options={"momentum": 0.9}), arguments=["--seed", "1"])
    b = training(record(LOSSES, norms(), options={"momentum": 0.5}), arguments=["--seed", "2"])
    diff = compare_trainings(a, b)
    assert diff.verdict == "same"
    assert [(s.name, s.a, s.b) for s in diff.settings] == [
        ("arguments", "--seed 1", "--seed 2"),
        ("optimizer momentum", "0.9", "0.5"),
    ]


def test_a_layer_of_another_type_and_a_parameter_without_counterpart_are_told():
    a = record(LOSSES, norms())
    layers = tuple(replace(r, type="GELU") if r.name == "body" else r for r in a.layers)
    b = replace(a, layers=layers, parameters=a.parameters[:2])
    diff = compared(a, b)
    assert [(s.name, s.a, s.b) for s in diff.settings] == [
        ("layer body", "Linear", "GELU"),
        ("parameter head.weight", "float32 [4, 4]", None),
    ]
    assert diff.reasons == ("1 parameter without a counterpart of the same shape",)


def test_a_run_that_failed_differs_from_one_that_did_not():
    row = record(LOSSES, norms())
    diff = compare_trainings(training(row), training(row, ended="exception"))
    assert diff.reasons == ("B ended by an exception",)


# Figures: what differs, and by how much


F16, F32 = 2e-3, 2e-6  # what one operation may round, relative


@pytest.mark.parametrize(
    ("pair", "limit", "least", "expected"),
    [
        ((2.0, 2.0), 0.0, 0.0, (0.0, "same")),
        ((2.0, 2.5), 0.25, 0.0, (0.25, "close")),
        ((2.0, 2.5), 0.2499, 0.0, (0.25, "different")),
        ((-2.0, -2.5), 0.25, 0.0, (0.25, "close")),
        ((-2.0, 2.0), 1.99, 0.0, (2.0, "different")),
        ((2.0, 2.5), 0.0, 0.5, (0.25, "close")),  # rounding beside larger figures
        ((2.0, 2.5), 0.0, 0.499, (0.25, "different")),
        ((0, 3), 0.0, 0.0, ("inf", "different")),
        ((1e-300, 1e300), 0.0, 0.0, ("inf", "different")),
        ((None, 1.0), 0.0, 0.0, (None, "unknown")),
        ((1.0, None), 0.0, 0.0, (None, "unknown")),
        ((None, None), 0.0, 0.0, (None, "unknown")),
        (("nan", "nan"), 0.0, 0.0, (0.0, "same")),
        (("inf", 1.0), 9.0, 9.0, (None, "different")),
        ((1.0, "inf"), 9.0, 9.0, (None, "different")),
        ((False, True), 9.0, 9.0, (None, "different")),
    ],
)
def test_a_figure_differs_by_more_than_its_limit_and_than_rounding(pair, limit, least, expected):
    figure = compare_figures(1, "loss", "loss", None, pair, (limit, False), least)
    assert (figure.relative, figure.status) == expected
    assert (figure.a, figure.b, figure.limit) == (*pair, limit)


def test_rounding_does_not_excuse_a_difference_over_a_limit_that_the_user_gave():
    figure = compare_figures(1, "loss", "loss", None, (2.0, 2.5), (0.1, True), 9.0)
    assert figure.status == "different"


@pytest.mark.parametrize(
    ("dtypes", "size", "least"),
    [
        (("float32", "float32"), 10.0, F32 * 10),
        (("float32", "float16"), 10.0, F16 * 10),  # of the coarser one
        (("float16", "int64"), 10.0, F16 * 10),
        ((None, "int64"), 10.0, F32 * 10),
        (("float16",), math.inf, 0.0),
        (("float16",), math.nan, 0.0),
    ],
)
def test_rounding_is_relative_to_the_largest_figure(dtypes, size, least):
    assert rounding(dtypes, size) == least


@pytest.mark.parametrize(
    ("pair", "text"),
    [
        ((0.41, 0.57), "0.41 in A and 0.57 in B"),
        ((0.123456, 0.2), "0.1235 in A and 0.2 in B"),
        ((1.0000134, 1.0000276), "1.00001 in A and 1.00003 in B"),
        ((1.00000001234, 1.00000004321), "1.00000001 in A and 1.00000004 in B"),
        ((1.0, math.nextafter(1.0, 2.0)), "1 in A and 1.0000000000000002 in B"),
        ((0.0, "nan"), "0 in A and nan in B"),
        ((False, True), "no in A and yes in B"),
        (("none", None), "none in A and unknown in B"),
        ((3, 4), "3 in A and 4 in B"),
    ],
)
def test_values_are_told_with_as_many_digits_as_tell_them_apart(pair, text):
    figure = compare_figures(1, "loss", "loss", None, pair, (0.0, False))
    assert how_much(figure, SideNames()) == text
    named = how_much(figure, SideNames("before", "after"))
    assert named == text.replace("A", "before").replace("B", "after")


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (0.00013, "0.013 %"), (0.094, "9.4 %"), (0.0999, "10 %"), (0.39, "39 %"),
        (0.994, "99 %"), (0.996, "100 %"),
        (1.0, "100 %"), (1.996, "200 %"), (12.345, "1234 %"), ("inf", "inf %"),
    ],
)  # fmt: skip
def test_percents_have_no_exponent_of_ten(ratio, text):
    assert percent(ratio) == text


@pytest.mark.parametrize(
    ("kind", "name", "phase", "text"),
    [
        ("weight_norm", None, "weights", "the norm of the weights"),
        ("skipped", None, "optimizer", "whether the optimizer skipped the step"),
        ("event", "0:output (forward)", "forward", "the value at 0:output (forward)"),
        ("event", "0:output (tensor)", "backward", "the gradient at 0:output (tensor)"),
        ("output", "", "forward", "the norm of the model"),
        ("shape", "fc:input", "forward", "the shape of fc:input"),
        ("update_ratio", "fc.bias", "optimizer", "the update of fc.bias"),
    ],
)
def test_a_figure_has_a_name_in_sentences(kind, name, phase, text):
    assert subject(compare_figures(0, phase, kind, name, (1.0, 2.0), (0.0, False))) == text


# What follows from the figures before


def changed(field, at, value, **more):
    """A pair of records of which the second has one other figure."""
    other = record(LOSSES, norms(), **more)
    return record(LOSSES, norms()), with_rows(other, **{field: {at: value}})


def meaning(a, b, **tolerances):
    return compared(a, b, **tolerances).first.meaning


def test_differences_that_came_near_the_limit_have_grown():
    begin = "smaller differences of at most {} begin at step 1 with the gradient of head.weight"
    equal = "; the loss is equal: the difference arises in backward, or between it and the step"
    for at1, at4, size, grown in (
        (0.50075, 0.54, "0.15 %", ", and grow slowly"),  # 15 % of the limit, then 8 times the limit
        (0.50045, 0.54, "0.09 %", ""),
        (0.50075, 0.56, "0.15 %", ""),
        (0.5, 0.54, None, ""),
    ):
        b = record(LOSSES, norms(head={1: at1, 4: at4}))
        told = equal.removeprefix("; ") if size is None else begin.format(size) + grown + equal
        assert meaning(record(LOSSES, norms()), b) == told
    for at4, grown in ((2.9, True), (3.0, False)):  # ten times the limit is too much at once
        b = record(LOSSES, norms(head={1: 0.625, 4: at4}))
        told = meaning(record(LOSSES, norms()), b, **{"head.*": 0.5, "grad_norm": 0.5})
        assert ("and grow slowly" in told) is grown


def test_a_difference_of_a_tenth_of_the_limit_is_not_near_it():
    for at1, grown in ((1.0625, False), (1.0626, True)):
        a, b = norms(head={1: 1.0}), norms(head={1: at1, 4: 0.9})
        given = {"head.*": 0.625, "grad_norm": 0.9}
        told = meaning(record(LOSSES, a), record(LOSSES, b), **given)
        assert ("and grow slowly" in told) is grown


def test_rounding_of_a_zero_has_no_size_that_is_told():
    a, b = norms(stem={1: 0.0}), norms(stem={1: 1e-9}, head={4: 0.9})
    diff = compared(record(LOSSES, a), record(LOSSES, b))
    assert diff.records[0].largest_before == 0.0
    assert diff.first.meaning.startswith(
        "smaller differences begin at step 1 with the gradient of stem.weight; the loss is equal"
    )


def test_a_difference_that_begins_in_its_own_step_has_not_grown():
    b = record(losses(at4=0.905), norms(head={4: 0.51}))
    assert meaning(record(LOSSES, norms()), b) == (
        "smaller differences of at most 0.56 % begin at step 4 with the loss; all figures before "
        "are equal: the last update, the batch, random numbers or the forward differ"
    )


def test_a_count_that_differs_has_no_size_that_could_have_grown():
    a, b = changed("forwards", 2, 3)
    assert compared(a, b).first.figure.relative == 2.0
    assert "all figures before are equal" in meaning(a, b)
    grown = with_rows(record(LOSSES, norms(head={1: 0.504})), forwards={2: 3})
    assert "slowly" not in meaning(a, grown)


@pytest.mark.parametrize(
    ("field", "at", "value", "text"),
    [
        ("weight_norm", 0, 20.0, "the models start with different weights"),
        ("weight_norm", 2, 20.0, "the weights changed differently after the step before"),
        ("loss", 0, 9.0, "equal: the batch, random numbers or the forward differ"),
        ("forwards", 3, 2, "equal: the batch, random numbers or the forward differ"),
        ("lr", 3, 0.2, "the learning rate or its schedule differs"),
        ("grad_norm", 3, 9.0, "the loss is equal: the difference arises in backward"),
        ("backwards", 3, 2, "the loss is equal: the difference arises in backward"),
        ("skipped", 3, True, "the gradients are equal: the optimizer or its options differ"),
        ("scale", 3, 9.0, "the gradients are equal: the optimizer or its options differ"),
        ("update_norm", 3, 9.0, "the gradients are equal: the optimizer or its options differ"),
    ],
)
def test_the_cause_is_what_comes_after_the_last_equal_figure(field, at, value, text):
    known = {"weight_norm": 10.0, "scale": 1.0, "skipped": False, "update_norm": 1.0}
    a = with_rows(
        record(LOSSES, norms()), **{key: dict.fromkeys(range(6), v) for key, v in known.items()}
    )
    diff = compared(a, with_rows(a, **{field: {at: value}}))
    assert (diff.first.figure.kind, diff.first.figure.step) == (field, at)
    assert text in diff.first.meaning
    assert diff.reasons == ("1 of 6 steps",)
    assert diff.records[0].different == 1
    row = diff.records[0].rows[at]
    assert (row.step, row.status, row.different) == (at, "different", 1)
    assert sum(other.status == "same" for other in diff.records[0].rows) == 5


def test_without_the_figure_before_no_cause_is_told():
    a, b = changed("grad_norm", 3, 9.0)
    assert meaning(with_rows(a, loss={3: None}), with_rows(b, loss={3: None})) is None
    a, b = changed("update_norm", 3, 9.0)
    a = with_rows(a, update_norm={3: 1.0})
    assert "the gradients are equal" in meaning(a, b)
    assert meaning(with_rows(a, grad_norm={3: None}), b) is None


def test_a_loss_that_may_hide_a_tiny_difference_is_not_said_to_be_equal():
    for factor, tells in ((1 + 0.9e-5, False), (1 + 1.1e-5, True)):
        b = norms(head={3: 0.5 * factor, 4: 0.7})
        told = meaning(record(LOSSES, norms()), record(LOSSES, b))
        assert ("the loss is equal" in told) is tells
    exact = norms(head={4: 0.7}), norms(head={4: 0.9})
    for norm, other in zip((1e5, 100_001.0), exact, strict=True):
        other["head.weight"][3] = norm
    assert "the loss is equal" in meaning(*(record(LOSSES, given) for given in exact))


@pytest.mark.parametrize(
    ("at", "text"),
    [(0, "the weights, the batch, random numbers"), (1, "the last update, the batch, random")],
)
def test_weights_that_nobody_measured_may_be_what_differs(at, text):
    a, b = changed("loss", at, 9.0)
    known = {"weight_norm": {at: 1.0}}
    for ours, theirs in ((a, b), (with_rows(a, **known), b), (a, with_rows(b, **known))):
        assert text in meaning(ours, theirs)
    assert text not in meaning(with_rows(a, **known), with_rows(b, **known))


def test_a_loss_that_nobody_knows_is_not_said_to_follow_or_not():
    unknown = [None] * 6
    diff = compared(record(unknown, norms()), record(unknown, norms(head={5: 0.9})))
    assert diff.first.sentence.endswith("(0.5 in A and 0.9 in B, 80 % > 1 %)")
    last = [None] * 5 + [1.0]
    for at in (5, 3):
        diff = compared(record(last, norms()), record(last, norms(head={at: 0.9})))
        assert diff.first.sentence.endswith("; the loss does not follow")


def test_a_step_that_was_not_observed_in_detail_has_an_advice():
    some = {"sampled": (1, 2)}
    for at, advice in ((0, "--steps 0`"), (2, None), (4, "--steps 3-4`")):
        a = record(LOSSES, norms(), **some)
        first = compared(a, record(losses(**{f"at{at}": 9.0}), norms(), **some)).first
        told = advice and f"run both scripts with `hookcli run {advice} to see the layer"
        assert first.advice == told
    a, b = changed("lr", 4, 9.0, **some)
    assert compared(with_rows(a), b).first.advice is None
