"""Rules over steps: what each finds in a record, what it lets pass, and what it skips."""

from __future__ import annotations

import dataclasses
import math

import pytest

from hookcli.report.report import Report
from hookcli.report.steps import OptimizerInfo, UpdateRow
from hookcli.report.training import OtherModule
from hookcli.rules.catalogue import CATALOGUE, TRAINING
from hookcli.rules.judge_training import judge_training
from hookcli.rules.training.series import below, cancelled, thirds
from hookcli.spec.checks import CheckSpec
from tests.formats import training_reports as built

SGD = OptimizerInfo("SGD", 8, 0, 1, {"lr": 0.1})
ADAM = OptimizerInfo("Adam", 8, 0, 1, {"lr": 0.01})
NAMES = [row.name for row in built.record().parameters]


def rows(total=120, **figures):
    """Steps whose figures are functions of the step; the others are those of a healthy training."""
    sampled = built.sampled_steps(total)
    return tuple(
        built.step_row(i, i in sampled, **{key: value(i) for key, value in figures.items()})
        for i in range(total)
    )


def record(total=120, figures=None, **more):
    more.setdefault("optimizer", ADAM)
    lost = more.get("statuses") or {}
    plain = tuple(UpdateRow(name, (0.001, 0.001), name not in lost) for name in NAMES)
    changes = {"updates": more.pop("updates", plain)}
    report = built.record(total=total, steps=rows(total, **(figures or {})), **more)
    parameters = tuple(even(row) for row in report.parameters)
    changed = dataclasses.replace(report.training, **changes)
    return dataclasses.replace(report, training=changed, parameters=parameters)


def even(row):
    """The parameter with a gradient of the same size as all others: 0.01 for each element."""

    def grad(entry):
        norm = 0.01 * math.sqrt(row.numel)
        return entry["grad"] and {**entry["grad"], "norm": norm if entry["grad"]["norm"] else 0.0}

    return dataclasses.replace(
        row, steps=tuple({**entry, "grad": grad(entry)} for entry in row.steps)
    )


def judged(rule, *records, **report):
    """The rows of one rule with its default options."""
    found = judge_training(built.training(*records, **report), (CheckSpec(rule),))
    return [row for one in found.records for row in one.checks]


def updates(**changed):
    """Updates of all parameters; those that are named with `__` for a dot did not change."""
    still = {name.replace("__", "."): value for name, value in changed.items()}
    return {
        "updates": tuple(
            UpdateRow(name, (0.001, 0.001), name not in still, still.get(name)) for name in NAMES
        )
    }


def noise(i):
    return 0.1 * math.sin(12.9898 * (i + 1) ** 2)


UP, FLAT = (lambda i: 1 + 0.1 * i), (lambda i: 2.3 + noise(i))
THROWN = lambda i: 1.0 if i == 0 else 1.2 + 48.8 * 0.5 ** (i - 1)  # noqa: E731
FOUND = [
    ("finite_steps", {"loss": lambda i: "nan" if i > 70 else 1.0}, {}, "loss is nan at step 71"),
    ("finite_steps", {"grad_norm": lambda i: "inf" if i == 9 else 1.0}, {}, "at step 9; at step 8"),
    ("loss_falls", {"loss": FLAT}, {}, "the loss does not fall: median 2."),
    ("loss_falls", {"loss": UP}, {}, "the loss rises: median"),
    ("loss_falls", {"loss": lambda _: 0.7}, {}, "the loss is 0.7 at each of 120 steps"),
    ("loss_spikes", {"loss": lambda i: 40.0 if i > 79 else 2.3 / (1 + i)}, {}, "does not return"),
    ("loss_spikes", {"loss": lambda i: 40.0 if i in {80, 81} else 2.3 / (1 + i)}, {}, "at step 80"),
    ("grad_norm_grows", {"grad_norm": lambda i: 1.1**i}, {}, "the norm of all gradients explodes"),
    (
        "grad_norm_spikes", {"grad_norm": lambda i: 7e6 if i == 40 else 1 + noise(i)}, {},
        "is 7e+06 at step 40, and at most 1.1 in usual steps",
    ),
    ("zero_grad_called", {}, {"never_zeroed": True}, "zero_grad is never called"),
    (
        "optimizer_steps", {},
        {"optimizer": None, "unit": "backward",
         "updates": (UpdateRow("fc1.weight", (0.0,), False),)},
        "120 backward passes, but no step",
    ),
    (
        "optimizer_model", {"missing": lambda _: 8},
        {"statuses": dict.fromkeys(NAMES, "none"), "calls": 0},
        "none of the 8 parameters of Adam gets a gradient in any step: their model is never",
    ),
    (
        "optimizer_model", {},
        {"optimizer": OptimizerInfo("Adam", 10, 2, 1, {}, elsewhere_idle=2)},
        "2 of 10 parameters of Adam are not in this model",
    ),
    ("unheld_parameters", {}, {"unheld": ("fc2.weight", "fc2.bias")}, "in no optimizer"),
    ("unchanged_parameters", {}, updates(fc1__weight=None), "gradients reach it, but no update"),
    ("unchanged_parameters", {}, updates(fc1__weight=True), "sets it back after each step"),
    ("unchanged_parameters", {"lr": lambda _: 0.0}, updates(fc1__bias=None), "learning rate is 0"),
    (
        "unchanged_parameters", {},
        {**updates(fc1__weight=None), "statuses": {"fc1.weight": "zero"}}, "of it are zero",
    ),
    ("learning_rate", {"lr": lambda _: 0.0}, {}, "the learning rate is 0 in all 120 steps"),
    ("learning_rate", {"lr": lambda i: 0.1 ** (i // 5)}, {}, "of its largest value in"),
    (
        "learning_rate", {"lr": lambda _: 3e-4, "largest_lr": lambda _: 3.0},
        {"optimizer": OptimizerInfo("AdamW", 4, 0, 2, {})},
        "a group of AdamW has a learning rate of 3, 10,000 times that of the first group",
    ),
    (
        "eval_while_training", {},
        {"eval_modules": ("drop",), "train_modules": (), "eval_steps": (100,)}, "at step 100",
    ),
    (
        "graphless_training", {}, {"graphless": 4, "train_modules": ("drop",)},
        "4 calls under no_grad run in train mode",
    ),
    ("skipped_steps", {"skipped": lambda i: i > 20 or None}, {"skipped": 99}, "skipped 99 of 120"),
    ("loss_scale", {"scale": lambda i: 2.0 ** (8 - i)}, {}, "collapses from 256"),
    ("update_ratio", {"update_ratio": lambda i: 60.0 if i < 1 else 0.1, "loss": UP}, {}, "by 60"),
    (
        "update_ratio", {"update_ratio": lambda i: 3.5 if i < 3 else None, "loss": UP}, {},
        "by 3.5 of their norm, and the loss stays above its start: 1, median 10.95 at the end",
    ),
    (
        "update_ratio", {"update_ratio": lambda i: 5.0 if i < 1 else 0.1, "loss": THROWN}, {},
        "by 5 of their norm, and the loss rises from 1 to 50",
    ),
    (
        "loss_falls", {"loss": FLAT, "grad_norm": lambda _: 1e-5}, {"optimizer": SGD},
        "the gradient norm is 1e-05 in each step, as after clipping, and the loss does not fall",
    ),
    ("loss_falls", {"loss": FLAT, "grad_norm": lambda _: 1e-5}, {}, "the loss does not fall: med"),
    (
        "update_ratio", {},
        {"updates": (UpdateRow("fc1.weight", (1e-12, 1e-11, 2e-12), True),)}, "below 1e-08",
    ),
    (
        "ranks_agree", {},
        {"rank_digests": {0: ("a", "a"), 9: ("b", "c")}, "wrappers": ("DistributedDataParallel",)},
        "the parameters of rank 1 differ from those of rank 0 after step 9",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "figures", "more", "message"), FOUND)
def test_a_mistake_is_found(rule, figures, more, message):
    (row,) = judged(rule, record(figures=figures, **more))
    assert row.status == "fail"
    assert message in row.message


@pytest.mark.parametrize("rule", [check.rule for check in TRAINING])
def test_a_healthy_record_has_no_finding_and_an_ordinary_report_is_skipped(rule):
    healthy = record(train_modules=("drop",), **updates())
    assert {row.status for row in judged(rule, healthy)} <= {"pass", "skip"}
    if CATALOGUE[rule].judge.__module__.startswith("hookcli.rules.training."):
        report = dataclasses.replace(healthy, training=None)
        (finding,) = CATALOGUE[rule].judge(report, CATALOGUE[rule].filled({}))
        assert finding.status == "skip"


FINE = [
    # GradScaler skips steps whose gradients overflow; the first value that counts is a later one.
    ("finite_steps", {"loss": lambda i: "inf" if i < 3 else 1.0,
                      "skipped": lambda i: i < 3 or None}, {"skipped": 3}),
    ("skipped_steps", {"skipped": lambda i: i < 12 or None}, {"skipped": 12}),
    # A training that reaches its floor before the first third ends.
    ("loss_falls", {"loss": lambda i: 9 / (1 + i) + FLAT(i)}, {}),
    ("loss_spikes", {"loss": lambda i: 40.0 if i == 80 else 2.3 / (1 + i)}, {}),  # one batch
    # A new task: the loss falls again from its new level.
    ("loss_spikes", {"loss": lambda i: 2.3 / (1 + i) if i < 80 else 60 / (i - 60)}, {}),
    ("loss_spikes", {"loss": lambda i: 1e-7 * (50 if i == 80 else 1) + (i < 3)}, {}),
    # A model that fits its data: a hard sample gives the gradients of the first steps again.
    ("grad_norm_spikes", {"grad_norm": lambda i: 3.0 if i < 6 or i % 20 == 0 else 1e-6}, {}),
    # A term of the loss that is there now and then; a norm that grows, which another rule tells.
    ("grad_norm_spikes", {"grad_norm": lambda i: 1.0 if i % 8 else 500.0}, {}),
    ("grad_norm_spikes", {"grad_norm": lambda i: 1.1**i}, {}),
    ("learning_rate", {"lr": lambda i: min(i, 119 - i) / 100}, {}),  # a warm-up, and 0 at the end
    ("learning_rate", {"lr": lambda _: 3e-5, "largest_lr": lambda _: 3e-3},
     {"optimizer": OptimizerInfo("AdamW", 4, 0, 2, {})}),  # a new head
    ("learning_rate", {"lr": lambda _: 1e-4, "largest_lr": lambda _: 1.0},
     {"optimizer": OptimizerInfo("Prodigy", 4, 0, 2, {})}),
    # Small weights that become large, with a lower loss.
    ("update_ratio", {"update_ratio": lambda i: 60.0 if i < 1 else 0.1}, {}),
    # Large steps of a training whose loss falls, and a loss that rises with small steps.
    ("update_ratio", {"update_ratio": lambda _: 3.5}, {}),
    ("update_ratio", {"update_ratio": lambda _: 0.5, "loss": UP}, {}),
    # A large first step whose loss rises, in a training that gets far below it.
    ("update_ratio", {"update_ratio": lambda i: 5.0 if i < 1 else 0.1,
                      "loss": lambda i: THROWN(i) if i < 9 else 0.1}, {}),
    # A batch norm in eval mode next to others, and a frozen backbone.
    ("eval_while_training", {}, {"eval_modules": ("bn",), "train_modules": ("drop",)}),
    ("graphless_training", {}, {"graphless": 4, "evaluations": 4, "train_modules": ("drop",)}),
    ("ranks_agree", {}, {"rank_digests": {0: ("a", "a", None)}}),
    # By hand, without an optimizer.
    ("optimizer_steps", {}, {"optimizer": None, "unit": "backward"}),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "figures", "more"), FINE)
def test_what_healthy_trainings_do_is_no_finding(rule, figures, more):
    (row,) = judged(rule, record(figures=figures, **more))
    assert row.status == "pass", row.message


SKIPPED = [
    ("loss_falls", {"loss": lambda i: noise(i)}, {}, "a loss below 0"),
    ("loss_falls", {"loss": FLAT}, {"together": ("critic",)}, "'critic' is trained too"),
    (
        "graphless_training", {},
        {"graphless": 4, "train_modules": ("a",), "together": ("b",)}, "in turn",
    ),
    ("loss_falls", {"loss": lambda _: None}, {}, "at least 60"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "figures", "more", "message"), SKIPPED)
def test_what_cannot_be_told_is_skipped(rule, figures, more, message):
    (row,) = judged(rule, record(figures=figures, **more))
    assert row.status == "skip"
    assert message in row.message


def test_a_slow_fall_is_a_note_where_hardly_a_value_can_be_trained():
    figures = {"loss": lambda i: 2.3 - 0.0006 * i}
    whole = record(figures=figures)
    assert judged("loss_falls", whole)[0].status == "pass"
    first, *others = whole.parameters
    frozen = [dataclasses.replace(row, requires_grad=False, numel=9_999) for row in others]
    free = dataclasses.replace(first, requires_grad=True, numel=1)
    (row,) = judged("loss_falls", dataclasses.replace(whole, parameters=(free, *frozen)))
    assert (row.status, row.severity) == ("fail", "note")
    assert f"only 1 of {len(frozen) + 1} parameters can be trained" in row.message
    assert "and the loss falls by 2.1 % only" in row.message


def test_a_target_network_moves_the_loss():
    online = record(figures={"loss": FLAT})
    target = OtherModule("target", "Net", 120, 8, None)
    (row,) = judged("loss_falls", online, others=(target,))
    assert row.status == "skip"


def with_statuses(report: Report, name, *statuses) -> Report:
    """The record with other statuses of a parameter at its sampled steps, which do not change it.

    A parameter that changed is one that got a gradient between sampled steps.
    """
    parameters = []
    for row in report.parameters:
        if row.name == name:
            steps = tuple(
                {**entry, "status": status, "grad": entry["grad"] if status == "ok" else None}
                for entry, status in zip(row.steps, statuses, strict=False)
            )
            row = dataclasses.replace(row, steps=steps, status=statuses[-1])
        parameters.append(row)
    still = tuple(
        dataclasses.replace(row, changed=row.changed and row.name != name)
        for row in report.training.updates
    )
    training = dataclasses.replace(report.training, updates=still)
    return dataclasses.replace(report, parameters=tuple(parameters), training=training)


@pytest.mark.parametrize(
    ("statuses", "message"),
    [
        (("zero", "ok", "ok"), "8 parameters got a gradient"),  # a branch that starts at zero
        (("none", "none", "ok"), "8 parameters got a gradient"),  # an expert that is used later
        (("ok", "zero", "none"), "8 parameters got a gradient"),
        (("none", "zero", "none"), "fc1: exactly zero"),
        (("none", "none", "none"), "fc1: got no gradient"),
    ],
)
def test_a_gradient_at_one_sampled_step_is_enough(statuses, message):
    (row,) = judged("grad_exists", with_statuses(record(), "fc1.weight", *statuses))
    target, _, part = message.rpartition(": ")
    assert row.target == target
    assert part in row.message


def test_a_parameter_that_changed_got_a_gradient_between_sampled_steps():
    unseen = with_statuses(record(), "fc1.bias", "none", "none", "none")
    updates = record().training.updates
    changed = dataclasses.replace(
        unseen, training=dataclasses.replace(unseen.training, updates=updates)
    )
    assert [row.status for row in judged("grad_exists", changed)] == ["pass"]


def test_micro_steps_are_not_calls_of_one_forward():
    """Two forwards of a step run each batch norm twice, which is no fault of the model."""
    net = record()
    norm = dataclasses.replace(net.layers[1], type="BatchNorm2d", name="bn")
    again = dataclasses.replace(norm, call=1, order=3, parent=2)
    root = dataclasses.replace(net.layers[0], order=2)
    twice = dataclasses.replace(net, layers=(net.layers[0], norm, root, again))
    assert [row.status for row in judged("uncalled_modules", twice)] == ["pass"]


def test_gradients_that_cancel_are_those_below_rounding():
    net = record(figures={})
    assert cancelled(net) == set()
    tiny = tuple(
        dataclasses.replace(row, grad={**row.grad, "norm": 1e-12})
        if row.name == "conv1.bias" else row
        for row in net.parameters
    )  # fmt: skip
    assert cancelled(dataclasses.replace(net, parameters=tiny)) == {"conv1.bias"}


def test_the_rank_statistic_is_the_share_of_pairs():
    early = [(0, 3.0), (1, 2.0), (2, 2.0)]
    late = [(3, 2.0), (4, 1.0), (5, 4.0)]
    pairs = [1.0 if b < a else 0.5 if a == b else 0.0 for _, a in early for _, b in late]
    assert below(late, early) == pytest.approx(sum(pairs) / len(pairs))
    assert thirds(early + late) == (early[:2], late[1:])


@pytest.mark.parametrize(
    ("total", "norm", "status", "said"),
    [
        (120, lambda _: 1.0, "fail", "the norm of all gradients is 1 at each of 120 steps"),
        (120, lambda i: 1.0 if i % 2 else 0.5, "pass", "60 of 120 steps are clipped"),
        (2, lambda _: 1.0, "skip", "the gradient norms of 2 steps are known"),
    ],
)
def test_norms_of_a_training_at_one_limit_are_clipped(total, norm, status, said):
    (row,) = judged("gradient_clipping", record(total, {"grad_norm": norm}))
    assert row.status == status
    assert row.message.startswith(said)
