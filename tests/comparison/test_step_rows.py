"""The rows of a comparison of two trainings: every field, limits of figures, and what is told."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from hookcli.comparison.tolerance import Tolerances
from hookcli.comparison.training.compare_trainings import compare_trainings, largest
from hookcli.comparison.training.figure_limits import compare_figures, is_number, limit_of
from hookcli.comparison.training.observed import BackwardRanks, gradient_of, norm_of, weight_of
from hookcli.comparison.training.parting import SideNames, summary_of, value
from hookcli.comparison.training.training_diff import FigureDiff, StepDiff, TrainingSide
from hookcli.report.events import EventRow
from hookcli.report.values import Leaf
from tests.comparison.trainings import record, training, with_rows

LOSSES = [2.0, 1.5, 1.2, 1.0]
SAME = {"head.weight": 0.5, "stem.weight": 0.5}
NORM = math.hypot(0.5, 0.5)


def compared(a, b, names=None):
    return compare_trainings(training(a), training(b), names=names)


# Limits


@pytest.mark.parametrize(
    ("kind", "name", "default", "given"),
    [
        ("loss", None, (0.01, False), (0.25, True)),
        ("grad_norm", None, (0.01, False), (0.5, True)),
        ("gradient", "a.weight", (0.01, False), (0.125, True)),
        ("output", "", (0.01, False), (0.5, True)),  # the name of the model, not the kind
        ("lr", None, (1e-9, False), (1e-9, False)),
        ("scale", None, (1e-9, False), (1e-9, False)),
        ("skipped", None, (0.0, False), (0.0, False)),
        ("forwards", None, (0.0, False), (0.0, False)),
        ("backwards", None, (0.0, False), (0.0, False)),
        ("shape", "a:input", (0.0, False), (0.0, False)),
    ],
)
def test_the_limit_is_that_of_the_kind_or_of_the_last_glob(kind, name, default, given):
    globs = Tolerances((("*", 0.5), ("loss", 0.25), ("output", 0.75), ("a.*", 0.125)))
    assert limit_of(kind, name, Tolerances()) == default
    assert limit_of(kind, name, globs) == given
    if default == (0.01, False):
        assert limit_of(kind, name, Tolerances(), first=2e-6) == (2e-6, False)
        assert limit_of(kind, name, globs, first=2e-6) == given


@pytest.mark.parametrize("kind", ["lr", "scale"])
@pytest.mark.parametrize(("other", "status"), [(0.9e-9, "close"), (1.1e-9, "different")])
def test_rates_and_scales_differ_by_more_than_the_last_digits(kind, other, status):
    a = with_rows(record(LOSSES, SAME), **{kind: {2: 1.0}})
    diff = compared(a, with_rows(a, **{kind: {2: 1.0 + other}}))
    assert diff.records[0].rows[2].status == status


def test_a_small_learning_rate_is_not_rounding_beside_a_large_one():
    """As at the end of a schedule."""
    a, b = (record(LOSSES, SAME, lr=[0.1, 0.01, 1e-4, last]) for last in (0.0, 1e-7))
    first = compared(a, b).first.figure
    assert (first.kind, first.step, first.relative) == ("lr", 3, "inf")


@pytest.mark.parametrize(
    ("item", "known"),
    [(1, True), (0.0, True), (-1.5, True), (True, False), ("inf", False), (math.inf, False),
     (math.nan, False), (None, False)],
)  # fmt: skip
def test_a_number_is_finite_and_no_truth_value(item, known):
    assert is_number(item) is known


@pytest.mark.parametrize(
    ("values", "expected"),
    [((), None), ((None,), None), ((0.1, None, 0.3, 0.2), 0.3), ((0.1, "inf"), "inf"),
     ((0.0,), 0.0)],
)  # fmt: skip
def test_the_largest_difference_of_those_that_are_known(values, expected):
    assert largest(values) == expected


@pytest.mark.parametrize(
    ("item", "text"),
    [(True, "yes"), (False, "no"), (0.123456, "0.1235"), (3, "3"), ("nan", "nan"),
     (None, "unknown")],
)  # fmt: skip
def test_a_value_in_a_sentence_has_four_digits(item, text):
    assert value(item) == text


# Rows


def test_a_step_has_the_figures_of_both_sides_and_the_largest_difference():
    a = record(LOSSES, SAME, lr=[0.1, 0.1, 0.2, 0.2])
    b = record([2.0, 1.5, 1.2, 1.25], {**SAME, "stem.weight": [0.5, 0.502, 0.5, 0.75]}, lr=0.1,
               sampled=(0, 1, 3))  # fmt: skip
    (row,) = compared(a, b).records
    small, large = math.hypot(0.5, 0.502), math.hypot(0.5, 0.75)
    assert row.rows == (
        StepDiff(0, True, "same", (2.0, 2.0), (NORM, NORM), (0.1, 0.1), 7, 0, 0.0),
        StepDiff(1, True, "close", (1.5, 1.5), (NORM, small), (0.1, 0.1), 7, 0,
                 pytest.approx(0.004)),
        StepDiff(2, False, "different", (1.2, 1.2), (NORM, NORM), (0.2, 0.1), 5, 1, 0.5),
        StepDiff(3, True, "different", (1.0, 1.25), (NORM, large), (0.2, 0.1), 7, 4,
                 pytest.approx(0.5)),
    )  # fmt: skip
    assert (row.a, row.b, row.matched, row.status) == (
        "Net (SGD)",
        "Net (SGD)",
        "name",
        "different",
    )
    assert (row.steps, row.compared, row.sampled) == ((4, 4), 4, (0, 1, 3))
    assert (row.figures, row.different) == (26, 5)
    assert row.first == FigureDiff(2, "optimizer", "lr", None, 0.2, 0.1, 0.5, 1e-9, "different")
    assert [(figure.kind, figure.step) for figure in row.follows] == [
        ("loss", 3), ("gradient", 3), ("grad_norm", 3),
    ]  # fmt: skip
    assert row.first_inexact == FigureDiff(
        1, "backward", "gradient", "stem.weight", 0.5, 0.502, pytest.approx(0.004), 0.01, "close"
    )
    assert row.largest_before == pytest.approx(0.004)


def test_a_step_without_a_known_figure_is_unknown():
    def without(report):
        rows = [
            replace(row, forwards=None, backwards=None, grad_norm=None, loss=None, lr=None)
            for row in report.training.steps
        ]
        return replace(report, training=replace(report.training, steps=tuple(rows)))

    one = without(record(LOSSES[:1], {}))
    (row,) = compared(one, one).records
    assert (row.status, row.figures, row.first, row.first_inexact) == ("unknown", 0, None, None)
    assert row.rows == (
        StepDiff(0, True, "unknown", (None, None), (None, None), (None, None), 0, 0, None),
    )
    assert row.largest_before is None


def test_the_script_of_each_side_and_its_records_are_told():
    a, b = training(record(LOSSES, SAME, name="x"), record(LOSSES, SAME, name="y")), training()
    b = replace(b, script=replace(b.script, name="b.py"), warnings=("three",))
    a = replace(a, warnings=("one", "two"))
    diff = compare_trainings(a, b, names=SideNames("before", "after"))
    assert diff.a == TrainingSide(a.script, a.tracking, a.environment, ("x", "y"))
    assert diff.b == TrainingSide(b.script, b.tracking, b.environment, ())
    assert diff.warnings == ("before: one", "before: two", "after: three")
    assert diff.reasons == ("record x only in before", "record y only in before")
    assert compare_trainings(b, a).reasons == ("record x only in B", "record y only in B")


def test_the_most_important_reason_is_first():
    later = {**SAME, "head.weight": [0.5, 0.9, 0.5, 0.5]}
    cut = record(LOSSES, later, name="x")
    cut = replace(cut, parameters=cut.parameters[:1])
    a = training(record(LOSSES, SAME, name="x"), record(LOSSES, SAME, name="y", root="Y"))
    b = training(cut, ended="exception")
    assert compare_trainings(a, b).reasons == (
        "1 of 4 steps of x",
        "record y only in A",
        "1 parameter without a counterpart of the same shape",
        "B ended by an exception",
    )
    assert compare_trainings(b, a).reasons[-1] == "A ended by an exception"
    assert compare_trainings(b, b).reasons == ()


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        ({}, {"sampled": ()}, "net: no step is sampled in both runs, so layers are not compared"),
        ({"sampled": (0, 1)}, {"sampled": (2, 3)},
         "net: no step is sampled in both runs, so layers are not compared"),
        ({"thin": (0, 1)}, {"thin": (2, 3)}, "net: the two runs have no step in common"),
        ({}, {"thin": (2, 3)}, None),
    ],
)  # fmt: skip
def test_what_could_not_be_compared_is_told(first, second, text):
    diff = compared(*(record(LOSSES, SAME, name="net", **more) for more in (first, second)))
    assert diff.warnings == (() if text is None else (text,))


def test_a_record_of_one_side_does_not_hide_what_is_told_of_the_next():
    x, y = (record(LOSSES, SAME, name=name, root=name) for name in "xy")
    shorter = record(LOSSES[:2], SAME, name="y", root="y")
    diff = compare_trainings(training(x, y), training(shorter))
    assert diff.warnings == ("y has 4 steps in A and 2 in B: only steps of both are compared",)
    assert [(row.record, row.name, row.a, row.b) for row in diff.settings] == [
        ("y", "steps", "4", "2")
    ]


def test_only_the_gradients_of_a_parameter_are_counted_with_it():
    def of(norm):
        made = record(LOSSES, SAME)
        rows = [
            replace(row, steps=tuple({**note, "weight": {"norm": norm}} for note in row.steps))
            for row in made.parameters
        ]
        return replace(made, parameters=tuple(rows))

    (row,) = compared(of(1.0), of(2.0)).records
    assert row.first.kind == "weight"
    assert [(p.status, p.steps, p.different, p.largest) for p in row.parameters] == [
        ("same", 4, 0, 0.0), ("same", 4, 0, 0.0),
    ]  # fmt: skip


def test_numbers_of_steps_are_told_with_the_names_of_the_sides():
    long, short = record([1.0] * 1200, {}, sampled=(0,)), record([1.0], {})
    end = "only steps of both are compared"
    names = SideNames("before", "after")
    assert compared(long, short, names).warnings == (
        f"Net (SGD) has 1,200 steps in before and 1 in after: {end}",
    )
    assert compared(short, long).warnings == (f"Net (SGD) has 1 step in A and 1,200 in B: {end}",)


# Figures of a step


@pytest.mark.parametrize(
    ("note", "gradient", "weight"),
    [
        ({"status": "none", "grad": {"norm": 1.0}}, "none", None),
        ({"status": "frozen"}, "frozen", None),
        ({"status": "ok", "grad": {"norm": 2.0}, "weight": {"norm": 3.0}}, 2.0, 3.0),
        ({"status": "zero", "grad": {"norm": 0.0}, "weight": None}, 0.0, None),
        ({"grad": None}, None, None),
        ({}, None, None),
    ],
)
def test_a_note_has_the_norms_of_a_gradient_and_of_a_weight(note, gradient, weight):
    assert (gradient_of(note), weight_of(note)) == (gradient, weight)
    assert norm_of("text") is norm_of(None) is norm_of({}) is None


def test_parameters_without_a_call_are_behind_all_others_in_backward():
    report = record(LOSSES, {"a.weight": 0.5, "b.weight": 0.5, "b.bias": 0.5, "loose": 0.5})
    layers = [row for row in report.layers if row.name in {"a", "b"}]
    ranks = BackwardRanks(replace(report, layers=tuple(layers)))
    names = ("a.weight", "b.weight", "b.bias", "loose")
    assert sorted(names, key=ranks.parameter) == ["b.bias", "b.weight", "a.weight", "loose"]
    assert [ranks.call(name) and ranks.call(name).name for name in names] == ["a", "b", "b", None]
    assert ranks.layer("b") < ranks.parameter("b.bias")
    assert ranks.layer("b.inner") == ranks.layer("b")
    assert ranks.target("gone:output", 0) > ranks.parameter("a.weight")


def test_a_figure_keeps_what_was_compared():
    figure = compare_figures(3, "backward", "gradient", "w", (0.5, 0.75), (0.25, True), 9.0)
    assert figure == FigureDiff(3, "backward", "gradient", "w", 0.5, 0.75, 0.5, 0.25, "different")


# What is told


def test_a_loss_that_no_gradient_follows_ends_the_sentence():
    first = compared(record(LOSSES, SAME), record([2.0, 1.8, 1.2, 1.0], SAME)).first
    assert first.sentence == (
        "the trainings part at step 1: the loss differs first (1.5 in A and 1.8 in B, 20 % > 1 %)"
    )
    assert (first.record, first.layer, first.place, first.other_place) == (
        "Net (SGD)", None, None, None,
    )  # fmt: skip


def event_at(target, norm, phase):
    leaf = Leaf("[0]", (2,), "float32", stats={"norm": norm})
    return EventRow(0, 1, phase, "tensor", target, 0, None, 0, (leaf,))


@pytest.mark.parametrize(
    ("target", "phase", "layer", "place"),
    [
        ("stem", "forward", "stem", "train.py:12"),
        ("stem.inner", "forward", "stem", "train.py:12"),
        ("stem.weight", "backward", "stem", "train.py:12"),
        (":output", "forward", "", "train.py:10"),
        ("stem:output", "backward", "stem", "train.py:12"),
        ("other:input", "forward", None, None),
    ],
)
def test_the_layer_of_an_event_is_that_of_its_hook_or_the_next_above(target, phase, layer, place):
    a, b = (
        replace(record(LOSSES, SAME), events=(event_at(target, norm, phase),))
        for norm in (1.0, 2.0)
    )
    first = compared(a, b).first
    what = "gradient" if phase == "backward" else "value"
    assert f"step 1: the {what} at {target}[0] (tensor) differs first" in first.sentence
    assert (first.layer, first.place, first.other_place) == (layer, place, place)


def test_the_line_in_b_is_that_of_the_first_call_that_has_one():
    a = record(LOSSES, SAME)
    b = record(LOSSES, {**SAME, "stem.weight": 0.9})
    lines = {1: "b.py:1", 2: None, 3: "b.py:3", 4: "b.py:4"}
    again = [replace(b.layers[2], order=order, call=order - 2) for order in (3, 4)]
    rows = [replace(row, place=lines.get(row.order)) for row in (*b.layers, *again)]
    first = compared(a, replace(b, layers=tuple(rows))).first
    assert (first.layer, first.place, first.other_place) == ("stem", "train.py:12", "b.py:3")


def test_the_type_of_the_root_is_told_once():
    a, b = record(LOSSES, SAME, name="x"), record(LOSSES, SAME, name="x", root="Other")
    told = [(row.name, row.record, row.a, row.b) for row in compared(a, b).settings]
    assert told == [("root", "x", "Net", "Other")]


def test_a_summary_counts_steps_and_figures():
    a = record(LOSSES, SAME, sampled=(0,))
    (row,) = compared(a, record([2.0, 1.8, 1.2, 1.0], SAME)).records
    assert summary_of(row) == ("4 steps compared, 1 of them in detail: 1 of 22 figures differ")
    many = record([1.0] * 1200, {})
    (row,) = compared(many, many).records
    assert summary_of(row) == (
        "1,200 steps compared, 1,200 of them in detail: 0 of 6,000 figures differ"
    )


@pytest.mark.parametrize(("step", "advice"), [(1, "0-1"), (3, "2-3")])
def test_the_step_before_is_observed_too(step, advice):
    a = record(LOSSES, SAME, sampled=(0,))
    losses = [9.0 if i == step else loss for i, loss in enumerate(LOSSES)]
    first = compared(a, record(losses, SAME, sampled=(0,))).first
    assert f"`hookcli run --steps {advice}`" in first.advice
