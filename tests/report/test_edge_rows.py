"""Edges in a saved report: what is written is read again, and what cannot be is refused."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from hookcli.errors import RequestError
from hookcli.report.edges import EdgeRow
from hookcli.report.encode import to_json
from hookcli.report.files import read_report
from tests.formats.fabricate import layer, report

ROWS = (
    layer(0, "", "Net", None),
    layer(1, "a", "Block", 0),
    layer(2, "a.fc", "Linear", 1),
    layer(4, "b", "Linear", 0),
)
EDGES = (
    EdgeRow(4, "", 0, "", "output"),
    EdgeRow(2, "[0]", 0, ".y", "output", ("relu", "add")),
    EdgeRow(None, "[0]", 1, "[0]"),
    EdgeRow(2, "", 1, "", "output", ("add",)),
    EdgeRow(None, "[0]", 1, "", "output", ("add",)),
    EdgeRow(1, "", 4, ".x", through=("…", "add")),
    EdgeRow(2, "", 4, ".x"),
)
SAVED = replace(report("inspect", layers=ROWS), edges=EDGES)


def test_what_is_written_is_read_again(tmp_path):
    path = tmp_path / "r.json"
    path.write_text(to_json(SAVED))
    assert read_report(str(path)) == SAVED
    assert len([line for line in path.read_text().splitlines() if '"through"' in line]) == 7


def test_a_report_of_an_earlier_version_has_no_edges(tmp_path):
    path = tmp_path / "r.json"
    path.write_text(to_json(replace(SAVED, edges=None)))
    assert "edges" not in json.loads(path.read_text())
    assert read_report(str(path)).edges is None


@pytest.mark.parametrize(
    ("edge", "message"),
    [
        (EdgeRow(3, "", 4, ""), "edges.0.source: there is no call 3"),
        (EdgeRow(1, "", 3, ""), "edges.0.target: there is no call 3"),
        (EdgeRow(None, "", 10**9, ""), "edges.0.target: there is no call 1000000000"),
        (EdgeRow(4, "", 2, ""), "edges.0.source: 4 must be less than 2"),
        (EdgeRow(2, "", 2, ""), "edges.0.source: 2 must be less than 2"),
        (EdgeRow(4, "", 1, "", "output"), "edges.0.source: 4 must be a call before or inside 1"),
        (EdgeRow(1, "", 1, "", "output"), "edges.0.source: 1 must be a call before or inside 1"),
    ],
)
def test_an_edge_that_hookcli_cannot_have_written_is_refused(tmp_path, edge, message):
    path = tmp_path / "r.json"
    path.write_text(to_json(replace(SAVED, edges=(edge,))))
    with pytest.raises(RequestError, match=message):
        read_report(str(path))


@pytest.mark.parametrize(
    ("key", "value"),
    [("source", "1"), ("target", None), ("end", "middle"), ("through", "add"), ("input", 3)],
)
def test_values_of_other_types_are_refused(tmp_path, key, value):
    document = json.loads(to_json(SAVED))
    document["edges"][5][key] = value
    path = tmp_path / "r.json"
    path.write_text(json.dumps(document))
    with pytest.raises(RequestError, match=f"edges.5.{key}"):
        read_report(str(path))


def test_many_nested_calls_are_checked_without_recursion_in_linear_time(tmp_path):
    """Each of 20,000 calls is inside the one before it; walking up would take 10^8 steps."""
    rows = [replace(ROWS[0], order=i, parent=i - 1 if i else None, depth=i) for i in range(20_000)]
    edges = tuple(EdgeRow(19_999, "", i, "", "output") for i in range(10_000))
    path = tmp_path / "r.json"
    path.write_text(to_json(replace(SAVED, layers=tuple(rows), edges=edges)))
    assert len(read_report(str(path)).edges) == 10_000
