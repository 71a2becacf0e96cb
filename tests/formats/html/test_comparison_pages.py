"""The pages of a diff and of a comparison of two trainings."""

from __future__ import annotations

import dataclasses
import re

import pytest

from hookcli.comparison.compare import compare
from hookcli.comparison.diff import CallDiff, CallRef, First, StateDiff, TensorDiff
from hookcli.comparison.training.compare_trainings import compare_trainings
from hookcli.formats.html.data.compared import call_row, comparison
from hookcli.formats.registry import FORMATS
from hookcli.formats.view import View
from tests.comparison.trainings import record, training, with_rows
from tests.formats.fabricate import LAYERS, report
from tests.formats.html.test_page import data_of

SAME = compare(report("inspect", layers=LAYERS), report("inspect", layers=LAYERS))
NET, BODY, FC = CallRef(0, "", 0, "Net", "net.py:3"), CallRef(1, "body", 0, "Block", None), \
    CallRef(2, "body.part.fc", 0, "Linear", "net.py:4")  # fmt: skip
AGAIN = dataclasses.replace(FC, order=3, call=1)
FREE = CallRef(4, None, 0, "Made", None)
OTHER = dataclasses.replace(FC, type="Conv2d", place="other.py:9")


def tensor(relative=0.0, status="same", how="bits", shapes=((2, 4), (2, 4)), **more):
    known = {"path": "", "other_path": "", "dtypes": ("float32", "float32"), "limit": 1e-6}
    return TensorDiff(
        **{**known, "shapes": shapes, "relative": relative, "how": how, "status": status, **more}
    )


def call(a, b=None, status="same", *, fault=False, inputs=(), outputs=()):
    return CallDiff(a, b, status, "same", "same", fault, inputs, outputs)


BAD = tensor(0.12345678, "different", "exact")
ROWS = (
    call(NET, NET, "different", inputs=(tensor(),), outputs=(tensor(), BAD)),
    call(BODY, BODY, inputs=(tensor(),)),
    call(FC, OTHER, "different", fault=True, outputs=(BAD,)),
    call(AGAIN, None, "only_a"),
    call(None, FREE, "only_b"),
)
STATE = (
    StateDiff("parameter", "body.part.fc.weight", "body.part.fc.weight", "different", BAD, None),
    StateDiff("buffer", "mean", None, "only_a"),
    StateDiff("parameter", "head.weight", "head.w", "different", tensor(),
              tensor("nan", "different", "nonfinite")),
)  # fmt: skip
FIRST = First("output", FC, OTHER, None, None, "body.part.fc <b> differs")
DIFF = dataclasses.replace(SAME, verdict="different", reasons=("2 of 3 calls",), rows=ROWS,
                           state=STATE, first=FIRST)  # fmt: skip


def page(diff):
    return FORMATS["html"].render(diff, View())


def texts(column):
    return [None if at < 0 else column["texts"][at] for at in column["at"]]


def links(html):
    return [link.replace("&amp;", "&") for link in re.findall(r'<a href="#([^"]*tab=[^"]*)"', html)]


def test_a_call_has_both_sides_and_is_below_the_module_that_contains_its_name():
    layers = comparison(DIFF)["layers"]
    assert texts(layers["name"]) == ["", "body", "body.part.fc", "body.part.fc", None]
    assert layers["parent"] == [-1, 0, 1, 1, 0]
    assert texts(layers["a"]["type"]) == ["Net", "Block", "Linear", "Linear", None]
    assert texts(layers["b"]["type"]) == ["Net", "Block", "Conv2d", None, "Made"]
    assert texts(layers["b"]["place"])[2] == "other.py:9"
    assert layers["call"] == [0, 0, 0, 1, 0]


def test_the_status_of_a_call_is_one_word_and_its_verdict_a_sentence():
    layers = comparison(DIFF)["layers"]
    words = ["different", "same", "different", "only-in-A", "only-in-B"]
    assert texts(layers["status"]) == words
    assert texts(layers["verdict"]) == [
        "differs", "same", "inputs agree, output differs", "only A", "only B",
    ]  # fmt: skip


def test_a_call_shows_the_largest_difference_of_its_tensors():
    layers = comparison(DIFF)["layers"]
    assert layers["output"]["relative"] == [0.123457, None, 0.123457, None, None]
    assert texts(layers["output"]["text"]) == ["0.1235", "–", "0.1235", "–", "–"]
    assert texts(layers["output"]["shape_a"]) == ["[2, 4] +1", None, "[2, 4]", None, None]
    assert layers["input"]["limit"] == [1e-6, 1e-6, None, None, None]


def test_a_tensor_has_only_what_differs_from_a():
    moved = tensor(None, "different", "shape", ((2, 4), (3,)), other_path="[1]",
                   dtypes=("float32", "int64"))  # fmt: skip
    rows = (call(NET, NET, "different", outputs=(moved, tensor())),)
    layers = comparison(dataclasses.replace(DIFF, rows=rows))["layers"]
    assert layers["outputs"]["0"] == [
        ["", "[1]", "[2, 4]", "[3]", "float32", "int64", None, 1e-6, "shape", "different"],
        ["", None, "[2, 4]", None, "float32", None, 0.0, 1e-6, "bits", "same"],
    ]
    assert layers["inputs"] == {}


def test_parameters_and_buffers_have_their_module_their_value_and_their_gradient():
    made = comparison(DIFF)["parameters"]
    assert made["layer"] == [2, 0, 0]
    assert texts(made["kind"]) == ["parameter", "buffer", "parameter"]
    assert texts(made["b"]) == ["body.part.fc.weight", None, "head.w"]
    assert made["value"]["relative"] == [0.123457, None, 0.0]
    assert made["gradient"]["relative"] == [None, None, "nan"]
    assert texts(made["verdict"]) == ["value differs", "only A", "gradient differs"]


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        (FIRST, "tab=calls&layer=body.part.fc"),
        (dataclasses.replace(FIRST, a=AGAIN, b=None), "tab=calls&layer=body.part.fc~1"),
        (dataclasses.replace(FIRST, a=None, b=FREE), "tab=calls&layer=%404"),
        (First("parameter", None, None, None, None, "it differs"),
         "tab=parameters&parameter=body.part.fc.weight"),
        (First("gradient", FC, FC, None, None, "it differs"),
         "tab=parameters&parameter=head.weight"),
    ],
)  # fmt: skip
def test_the_header_leads_to_the_first_difference(first, expected):
    html = page(dataclasses.replace(DIFF, first=first))
    assert links(html) == [expected]


def test_the_header_has_the_first_difference_with_both_places_as_text():
    html = page(DIFF)
    assert "body.part.fc &lt;b&gt; differs" in html
    assert "A net.py:4 | B other.py:9" in html
    assert "DIFFERENT: 2 of 3 calls" in html
    assert data_of(html)["first"]["layer"] == 2


def test_equal_runs_have_no_first_difference():
    html = page(SAME)
    assert data_of(html)["first"] is None
    assert links(html) == []
    assert "verdict-good" in html


def test_a_call_is_found_by_its_side():
    assert call_row(DIFF, AGAIN, None) == 3
    assert call_row(DIFF, None, FREE) == 4
    assert call_row(DIFF, None, None) == -1


GRADS = {"a.weight": [1.0, 0.5, 0.25], "b.bias": 2.0}
A = training(record([3.0, 2.0, 1.0], GRADS), arguments=["--lr", "1"])


def run_page(a, b):
    return FORMATS["html"].render(compare_trainings(a, b), View())


def parted():
    """B, whose loss differs from step 1."""
    return training(with_rows(A.records[0], loss={1: 4.0, 2: "nan"}), arguments=["--lr", "2"])


def test_the_steps_have_the_figures_of_both_trainings():
    (made,) = data_of(run_page(A, parted()))["records"]
    steps = made["pair"]["steps"]
    assert steps["step"] == [0, 1, 2]
    assert (steps["loss_a"], steps["loss_b"]) == ([3.0, 2.0, 1.0], [3.0, 4.0, "nan"])
    assert texts(steps["status"]) == ["same", "different", "different"]
    assert steps["largest"][:2] == [0.0, 1.0]
    assert steps["different"] == [0, 1, 1]


def test_the_header_leads_to_the_step_at_which_trainings_part():
    html = run_page(A, parted())
    assert links(html) == ["tab=steps&record=0&step=1"]
    assert "The trainings part at step 1: the loss differs first" in html
    assert ["arguments", "–", "--lr 1", "--lr 2"] in data_of(html)["settings"]


def test_a_parameter_has_its_first_step_that_differs_and_the_values_there():
    other = training(record([3.0, 2.0, 1.0], {**GRADS, "a.weight": [1.0, 0.5, 0.5]}))
    (made,) = data_of(run_page(A, other))["records"]
    rows = made["layers"]
    at = texts(rows["name"]).index("a.weight")
    assert texts(rows["status"])[at] == "different"
    assert (rows["first_step"][at], rows["a"][at], rows["b"][at]) == (2, 0.25, 0.5)
    assert (rows["relative"][at], rows["different"][at], rows["steps"][at]) == (1.0, 1, 3)
    assert made["pair"]["first"]["what"] == "the gradient of a.weight"


def test_a_record_that_only_one_training_has_is_told():
    other = record([1.0], {"x.weight": 1.0}, name="netD", root="D", optimizer="Adam")
    pairs = data_of(run_page(A, training(*A.records, other)))["records"]
    assert [row["name"] for row in pairs] == ["Net (SGD)", "netD"]
    assert pairs[1]["pair"]["summary"] == "only in B: 1 step"
    assert pairs[1]["pair"]["steps"]["step"] == []


def test_equal_trainings_have_no_first_difference():
    html = run_page(A, A)
    assert links(html) == []
    (made,) = data_of(html)["records"]
    assert made["pair"]["first"] is None
    assert set(texts(made["pair"]["steps"]["status"])) == {"same"}


def test_what_has_no_row_leads_nowhere():
    assert call_row(DIFF, FC, OTHER) == 2
    assert call_row(DIFF, None, FREE) == 4
    assert call_row(DIFF, dataclasses.replace(FC, order=9), None) == -1
    same = dataclasses.replace(STATE[0], value=tensor())
    first = First("parameter", None, None, None, None, "it differs")
    html = page(dataclasses.replace(DIFF, first=first, state=(same,)))
    assert links(html) == []
    alone = comparison(dataclasses.replace(DIFF, rows=(), state=STATE))
    assert alone["parameters"]["layer"] == [-1, -1, -1]


BFLOAT = StateDiff("parameter", "w", "w", "close", tensor(dtypes=("float32", "bfloat16")), None)


def side(*, source="net.py", type="Net", parameters=5, settings=None, **run):
    how = dataclasses.replace(SAME.a.run, **{"mode": "eval", "device": "cpu", **run})
    return dataclasses.replace(
        SAME.a, source=source, type=type, parameters=parameters, settings=settings, run=how
    )


@pytest.mark.parametrize(
    ("b", "state", "named", "title"),
    [
        ({}, (), ("A", "B"), "Net"),
        ({}, (BFLOAT,), ("A: float32", "B: bfloat16"), "Net: float32 | bfloat16"),
        ({"device": "cuda"}, (), ("A: cpu", "B: cuda"), "Net: cpu | cuda"),
        (
            {"mode": "train", "settings": ("mode=train", "arg=width=8")}, (),
            ("A: eval, default width", "B: train, width=8"),
            "Net: eval, default width | train, width=8",
        ),
        ({"type": "Net2"}, (), ("A: Net", "B: Net2"), "Net | Net2"),
        ({"source": "old.py"}, (), ("A: net.py", "B: old.py"), "Net: net.py | old.py"),
        ({"parameters": 12}, (), ("A: 5 parameters", "B: 12 parameters"),
         "Net: 5 parameters | 12 parameters"),
        ({"source": "a\u202eb.py"}, (), ("A: net.py", "B: a\\u202eb.py"),
         "Net: net.py | a\\u202eb.py"),
    ],
)  # fmt: skip
def test_the_models_of_a_diff_are_named_by_what_differs(b, state, named, title):
    html = page(dataclasses.replace(SAME, a=side(), b=side(**b), state=state))
    assert tuple(data_of(html)["sides"]) == named
    for name in named:
        assert f"<dt>{name}</dt>" in html
    assert f"<title>{title} · hookcli diff</title>" in html


def test_the_trainings_of_a_diff_are_named_by_the_arguments_that_differ():
    made = training(record([1.0, 0.5], {"fc.weight": 0.5}))
    first, second = (
        dataclasses.replace(made, script=dataclasses.replace(made.script, arguments=arguments))
        for arguments in (("--lr", "0.1", "--steps", "8"), ("--steps", "8", "--lr", "0.2"))
    )
    assert data_of(page(compare_trainings(first, second)))["sides"] == [
        "A: --lr 0.1",
        "B: --lr 0.2",
    ]
    assert data_of(page(compare_trainings(first, first)))["sides"] == ["A", "B"]
