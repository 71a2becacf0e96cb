"""What a notebook shows of a report and of a diff."""

from __future__ import annotations

import dataclasses
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
import torch

import hookcli
from hookcli.api.api import printable
from hookcli.api.check import CheckedReport
from hookcli.formats.names import GRADS as COLUMNS
from hookcli.report.findings import Diagnosis
from tests.formats.checks import CHECK
from tests.formats.fabricate import GRADS, TRACE, layer, report
from tests.formats.svg.test_module_diagram import HOSTILE

INSPECT = dataclasses.replace(TRACE, command="inspect")
VOID = {"br", "hr", "img", "input", "meta", "link"}


class Reader(HTMLParser):
    """Reads the cells of tables, and checks that elements are closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.rows, self.words = [], [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.open.append(tag)
        assert not [name for name, _ in attributes if name.startswith("on")]
        if tag == "tr":
            self.rows.append([])
        if tag in {"td", "th"}:
            self.rows[-1].append("")

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)
        if self.open and self.open[-1] in {"td", "th"}:
            self.rows[-1][-1] += data


def shown(known):
    return printable(known)._repr_html_()


@pytest.mark.parametrize("known", [INSPECT, TRACE, GRADS])
def test_a_report_has_its_facts_a_picture_and_a_table(known):
    text = shown(known)
    read = Reader(text)
    assert {"Net", "run", "real tensors, train mode, cpu, seed 0"} <= set(read.words)
    picture = re.search(r"<svg.*</svg>", text, re.DOTALL)[0]
    ElementTree.fromstring(picture)
    counts = {"inspect": [3], "trace": [8], "grads": [5, 3]}[known.command]
    assert len(read.rows) == sum(counts) + len(counts)  # and the titles
    assert read.tags.count("table") == len(counts)
    assert "script" not in read.tags


def test_the_table_has_the_figures_of_the_report():
    rows = Reader(shown(GRADS)).rows
    line = next(row for row in rows if row[0] == "fc.weight")
    assert line[rows[0].index(COLUMNS["norm"].title)] == "0.5"


def test_a_long_table_has_its_first_rows():
    layers = (layer(0, "", "Net", None), *(layer(i, f"l{i}", "Linear", 0) for i in range(1, 100)))
    text = shown(report("inspect", layers=layers))
    assert len(Reader(text).rows) == 15 + 1
    assert "100 calls, the first 15" in text


def test_the_verdict_is_there():
    problem = Diagnosis("c", "error", "fc is <wrong>", "mend it", "fc", "net.py:4", (), ())
    text = shown(dataclasses.replace(INSPECT, diagnoses=(problem,)))
    assert "error: fc is &lt;wrong&gt; (net.py:4); try: mend it" in text


def test_a_checked_report_has_its_verdict_and_findings():
    values = {f.name: getattr(CHECK, f.name) for f in dataclasses.fields(CHECK)}
    text = CheckedReport(**values)._repr_html_()
    assert "FAILED: 1 failed, 2 warned, 1 not judged, 3 skipped, 1 passed" in text
    assert ["Result", "Rule", "Target", "Finding"] in Reader(text).rows


@pytest.mark.parametrize("command", ["inspect", "trace", "grads", "check"])
def test_hostile_names_are_text(command):
    row = dataclasses.replace(layer(0, HOSTILE, HOSTILE, None), place=HOSTILE)
    parameters = tuple(
        dataclasses.replace(one, name=HOSTILE + one.name) for one in GRADS.parameters
    )
    text = shown(report(command, layers=(row,), parameters=parameters, warnings=(HOSTILE,)))
    read = Reader(text)
    assert "script" not in read.tags
    assert not set(text) & {"\x00", "\u202e"}


def test_two_pictures_on_one_page_do_not_share_ids():
    other = dataclasses.replace(GRADS, parameters=GRADS.parameters[:4])
    ids = [set(re.findall(r' id="([^"]+)"', shown(known))) for known in (GRADS, other)]
    assert ids[0]
    assert ids[1]
    assert not ids[0] & ids[1]


def test_a_diff_has_its_verdict_and_tables():
    a, b = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    text = hookcli.diff(a, b, torch.ones(1, 3))._repr_html_()
    read = Reader(text)
    assert any(word.startswith("DIFFERENT") for word in read.words)
    assert "weight" in [row[0] for row in read.rows]


def test_what_the_functions_return_has_html():
    model = torch.nn.Sequential(torch.nn.Linear(3, 2))
    batch = torch.ones(1, 3)
    reports = (
        hookcli.inspect(model, batch),
        hookcli.grads(model, batch),
        hookcli.trace(model, batch),
        hookcli.check(model, inputs=batch),
    )
    for known in reports:
        assert "Sequential" in Reader(known._repr_html_()).words
