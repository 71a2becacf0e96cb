"""`hookcli run --against`: the training compared with an earlier one, as a finding of same_as."""

from __future__ import annotations

from pathlib import Path

import pytest

from hookcli.cli.training.against import compared_rows, earlier_trainings
from hookcli.errors import RequestError
from hookcli.report.encode import to_json, training_to_json
from hookcli.spec.checks import CheckSpec
from tests.comparison.trainings import record, training

LOSSES = [2.0, 1.5, 1.2, 1.0]


def run(gradient=0.5, losses=LOSSES, **facts):
    return training(record(losses, {"fc.weight": gradient}), **facts)


@pytest.fixture
def earlier(tmp_path, monkeypatch):
    """The report of an earlier training, in the current folder."""
    monkeypatch.chdir(tmp_path)
    Path("earlier.json").write_text(training_to_json(run()))


def test_a_training_that_agrees_passes_and_one_that_parts_is_a_finding(earlier):
    given, _ = earlier_trainings("earlier.json", ())
    (row,) = compared_rows(run(), given, 0)
    assert (row.status, row.message) == ("pass", "24 figures agree with earlier.json")
    (row,) = compared_rows(run([0.5, 0.5, 0.7, 0.5]), given, 0)
    assert (row.status, row.target, row.value, row.limit) == ("fail", "fc.weight", 0.7, 0.5)
    assert (row.severity, row.place) == ("error", "train.py:11")
    assert row.message == (
        "the trainings part at step 2: the gradient of fc.weight differs first (0.5 in the earlier "
        "run and 0.7 in this run, 40 % > 1 %); the loss does not follow"
    )


def test_a_difference_without_a_figure_is_a_finding_too(earlier):
    given, _ = earlier_trainings("earlier.json", ())
    (row,) = compared_rows(run(ended="exception"), given, 0)
    assert (row.status, row.message) == (
        "fail",
        "this run ended by an exception: compared with earlier.json",
    )


def test_a_check_in_a_configuration_has_its_own_limit_and_severity(earlier):
    options = {"report": "earlier.json", "rtol": 0.5}
    check = CheckSpec("same_as", options, "hooks.yaml:2", severity="warning")
    given, others = earlier_trainings(None, (check, CheckSpec("finite")))
    assert [other.rule for other in others] == ["finite"]
    assert [row.status for row in compared_rows(run(0.7), given, 0)] == ["pass"]
    (row,) = compared_rows(run(0.9), given, 0)
    assert (row.status, row.severity) == ("fail", "warning")


def test_a_rank_is_compared_with_its_own_file_if_there_is_one(earlier):
    given, _ = earlier_trainings("earlier.json", ())
    assert compared_rows(run(), given, 1) == ()
    Path("earlier.rank1.json").write_text(training_to_json(run(0.7)))
    assert [row.status for row in compared_rows(run(), given, 1)] == ["fail"]


@pytest.mark.parametrize(
    ("against", "options", "message", "place"),
    [
        ("no.json", None, "cannot read no.json: No such file or directory", "--against no.json"),
        ("model.json", None, "model.json is not the report of a training", "--against model.json"),
        (
            None,
            {"report": "earlier.json", "at": "fc"},
            "same_as of a training does not support the option 'at'",
            "hooks.yaml:2",
        ),
    ],
)  # fmt: skip
def test_a_wrong_request_is_refused_before_the_script_runs(
    earlier, against, options, message, place
):
    Path("model.json").write_text(to_json(record(LOSSES, {"fc.weight": 0.5})))
    checks = () if options is None else (CheckSpec("same_as", options, "hooks.yaml:2"),)
    with pytest.raises(RequestError) as error:
        earlier_trainings(against, checks)
    assert (error.value.message, error.value.place) == (message, place)
