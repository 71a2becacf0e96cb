"""The limits of rules over steps, each from both sides, against its formula written out by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from hookcli.rules.catalogue import CATALOGUE
from hookcli.rules.rule import RuleFinding

PLACE, OPTIMIZER, BACKWARD, STEP = "net.py:7", "train.py:2", "train.py:4", "train.py:5"
LINES = SimpleNamespace(optimizer=OPTIMIZER, backward=BACKWARD, step=STEP)


def step(number, **figures):
    empty = dict.fromkeys(("loss", "grad_norm", "lr", "scale", "skipped", "missing"))
    empty |= {"update_ratio": None, "backwards": 1}
    return SimpleNamespace(
        step=number, **{**empty, "sampled": False, "largest_lr": None, **figures}
    )


def steps_of(figure, values, first=0):
    return [step(first + i, **{figure: value}) for i, value in enumerate(values)]


def judged(rule, steps, options=(), **more):
    """The only finding of a rule for a training with these steps."""
    more = {
        "total": len(steps),
        "skipped": 0,
        "together": (),
        "optimizer": None,
        "unheld": (),
        **more,
    }
    report = SimpleNamespace(
        training=SimpleNamespace(
            **{
                "unwatched": None,
                "settings": None,
                "graphless": 0,
                "samples": None,
                "steps": steps,
                "lines": LINES,
                **more,
            }
        ),
        model=SimpleNamespace(place=PLACE),
        parameters=more.pop("parameters", ()),
        layers=more.pop("layers", ()),
        uncalled=(),
        measurements=more.pop("measurements", ()),
    )
    (finding,) = CATALOGUE[rule].judge(report, CATALOGUE[rule].filled(dict(options)))
    return finding


def loss_falls(early, late, between=(1.0,) * 20, **more):
    """The finding for 20 losses, others, and the last 20."""
    assert len(early) == len(late) == len(between) == 20
    return judged("loss_falls", steps_of("loss", [*early, *between, *late]), **more)


def test_at_least_60_losses_are_needed():
    assert judged("loss_falls", steps_of("loss", [1.0] * 59)).message == (
        "the losses of 59 steps are known, at least 60 are needed"
    )
    constant = judged("loss_falls", steps_of("loss", [1.0] * 60, first=5))
    assert (constant.status, constant.kind, constant.place) == ("fail", "constant", OPTIMIZER)
    assert (constant.value, constant.limit) == (1.0, 1.0)
    assert constant.message == "the loss is 1 at each of 60 steps"
    assert judged("loss_falls", steps_of("loss", [1.0] * 9), {"steps": 9}).kind == "constant"


@pytest.mark.parametrize(("lowest", "status"), [(0.0, "fail"), (-1e-9, "skip")])
def test_a_loss_below_zero_has_no_floor(lowest, status):
    assert loss_falls([1.0] * 20, [1.0] * 20, [lowest, *[1.0] * 19]).status == status


def test_a_training_in_turn_is_skipped():
    found = loss_falls([1.0] * 20, [1.0] * 20, together=("a", "b"))
    assert (found.status, found.message[:13]) == ("skip", "'a, b' is tra")


@pytest.mark.parametrize(("below", "status"), [(18, "pass"), (17, "fail")])
def test_a_loss_that_reaches_its_floor_early_is_below_the_first_three_in_nine_of_ten(below, status):
    late = [1.99] * below + [3.0] * (20 - below)
    found = loss_falls([2.0] * 3 + [1.95] * 17, late)
    assert found.status == status
    if status == "pass":
        assert found.message == "the loss falls from 1.95 to 1.99"


@pytest.mark.parametrize(
    ("median", "kind", "message"),
    [
        (0.949, "", "the loss falls from 1 to 0.949"),
        (0.95, "little", "the loss falls by 5 % only: "),
        (0.99, "little", "the loss falls by 1 % only: "),
        (0.991, "flat", "the loss does not fall: "),
    ],
)
def test_a_median_that_falls_by_five_percent(median, kind, message):
    late = [median - 0.01] * 9 + [median] * 2 + [1.05] * 9
    found = loss_falls([0.5] * 3 + [1.0] * 17, late)
    assert (found.kind, found.severity) == (kind, "note" if kind == "little" else None)
    if kind:
        assert (found.value, found.limit) == (median, 1.0)
        message += f"median 1 in the first third of 60 steps, {median:.4g} in the last"
    assert found.message == message


@pytest.mark.parametrize(("steps", "kind"), [(199, "little"), (200, "flat")])
def test_a_small_fall_to_a_guess_is_told_from_200_steps_on(steps, kind):
    third, guess = steps // 3, math.log(4)
    early = [0.5 * guess] * 3 + [1.02 * guess] * (third - 3)
    late = [0.9 * guess] * (third // 2 - 1) + [guess] * 2
    late += [1.2 * guess] * (third - len(late))
    losses = [*early, *[guess] * (steps - 2 * third), *late]
    classes = SimpleNamespace(probe="loss_classes", value=4)
    found = judged("loss_falls", steps_of("loss", losses), measurements=(classes,))
    assert found.kind == kind
    assert ("as of a guess" in found.message) == (kind == "flat")


# The rank statistic of 20 and 20 values: 400 pairs, and this deviation of their share.
DEVIATION = math.sqrt((20 + 20 + 1) / (12 * 20 * 20))


@pytest.mark.parametrize("wins", [247, 248])
def test_late_losses_that_are_below_early_ones_by_more_than_chance(wins):
    assert 247 / 400 < 0.5 + 1.28 * DEVIATION < 248 / 400
    beaten = wins - 12 * 20
    found = loss_falls([1.005] * beaten + [1.0] * (20 - beaten), [0.99] * 12 + [1.003] + [1.01] * 7)
    assert found.status == ("pass" if wins == 248 else "fail")


@pytest.mark.parametrize("wins", [89, 90])
def test_a_loss_rises_by_more_than_chance(wins):
    assert 89 / 400 < 0.5 - 3 * DEVIATION < 90 / 400
    beaten = wins - 4 * 20
    found = loss_falls([1.05] * beaten + [1.0] * (20 - beaten), [0.5] * 4 + [1.02] + [1.2] * 15)
    assert found.kind == ("rises" if wins == 89 else "flat")
    assert found.value == 1.2
    assert found.limit == (1.0 if wins == 89 else 1.025)


@pytest.mark.parametrize(("last", "kind"), [(1.1 * 1.0, "flat"), (1.101, "rises")])
def test_a_loss_that_rises_does_so_by_a_tenth(last, kind):
    found = loss_falls([1.0] * 20, [last] * 20)
    assert (found.kind, found.value, found.limit, found.place) == (kind, last, 1.0, OPTIMIZER)


@pytest.mark.parametrize(("share", "status"), [(0.999, "fail"), (1.001, "skip")])
def test_a_fall_that_could_not_be_seen_is_skipped(share, status):
    """The standard error of the difference of two medians, of 20 values each."""
    error_of_one = math.sqrt(math.pi / 2 * (1 / 20 + 1 / 20)) * 1.4826
    distance = share * 0.05 / (1.28 * error_of_one)
    found = loss_falls([1.0] * 20, [1 - distance, 1 + distance] * 10)
    assert found.status == status


def spikes(losses, options=(), first=0, **more):
    return judged("loss_spikes", steps_of("loss", losses, first), options, **more)


def test_a_spike_needs_twenty_losses_before_it_and_one_after_it():
    assert spikes([1.0] * 21).message == (
        "the losses of 21 steps are known, at least 22 are needed"
    )
    assert spikes([1.0] * 22).message == "no spike in 22 losses"
    assert spikes([1.0] * 19 + [9.0] * 2 + [1.0] * 9).status == "pass"
    assert spikes([1.0] * 20 + [9.0] * 2 + [1.0] * 9).step == 20
    assert spikes([1.0] * 28 + [9.0] * 2, first=100).step == 128
    assert spikes([1.0] * 29 + [9.0]).status == "pass"
    assert spikes([1.0] * 20 + [9.0, 1.0, 9.0, 1.0, 1.0]).status == "pass"


@pytest.mark.parametrize(("value", "status"), [(2.99, "pass"), (3.01, "fail")])
def test_a_spike_is_three_times_the_usual_loss(value, status):
    assert spikes([1.0] * 20 + [value] * 2).status == status
    assert spikes([1.0] * 20 + [value * 2] * 2, {"factor": 6}).status == status


@pytest.mark.parametrize(("share", "status"), [(0.99, "pass"), (1.01, "fail")])
def test_a_spike_is_ten_deviations_above_the_usual_loss(share, status):
    """The logarithms are 0.1 and -0.1, so their median is 0 and the median distance is 0.1."""
    before = [math.exp(0.1), math.exp(-0.1)] * 10
    value = math.exp(share * 10 * 1.4826 * 0.1)
    assert spikes(before + [value] * 2).status == status
    value = math.exp(share * 20 * 1.4826 * 0.1)
    assert spikes(before + [value] * 2, {"deviations": 20}).status == status


@pytest.mark.parametrize(("value", "status"), [(5.0, "pass"), (5.01, "fail")])
def test_a_spike_is_above_half_of_the_median_of_the_first_three_losses(value, status):
    assert spikes([10.0, 10.0, 1.0] + [1.0] * 17 + [value] * 2).status == status


def test_losses_of_zero_are_not_compared_with():
    zero = [0.0] + [1.0] * 20
    assert spikes(zero + [9.0] * 2).step == 21
    assert spikes([0.0] + [1.0] * 19 + [9.0, 9.0, 1.0, 1.0]).status == "pass"


def test_a_spike_has_its_size_and_tells_whether_the_loss_returns():
    plain, spike = [1.0] * 20, [4.0, 4.0]
    top = spikes([*plain, *spike, *[3.5] * 17, 6.0, 9.0, 3.0])
    assert top == RuleFinding(
        "fail", "", "spike", "the loss jumps from 1 to 6 at step 20", 6.0, 1.0, OPTIMIZER,
        advice=top.advice, step=20,
    )  # fmt: skip
    stays = spikes([*plain, *spike, *[3.01] * 9])
    assert stays.message == "the loss jumps from 1 to 4 at step 20 and does not return"


def norms(values, options=(), **more):
    return judged("grad_norm_grows", steps_of("grad_norm", values, first=3), options, **more)


def test_at_least_six_norms_above_zero_are_needed():
    assert norms([1.0] * 2 + [0.0] + [1e3] * 3).message == (
        "the gradient norms of 5 steps are known, at least 6 are needed"
    )
    assert norms([0.5] * 3 + [1e3] * 3).status == "fail"


def spike(values, options=(), **more):
    return judged("grad_norm_spikes", steps_of("grad_norm", values, first=3), options, **more)


def test_a_spike_of_the_norm_needs_ten_norms_above_zero():
    assert spike([0.5] * 8 + [0.0, 1e3]).message == (
        "the gradient norms of 9 steps are known, at least 10 are needed"
    )
    assert spike([0.5] * 9 + [1e3]).status == "fail"


@pytest.mark.parametrize(("top", "status"), [(50.0, "pass"), (50.1, "fail")])
def test_a_norm_a_hundred_times_the_usual_ones_is_a_spike(top, status):
    found = spike([0.5] * 10 + [top] + [0.5] * 9)
    assert (found.status, found.value, found.limit) == (status, top / 0.5, 100)
    assert spike([0.5] * 10 + [top / 10] + [0.5] * 9, {"factor": 10}).status == status
    if status == "fail":
        assert (found.step, found.place, found.kind) == (13, STEP, "spike")
        assert found.message == (
            "the norm of all gradients is 50.1 at step 13, and at most 0.5 in usual steps"
        )


def test_the_first_five_norms_are_usual_and_further_spikes_are_listed():
    assert spike([0.5] * 4 + [99.0] + [0.5] * 9 + [99.0 * 100]).status == "pass"
    assert spike([0.5] * 4 + [99.0] + [0.5] * 9 + [99.0 * 101]).status == "fail"
    assert spike([0.5] * 20 + [60.0, 0.5, 70.0]).message.endswith("; also at step 25")


@pytest.mark.parametrize(("last", "status"), [(50.0, "pass"), (50.1, "fail")])
def test_norms_that_grow_by_a_factor_of_a_hundred(last, status):
    found = norms([0.5] * 4 + [70.0] + [last] * 3)
    assert (found.status, found.value, found.limit) == (status, last / 0.5, 100)
    assert norms([0.5] * 3 + [last / 10] * 3, {"factor": 10}).status == status
    if status == "fail":
        assert (found.step, found.place, found.kind) == (7, OPTIMIZER, "grows")
        assert found.message == (
            "the norm of all gradients explodes: 0.5 in the first third of steps, 50.1 in the last"
        )
    else:
        assert found.message == "the norm of all gradients goes from 0.5 to 50"


@pytest.mark.parametrize(("small", "status"), [(1, "fail"), (2, "pass")])
def test_nine_of_ten_late_norms_are_larger(small, status):
    assert norms([1.0] * 20 + [0.5] * small + [1e3] * (10 - small)).status == status


def test_norms_end_before_a_value_that_is_not_finite():
    found = norms([1.0] * 3 + [1e3] * 3 + ["inf"])
    assert found.message.endswith("1e+03 in the last; at step 9 it is not finite")


def rates(values, options=(), **more):
    return judged("learning_rate", steps_of("lr", values, first=1000), options, **more)


@pytest.mark.parametrize(("zeros", "status"), [(5, "pass"), (6, "fail")])
def test_a_learning_rate_of_zero_in_half_of_the_steps(zeros, status):
    found = rates([0.1] * (10 - zeros) + [0.0] * zeros, total=1010)
    assert found.status == status
    if status == "fail":
        assert (found.value, found.limit, found.step) == (6, 0.5, 1004)
        assert (found.place, found.cause) == (OPTIMIZER, "learning_rate_zero")
        assert found.message == ("the learning rate is 0 in 6 of 10 steps, from step 1,004")
    else:
        assert found.message == "the learning rate is between 0 and 0.1"
    assert rates([0.1] * (20 - zeros) + [0.0] * zeros, {"share": 0.25}, total=1020).status == status


@pytest.mark.parametrize(("rate", "status"), [(2e-8, "fail"), (2.1e-8, "pass")])
def test_a_rate_below_a_part_of_the_largest_is_none(rate, status):
    assert rates([2.0, rate, -rate], total=1003).status == status


def test_one_step_without_a_rate_is_a_warm_up():
    assert rates([0.0], total=1001).status == "pass"
    found = rates([0.0, 0.0], total=1002)
    assert (found.status, found.step) == ("fail", 1000)
    assert found.message == "the learning rate is 0 in all 2 steps: they change no parameter"
    assert rates([None], total=1001).message == "no learning rate is known"


def test_a_known_step_stands_for_those_up_to_the_next_one():
    steps = [step(0, lr=0.0), step(4, lr=1.0), step(6, lr=1.0)]
    assert judged("learning_rate", steps, total=8).status == "pass"
    found = judged("learning_rate", [step(0, lr=0.0), step(5, lr=1.0)], total=9)
    assert found.value == 5
    assert judged("learning_rate", [step(0, lr=1.0), step(4, lr=0.0)], total=9).value == 5


@pytest.mark.parametrize(
    ("count", "total", "status"),
    [(16, 20, "pass"), (17, 20, "fail"), (40, 200, "pass"), (41, 200, "fail")],
)
def test_the_scaler_skips_sixteen_steps_or_a_fifth(count, total, status):
    found = judged("skipped_steps", [step(0), step(1, skipped=False)], skipped=count, total=total)
    assert (found.status, found.limit) == (status, 0.2)
    if status == "fail":
        assert (found.value, found.kind, found.place) == (count / total, "skipped", STEP)
        assert found.message == (
            f"GradScaler skipped {count} of {total} steps: they change nothing"
        )
    else:
        assert found.value == count
        assert found.message == f"GradScaler skipped {count} of {total} steps"


def test_without_a_scaler_nothing_is_skipped():
    for rule in ("skipped_steps", "loss_scale"):
        assert judged(rule, [step(0), step(1)]).message == "no GradScaler was seen"
    assert judged("skipped_steps", [step(0)], skipped=1, total=2).status == "pass"


def test_the_scale_of_the_loss_is_at_least_one():
    assert judged("loss_scale", steps_of("scale", [4.0, 1.0, 2.0])).message == (
        "the scale of the loss is at least 1"
    )
    found = judged("loss_scale", steps_of("scale", [None, 4.0, 0.5, 0.25, 2.0], first=10))
    assert (found.value, found.limit, found.step, found.place) == (0.5, 1.0, 12, STEP)
    assert found.message.startswith("the scale of the loss collapses from 4 to 0.25: gradients")
    assert judged("loss_scale", steps_of("scale", [1.0]), {"least": 2}).status == "fail"


def test_the_first_step_that_is_not_finite():
    steps = [step(0, loss=2.0, grad_norm=1.0), step(1, loss=1.5), step(2, loss="nan")]
    found = judged("finite_steps", steps)
    assert found == RuleFinding(
        "fail", "", "loss", "the loss is nan at step 2; at step 1 it was 1.5", "nan", 0, PLACE,
        cause="finite", step=2, advice=found.advice,
    )  # fmt: skip
    steps = [step(0, loss=2.0, grad_norm=1.0), step(1, loss=1.5, grad_norm="inf")]
    found = judged("finite_steps", steps)
    assert (found.kind, found.value, found.step) == ("gradient", "inf", 1)
    assert found.message == "the norm of all gradients is inf at step 1; at step 0 it was 1"
    assert judged("finite_steps", [step(0, loss="inf")]).message == "the loss is inf at step 0"


def test_what_is_known_and_finite_is_counted():
    assert judged("finite_steps", [step(0)]).message == (
        "no loss and no gradient norm of a step is known"
    )
    assert judged("finite_steps", [step(0, loss=1.0), step(1, loss=1.0)]).message == (
        "2 losses and 0 gradient norms are finite"
    )
    assert judged("finite_steps", [step(0, grad_norm=1.0)]).status == "pass"
    assert judged("finite_steps", [step(0, loss=1.0)]).status == "pass"


def optimizer_steps(total, changed, **more):
    updates = [SimpleNamespace(changed=value) for value in changed]
    return judged(
        "optimizer_steps", [], total=total, updates=updates, **{"unit": "backward", **more}
    )


def test_two_backward_passes_without_a_step_are_a_mistake():
    found = optimizer_steps(2, [None, False])
    assert (found.status, found.value, found.limit, found.place) == ("fail", 0, 1, BACKWARD)
    assert found.message == ("2 backward passes, but no step of an optimizer: no parameter changes")
    assert optimizer_steps(1, [False]).message == "no two backward passes were compared"
    assert optimizer_steps(2, [None]).status == "skip"
    assert optimizer_steps(2, [False, True]).message == (
        "parameters are changed without an optimizer"
    )


def test_steps_of_an_optimizer_are_those_that_were_not_skipped():
    one = optimizer_steps(3, [], unit="optimizer", skipped=2)
    assert (one.status, one.message) == ("pass", "1 step of the optimizer")
    none = optimizer_steps(3, [], unit="optimizer", skipped=3)
    assert (none.status, none.message) == ("skip", "no step")


@pytest.mark.parametrize(("others", "end"), [((), ""), (("a",), ": it called 1 model")])
def test_a_script_that_trains_nothing(others, end):
    judge = CATALOGUE["optimizer_steps"].judge_run
    (found,) = judge(SimpleNamespace(records=(), others=others), {})
    assert found.message == f"the script trained no model{end}"
    assert [*judge(SimpleNamespace(records=("one",), others=others), {})] == []


def zero_grad(total=2, *, steps=(), never=True, unit="optimizer"):
    return judged("zero_grad_called", [*steps], total=total, never_zeroed=never, unit=unit)


def test_zero_grad_is_judged_from_two_steps_on():
    found = zero_grad()
    assert (found.status, found.kind, found.value, found.limit) == ("fail", "never", 2, 1)
    assert found.place == BACKWARD
    assert found.message.endswith("adds to the gradients of all steps before")
    assert zero_grad(1).message == "no two steps in a row were observed"
    assert zero_grad(never=None).status == "skip"
    assert zero_grad(unit="backward").message.startswith("no optimizer makes steps")
    assert zero_grad(never=False).message == "gradients are reset between steps"


@pytest.mark.parametrize(
    ("norms", "end"),
    [
        ((1.0, 9.0, 2.5), "; their norm is 1 at step 4 and 2.5 at 6"),
        ((1.0, 2.0), "; their norm is 1 at step 4 and 2 at 5"),
        ((1.0, 1.0), "of all steps before"),
        ((1.0,), "of all steps before"),
    ],
)
def test_gradients_that_grow_without_zero_grad(norms, end):
    assert zero_grad(steps=steps_of("grad_norm", norms, first=4)).message.endswith(end)


def layer(name, type, training=True, place=None):
    return SimpleNamespace(name=name, type=type, training=training, place=place, aliases=())


def weight(name, requires_grad):
    return SimpleNamespace(name=name, requires_grad=requires_grad)


LAYERS = [
    layer("", "Dropout"),
    layer("a.drop", "Dropout2d", place="net.py:3"),
    layer("a.drop", "Dropout2d"),
    layer("norm", "BatchNorm1d"),
    layer("off", "Dropout", training=False),
    layer("fc", "Linear"),
]


def evaluated(evaluated=(), train=(), options=(), parameters=(), steps=(), layers=()):
    return judged(
        "eval_while_training", [], options, eval_modules=evaluated, train_modules=train,
        parameters=parameters, eval_steps=steps, layers=layers, modes=None, compiled=(), calls=1,
    )  # fmt: skip


def graphless(calls=4, train=(), options=(), evaluations=0, layers=(), together=()):
    return judged(
        "graphless_training", [], options, graphless=calls, train_modules=train,
        evaluations=evaluations, layers=layers, together=together,
    )  # fmt: skip


def test_modules_that_ran_in_train_mode_are_known_or_read_from_the_calls():
    found = graphless(train=None, layers=LAYERS)
    assert found.message == (
        "4 calls under no_grad run in train mode, and none in eval mode: 'a.drop', 'norm' work "
        "as in training"
    )
    assert (found.target, found.value, found.limit, found.place) == ("a.drop", 4, 0, "net.py:3")
    assert graphless(train=(), layers=LAYERS).status == "skip"
    assert evaluated(train=None, layers=LAYERS).message == (
        "2 modules with dropout or batch norm in train mode"
    )


def test_a_graphless_call_in_train_mode():
    assert graphless(0, ("a",)).message == "no call under no_grad is in train mode"
    assert graphless(1, ("a",)).status == "fail"
    assert graphless(1, ("a",)).message.endswith(
        "'a', with dropout or batch normalization, work as in training"
    )
    assert graphless(train=("a",), options={"at": ("b",)}).message == (
        "no dropout and no batch normalization ran in train mode"
    )
    assert graphless(train=("a",), evaluations=1).message == "1 evaluation in eval mode"
    assert graphless(train=("a",), together=("b",)).status == "skip"
    assert graphless(train=("b", "a"), options={"at": ("x", "a")}).target == "a"


def test_a_module_in_eval_mode_while_others_train():
    assert evaluated().message == "no dropout and no batch normalization ran"
    assert evaluated(train=("a",)).status == "pass"
    assert evaluated(("a",), ("b",)).status == "pass"  # a part is in eval mode on purpose
    assert evaluated(("a",), ("b",), {"at": ("b",)}).status == "pass"
    assert evaluated(("a",), ("b",), {"at": ("x", "a")}).status == "pass"
    assert evaluated(("a", "b"), options={"at": ("x", "b")}).target == "b"
    alone = evaluated(("a",), layers=[layer("a", "Dropout", place="net.py:5")])
    assert alone == RuleFinding(
        "fail", "a", "eval",
        "'a', with dropout or batch normalization, runs in eval mode while training",
        1, 0, "net.py:5", advice=alone.advice,
    )  # fmt: skip
    both = evaluated(("a", "b"), ("c", "b"), steps=(1200, 1300))
    assert both.message == (
        "'b', with dropout or batch normalization, runs in eval mode while training at step "
        "1,200, after train mode"
    )
    assert (both.value, both.step, both.target) == (1, 1200, "b")
    assert (
        evaluated(("a", "b", "c")).message == "'a', 'b' and 1 more run in eval mode while training"
    )


@pytest.mark.parametrize(
    ("parameters", "status"),
    [
        ([], "fail"),
        ([weight("a.bn.weight", False), weight("a.bn.bias", False)], "pass"),
        ([weight("a.bn.weight", False), weight("a.bn.bias", True)], "fail"),
        ([weight("a.fc.weight", False)], "pass"),  # the part around it
        ([weight("a.fc.weight", True)], "fail"),
        ([weight("a.bn.weight", True), weight("a.fc.weight", False)], "fail"),  # the innermost
        ([weight("fc.weight", False)], "fail"),  # the model is no part of itself
    ],
)
def test_a_frozen_part_is_in_eval_mode_on_purpose(parameters, status):
    assert evaluated(("a.bn",), parameters=parameters).status == status


ADAM = SimpleNamespace(type="Adam", parameters=3, elsewhere_idle=0)


def parameter(name, *statuses):
    numbered = [{"step": i, "status": status} for i, status in enumerate(statuses)]
    return SimpleNamespace(name=name, steps=numbered, status=None, numbered_steps=lambda: numbered)


def optimizer_model(steps, parameters=(), optimizer=ADAM, **more):
    updates = [SimpleNamespace(name=row.name) for row in parameters if row.name != "other"]
    more = {"calls": 1, "total": 2, **more}
    return judged(
        "optimizer_model", steps, optimizer=optimizer, updates=updates, parameters=parameters,
        **more,
    )  # fmt: skip


IDLE = [step(0, sampled=True, missing=3), step(1), step(2, sampled=True, missing=3)]


@pytest.mark.parametrize(
    ("steps", "parameters", "idle"),
    [
        (IDLE, (), True),
        (IDLE, [parameter("a", "none", "frozen"), parameter("other", "ok")], True),
        (IDLE, [parameter("a", "none", "ok")], False),
        (IDLE, [parameter("a", "zero")], False),
        ([step(0, sampled=False, missing=3)], (), False),
        ([step(0, sampled=True)], (), False),
        ([*IDLE, step(3, sampled=True, missing=2)], (), False),
        ([*IDLE, step(3, sampled=False, missing=2)], (), True),
    ],
)
def test_an_optimizer_whose_parameters_get_no_gradient(steps, parameters, idle):
    found = optimizer_model(steps, parameters)
    assert found.status == ("fail" if idle else "pass")
    if idle:
        assert (found.kind, found.value, found.limit, found.severity) == ("idle", 0, 3, "error")
        assert (found.cause, found.place) == ("optimizer_model", OPTIMIZER)
        assert found.message == "none of the 3 parameters of Adam gets a gradient in any step"


def test_an_optimizer_of_another_model():
    assert optimizer_model(IDLE, calls=0).message.endswith("step: their model is never called")
    elsewhere = SimpleNamespace(type="SGD", parameters=1, elsewhere_idle=1)
    found = optimizer_model([], optimizer=elsewhere)
    assert (found.kind, found.value, found.limit, found.place) == ("elsewhere", 1, 0, OPTIMIZER)
    assert found.message == (
        "1 of 1 parameter of SGD is not in this model, and gets no gradient in any step"
    )
    assert optimizer_model([], optimizer=None).status == "skip"
    assert optimizer_model(IDLE, total=0).status == "skip"
    assert optimizer_model([]).message == (
        "the parameters of Adam are those of the model that runs"
    )


def test_without_lines_of_the_script_the_place_is_that_of_the_model():
    """Reports of version 0.1 have none."""
    found = judged("skipped_steps", [step(0)], skipped=41, total=200, lines=None)
    assert found.place == PLACE
