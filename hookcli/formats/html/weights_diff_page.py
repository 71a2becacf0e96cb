"""The page of a comparison of weights: each tensor of A and B, the largest change first."""

from __future__ import annotations

from hookcli.console import escape
from hookcli.formats.html.data.weights import changes_record
from hookcli.formats.html.page import Header, write_page
from hookcli.formats.html.plain_tables import plain_tables
from hookcli.formats.view import View
from hookcli.formats.weights import difference
from hookcli.report.weights.weights_diff import WeightsDiff


def render(diff: WeightsDiff, view: View) -> str:
    """Return the page of a comparison; the view selects nothing, as the page has filters."""
    totals = difference.totals(diff)
    data = {"kind": "weights_diff", "totals": totals, "records": [changes_record(diff)]}
    return write_page("weights_diff.js", _header(diff), data, plain_tables(diff))


def _header(diff: WeightsDiff) -> Header:
    names = [escape(side.source) for side in (diff.a, diff.b)]
    return Header(
        title=" | ".join(dict.fromkeys(names)),
        command="diff",
        facts=[(label, difference.side(one)) for label, one in (("A", diff.a), ("B", diff.b))],
        state="good" if diff.verdict == "same" else "error",
        verdict=difference.last_line(diff),
        notes=[escape(note) for note in diff.warnings],
    )
