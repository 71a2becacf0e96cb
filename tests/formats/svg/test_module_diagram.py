"""The diagram of modules: its boxes, the lines between them, and their places."""

from __future__ import annotations

import dataclasses
from itertools import pairwise

import pytest

from hookcli.formats.svg.call_tree import INPUT, MADE, OUTPUT
from hookcli.formats.svg.module_diagram import compact, module_boxes
from hookcli.formats.view import View
from hookcli.report.edges import EdgeRow
from hookcli.report.findings import CheckRow, Diagnosis
from hookcli.report.report import ErrorInfo, UncalledRow
from hookcli.report.values import Leaf
from tests.formats.checks import CHECK
from tests.formats.fabricate import TRACE, layer, report
from tests.formats.svg.read_svg import ends, picture, render

HOSTILE = "</text><script>alert(1)</script>&\"'\x00\u202e\ufffe]]>"


def leaf(*shape):
    return (Leaf("", shape, "float32"),)


def call(order, name, kind, parent=None, depth=None, **more):
    row = layer(order, name, kind, parent, **more)
    return dataclasses.replace(row, depth=(0 if parent is None else 1) if depth is None else depth)


def edge(source, target, *through, end="input", output=""):
    return EdgeRow(source, output, target, "[0]", end, through)


# net: x → fc1 → block (a → b, added to its input) → fc2
NET = report(
    "inspect",
    layers=(
        call(0, "", "Net", inputs=leaf(2, 3), outputs=leaf(2, 1)),
        call(1, "fc1", "Linear", 0, outputs=leaf(2, 4)),
        call(2, "block", "Block", 0, outputs=leaf(2, 5)),
        call(3, "block.a", "Linear", 2, 2, outputs=leaf(2, 6)),
        call(4, "block.b", "Linear", 2, 2, outputs=leaf(2, 7)),
        call(5, "fc2", "Linear", 0, outputs=leaf(2, 1)),
    ),
    edges=(
        edge(None, 0, output="[0]"),
        edge(None, 1, output="[0]"),
        edge(1, 2),
        edge(1, 3),
        edge(3, 4),
        edge(1, 4, "mul", "add"),
        edge(4, 2, "relu", end="output"),
        edge(2, 5),
        edge(5, 0, end="output"),
    ),
)


def links(known, index, **view):
    """The links in a box, by the names of their ends."""
    tree = module_boxes(known, View(**view))
    names = {INPUT: "in", OUTPUT: "out", MADE: "made"}
    names |= {i: box.row.name for i, box in enumerate(tree.boxes)}
    return {(names[a], names[b]) for a, b in tree.boxes[index].links}


def box(drawn, name):
    return drawn.tipped(f"{name}: ")


def test_edges_are_links_between_neighbours():
    assert links(NET, 0) == {("in", "fc1"), ("fc1", "block"), ("block", "fc2"), ("fc2", "out")}
    assert links(NET, 2) == {
        ("in", "block.a"), ("in", "block.b"), ("block.a", "block.b"), ("block.b", "out"),
    }  # fmt: skip


def test_boxes_are_in_those_of_their_callers_and_none_overlap():
    drawn = picture(NET)
    root, block = box(drawn, "the model"), box(drawn, "block")
    a, b = box(drawn, "block.a"), box(drawn, "block.b")
    for inner in (box(drawn, "fc1"), block, box(drawn, "fc2")):
        assert root.contains(inner)
    assert block.contains(a)
    assert block.contains(b)
    apart = [box(drawn, "fc1"), a, b, box(drawn, "fc2")]
    assert not any(one.overlaps(other) for one in apart for other in apart if one is not other)
    assert not any(block.overlaps(one) for one in (apart[0], apart[3]))
    assert [one.y for one in apart] == sorted(one.y for one in apart)
    assert root.right < drawn.width
    assert root.bottom < drawn.height


def test_lines_begin_and_end_at_their_boxes():
    drawn = picture(NET)
    found = [ends(line) for line in drawn.lines("edge")]

    def joins(upper, lower):
        return sum(
            upper.x < x0 < upper.right and abs(y0 - upper.bottom) < 1
            and lower.x < x1 < lower.right and abs(y1 - lower.y) < 1
            for (x0, y0), (x1, y1) in found
        )  # fmt: skip

    fc1, block, fc2 = box(drawn, "fc1"), box(drawn, "block"), box(drawn, "fc2")
    a, b = box(drawn, "block.a"), box(drawn, "block.b")
    assert [joins(fc1, block), joins(block, fc2), joins(a, b)] == [1, 1, 1]
    assert joins(fc1, fc2) == 0


def test_shapes_and_operators_are_beside_the_lines():
    drawn = picture(NET)
    words = drawn.words()
    assert {"[2, 3]", "[2, 4]", "[2, 5]", "[2, 6]", "[2, 1]"} <= set(words)
    b, a = box(drawn, "block.b"), box(drawn, "block.a")
    operators = drawn.text("mul, add")
    assert a.bottom < operators.y < b.y
    assert b.bottom < drawn.text("relu").y < box(drawn, "block").bottom
    assert a.bottom < drawn.text("[2, 6]").y < b.y


def test_operators_that_ran_in_a_box_that_got_the_tensor_are_in_that_box():
    tree = module_boxes(NET, View())
    assert "mul" not in str(tree.boxes[0].operators)
    assert list(tree.boxes[2].operators[4]) == ["mul", "add"]
    # in a box that is not opened, they are not shown
    assert not module_boxes(NET, View(depth=1)).boxes[0].operators


def test_a_depth_closes_deeper_boxes():
    drawn = picture(NET, depth=1)
    assert not [e for e in drawn.elements if e.tip.startswith("block.a")]
    assert links(NET, 0, depth=1) == links(NET, 0)
    assert "4 of 6 modules that ran, down to level 1 of 2" in drawn.words()


def test_only_shows_the_matching_modules_in_their_callers():
    drawn = picture(NET, only="block.*")
    tips = {e.tip.partition(":")[0] for e in drawn.elements if e.tag == "rect" and e.tip}
    assert tips == {"the model", "block", "block.a", "block.b"}
    assert "no module matches" in picture(NET, only="nothing").words()


def recurrent(steps):
    """A cell that is called several times, each time with its previous output."""
    rows, edges = [call(0, "", "Net", inputs=leaf(2, 3), outputs=leaf(2, 4))], []
    order, before = 1, None
    for _ in range(steps):
        cell = order
        rows += [
            call(cell, "cell", "Cell", 0, call=order),
            call(cell + 1, "cell.fc", "Linear", cell, 2),
            call(cell + 2, "cell.act", "Tanh", cell, 2),
        ]
        edges += [edge(None, cell, output="[0]"), edge(None, cell + 1, output="[0]")]
        edges += [edge(cell + 1, cell + 2)]
        if before is not None:
            edges += [edge(before, cell), edge(before, cell + 1, "add")]
        before, order = cell + 2, order + 3
    edges.append(edge(before, 0, end="output"))
    rows = [
        dataclasses.replace(row, parameters=0, own_parameters=0) if row.type == "Tanh" else row
        for row in rows
    ]
    return report("inspect", layers=tuple(rows), edges=tuple(edges))


def test_calls_of_the_same_module_are_one_box_with_a_loop():
    known = recurrent(5)
    tree = module_boxes(known, View())
    assert [(box.row.name, box.calls) for box in tree.boxes] == [
        ("", 1), ("cell", 5), ("cell.fc", 5), ("cell.act", 5),
    ]  # fmt: skip
    assert links(known, 0) == {("in", "cell"), ("cell", "cell"), ("cell", "out")}
    assert links(known, 1) == {("in", "cell.fc"), ("cell.fc", "cell.act"), ("cell.act", "out")}
    drawn = picture(known)
    assert {"cell ×5", "fc ×5", "act ×5"} <= set(drawn.words())
    assert len(drawn.lines("loop")) == 1
    (_, start), (x, end) = ends(drawn.lines("loop")[0])
    cell = box(drawn, "cell")
    assert cell.y < end < start < cell.bottom
    assert abs(x - cell.right) < 8


def activation(order, inputs):
    row = call(order, "act", "ReLU", 0, call=inputs)
    return dataclasses.replace(row, parameters=0, own_parameters=0)


@pytest.mark.parametrize(("calls", "boxes"), [(3, 3), (4, 4), (5, 1)])
def test_a_few_calls_of_an_activation_are_steps_of_their_own(calls, boxes):
    rows = (call(0, "", "Net"), *(activation(i + 1, i) for i in range(calls)))
    chain = tuple(edge(i, i + 1) for i in range(1, calls))
    tree = module_boxes(report("inspect", layers=rows, edges=chain), View())
    assert len(tree.boxes) - 1 == boxes


def test_lines_of_the_same_boxes_are_drawn_once():
    twice = dataclasses.replace(NET, edges=NET.edges * 2)
    assert len(picture(twice).lines("edge")) == len(picture(NET).lines("edge"))


def test_a_tensor_that_forward_makes_itself_comes_from_the_box():
    rows = (call(0, "", "Net"), call(1, "fc", "Linear", 0))
    known = report("inspect", layers=rows, edges=(edge(0, 1), edge(1, 0, end="output")))
    assert links(known, 0) == {("made", "fc"), ("fc", "out")}
    assert "made in forward" in picture(known).words()


def test_so_many_lines_that_none_can_be_followed_are_reduced_to_a_path():
    rows = (call(0, "", "Net"), *(call(i, f"l{i}", "Linear", 0) for i in range(1, 13)))
    every = tuple(edge(a, b) for a in range(1, 13) for b in range(a + 1, 13))
    known = report("inspect", layers=rows, edges=every)
    assert links(known, 0) == {(f"l{i}", f"l{i + 1}") for i in range(1, 12)}
    assert any("55 lines beside others omitted" in word for word in picture(known).words())


def test_without_edges_boxes_are_in_the_order_of_the_calls():
    drawn = picture(dataclasses.replace(NET, edges=None))
    order = [box(drawn, name) for name in ("fc1", "block.a", "block.b", "fc2")]
    assert all(a.bottom < b.y for a, b in pairwise(order))
    assert not drawn.lines("edge")
    assert any("the report has no edges" in word for word in drawn.words())


def test_no_more_than_sixty_boxes_unless_a_depth_is_given():
    rows = [call(0, "", "Net")]
    for i in range(12):
        block = len(rows)
        rows.append(call(block, f"h.{i}", "Block", 0))
        rows += [call(block + j, f"h.{i}.{j}", "Linear", block, 2) for j in range(1, 6)]
    known = report("inspect", layers=tuple(rows), edges=())
    assert len(module_boxes(known, View()).boxes) == 13
    assert len(module_boxes(known, View(depth=2)).boxes) == 73


def test_a_level_with_too_many_boxes_is_shown_in_part_if_the_one_above_has_very_few():
    rows = [call(0, "", "Net"), call(1, "body", "Sequential", 0)]
    rows += [call(i, f"body.{i}", "Linear", 1, 2) for i in range(2, 82)]
    rows.append(call(82, "head", "Linear", 0))
    drawn = picture(report("inspect", layers=tuple(rows), edges=()))
    inside = [e for e in drawn.elements if e.tag == "rect" and e.tip.startswith("body.")]
    assert len(inside) == 60 // 3 - 1  # for three boxes above, and one for those in the middle
    assert "61 modules, the first is body.12" in [e.tip for e in drawn.rects("box")]


def test_a_module_with_very_many_inside_shows_the_first_and_the_last():
    rows = (call(0, "", "Net"), *(call(i, f"l{i}", "Linear", 0) for i in range(1, 5001)))
    chain = tuple(edge(i, i + 1) for i in range(1, 5000))
    known = report("inspect", layers=rows, edges=chain)
    text = render(known)
    assert len(text.encode()) < 100_000
    drawn = picture(known)
    assert {"l1", "l5000", "… 4,941 modules"} <= set(drawn.words())
    assert len(drawn.rects("box")) - 1 == 60  # and the sample of the legend
    assert len(drawn.lines("edge")) == 59 + 2  # and those of the batch and the output
    assert not drawn.lines("loop")


def test_the_layer_that_raised_is_marked():
    rows = (*NET.layers[:4], dataclasses.replace(NET.layers[4], notes=("raised ValueError",)))
    error = ErrorInfo("forward", "block.b", 0, (), "ValueError", "no", "net.py:4")
    stopped = dataclasses.replace(
        NET, layers=rows, edges=NET.edges[:6], error=error, status="partial"
    )
    drawn = picture(stopped)
    assert [e.tip.partition(":")[0] for e in drawn.rects("failed")] == ["block.b"]
    assert "partial: ValueError in forward, in block.b: no" in drawn.words()
    closed = picture(stopped, depth=1)
    assert [e.tip.partition(":")[0] for e in closed.rects("failed")] == ["block"]


def test_findings_mark_the_boxes_that_they_are_about():
    finding = CheckRow("r", "block.b.weight", "fail", "warning", 1, 1, "m", None, "f")
    problem = Diagnosis("c", "error", "fc1 is wrong", None, "fc1", None, (), ())
    known = dataclasses.replace(NET, checks=(finding,), diagnoses=(problem,))
    drawn = picture(known)
    badges = [e for e in drawn.elements if e.tag == "circle"]
    at = {}
    for name in ("fc1", "block.b"):
        place = box(drawn, name)
        at[name] = [
            e.classes[0] for e in badges
            if abs(float(e.attributes["cx"]) + e.dx - place.right) < 4
            and abs(float(e.attributes["cy"]) + e.dy - place.y) < 4
        ]  # fmt: skip
    assert at == {"fc1": ["wrongfill"], "block.b": ["mindfill"]}
    assert len(badges) == 2
    assert "error: fc1 is wrong" in drawn.words()


def test_a_check_says_whether_it_passed():
    known = dataclasses.replace(CHECK, edges=())
    last = "FAILED: 1 failed, 2 warned, 1 not judged, 3 skipped, 1 passed"
    assert last in [e.text for e in picture(known).texts("wrong")]


def test_a_report_without_calls_is_a_picture_that_says_so():
    drawn = picture(report("inspect"))
    assert "no module was called" in drawn.words()


def test_modules_that_were_not_called_are_counted():
    known = dataclasses.replace(NET, uncalled=(UncalledRow("aux", "Linear", None),))
    assert any("1 module was not called" in word for word in picture(known).words())


@pytest.mark.parametrize("command", ["inspect", "trace", "check"])
def test_hostile_names_are_text(command):
    rows = (
        call(0, "", HOSTILE),
        call(1, HOSTILE, HOSTILE, 0),
        call(2, f"{HOSTILE}.b", HOSTILE, 1, 2),
    )
    known = report(command, layers=rows, edges=(edge(None, 1, HOSTILE), edge(2, 0, end="output")))
    text = render(known)
    drawn = picture(known)  # it is XML
    assert "<script" not in text
    assert not set(text) & {"\x00", "\u202e", "\ufffe"}
    assert not [e for e in drawn.elements if e.tag == "script"]
    assert text == render(known)


def test_a_picture_fetches_nothing():
    text = render(NET).replace("http://www.w3.org/2000/svg", "")
    assert not [word for word in ("http", "@import", "<image", "<script", "href") if word in text]
    assert "prefers-color-scheme:dark" in text


def test_an_old_report_of_a_trace_has_a_diagram():
    assert {"fc", "head"} <= set(picture(TRACE).words())


def test_lines_to_modules_that_a_view_hides_end_at_the_boxes_that_are_shown():
    assert links(NET, 0, only="block.*") == set()
    assert links(NET, 1, only="block.*") == links(NET, 2)
    only_a = {("in", "block.a"), ("block.a", "block.b"), ("in", "block.b"), ("block.b", "out")}
    assert links(NET, 1, only="block.a") == {
        link for link in only_a if "block.b" not in link
    }  # fmt: skip
    # a box that is closed because none of its modules match has the lines of what is in it
    assert links(NET, 0, only="[bf]*[ck12]") == links(NET, 0, depth=1)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (999, "999"),
        (9408, "9,408"),
        (94_080, "94.1k"),
        (23_508_032, "23.5M"),
        (1_100_000_000, "1.1B"),
    ],
)
def test_a_number_of_parameters_has_few_digits(count, text):
    assert compact(count) == text


def test_a_module_that_is_not_registered_has_its_type_as_name():
    rows = (*NET.layers, call(6, None, "Made", 0, outputs=leaf(2, 1)))
    through = (*NET.edges, edge(5, 6), edge(6, 0, end="output"))
    drawn = picture(dataclasses.replace(NET, layers=rows, edges=through))
    assert "(Made)" in [text.text for text in drawn.texts("")]


def test_a_model_without_inputs_has_no_line_to_them():
    def shapes(**more):
        root = dataclasses.replace(NET.layers[0], **more)
        made = dataclasses.replace(NET, layers=(root, *NET.layers[1:]))
        return picture(made).words().count("[2, 3]")

    assert shapes() == 1
    assert shapes(inputs=()) == 0
