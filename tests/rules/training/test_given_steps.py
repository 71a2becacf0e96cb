"""What rules over steps say of given trainings: limits from both sides, and whole findings."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hookcli.report.steps import OptimizerInfo, UpdateRow
from hookcli.report.training import FirstNonFinite
from hookcli.rules.judge_training import judge_training
from hookcli.rules.rule import RuleFinding
from hookcli.rules.training.reading import reading
from hookcli.rules.training.series import cancelled, thirds
from hookcli.spec.checks import CheckSpec, Suppression
from tests.comparison.trainings import record, training
from tests.rules.judging import found, only
from tests.rules.training.test_limits import judged, loss_falls, norms, spikes, step, steps_of
from tests.rules.training.test_series import parameter

# Losses and norms


def test_a_loss_that_rises_by_less_than_a_tenth_is_flat():
    assert loss_falls([2.0] * 20, [2.1] * 20).kind == "flat"
    assert loss_falls([2.0] * 20, [2.3] * 20).kind == "rises"


def test_a_loss_of_zero_cannot_fall():
    assert loss_falls([0.0] * 20, [0.0] * 20).status == "skip"


@pytest.mark.parametrize(("third", "status"), [(2.0, "pass"), (1.0, "fail")])
def test_the_last_losses_are_below_each_of_the_first_three(third, status):
    assert loss_falls([2.0, 2.0, third] + [1.0] * 17, [1.5] * 20).status == status


@pytest.mark.parametrize(("count", "status"), [(3, "skip"), (4, "pass")])
def test_a_few_losses_are_enough_to_see_a_clear_fall(count, status):
    losses = steps_of("loss", [1.0 - 1e-3 * i for i in range(count)])
    assert judged("loss_falls", losses).status == status


@pytest.mark.parametrize(("value", "status"), [(49.0, "pass"), (51.0, "fail")])
def test_the_first_three_losses_tell_how_large_a_spike_must_be(value, status):
    losses = [1.0, 100.0, 100.0, *[1.0] * 25, value, value, *[1.0] * 5]
    assert spikes(losses).status == status


def test_norms_explode_at_the_first_step_beyond_the_factor():
    values = [1.0] * 4 + [100.0] + [1.0] * 3 + [500.0] * 4
    first = norms([1.0] * 8 + [500.0] * 4).step
    assert norms(values).step == first  # not that with just the factor


def test_a_scaler_is_known_by_one_step():
    steps = [step(0, skipped=None), step(1, skipped=False)]
    assert judged("skipped_steps", steps).message == "GradScaler skipped 0 of 2 steps"
    assert judged("skipped_steps", steps[:1]).message == "no GradScaler was seen"


def test_thirds_have_one_value_at_least():
    rows = [(i, float(i)) for i in range(5)]
    assert thirds(rows[:2]) == (rows[:1], rows[1:2])
    assert thirds(rows) == (rows[:1], rows[4:])


@pytest.mark.parametrize(
    ("dtype", "share"),
    [("float32", 1e-5), ("float64", 1e-5), ("float16", 1e-2), ("bfloat16", 1e-1)],
)
def test_a_gradient_cancels_below_the_rounding_of_its_dtype(dtype, share):
    for size, names in ((0.99 * share, {"a.bias"}), (share, set()), (1.01 * share, set())):
        rows = parameter("a.weight", 1.0, 1), parameter("a.bias", size, 1, dtype)
        made = replace(record([1.0], {}), parameters=rows)
        assert cancelled(made) == names


# How a record is read


def read(made):
    """The statuses, and the norms of gradients, of the parameters of a record."""
    rows = reading(made, training(made)).parameters
    return {row.name: (row.status, row.grad and row.grad["norm"]) for row in rows}


def with_entries(made, name, *entries):
    """The record, of which a parameter has these gradients: (status, norm)."""
    notes = tuple(
        {"step": i, "status": status, "grad": None if norm is None else {"norm": norm}}
        for i, (status, norm) in enumerate(entries)
    )
    rows = tuple(replace(row, steps=notes) if row.name == name else row for row in made.parameters)
    return replace(made, parameters=rows)


def test_a_gradient_is_that_with_the_median_norm():
    made = record([1.0] * 5, {"a.weight": 1.0})
    entries = [("ok", 9.0), ("ok", 1.0), ("zero", 4.0), ("ok", 5.0), ("ok", None)]
    assert read(with_entries(made, "a.weight", *entries)) == {"a.weight": ("ok", 5.0)}
    assert read(with_entries(made, "a.weight", ("ok", 1.0), ("ok", "inf"), ("ok", 2.0)))[
        "a.weight"
    ] == ("ok", 1.0)


def test_a_parameter_that_changed_got_a_gradient_unless_its_weight_decays():
    for options, status in (({"lr": 0.1}, "ok"), ({"weight_decay": 0.1}, "none")):
        made = record([1.0] * 2, {"a.weight": "none"}, options=options)
        updates = (UpdateRow("a.weight", (1.0,), True),)
        made = replace(made, training=replace(made.training, updates=updates))
        assert read(made)["a.weight"][0] == status
    nothing = replace(made.training, optimizer=None, updates=updates)
    assert read(replace(made, training=nothing))["a.weight"][0] == "none"


@pytest.mark.parametrize(
    ("entries", "skipped", "losses", "status"),
    [
        (["ok", "non_finite", "ok"], (), [1.0] * 3, "non_finite"),
        (["ok", "non_finite", "ok"], (1,), [1.0] * 3, "ok"),
        (["none", "non_finite", "none"], (1,), [1.0] * 3, "ok"),
        (["ok", "non_finite", "ok"], (0,), [1.0] * 3, "non_finite"),
        (["zero", "zero", "non_finite"], (), [1.0, "nan", "nan"], "zero"),
        (["zero", "non_finite", "zero"], (), [1.0, "nan", "nan"], "non_finite"),
        (["none", "none", "zero"], (), [1.0, "nan", "nan"], "zero"),
        (["frozen", "none"], (), [1.0] * 2, "none"),
    ],
)  # fmt: skip
def test_the_status_of_a_parameter_over_its_steps(entries, skipped, losses, status):
    made = with_entries(record(losses, {"a.weight": 1.0}), "a.weight",
                        *((entry, None) for entry in entries))  # fmt: skip
    steps = tuple(replace(row, skipped=row.step in skipped) for row in made.training.steps)
    made = replace(made, training=replace(made.training, steps=steps))
    assert read(made)["a.weight"][0] == status


@pytest.mark.parametrize(("norms_", "most"), [((1.0, 3.0, 2.0), 3.0), ((None, None), 7.0)])
def test_the_norm_of_all_gradients_is_the_largest(norms_, most):
    made = record([1.0] * len(norms_), {})
    steps = tuple(
        replace(row, grad_norm=norm) for row, norm in zip(made.training.steps, norms_, strict=True)
    )
    made = replace(made, training=replace(made.training, steps=steps))
    made = replace(made, totals=replace(made.totals, grad_norm=7.0))
    assert reading(made, training(made)).totals.grad_norm == most


def test_records_that_are_trained_too_are_those_of_the_run():
    one, other = (record([1.0], {}, name=name) for name in ("netG", "netD"))
    run = training(one, other, replace(other, training=None))
    assert reading(one, run).training.together == ("netD",)
    known = replace(one, training=replace(one.training, together=()))
    assert reading(known, run).training.together == ()


def test_a_suppression_names_the_record_only_if_there_are_several():
    made = record([1.0] * 2, {"a.weight": "none", "b.weight": 1.0})
    check = CheckSpec("grad_exists")
    same_name = replace(made, training=replace(made.training, record="a"))
    for at, records, status in (
        ("", [same_name], "fail"),
        ("a", [made], "skip"), ("Net (SGD): a", [made], "fail"),
        ("Net (SGD): a", [made, record([1.0], {}, name="x")], "skip"),
    ):  # fmt: skip
        why = Suppression("grad_exists", at, "old", "c.yaml:1")
        judged_ = judge_training(training(*records), (check,), (why,))
        assert judged_.records[0].checks[0].status == status


def test_each_rule_that_judges_a_run_as_a_whole_is_asked():
    first = FirstNonFinite(
        record="Net", step=7, what="loss", phase="forward", place=None, layer=None, operator=None,
        found_by=None, inputs=(), reason=None,
    )  # fmt: skip
    run = replace(training(record([1.0], {})), first_non_finite=first)
    checks = CheckSpec("loss_falls"), CheckSpec("finite")
    assert [row.rule for row in judge_training(run, checks).checks] == ["finite"]


def test_only_calls_of_the_first_micro_step_are_read():
    made = record([1.0], {"a.weight": 1.0, "b.weight": 1.0})
    root, *others = made.layers
    orphan = replace(others[0], name="c", parent=None)
    layers = (root, orphan, *others, replace(root, order=3, call=1), others[0])
    names = [row.name for row in reading(replace(made, layers=layers), training(made)).layers]
    assert names == ["", "c", "a", "b"]


# Parameters that no step changes, or that no optimizer has

NAMES = ("a.x", "a.y", "a.z", "b.x")


def trained(*names, rates=(0.1, 0.1), statuses=("ok",), **more):
    """A training of parameters that did not change, with these statuses at its steps."""
    made = record([1.0] * 4, dict.fromkeys(names, 1.0))
    for name in names:
        made = with_entries(made, name, *((status, 1.0) for status in statuses))
    steps = tuple(
        replace(row, lr=rate, skipped=False)
        for row, rate in zip(made.training.steps, rates, strict=False)
    )
    updates = tuple(UpdateRow(name, (0.0,), False) for name in names)
    known = {"optimizer": OptimizerInfo("SGD", 4, 0, 1, {}), "updates": updates, "steps": steps}
    return replace(made, training=replace(made.training, **{**known, **more}))


@pytest.mark.parametrize(
    ("statuses", "rates", "kind"),
    [
        (("none", "frozen"), (0.1,), "none"), (("none", "zero", "frozen"), (0.1,), "zero"),
        (("zero",), (0.1,), "zero"), (("ok", "none"), (0.1,), "other"),
        (("ok",), (0.0, 0.0), "lr"), (("ok",), (None, 0.0), "lr"), (("ok",), (None, None), "other"),
        (("ok",), (0.0, 0.1), "other"),
    ],
)  # fmt: skip
def test_why_no_step_changes_a_parameter(statuses, rates, kind):
    made = trained("a.x", statuses=statuses, rates=rates)
    assert only("unchanged_parameters", made).kind == kind


def test_rates_of_steps_that_were_skipped_change_nothing():
    made = trained("a.x", rates=(0.0, 0.1))
    first, second = made.training.steps
    steps = first, replace(second, skipped=True)
    made = replace(made, training=replace(made.training, steps=steps))
    assert only("unchanged_parameters", made).kind == "lr"


def test_parameters_that_do_not_change_are_told_as_one_finding():
    [finding] = found("unchanged_parameters", trained(*NAMES))
    message = (
        "'a.x', 'a.y' and 2 more do not change in 4 steps: gradients reach them, but no update does"
    )
    expected = RuleFinding("fail", "a.x", "other", message, 4, 0, "train.py:11")
    assert replace(finding, advice=None) == expected
    assert only("unchanged_parameters", trained(*NAMES), at=("zz", "b.*")).target == "b.x"


def unheld(*names, statuses=("ok",), **more):
    return trained(*NAMES, statuses=statuses, unheld=names, **more)


def test_parameters_that_no_optimizer_has_are_told_as_one_finding():
    words = "trainable, but in no optimizer: no step changes"
    for names, who, target in (
        (NAMES[:1], "'a.x' is {} it", "a.x"), (NAMES[:2], "'a.x', 'a.y' are {} them", "a.x"),
        (NAMES[:3], "'a.x', 'a.y' and 1 more are {} them", "a.x"),
        (NAMES[2:], "2 parameters of 'a', 'b' are {} them", "a.z"),
    ):  # fmt: skip
        [finding] = found("unheld_parameters", unheld(*names))
        assert (finding.kind, finding.message) == ("unheld", who.format(words))
        assert (finding.target, finding.value, finding.limit) == (target, len(names), 0)
        assert finding.place == "train.py:11"
    assert only("unheld_parameters", unheld(*NAMES), at=("zz", "b.*")).target == "b.x"


def test_parameters_that_get_no_gradient_need_no_optimizer():
    message = "an optimizer has each trainable parameter that gets a gradient"
    healthy = [RuleFinding("pass", "", "", message)]
    for statuses in (("none",), ("none", "zero", "frozen")):
        assert found("unheld_parameters", unheld("a.x", statuses=statuses)) == healthy
    assert found("unheld_parameters", unheld()) == healthy
    assert only("unheld_parameters", unheld("a.x", statuses=("none", "ok"))).status == "fail"
    skip = RuleFinding("skip", "", "", "no optimizer makes steps")
    assert found("unheld_parameters", unheld("a.x", optimizer=None)) == [skip]
