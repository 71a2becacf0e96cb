"""What the texts say of values that most reports do not have, or do not know."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import replace

import pytest

from hookcli.comparison.compare import compare
from hookcli.comparison.diff import CallDiff, CallRef, OrderDiff
from hookcli.comparison.training.compare_trainings import compare_trainings
from hookcli.comparison.training.training_diff import GradientDiff
from hookcli.errors import RequestError
from hookcli.formats.check.document import performed
from hookcli.formats.check.merged import merged
from hookcli.formats.ci.step_summary import brief
from hookcli.formats.diff.rows import CALLS, verdict
from hookcli.formats.document import ranks
from hookcli.formats.document.document import Document, Problem, ProblemsBlock
from hookcli.formats.document.terminal import page
from hookcli.formats.inspect.training import label, nothing_saved
from hookcli.formats.notebook import render as notebook
from hookcli.formats.parts.summary import notes, totals
from hookcli.formats.registry import FORMATS
from hookcli.formats.svg.drawing import Drawing
from hookcli.formats.svg.marks import legend
from hookcli.formats.tensorboard.module_graph import module_graph
from hookcli.formats.tensorboard.scalars import scalars, training_scalars
from hookcli.formats.trace.tree import Glyphs, guides
from hookcli.formats.training import facts
from hookcli.formats.training.details import events, parameter_columns
from hookcli.formats.training.findings import first_non_finite, made, tensor
from hookcli.formats.training.steps import select_steps
from hookcli.formats.training_diff import lines
from hookcli.formats.training_diff.steps import GRADIENTS, GradientDiffLine, ratio, select
from hookcli.formats.view import View
from hookcli.report.distributed import DifferenceRow, Distributed
from hookcli.report.events import Streamed
from hookcli.report.findings import Diagnosis, Measurement
from hookcli.report.memory import CallMemory, TrainingMemory
from hookcli.report.report import ErrorInfo, ModelInfo
from hookcli.report.training import ScriptInfo
from hookcli.report.values import Leaf
from tests.comparison.trainings import record as compared, training as run
from tests.distributed.rows import bucket
from tests.formats.fabricate import EVENTS, GRADS, LAYERS, TRACE, event, layer, parameter, stats
from tests.formats.training_reports import CNN, exploding, record, step_row, training

FIRST = exploding(20).first_non_finite


def draw(found, form="table", **view):
    return FORMATS[form].render(found, View(**{"width": 200, **view}))


def draw_training(found, form="table", **view):
    return FORMATS[form].render(found, View(**{"width": 200, **view}))


# Ranks


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (("gradient", "w", 2.0, 2.0),
         "the gradient of w has different bits, but the same norm 2"),
        (("parameter value", "w", 2.0, 1.0), "the value of w has norm 2, but 1 on rank 0"),
        (("call", "3", "fc", "head"), "call 3 is a call of fc, but of head on rank 0"),
        (("calls", "", 3, 2), "3 calls, but 2 on rank 0"),
        (("uncalled", "fc", True, False), "fc did not run, but ran on rank 0"),
        (("uncalled", "fc", False, True), "fc ran, but did not run on rank 0"),
        (("status", "w", "none", "ok"), "the gradient of w is none, but ok on rank 0"),
        (("loss", "0", "nan", 1.0), "the loss 0 is nan, but 1 on rank 0"),
    ],
)  # fmt: skip
def test_a_difference_between_ranks_is_a_sentence(row, said):
    assert ranks.sentence(DifferenceRow(*row)) == said


def test_norms_that_no_rank_measured_are_a_dash():
    def norms(*before):
        buckets = (bucket(norms_before=before),)
        own = Distributed("gloo", "ddp", 2, "allreduce", {}, buckets=buckets)
        return ranks._BUCKETS["norms_before"].text(own.buckets[0])

    assert [norms(None, None), norms(2.0, 2.0), norms(1.0, None, 2.0)] == ["–", "2", "1..2"]


# The first value of a training that is not finite


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "made in forward by aten.log in layer 'fc2' at train.py:21"),
        ({"layer": ""}, "made in forward by aten.log in the root at train.py:21"),
        ({"layer": None, "phase": None}, "made by aten.log at train.py:21"),
        ({"layer": None, "phase": None, "operator": None, "place": None}, ""),
        ({"phase": None, "operator": None, "place": None, "found_by": "gradients"},
         "made in layer 'fc2', as the gradients of parameters show"),
    ],
)  # fmt: skip
def test_where_a_value_was_made(changes, said):
    assert made(replace(FIRST, **changes)) == said


def test_inputs_reason_and_batch_are_lines_if_they_are_known():
    known = replace(exploding(20), diagnoses=())
    assert [name for name, _ in first_non_finite(known)] == [
        "first non-finite", "inputs", "reason", "batch"
    ]  # fmt: skip
    bare = replace(FIRST, inputs=(), reason=None, batch=None)
    unknown = replace(known, first_non_finite=bare)
    assert [name for name, _ in first_non_finite(unknown)] == ["first non-finite"]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({}, "a tensor"),
        ({"dtype": "float32"}, "float32"),
        ({"dtype": "float32", "shape": [2, None], "nans": 1}, "float32 [2, *] with 1 NaN"),
    ],
)
def test_an_input_is_described_as_far_as_it_is_known(value, said):
    assert tensor(value) == said


def test_a_training_that_hookcli_stopped_observing_says_why():
    tracking = replace(CNN.tracking, detached="an error\n of its own")
    text = draw_training(replace(CNN, tracking=tracking))
    assert "hookcli stopped observing: an error of its own" in text


# Totals


def test_totals_that_depend_on_unknown_counts_are_omitted():
    model = ModelInfo("net.py", "python", "Net", "net.py:3", parameters=21)
    unused = parameter("idle.weight", (3, 7), "none")
    known = replace(GRADS, model=model, parameters=(unused,))
    assert dict(totals(known)) == {
        "Total params": "21", "  in modules never called": "21",
    }  # fmt: skip
    for unknown in (
        replace(known, parameters=(replace(unused, numel=None),)),
        replace(known, layers=tuple(replace(row, own_parameters=None) for row in LAYERS)),
    ):
        assert dict(totals(unknown)) == {"Total params": "21"}
    split = replace(known, model=replace(model, trainable_parameters=20))
    assert dict(totals(split))["Non-trainable params"] == "1"


def test_a_glob_that_matches_no_call_is_told():
    assert notes(TRACE, "zz*") == ["no name matches --only zz*"]
    assert notes(TRACE, "fc") == []


# Two trainings


def differing():
    """Two trainings of two steps whose losses and gradients part at the second."""
    ours = compared([2.0, 1.0], {"a.weight": 0.5, "b.weight": 0.5})
    theirs = compared([2.0, 1.5], {"a.weight": [0.5, 0.9], "b.weight": 0.5})
    return compare_trainings(run(ours), run(theirs))


def test_the_first_difference_has_its_meaning_and_an_advice():
    diff = differing()
    assert dict(lines.first(diff))["First difference"].startswith("the trainings part at step 1")
    first = replace(diff.first, meaning="the data differ", advice="compare the batches")
    told = lines.first(replace(diff, first=first))
    assert told[-2:] == [("meaning", "the data differ"), ("try", "compare the batches")]
    bare = lines.first(replace(diff, first=replace(first, meaning=None, advice=None)))
    assert {"meaning", "try"}.isdisjoint(dict(bare))


def test_parameters_of_a_glob_are_shown_though_they_are_equal():
    diff = differing()
    assert [line.row.a for line in select(diff, View()).gradients] == ["a.weight"]
    shown = select(diff, View(only="b.*")).gradients
    assert [line.row.a for line in shown] == ["b.weight"]
    assert GRADIENTS["verdict"].text(shown[0]) == "same"


def test_parameters_that_are_not_shown_are_counted():
    many = {f"l{i}.weight": 0.5 for i in range(40)}
    other = {name: [0.5, 0.9] for name in many}
    diff = compare_trainings(run(compared([2.0, 1.0], many)), run(compared([2.0, 1.0], other)))
    rows = select(diff, View())
    assert len(rows.gradients) + rows.hidden_gradients == 40
    assert any(
        note.startswith(f"{rows.hidden_gradients} parameters not shown")
        for note in lines.notes(diff, rows, View())
    )


def test_trainings_without_a_figure_in_common_are_the_same_as_far_as_they_show():
    diff = compare_trainings(run(), run())
    assert lines.last_line(diff) == "SAME as far as the reports show: no figure was compared"


@pytest.mark.parametrize(
    ("pair", "text"),
    [((None, 1.0), "–"), ((1.0, None), "–"), ((1.0, 1.0), "0"), ((0.0, 1.0), "–"),
     ((2.0, 1.0), "0.5"), ((1.0, "inf"), "–")],
)  # fmt: skip
def test_a_relative_difference_of_two_figures(pair, text):
    assert ratio(pair) == text


@pytest.mark.parametrize(
    ("changes", "text"),
    [({"status": "only_a"}, "only in A"), ({"status": "only_b"}, "only in B"),
     ({"status": "different"}, "shape differs"), ({"status": "unknown"}, "unknown")],
)  # fmt: skip
def test_a_parameter_without_a_first_step_has_a_verdict(changes, text):
    known = {"a": "w", "b": "w", "shapes": ((2,), (2,)), "steps": 2, "different": 0,
             "first": None, "largest": None}  # fmt: skip
    line = GradientDiffLine("Net", GradientDiff(**{**known, **changes}))
    assert GRADIENTS["verdict"].text(line) == text


# Records of a training


def test_only_a_record_of_a_training_has_steps():
    with pytest.raises(ValueError, match="must have `training`"):
        facts.training_of(GRADS)
    assert {step for tag, step, _ in training_scalars(record(total=3)) if tag == "loss"} == {
        0,
        1,
        2,
    }
    assert {step for _, step, _ in training_scalars(GRADS)} == {0}


def test_losses_that_are_not_finite_are_counted_if_the_last_one_is():
    def loss(*values):
        steps = tuple(step_row(i, True, loss=value) for i, value in enumerate(values))
        return ", ".join(facts.figures(record(total=len(values), steps=steps)))

    assert "loss 2 → 1 (not finite in 1 step)" in loss(2.0, "nan", 1.0)
    assert "not finite" not in loss(2.0, 1.0, "nan")
    assert "not finite" not in loss(2.0, 1.0)


def test_a_training_without_steps_has_no_table_of_them():
    empty = record(total=0, steps=())
    assert select_steps(empty.training, View()).rows == []


def test_events_that_are_sorted_are_those_of_all_steps():
    made_of = tuple(event(i, "forward", "forward", "conv1", 0, step=i) for i in range(3))
    traced = record(total=3, command="trace", events=made_of)
    assert [row.step for row in events(traced, View())] == [0]
    assert [row.step for row in events(traced, View(sort="-order"))] == [2, 1, 0]


def test_events_in_a_file_are_counted():
    streamed = record(total=3, command="trace", events=Streamed("events.jsonl", 1234, 0))
    assert "1,234 events in events.jsonl" in draw_training(training(streamed))


def test_a_training_without_updates_has_no_column_of_them():
    whole = record(total=3)
    none = replace(whole, training=replace(whole.training, updates=()))
    known, unknown = (
        list(parameter_columns(made_of, list(made_of.parameters), View()))
        for made_of in (whole, none)
    )
    assert [name for name in known if name != "update"] == unknown
    assert known.index("update") + 1 == known.index("status")


def test_the_python_of_a_training_is_a_line_if_it_is_not_that_of_hookcli():
    other = replace(CNN.environment, python_source=".venv", python_executable="/v/python")
    text = draw_training(replace(CNN, environment=other))
    assert "3.11, torch 2.13 /v/python (.venv)" in text


def test_a_glob_that_matches_no_parameter_of_a_training_is_told():
    assert "no name matches --only zz*" in draw_training(CNN, only="zz*")


def test_a_record_without_gradients_has_no_table_of_them_in_the_summary():
    none = record(total=3, statuses=dict.fromkeys([row.name for row in CNN.records[0].parameters],
                                                  "none"))  # fmt: skip
    assert "**Gradients" in brief(CNN, View())
    assert "**Gradients" not in brief(training(none), View())


def test_columns_of_another_table_show_no_events():
    traced = record(total=3, command="trace", events=EVENTS)
    shown, hidden = (
        draw_training(training(traced), "markdown", columns=columns)
        for columns in (None, ("loss",))
    )
    assert "fc.weight" in shown
    assert "fc.weight" not in hidden


def test_a_script_that_raised_nothing_but_a_name_has_no_message():
    script = ScriptInfo("train.py", (), False, "exception", 1, "KeyboardInterrupt", "train.py:3")
    error = merged(replace(CNN, script=script)).error
    assert (error.type, error.message, error.place) == ("KeyboardInterrupt", "", "train.py:3")


# One report


@pytest.mark.parametrize(
    ("forwards", "backwards", "said"),
    [(1, 1, "1 forward and backward in train mode (finite)"),
     (2, 1, "2 forwards and 1 backward in train mode (finite)"),
     (2, 0, "2 forwards in train mode (finite)")],
)  # fmt: skip
def test_what_a_check_ran_is_counted(forwards, backwards, said):
    value = {"forwards": forwards, "backwards": backwards, "mode": "train", "rules": ["finite"]}
    ran = replace(TRACE, measurements=(Measurement("passes", "", None, value, None),))
    assert performed(ran) == f"check ran {said}"


def memory_of(**more):
    names = [field.name for field in dataclasses.fields(TrainingMemory)]
    return TrainingMemory(**{**dict.fromkeys(names), "optimizer": "SGD", **more})


@pytest.mark.parametrize(
    ("more", "text"),
    [({}, "SGD"), ({"dtype": "float16", "batch": 2}, "SGD, batch 2, float16"),
     ({"dtype": "float16", "autocast": "bfloat16"}, "SGD, autocast bfloat16"),
     ({"what_if": "batch=2,foreach=true", "batch": 2}, "SGD, foreach=true, batch 2")],
)  # fmt: skip
def test_memory_is_that_of_an_optimizer_a_batch_and_a_dtype(more, text):
    assert label(memory_of(**more)) == text


def test_an_advice_is_a_line_only_if_there_is_one():
    def told(advice, form):
        problem = Diagnosis("finite", "error", "it is NaN", advice, "", None, ("finite",), ())
        return draw(replace(GRADS, diagnoses=(problem,), examined=("finite",)), form)

    for form in ("table", "markdown"):
        assert "lower the rate" in told("lower the rate", form)
        assert "to try" not in told(None, form)


def test_a_label_that_is_wrapped_has_no_style():
    view = View(width=30, color=True)
    for name, count in (("a label", 1), ("a long label of several words and many more", 0)):
        found = Document("", [ProblemsBlock([Problem(name, "text")])])
        assert page(found, view).count("\x1b[31m") == count


def test_problems_beyond_the_first_are_counted_in_a_notebook_and_a_picture():
    problems = tuple(
        Diagnosis(f"c{i}", "error", f"problem {i}", None, "", None, (), ()) for i in range(30)
    )
    many = replace(GRADS, diagnoses=problems, examined=("finite",))
    assert "more in the report" in draw(many, "svg")
    html = notebook(many, View())
    shown = sum(f"error: problem {i}<" in html for i in range(30))
    assert f"{30 - shown} more problems" in html


def test_a_notebook_shows_the_error_of_a_run_and_no_picture_of_nothing():
    error = ErrorInfo("forward", "fc", 0, (), "ValueError", "no\nway", "net.py:3")
    said = "ValueError in forward in &#x27;fc&#x27;, at net.py:3: no way"
    assert said in notebook(replace(GRADS, error=error), View())
    assert "<svg" in notebook(GRADS, View())
    assert "<svg" not in notebook(replace(GRADS, layers=(), parameters=()), View())


@pytest.mark.parametrize(("columns", "saved", "said"), [
    (("saved",), 0, True), (("saved",), 8, False), (None, 0, False), (("saved",), None, False),
])  # fmt: skip
def test_a_column_of_what_autograd_saved_says_if_that_is_nothing(columns, saved, said):
    known = None if saved is None else CallMemory(
        **{**dict.fromkeys(f.name for f in dataclasses.fields(CallMemory)), "saved_bytes": saved}
    )  # fmt: skip
    rows = tuple(replace(row, memory=known) for row in LAYERS)
    lines = nothing_saved(replace(TRACE, layers=rows), View(columns=columns))
    assert bool(lines) is said


def test_the_finite_gradient_at_the_output_is_told_beside_a_bad_one_at_the_input():
    def gradient(**output):
        good = layer(1, "fc", "Linear", 0, output_grad=stats(1.0, **output))
        leaf = Leaf("", (2, 3), "float32", stats=stats("nan", nans=3))
        bad = event(0, "backward", "tensor", "fc:input", 0, (leaf,))
        return draw(replace(GRADS, layers=(LAYERS[0], good), events=(bad,)))

    assert "(finite at its output)" in gradient()
    assert "(finite at its output)" not in gradient(nans=1)


def test_a_verdict_is_cut_to_its_column_without_what_the_other_column_shows():
    call = CallRef(0, "fc", 0, "Linear", None)
    row = CallDiff(call, call, "different", "different", "different", False, (), ())
    short = CALLS["verdict"].fit
    assert short(row, 40) == verdict(row) == "inputs already differ"
    assert short(row, 13) == "inputs differ"
    assert short(replace(row, fault=True), 14) == "output differs"


def test_calls_in_another_order_are_told():
    one, other = CallRef(0, "fc", 0, "Linear", None), CallRef(0, None, 0, "Made", None)
    diff = replace(compare(TRACE, TRACE), order=OrderDiff(one, other))
    text = FORMATS["table"].render(diff, View(width=200))
    assert "the order of calls differs: A calls fc and B calls Made" in text


def test_a_training_of_many_records_is_drawn_in_part():
    records = tuple(record(f"net{i}", total=3) for i in range(10))
    assert "2 more records in the report" in draw_training(training(*records), "svg")
    assert "more record" not in draw_training(training(*records[:8]), "svg")


def test_the_legend_of_many_marks_has_several_lines():
    kinds = ("nan", "inf", "zero", "none", "frozen", "unknown")
    narrow, wide = (legend(Drawing(), 0.0, 0.0, kinds, room) for room in (150.0, 10_000.0))
    assert narrow > wide


def test_a_parameter_of_zeros_has_no_bar_of_its_weight():
    def bars(weight):
        row = parameter("fc.weight", (4, 3), grad=stats(0.5), weight=weight)
        return draw(replace(GRADS, parameters=(row,)), "svg").count('class="weight"')

    assert bars(2.0) > bars(0.0)


def test_calls_that_end_in_another_order_close_the_levels_within():
    begun = [event(i, "forward", "forward_pre", name, 0) for i, name in enumerate("ab")]
    ended = [event(i, "forward", "forward", name, 0) for i, name in enumerate("ab", 2)]
    glyphs = Glyphs("|", "/", "\\")
    assert [drawn for _, drawn in guides([*begun, *ended], glyphs)] == ["/", "|/", "\\", ""]


@pytest.mark.parametrize("timings", [{"phases": 3}, {"calls": {"a": 1}}, {"nodes": "x"}])
def test_times_that_are_no_list_are_refused(timings):
    with pytest.raises(RequestError):
        draw(replace(TRACE, timings={"unit": "us", **timings}), "perfetto")


def test_events_in_a_file_and_outputs_of_nothing_are_not_in_tensorboard():
    streamed = replace(TRACE, events=Streamed("e.jsonl", 8, 0))
    tags = {tag for tag, *_ in scalars(replace(TRACE, events=EVENTS))}
    assert {tag for tag, *_ in scalars(streamed)} <= tags


def test_steps_without_a_time_are_not_on_the_timeline():
    seen = tuple(
        event(seq, "forward", "forward", "conv1", 0, step=step) for seq, step in enumerate((1, 9))
    )
    timeline = draw_training(training(record(total=3, events=seen)), "perfetto")
    instants = [row for row in json.loads(timeline)["traceEvents"] if row["ph"] == "i"]
    assert [row["args"]["seq"] for row in instants] == [0]


def test_a_call_without_outputs_has_no_shapes_in_a_graph():
    def shapes(**more):
        row = layer(0, "", "Net", None, **more)
        (*_, node) = module_graph(replace(TRACE, layers=(row,))).node
        return "_output_shapes" in node.attr

    assert shapes()
    assert not shapes(outputs=())
