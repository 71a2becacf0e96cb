"""A training that goes on from a checkpoint of another one, and what it has lost."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hookcli.comparison.training.compare_trainings import compare_trainings
from hookcli.formats.html import run_diff_page
from hookcli.formats.training_diff import lines
from hookcli.formats.training_diff.steps import Selected
from hookcli.formats.view import View
from hookcli.report.training import TrainingState
from tests.comparison.trainings import record, training

NOTHING = Selected((), [], [], 0, 0)
LOSSES = [2.0, 1.5, 1.2, 1.0, 0.9, 0.8]
GROUPS = {
    "weights": {"a": "a" * 12, "b": "b" * 12},
    "optimizer moments": {"exp_avg": "c" * 12},
    "step count": {"step": "3"},
    "scheduler": {"StepLR last_epoch": "1"},
    "random state": {"torch": "d" * 12, "random": "e" * 12},
    "data order": {"batch": "f" * 12},
}
START = {
    "weights": {"a": "0" * 12, "b": "1" * 12},
    "random state": {"torch": "2" * 12, "random": "e" * 12},
    "data order": {"batch": "3" * 12},
}


def state(groups, step=0, after="start", chances=(), loads=False):
    return TrainingState("Net (SGD)", step, after, "train.py:9", loads, groups, chances)


def report(losses, *states):
    return replace(training(record(losses, {"a": 0.5, "b": 0.5})), states=states)


FULL = report(LOSSES, state(START), state(GROUPS, 3, "save", ("d" * 12,)))


def resumed(losses=LOSSES[3:], chances=("d" * 12,), **groups):
    found = {**GROUPS, **{name.replace("_", " "): value for name, value in groups.items()}}
    return report(losses, state(found, chances=chances, loads=True))


def test_steps_are_compared_from_the_checkpoint_on():
    for a, b, side in ((FULL, resumed(), "b"), (resumed(), FULL, "a")):
        diff = compare_trainings(a, b)
        assert (diff.verdict, diff.records[0].compared) == ("same", 3)
        assert [row.step for row in diff.records[0].rows] == [3, 4, 5]
        assert (diff.resume.resumed, diff.resume.step, diff.resume.start) == (side, 3, 0)
        assert diff.resume.lost is None
        assert "goes on from step 3" in diff.resume.sentence


def test_the_values_of_what_was_lost_are_told_and_the_first_group_is_named():
    diff = compare_trainings(FULL, resumed(scheduler={"StepLR last_epoch": "0"}, step_count={}))
    assert diff.resume.lost == "step count"
    diff = compare_trainings(FULL, resumed(scheduler={"StepLR last_epoch": "0"}))
    assert diff.resume.sentence == (
        "B goes on from step 3 of A, but the scheduler was not restored "
        "(StepLR last_epoch is 1 in A and 0 in B)"
    )
    assert diff.reasons == ("scheduler not restored",)


def test_text_and_page_tell_what_was_not_restored_with_its_line():
    diff = compare_trainings(FULL, resumed(scheduler={"StepLR last_epoch": "0"}))
    assert lines.first(diff) == [
        ("Not restored", diff.resume.sentence),
        ("saved at", "train.py:9"),
        ("try", "save `scheduler.state_dict()`, and load it after the scheduler is made"),
    ]
    (finding,) = run_diff_page._findings(diff)
    assert (finding.severity, finding.place) == ("not restored", "train.py:9")
    right = compare_trainings(FULL, resumed())
    assert lines.first(right) == [] == [*run_diff_page._findings(right)]
    assert any("were restored" in note for note in lines.notes(right, NOTHING, View()))


APART = {"losses": [1.1, 0.7, 0.6]}
OTHER = {"torch": "7" * 12, "random": "e" * 12}


@pytest.mark.parametrize(
    ("changes", "lost"),
    [
        # A generator matters if figures or batches differ, and the whole training draws from it.
        ({"random_state": OTHER, "chances": ()}, None),
        ({"random_state": OTHER, "chances": (), **APART}, "random state"),
        ({"random_state": {"torch": "d" * 12, "random": "7" * 12}, **APART}, None),
        ({"random_state": OTHER, **APART}, None),  # it was restored, and drawn from since
        ({"data_order": {"batch": "7" * 12}, **APART}, "data order"),
        ({"data_order": {"batch": "7" * 12}, "random_state": OTHER, "chances": ()}, "random state"),
        ({"data_order": {}, **APART}, None),
    ],
)
def test_chance_and_order_are_named_only_if_they_matter(changes, lost):
    assert compare_trainings(FULL, resumed(**changes)).resume.lost == lost


def test_other_pairs_of_trainings_are_compared_as_before():
    for other in (
        FULL,  # the same start
        report(LOSSES, state(START)),
        replace(FULL, states=None),  # of an earlier version
        resumed(weights={"a": "8" * 12, "b": "9" * 12}),  # loads other weights
        report(LOSSES[3:], state({**GROUPS, "weights": {"a": "a" * 12, "c": "b" * 12}})),
    ):
        assert compare_trainings(FULL, other).resume is None
    wider = training(record(LOSSES[3:], {"a": 0.5, "b": 0.5, "head": 0.5}))
    assert compare_trainings(FULL, replace(wider, states=resumed().states)).resume is None


def test_a_part_of_the_weights_must_have_been_loaded():
    half = {"a": "a" * 12, "b": "1" * 12}
    assert compare_trainings(FULL, resumed(weights=half)).resume.lost == "weights"
    not_loaded = report(LOSSES[3:], state({**GROUPS, "weights": half}))
    assert compare_trainings(FULL, not_loaded).resume is None
