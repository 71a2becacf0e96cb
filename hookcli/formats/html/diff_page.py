"""The page of a diff: the calls and parameters of A and B side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hookcli.comparison.diff import Diff, First
from hookcli.console import escape
from hookcli.formats.diff import sentences
from hookcli.formats.diff.rows import Shown
from hookcli.formats.diff.side_names import DistinctNames, names_of_models
from hookcli.formats.html.data.compared import call_row, comparison
from hookcli.formats.html.page import Finding, Header, link, write_page
from hookcli.formats.html.plain_tables import plain_tables
from hookcli.formats.parts.text import place
from hookcli.formats.view import View


def render(diff: Diff, view: View) -> str:
    """Return the page of a diff; the view selects nothing, as the page has filters."""
    names = names_of_models(diff)
    data = {
        "kind": "diff",
        "sides": [names.title("a"), names.title("b")],
        "first": _first(diff),
        "totals": sentences.totals(diff),
        "records": [comparison(diff)],
    }
    return write_page("diff.js", _header(diff, view), data, plain_tables(diff))


def title_of(subjects: Sequence[str], names: DistinctNames) -> str:
    """Return what is compared: `UNet: float32 | bfloat16`, or both subjects if they differ."""
    if subjects[0] != subjects[1]:
        return " | ".join(subjects)
    return f"{subjects[0]}: {names.a} | {names.b}" if names.a or names.b else subjects[0]


def named_facts(facts: Sequence[tuple[str, str]], names: DistinctNames) -> list[tuple[str, str]]:
    """Return the facts of the header, with what differs in the labels of A and B."""
    titles = {"A": names.title("a"), "B": names.title("b")}
    return [(titles.get(label, label), text) for label, text in facts]


def _header(diff: Diff, view: View) -> Header:
    types = [escape(side.type or side.source) for side in (diff.a, diff.b)]
    rows = Shown([], 0, [])
    return Header(
        title=title_of(types, names_of_models(diff)),
        command="diff",
        facts=named_facts(sentences.head(diff), names_of_models(diff)),
        state="good" if diff.verdict == "same" else "error",
        verdict=sentences.last_line(diff),
        findings=() if diff.first is None else (_finding(diff, diff.first),),
        notes=sentences.notes(diff, rows, view),
    )


def _finding(diff: Diff, first: First) -> Finding:
    at = _fragment(diff, first)
    return Finding(
        severity="first difference",
        sentence=escape(first.sentence),
        link=at,
        label="show it" if at else "",
        place=" | ".join(
            f"{label} {place(ref.place)}"
            for label, ref in (("A", first.within or first.a), ("B", first.b))
            if ref is not None and ref.place is not None
        ),
    )


def _fragment(diff: Diff, first: First) -> str:
    """Return the fragment that selects the call or the parameter of the first difference."""
    call = first.a or first.b
    if call is not None and first.fault not in {"parameter", "gradient"}:
        name = f"@{call_row(diff, first.a, first.b)}" if call.name is None else escape(call.name)
        return link(tab="calls", layer=f"{name}~{call.call}" if call.call else name)
    row = _parameter(diff, first)
    return "" if row is None else link(tab="parameters", parameter=escape(row))


def _parameter(diff: Diff, first: First) -> str | None:
    """Return the first parameter or buffer that differs in the way that `first` tells."""
    for row in diff.state:
        found = row.gradient if first.fault == "gradient" else row.value
        if found is not None and found.status == "different":
            return row.a or row.b
    return None


def _first(diff: Diff) -> dict[str, Any] | None:
    """Return the row of the first difference, and what is known of it beside its sentence."""
    if diff.first is None:
        return None
    details = [line for line in sentences.first(diff)[1:] if not line[0].startswith("in ")]
    return {"layer": call_row(diff, diff.first.a, diff.first.b), "details": details}
