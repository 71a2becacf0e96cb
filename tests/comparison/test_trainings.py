"""Where two trainings part: the first step, and in it the first figure of the computation."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hookcli.comparison.tolerance import Tolerances
from hookcli.comparison.trainings.compare_trainings import compare_trainings
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
