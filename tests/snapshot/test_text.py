"""What is written is read back: any text, whatever is in it, and long lists over several lines."""

from __future__ import annotations

import unicodedata

import yaml
from hypothesis import given, strategies as st

from hookcli.config.load import read_text
from hookcli.report.report import (
    SCHEMA,
    Environment,
    LayerRow,
    ModelInfo,
    Report,
    RunInfo,
    Totals,
)
from hookcli.snapshot.globs import exactly
from hookcli.snapshot.section import Section
from hookcli.snapshot.snapshot import Snapshot, snapshot
from hookcli.snapshot.yaml_text import text, value_text
from hookcli.spec.checks import Suppression
from hookcli.spec.yaml import CoreLoader

UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


@given(st.text())
def test_any_name_is_read_back_and_none_of_it_is_unseen(name):
    glob = exactly(name)
    written = value_text({"at": glob, "of": [glob, 3]})
    assert not {unicodedata.category(c) for c in written} & UNSEEN
    assert yaml.load(written, Loader=CoreLoader) == {"at": glob, "of": [glob, 3]}


@given(st.lists(st.text(min_size=1, max_size=30), min_size=1, max_size=60))
def test_a_file_with_any_names_is_read_back(names):
    globs = [exactly(name) for name in names]
    order = {"rule": "firing_order", "within": globs[0], "order": globs, "match": "exact"}
    shape = {"rule": "output_shape", "at": globs[-1], "shape": ("B", "*", 3)}
    made = Snapshot(
        (Section(("Some.",), (order, shape)),),
        (Suppression("uncalled_modules", globs[0], "never, ran: it's so", ""),),
        (),
    )
    found = read_text(text(made, ["head"], {"run": {"seed": 3}}), "checks.yaml")
    assert found.run == {"seed": 3}
    assert found.checks[0].options["order"] == tuple(globs)
    assert found.checks[0].options["within"] == globs[0]
    assert found.checks[1].options == {"at": globs[-1], "shape": ("B", "*", 3)}
    assert found.suppress[0].at == globs[0]
    assert found.suppress[0].reason == "never, ran: it's so"


def layer(order, name, parent, type_="Linear"):
    return LayerRow(
        order=order, name=name, registered=True, aliases=(), type=type_, original_name=None,
        call=0, parent=parent, depth=0, training=True, place=None, inputs=(), outputs=(),
        own_parameters=0, parameters=0, trainable_parameters=0,
    )  # fmt: skip


def test_a_report_without_any_tensor_has_a_snapshot():
    rows = (layer(0, "", None, "Net"), layer(1, "a", 0), layer(2, "b", 0))
    report = Report(
        schema=SCHEMA, command="check", status="complete",
        environment=Environment("0", None, "3", "x", 0.0), model=ModelInfo("net.py", "python"),
        run=RunInfo("real", None, "eval", "cpu", 0), inputs=None, totals=Totals(3, 3, None),
        layers=rows,
    )  # fmt: skip
    made = text(snapshot(report), [], {})
    assert "  - {rule: firing_order, within: '', order: [a, b], match: exact}" in made
    assert [one.rule for one in read_text(made, "c.yaml").checks][-1] == "firing_order"


def test_a_long_request_has_a_line_for_each_key():
    args = {"config": {"call": "m:C", "args": {f"size_{i}": [i, "a: b"] for i in range(20)}}}
    request = {"model": {"source": "net.py:Net", "args": args}, "inputs": ["2x3x64x64:float32"] * 9}
    made = text(Snapshot((), (), ()), ["head"], request)
    assert max(map(len, made.splitlines())) <= 100
    assert yaml.load(made, Loader=CoreLoader) == {**request, "checks": None}
