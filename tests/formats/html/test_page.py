"""A page is one file: nothing in it can end a script, load anything, or run unless we wrote it."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections import Counter
from importlib.resources import files
from pathlib import Path

import pytest

from hookcli.formats.html.bundle import assets, compact, modules
from hookcli.formats.html.page import embedded, link
from hookcli.formats.registry import FORMATS
from hookcli.formats.view import View
from tests.formats.fabricate import LAYERS, H, layer, report

HOSTILE = (
    "</script><script>alert(1)</script>", "<!--<script>", "<img src=x onerror=alert(1)>",
    "a\u202eb", "{{ 7 * 7 }}", "{% raw %}", "\u2028\u2029", "\ud800", '" onload="x', "' --", "\x00",
    "a" * 10_000,
)  # fmt: skip
ASSETS = files("hookcli.formats.html") / "assets"
JS = ASSETS / "js"
SCRIPTS = sorted(file.relative_to(JS).as_posix() for file in Path(str(JS)).rglob("*.js"))
ENTRIES = [name for name in SCRIPTS if "createShell(" in (ASSETS / "js" / name).read_text()
           and name != "shell.js"]  # fmt: skip


def unpack(text):
    return gzip.decompress(base64.b85decode(text.replace(",", "<"))).decode()


def page(made):
    return FORMATS["html"].render(made, View())


def elements(html, tag):
    return re.findall(rf"<{tag}([^>]*)>(.*?)</{tag}>", html, re.DOTALL)


def unpacked(html, name):
    packed = next(body for tags, body in elements(html, "script") if f'"library-{name}"' in tags)
    return unpack(packed)


def data_of(html):
    return json.loads(next(body for tags, body in elements(html, "script") if 'id="data"' in tags))


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_end_no_element_and_make_none(name):
    made = report("inspect", layers=(*LAYERS, layer(9, name, name, 0)))
    plain = page(report("inspect", layers=(*LAYERS, layer(9, "plain", "Plain", 0))))
    html = page(made)
    tags = Counter(re.findall(r"<[a-zA-Z/!]+", html))
    assert tags == Counter(re.findall(r"<[a-zA-Z/!]+", plain))
    assert "\u202e" not in html and "\u2028" not in html and "\x00" not in html
    html.encode("utf-8")
    texts = data_of(html)["records"][0]["layers"]["name"]["texts"]
    assert len(texts) == len({row.name for row in LAYERS} | {name})


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_models_and_findings_stay_text_in_the_header(name):
    from dataclasses import replace

    from hookcli.report.findings import Diagnosis

    found = Diagnosis("x", "error", f"is {name}", name, name, name, ("r",), ("f",))
    base = report("check", layers=LAYERS)
    made = replace(
        base,
        model=replace(base.model, type=name, source=name, place=name),
        diagnoses=(found,),
        warnings=(name,),
    )
    html = page(made)
    head = html[: html.index('<script type="application/json"')]
    written = {"html", "head", "meta", "title", "link", "style", "body", "a", "header", "div", "h1",
               "span", "button", "dl", "dt", "dd", "bdi", "section", "p", "ol", "li", "code",
               "details", "summary", "ul", "main", "noscript", "h2", "table", "thead", "tbody",
               "tr", "th", "td"}  # fmt: skip
    after_style = head[head.index("</style>") :]
    assert set(re.findall(r"<([a-zA-Z0-9]+)", after_style)) <= written
    assert not re.search(r"<[^>]+\son\w+=", after_style)


def test_the_policy_allows_only_the_inline_script_and_style():
    html = page(report("inspect", layers=LAYERS))
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)[1]
    rules = dict(part.split(" ", 1) for part in policy.replace("&#39;", "'").split("; "))
    (start,) = [body for tags, body in elements(html, "script") if 'type="module"' in tags]
    script = unpacked(html, "page")
    assert script == assets("report.js", diagram=True, lines=False).script
    (style,) = [body for _, body in elements(html, "style")]

    def source(text):
        digest = hashlib.sha256(text.encode()).digest()
        return f"'sha256-{base64.b64encode(digest).decode()}'"

    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == f"{source(start)} {source(script)}"
    assert rules["style-src"] == source(style)
    assert "unsafe" not in policy and "http:" not in policy and "https:" not in policy


def test_a_page_names_no_address_to_load():
    html = page(report("inspect", layers=LAYERS))
    assert not re.search(r"""(?:src|href)=["'](?!#|data:,)""", html[: html.index("<script")])
    assert "@import" not in html and "url(" not in html.replace("url(#", "")


def test_the_same_report_gives_the_same_page():
    made = report("inspect", layers=LAYERS)
    assert page(made) == page(made)


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_page_without_data_is_below_150_kilobytes(entry):
    lines = "uPlot" in "".join((ASSETS / "js" / name).read_text() for name in modules(entry))
    parts = assets(entry, diagram=True, lines=lines)
    size = len(parts.start) + len(parts.style) + sum(map(len, parts.packed.values()))
    assert size < 148_500  # the html around them has less than 1.5 kB


def test_scripts_can_be_joined():
    problems = [(name, text) for name in SCRIPTS for text in of_script(name)]
    assert problems == []


def of_script(name):
    """What the bundle could not join, or what could run a text as code."""
    source = (ASSETS / "js" / name).read_text()
    form = r'import \{[\w,\s]+\} from "\.\.?/[\w./]+\.js";'
    for row in re.findall(r"^import .*?;$", source, re.MULTILINE | re.DOTALL):
        if not re.fullmatch(form, row):
            yield row
    exports = r"^export (?!const \w|function \w|async function \w|class \w)"
    yield from re.findall(exports, source, re.MULTILINE)
    for literal in re.findall(r"`[^`]*`", re.sub(r"^\s*(//|/?\*).*$", "", source, flags=re.M)):
        if "\n" in re.sub(r"\$\{[^}]*\}", "", literal):  # the bundle would change its lines
            yield literal
    yield from (
        word for word in ("import(", "innerHTML", "eval(", "document.write") if word in source
    )


def test_compact_removes_comments_and_indentation_only():
    source = '/** Say what. */\nfunction f() {\n  // why\n\n  return "a  // b";  \n}\n'
    assert compact(source) == 'function f() {\nreturn "a  // b";\n}\n'


def test_embedded_json_is_read_as_it_was():
    value = {"a": ["</script>", "<!--", "&amp;", "é", "\u2028"], "b": 1.5}
    text = embedded(value)
    assert not set("<>&") & set(text)
    assert json.loads(text) == value


def test_links_quote_names():
    assert link(tab="layers", layer="a b&c=#~1", step=None) == "tab=layers&layer=a%20b%26c%3D%23~1"


def test_a_layer_of_a_page_has_the_figures_of_its_report():
    made = report("inspect", layers=(*LAYERS, layer(9, "more", "Odd", 0, flops=12, outputs=(H, H))))
    columns = data_of(page(made))["records"][0]["layers"]
    row = columns["count"] - 1
    assert columns["name"]["texts"][columns["name"]["at"][row]] == "more"
    assert columns["flops"][row] == 12
    assert columns["parent"][row] == 0
    assert columns["output"]["texts"][columns["output"]["at"][row]].count("[2, 4]") == 2


def test_packed_parts_are_text_that_ends_no_element_and_unpack_to_what_they_were():
    parts = assets("report.js", diagram=True, lines=False)
    for name, packed in parts.packed.items():
        assert not set("<\"'/ \n") & set(packed), name
        content = unpack(packed)
        if name == "page":
            assert content == parts.script


def test_libraries_come_with_their_licences():
    parts = assets("training.js", diagram=True, lines=True)
    assert "Copyright (c) 2012-2014 Chris Pettitt" in unpack(parts.packed["dagre"])
    assert "Copyright (c) 2022 Leon Sorokin" in parts.script
