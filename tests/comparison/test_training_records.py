"""Which records of two trainings go together, and how their runs and layers differ."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import jsonschema
import pytest

from hookcli.comparison.schema import run_diff_schema
from hookcli.comparison.tolerance import Tolerances
from hookcli.comparison.training.compare_trainings import compare_trainings
from hookcli.comparison.training.observed import observe
from hookcli.comparison.training.parting import SideNames, parting, summary_of
from hookcli.comparison.training.step_pairs import StepPairs
from tests.comparison.trainings import record, training

LOSSES = [2.0, 1.5, 1.2]


def named(name, root="Net", optimizer="SGD", losses=LOSSES, gradient=0.5, **more):
    return record(losses, {"a.weight": gradient}, name=name, root=root, optimizer=optimizer, **more)


def compared(a, b):
    return compare_trainings(training(*a), training(*b))


def pairs(a, b):
    return [(row.a, row.b, row.matched) for row in compared(a, b).records]


# Records


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (["x", "y"], ["y", "x"], [("x", "x", "name"), ("y", "y", "name")]),
        (["x"], ["z"], [("x", "z", "type")]),
        (["x"], ["z Adam"], [("x", "z Adam", "root")]),
        (["x"], ["z Adam G"], [("x", "z Adam G", "rest")]),
        (["x", "y"], ["p", "q"], [("x", None, None), ("y", None, None), (None, "p", None),
                                  (None, "q", None)]),
        (["x", "y"], ["p", "y"], [("x", "p", "type"), ("y", "y", "name")]),
        (["x", "y Adam"], ["p Adam", "q"], [("x", "q", "type"), ("y Adam", "p Adam", "type")]),
        (["x SGD G", "y SGD D"], ["p Adam D", "q Adam G"],
         [("x SGD G", "q Adam G", "root"), ("y SGD D", "p Adam D", "root")]),
        (["x"], [], [("x", None, None)]),
        ([], ["x"], [(None, "x", None)]),
    ],
)  # fmt: skip
def test_records_go_together_by_name_then_type_then_root_then_as_the_only_ones(a, b, expected):
    def made(text):
        given = text.split()[1:]
        optimizer, root = [*given, *["SGD", "Net"][len(given) :]]
        return named(text, root=root, optimizer=optimizer)

    assert pairs([*map(made, a)], [*map(made, b)]) == expected


def test_records_without_an_optimizer_are_of_one_type():
    def without(name):
        report = named(name)
        return replace(report, training=replace(report.training, optimizer=None))

    assert pairs([without("x"), named("y")], [named("p"), without("q")]) == [
        ("x", "q", "type"), ("y", "p", "type"),
    ]  # fmt: skip


def test_how_records_were_matched_is_told_if_it_is_a_guess():
    for name, guessed in (("x", False), ("z", False), ("z Adam", True)):
        optimizer = "Adam" if "Adam" in name else "SGD"
        warnings = compared([named("x")], [named(name, optimizer=optimizer)]).warnings
        assert warnings == ((f"record x of A is compared with {name} of B",) if guessed else ())


def test_a_record_of_one_side_has_no_figures():
    diff = compared([named("x"), named("y")], [named("x")])
    row = diff.records[1]
    assert (row.a, row.b, row.status, row.steps) == ("y", None, "only_a", (3, None))
    jsonschema.validate(json.loads(json.dumps(asdict(diff))), run_diff_schema())
    assert (row.compared, row.sampled, row.figures, row.different) == (0, (), 0, 0)
    assert (row.first, row.follows, row.rows, row.parameters) == (None, (), (), ())
    (row,) = [row for row in compared([named("x")], [named("x"), named("y")]).records if not row.a]
    assert (row.b, row.status, row.steps) == ("y", "only_b", (None, 3))


def test_of_records_that_part_at_the_same_step_the_first_is_told():
    worse = [2.0, 9.0, 9.0]
    a = [named("x", root="X"), named("y", root="Y")]
    b = [named("x", root="X", losses=worse), named("y", root="Y", losses=worse)]
    diff = compared(a, b)
    assert diff.first.record == "x"
    assert diff.first.sentence.startswith("the trainings part at step 1 of x: the loss differs")
    assert diff.reasons == ("2 of 3 steps of x", "2 of 3 steps of y")
    late = [named("x", root="X", losses=[2.0, 1.5, 9.0]), b[1]]
    assert compared(a, late).first.record == "y"  # the earlier step
    alone = compared(a[:1], b[:1])
    assert alone.first.sentence.startswith("the trainings part at step 1: the loss differs")
    assert alone.reasons == ("2 of 3 steps",)


def test_nothing_parts_where_nothing_differs():
    one = observe(named("x"))
    (row,) = compared([named("x")], [named("x")]).records
    with pytest.raises(ValueError, match="do not differ"):
        parting(row, StepPairs(one, one, Tolerances()), SideNames(), several=False)
    assert summary_of(row) == (
        f"3 steps compared, 3 of them in detail: 0 of {row.figures} figures differ"
    )


# Steps and parameters


def test_runs_without_a_common_step_say_so():
    diff = compared([named("x", thin=(0, 1))], [named("x", thin=(2,))])
    assert (diff.verdict, diff.records[0].status) == ("same", "unknown")
    assert diff.warnings == ("x: the two runs have no step in common",)
    none = compare_trainings(training(), training())
    assert none.warnings == ("neither run has a record of a training: there is nothing to compare",)


def with_parameters(report, *names, **shapes):
    """Keep these parameters, with other shapes."""
    rows = [
        replace(row, shape=shapes.get(row.name.partition(".")[0], row.shape))
        for row in report.parameters
        if row.name in names
    ]
    return replace(report, parameters=tuple(rows))


def test_parameters_have_a_status_of_their_own():
    names = ("a.weight", "b.weight", "c.weight", "d.weight", "e.weight")
    norms = dict.fromkeys(names, 0.5)
    other = {**norms, "b.weight": [0.5, 0.501, 0.5], "c.weight": [0.5, 0.9, 0.5]}
    a = with_parameters(record(LOSSES, norms, sampled=(0, 1, 2)), *names[:4])
    b = with_parameters(record(LOSSES, other), "a.weight", "b.weight", "c.weight", "e.weight")
    (row,) = compared([a], [b]).records
    assert [(p.a, p.b, p.status, p.steps, p.different) for p in row.parameters] == [
        ("d.weight", None, "only_a", 0, 0),
        ("c.weight", "c.weight", "different", 3, 1),
        ("b.weight", "b.weight", "close", 3, 0),
        ("a.weight", "a.weight", "same", 3, 0),
        (None, "e.weight", "only_b", 0, 0),
    ]  # fmt: skip
    assert [p.shapes for p in row.parameters] == [
        ((4, 4), None), ((4, 4), (4, 4)), ((4, 4), (4, 4)), ((4, 4), (4, 4)), (None, (4, 4)),
    ]  # fmt: skip
    assert (row.parameters[1].first.step, row.parameters[1].largest) == (1, 0.8)
    unseen = compared([record(LOSSES, norms, sampled=(0,))], [record(LOSSES, norms, sampled=(1,))])
    assert {p.status for p in unseen.records[0].parameters} == {"unknown"}


@pytest.mark.parametrize(
    ("keep", "shapes", "number"),
    [
        (("a.weight", "b.weight"), {}, 0),
        (("a.weight", "b.weight"), {"a": (4, 5)}, 1),
        (("a.weight", "b.weight"), {"a": (4, 5), "b": (1,)}, 2),
        (("a.weight",), {}, 1),
        (("a.weight",), {"a": (4, 5)}, 2),
    ],
)
def test_parameters_of_other_shapes_or_of_one_side_are_a_reason(keep, shapes, number):
    one = record(LOSSES, {"a.weight": 0.5, "b.weight": 0.5})
    two = with_parameters(one, *keep, **shapes)
    words = {1: "1 parameter", 2: "2 parameters"}
    for a, b in ((one, two), (two, one)):
        diff = compared([a], [b])
        expected = (f"{words[number]} without a counterpart of the same shape",) if number else ()
        assert diff.reasons == expected


# How the runs differ


def settings(a, b):
    return [(row.name, row.a, row.b) for row in compare_trainings(a, b).settings]


@pytest.mark.parametrize(
    ("part", "changes", "expected"),
    [
        ("script", {"name": "other.py"}, [("script", "train.py", "other.py")]),
        ("script", {"is_module": True}, [("script", "train.py", "-m train.py")]),
        ("script", {"arguments": ("a b", "c")}, [("arguments", None, "'a b' c")]),
        ("script", {"ended": "exit"}, [("end", "completed", "exit")]),
        ("script", {"ended": "exception", "error": "ValueError: x"},
         [("end", "completed", "exception: ValueError: x")]),
        ("script", {"status": 3}, [("exit status", "0", "3")]),
        ("environment", {"torch": "2.10"}, [("torch", "2.9", "2.10")]),
        ("tracking", {"world_size": 2, "rank": 1}, [("ranks", "1", "2"), ("rank", "0", "1")]),
        ("tracking", {"preset": "inspect"}, [("preset", "grads", "inspect")]),
        ("tracking", {"steps": "0-9"}, [("observed steps", "all", "0-9")]),
        ("tracking", {"max_steps": 5}, [("--max-steps", None, "5")]),
        ("tracking", {"stop_on": "nan"}, [("--stop-on", None, "nan")]),
        ("tracking", {"eager": True}, [("--eager", None, "yes")]),
        ("tracking", {"detached": "why"}, [("observation ended", None, "why")]),
    ],
)  # fmt: skip
def test_properties_of_the_runs_are_told(part, changes, expected):
    a = training(named("x"))
    b = replace(a, **{part: replace(getattr(a, part), **changes)})
    assert settings(a, b) == expected
    assert settings(b, a) == [(name, second, first) for name, first, second in expected]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"wrappers": ("DDP", "Compiled")}, [("wrappers", None, "DDP, Compiled")]),
        ({"unit": "backward"}, [("unit of a step", "optimizer", "backward")]),
        ({"skipped": 1200}, [("skipped steps", "0", "1,200")]),
        ({"compiled": ("", "a")}, [("compiled modules", None, "2 modules")]),
        ({"compiled": ("a",)}, [("compiled modules", None, "1 module")]),
        ({"eval_modules": ("a", "b")}, [("modules in eval mode", None, "a, b")]),
        ({"unheld": ("a.weight",)}, [("parameters without optimizer", None, "a.weight")]),
        ({"root_type": "Other"}, [("root", "Net", "Other")]),
    ],
)
def test_properties_of_a_record_are_told(changes, expected):
    one = named("x")
    two = replace(one, training=replace(one.training, **changes))
    assert settings(training(one), training(two)) == expected


def test_options_of_the_optimizer_are_told_in_short_figures():
    def with_optimizer(**changes):
        one = named("x", options={"lr": 0.1, "nesterov": False, "betas": (0.9, 0.99)})
        info = one.training
        optimizer = replace(info.optimizer, **changes)
        return training(replace(one, training=replace(info, optimizer=optimizer)))

    a = with_optimizer()
    b = with_optimizer(parameters=7, groups=2, options={"lr": 1e-7, "nesterov": True, "eps": 3})
    assert settings(a, b) == [
        ("parameters of the optimizer", "1", "7"),
        ("parameter groups", "1", "2"),
        ("optimizer lr", "0.1", "1e-07"),
        ("optimizer nesterov", "False", "True"),
        ("optimizer betas", "(0.9, 0.99)", None),
        ("optimizer eps", None, "3"),
    ]
    without = replace(named("x"), training=replace(named("x").training, optimizer=None))
    assert ("optimizer", "SGD", None) in settings(a, training(without))


def test_layers_that_differ_are_told_once_and_not_more_than_twenty():
    names = [f"l{i:02}" for i in range(25)]
    one = record(LOSSES, {f"{name}.weight": 0.5 for name in names})
    again = replace(one.layers[1], order=26, call=1)
    one = replace(one, layers=(*one.layers, again))
    two = replace(
        one, layers=tuple(replace(row, type="Conv") if row.name else row for row in one.layers)
    )
    told = settings(training(one), training(two))
    assert told == [(f"layer {name}", "Linear", "Conv") for name in names[:20]]


def test_layers_and_parameters_of_one_side_are_told():
    one = record(LOSSES, {"a.weight": 0.5, "b.weight": 0.5})
    layers = tuple(row for row in one.layers if row.name != "b")
    two = replace(with_parameters(one, "a.weight", a=(None, 4)), layers=layers)
    two = replace(two, parameters=(replace(two.parameters[0], dtype="float16"),))
    here, there = training(one), training(two)
    assert settings(here, there) == [
        ("layer b", "Linear", None),
        ("parameter a.weight", "float32 [4, 4]", "float16 [*, 4]"),
        ("parameter b.weight", "float32 [4, 4]", None),
    ]
    assert settings(there, here) == [
        ("layer b", None, "Linear"),
        ("parameter a.weight", "float16 [*, 4]", "float32 [4, 4]"),
        ("parameter b.weight", None, "float32 [4, 4]"),
    ]
