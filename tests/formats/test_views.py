"""What holds for every view of every command: names do no harm, and a view is checked."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys

import pytest

from hookcli.errors import RequestError
from hookcli.formats.document.build import BUILDERS
from hookcli.formats.names import COLUMNS, SORTS, columns_of, common, sorts_of
from hookcli.formats.registry import FORMATS
from hookcli.formats.view import View
from hookcli.report.events import Streamed
from hookcli.report.findings import CheckRow
from hookcli.report.report import ErrorInfo, UncalledRow
from hookcli.report.schema import from_json
from hookcli.report.values import Leaf
from tests.conftest import ROOT
from tests.formats.fabricate import GRADS, TRACE, event, layer, parameter, report, stats
from tests.formats.test_formats import HOSTILE

REPORTS = {"trace": TRACE, "grads": GRADS, "inspect": report("inspect", layers=TRACE.layers)}


def hostile(command, name):
    """A report in which everything that a user can name has this name."""
    leaf = Leaf(f".{name}", (2,), "float32", stats=stats("nan", nans=1))
    check = CheckRow(name, name, "fail", "error", None, None, name, name, "0")
    timings = {
        "unit": "us",
        "phases": [[0, "forward", 0, 10], [0, "backward", 10, 20]],
        "calls": [[0, 0, 1, 9]],
        "nodes": [[0, name, 0, 11, 19]],
        "events": [[0, 5, 0]],
    }
    return report(
        command,
        run={"loss": name, "device": name},
        timings=timings,
        layers=(layer(0, name, name, None, inputs=(leaf,), output_grad=stats(1.0)),),
        events=(event(0, "forward", "forward", name, 0, (leaf,), node=name),),
        parameters=(parameter(f"{name}.{name}", (2,), grad=stats("nan", nans=1),
                              shared_with=(name,)),),
        uncalled=(UncalledRow(name, name, name),),
        checks=(check,),
        warnings=(name,),
        error=ErrorInfo("forward", name, 0, (leaf,), name, name, name),
    )  # fmt: skip


UNSAFE = r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]"


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("form", ["table", "tree", "markdown", "perfetto"])
@pytest.mark.parametrize("command", ["trace", "grads"])
def test_names_do_no_harm(command, form, name):
    text = FORMATS[form].render(hostile(command, name), View(width=200))
    assert not re.search(UNSAFE, text)
    assert not re.search(r"(?<![\w:\-])::", text)  # nothing that could begin a command
    assert "##[" not in text
    text.encode()


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("command", ["trace", "grads"])
def test_markdown_renders_names_as_text(command, name):
    markdown_it = pytest.importorskip("markdown_it")
    text = FORMATS["markdown"].render(hostile(command, name), View())
    tokens = markdown_it.MarkdownIt("gfm-like", {"linkify": False}).parse(text)
    kinds = [token.type for token in tokens]
    assert kinds.count("tr_open") == {"trace": 2, "grads": 4}[command]
    assert "html_block" not in kinds
    plain = {"text", "softbreak", "text_special", "strong_open", "strong_close"}
    for token in tokens:
        for child in token.children or ():
            assert child.type in plain, child


@pytest.mark.parametrize("command", REPORTS)
@pytest.mark.parametrize("form", ["table", "tree", "markdown"])
def test_a_column_of_another_command_is_refused(command, form):
    other = {"trace": "ratio", "grads": "seq", "inspect": "status"}[command]
    with pytest.raises(RequestError) as caught:
        FORMATS[form].render(
            REPORTS[command], View(columns=("name", other)[command != "inspect" :])
        )
    assert other in str(caught.value)
    assert ", ".join(common(columns_of(command))) in caught.value.hint


@pytest.mark.parametrize("command", REPORTS)
def test_a_sort_of_another_command_is_refused(command):
    other = {"trace": "ratio", "grads": "changed", "inspect": "ratio"}[command]
    with pytest.raises(RequestError) as caught:
        FORMATS["table"].render(REPORTS[command], View(sort=other))
    assert caught.value.place == f"--sort {other}"


@pytest.mark.parametrize("command", REPORTS)
@pytest.mark.parametrize("form", ["table", "markdown"])
def test_every_column_and_sort_is_drawn(command, form):
    for column in columns_of(command):
        assert FORMATS[form].render(REPORTS[command], View(columns=(column,)))
    for sort in sorts_of(command):
        assert FORMATS[form].render(REPORTS[command], View(sort=sort))
        assert FORMATS[form].render(REPORTS[command], View(sort=f"-{sort}"))
    assert FORMATS[form].render(
        REPORTS[command], View(columns=tuple(columns_of(command)), width=400)
    )


def test_the_names_of_sorts_are_those_of_all_commands():
    commands = (*REPORTS, "run", "weights")
    assert set(SORTS) == {sort for command in commands for sort in sorts_of(command)}
    assert columns_of("unheard of") == COLUMNS


@pytest.mark.parametrize("form", FORMATS)
def test_every_renderer_of_the_registry_is_there(form):
    for name, row in BUILDERS.items():
        if row.kind in FORMATS[form].kinds:
            FORMATS[form].load(name)


def test_importing_the_registry_loads_no_renderer():
    code = (
        "import sys, hookcli.formats.registry; "
        "print([n for n in sys.modules if n.startswith('hookcli.formats.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    loaded = ast.literal_eval(done.stdout)
    assert {name.rpartition(".")[2] for name in loaded} == {"format", "registry", "results"}


@pytest.mark.parametrize("command", REPORTS)
def test_a_view_never_changes_the_json(command):
    found = REPORTS[command]
    view = View(width=3, only="x", depth=0, phase="loss", kinds=("op",), sort="nothing")
    assert FORMATS["json"].render(found, view) == FORMATS["json"].render(found, View())


@pytest.mark.parametrize("command", REPORTS)
@pytest.mark.parametrize("form", ["table", "tree", "markdown"])
def test_a_report_read_back_is_drawn_alike(command, form):
    found = REPORTS[command]
    again = from_json(FORMATS["json"].render(found, View()))
    assert FORMATS[form].render(again, View()) == FORMATS[form].render(found, View())


def test_a_streamed_report_is_read_back():
    found = report("trace", events=Streamed("e.jsonl", 3, 0))
    text = FORMATS["json"].render(found, View())
    assert json.loads(text)["events"] == {"file": "e.jsonl", "count": 3, "dropped": 0}
    assert "3 events in e.jsonl" in FORMATS["table"].render(from_json(text), View())
