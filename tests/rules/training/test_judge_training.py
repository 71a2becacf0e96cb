"""A whole training: rows of records and of the run, suppressions, the verdict and its order."""

from __future__ import annotations

import dataclasses

import pytest

from hookcli.diagnosis.training import with_training_verdict
from hookcli.formats.check.merged import merged
from hookcli.report.encode import to_json
from hookcli.rules.catalogue import with_training_set
from hookcli.rules.judge_training import all_checks, judge_training
from hookcli.rules.verdict import Verdict, verdict_of
from hookcli.spec.checks import CheckSpec, Suppression
from tests.formats import training_reports as built
from tests.rules.training.test_step_rules import FLAT, UP, record

CHECKS = with_training_set(())
LOST = {"fc1.bias": "none"}


def verdict(*records, checks=CHECKS, **more):
    """The report of these records, judged, with its verdict."""
    return with_training_verdict(judge_training(built.training(*records, **more), checks))


def failed(report):
    return [(row.rule, row.target) for row in all_checks(report) if row.status == "fail"]


def test_a_healthy_training_has_no_finding():
    report = verdict(record())
    assert failed(report) == []
    assert report.diagnoses == ()
    assert {"finite", "grad_exists", "loss_falls", "vanishing_gradient"} <= set(report.examined)
    assert verdict_of(merged(report), "warning") is Verdict.PASSED


def test_targets_name_the_record_if_there_are_several():
    generator = record(name="netG", statuses=LOST, updates=())
    critic = record(name="netD", statuses=LOST, updates=())
    report = verdict(generator, critic)
    assert failed(report) == [("grad_exists", "netG: fc1"), ("grad_exists", "netD: fc1")]
    one, other = (row.fingerprint for row in all_checks(report) if row.status == "fail")
    assert one != other
    first, second = report.diagnoses
    assert (first.record, first.target) == ("netG", "netG: fc1")
    assert first.sentence.startswith("netG: ")
    assert second.record == "netD"
    (alone,) = verdict(generator).diagnoses
    assert alone.target == "fc1"


@pytest.mark.parametrize("at", ["fc1", "netG: fc1", "netG*"])
def test_a_suppression_matches_with_and_without_the_record(at):
    records = record(name="netG", statuses=LOST, updates=()), record(name="netD")
    suppression = Suppression("grad_exists", at, "an old head", "run.yaml:3")
    report = judge_training(built.training(*records), CHECKS, (suppression,))
    assert failed(report) == []
    assert with_training_verdict(report).diagnoses == ()
    unused = judge_training(built.training(record()), CHECKS, (suppression,))
    assert failed(unused) == [("unused_suppression", at)]


def test_the_baseline_knows_findings_of_records():
    report = verdict(record(name="netG", statuses=LOST, updates=()), record(name="netD"))
    known = [row.fingerprint for row in all_checks(report) if row.status == "fail"]
    assert failed(judge_training(report, CHECKS, known=known)) == []


def test_the_first_value_that_is_not_finite_is_the_first_sentence():
    report = built.exploding()
    report = with_training_verdict(judge_training(report, CHECKS))
    first = report.diagnoses[0]
    assert first.sentence == (
        "NaN or Inf first appears at step 412 in 'fc2' at train.py:21: the logarithm of a "
        "negative number is NaN"
    )
    assert (first.cause, first.record, first.step, first.target) == ("finite", "Net", 412, "fc2")
    assert {"finite", "finite_steps"} <= set(first.rules)
    assert verdict_of(merged(report), "error") is Verdict.FINDINGS


def test_a_value_of_the_batch_that_is_not_finite_is_the_first_sentence():
    report = built.exploding()
    given = dataclasses.replace(
        report.first_non_finite, layer="", operator=None, place=None, batch=None,
        found_by="replay", reason="the argument x of the batch contains NaN in 1 of 8 values",
    )  # fmt: skip
    report = dataclasses.replace(report, first_non_finite=given, checks=())
    first = with_training_verdict(judge_training(report, CHECKS)).diagnoses[0]
    assert first.sentence.endswith(
        "at step 412: the argument x of the batch contains NaN in 1 of 8 values"
    )
    assert first.advice == "find these values in the data, and remove or replace them"


@pytest.mark.parametrize(
    ("figures", "more", "cause", "explains"),
    [
        ({"lr": lambda _: 0.0, "loss": FLAT}, {}, "learning_rate_zero", "loss_falls"),
        ({"loss": UP}, {"never_zeroed": True}, "zero_grad_called", "loss_falls"),
        ({"grad_norm": lambda i: 1.1**i, "loss": UP}, {}, "grad_norm_grows", "loss_falls"),
        (
            {"grad_norm": lambda i: 1e3 if i == 9 else 1.0, "loss": UP},
            {},
            "grad_norm_spikes",
            "loss_falls",
        ),
    ],
)
def test_a_loss_that_does_not_fall_follows_from_its_cause(figures, more, cause, explains):
    (diagnosis,) = verdict(record(figures=figures, **more)).diagnoses
    assert diagnosis.cause == cause
    assert explains in diagnosis.rules
    assert "; the loss " in diagnosis.sentence


@pytest.mark.parametrize(("between", "first"), [(9e5, "grad_norm_spikes"), (1.0, "finite")])
def test_values_that_are_not_finite_follow_from_a_spike_that_the_training_does_not_survive(
    between, first
):
    norms = {40: 7e6, **dict.fromkeys(range(41, 43), between)}
    figures = {
        "grad_norm": lambda i: "nan" if i > 42 else norms.get(i, 1.0),
        "loss": lambda i: "nan" if i > 42 else 1.0 / (1 + i),
    }
    diagnoses = verdict(record(figures=figures)).diagnoses
    assert diagnoses[0].cause == first
    if first == "grad_norm_spikes":
        (diagnosis,) = diagnoses
        assert diagnosis.severity == "error"
        assert "finite_steps" in diagnosis.rules
        assert diagnosis.sentence.endswith("; from step 43 on, values are not finite")


def test_a_parameter_without_a_gradient_is_told_once():
    still = {"updates": (built.UpdateRow("fc1.bias", (0.0, 0.0), False),)}
    (diagnosis,) = verdict(record(statuses={"fc1.bias": "none"}, **still)).diagnoses
    assert diagnosis.cause == "grad_exists"
    assert set(diagnosis.rules) == {"grad_exists", "unchanged_parameters"}


def test_each_finding_is_in_one_diagnosis_and_errors_come_first():
    report = verdict(
        record(name="a", figures={"loss": lambda i: "nan" if i > 90 else 1.0}, unheld=("x.y",)),
        record(name="b", figures={"lr": lambda _: 0.0}, statuses={"fc2.bias": "zero"}),
    )
    rows = [row.fingerprint for row in all_checks(report) if row.status == "fail"]
    held = [one for diagnosis in report.diagnoses for one in diagnosis.fingerprints]
    assert set(rows) <= set(held)
    assert len(held) == len(set(held))
    severities = [diagnosis.severity for diagnosis in report.diagnoses]
    assert severities == sorted(severities)


def test_a_script_that_raised_has_a_verdict():
    script = dataclasses.replace(built.training().script, ended="exception", status=1)
    report = verdict(record(figures={"lr": lambda _: 0.0}), script=script)
    assert [one.cause for one in report.diagnoses] == ["learning_rate_zero"]
    assert verdict(script=script).diagnoses in {None, ()}


def test_a_rule_that_was_asked_for_by_glob_is_judged_on_each_record():
    check = CheckSpec("trainable", {"at": ("fc1.*",)}, "run.yaml:2")
    report = judge_training(built.training(record(name="a"), record(name="b")), (check,))
    assert [row.status for row in all_checks(report)] == ["pass", "pass"]
    assert to_json(report.records[0])


def test_a_hostile_report_is_judged():
    report = with_training_verdict(judge_training(built.hostile("\x1b]0;{x}"), CHECKS))
    assert report.diagnoses
