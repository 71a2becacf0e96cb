"""The edges of the diagram's data, of reports made by hand."""

from dataclasses import replace

from hookcli.formats.html.data.record import edges
from hookcli.formats.html.data.references import References
from hookcli.report.edges import EdgeRow
from hookcli.report.values import Leaf
from tests.formats.fabricate import layer, report

TWO = (Leaf("[0]", (2, 3), "float32"), Leaf("[1]", (2, 5), "float32"))
CALLS = (
    layer(0, "", "Net", None, outputs=(Leaf("", (2, 8), "float32"),)),
    layer(2, "first", "Split", 0, outputs=TWO),
    layer(5, "second", "Join", 0, inputs=TWO, outputs=(Leaf("", (2, 8), "float32"),)),
)
EDGES = (
    EdgeRow(None, "[0]", 2, "[0]"),
    EdgeRow(2, "[1]", 5, "[1]", through=("mul", "add")),
    EdgeRow(5, "", 0, "", "output"),
)


def data(rows, calls=CALLS):
    made = replace(report("inspect", layers=calls), edges=rows)
    return edges(made, References(made))


def texts(column):
    return [None if at < 0 else column["texts"][at] for at in column["at"]]


def test_ends_are_rows_and_the_batch_is_minus_one():
    found = data(EDGES)
    assert found["count"] == 3
    assert found["source"] == [-1, 1, 2]
    assert found["target"] == [1, 2, 0]
    assert found["end"] == [0, 0, 1]


def test_each_end_has_its_path_and_its_shape():
    found = data(EDGES)
    assert texts(found["output"]) == ["[0]", "[1]", ""]
    assert texts(found["input"]) == ["[0]", "[1]", ""]
    assert texts(found["made"]) == [None, "[2, 5]", "[2, 8]"]
    assert texts(found["shape"]) == ["[2, 3]", "[2, 5]", "[2, 8]"]


def test_operators_are_one_text_the_nearest_to_the_target_last():
    assert texts(data(EDGES)["through"]) == ["", "mul, add", ""]


def test_a_path_that_a_call_lacks_has_no_shape():
    found = data((EdgeRow(2, "", 5, "[7]"),))
    assert texts(found["made"]) == texts(found["shape"]) == [None]


def test_an_edge_to_a_call_without_a_row_is_omitted():
    found = data((EdgeRow(2, "[0]", 77, "[0]"), EdgeRow(77, "", 5, "[0]"), EDGES[0]))
    assert found["count"] == 1
    assert found["target"] == [1]


def test_hostile_paths_are_escaped():
    found = data((EdgeRow(None, ".a\u202eb", 2, "[0]", through=("x\x00",)),))
    assert texts(found["output"]) == [".a\\u202eb"]
    assert texts(found["through"]) == ["x\\x00"]


def test_a_report_of_an_earlier_version_has_no_edges():
    assert data(None) is None
    assert data(())["count"] == 0
