"""No name is a command in any output: hostile reports through every format, judged by laws."""

from __future__ import annotations

import ast
import json
import re
import shlex
import unicodedata
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree as ET

import markdown
import pytest
import yaml

import hookcli
from hookcli.comparison.compare import compare
from hookcli.comparison.training.compare_trainings import compare_trainings
from hookcli.console import Console
from hookcli.errors import ProblemsError, RequestError
from hookcli.formats.check.document import message
from hookcli.formats.notebook import render as notebook
from hookcli.formats.registry import FORMATS, formats_of
from hookcli.formats.view import View
from hookcli.outputs import escapes
from hookcli.outputs.sinks import SINKS
from hookcli.pytest_plugin import _lines
from hookcli.snapshot.section import Section
from hookcli.snapshot.snapshot import Snapshot
from hookcli.snapshot.yaml_text import text as snapshot_text, value_text
from hookcli.spec.checks import Suppression
from hookcli.spec.yaml import CoreLoader
from hookcli.training.script.say import harmless
from tests.formats.training_reports import SMALL, exploding
from tests.outputs.hostile_names import ERROR, PAYLOADS, plain, poisoned
from tests.source_code import tree_of

SURROGATES = set(map(chr, range(0xD800, 0xE000)))
COMMANDS = ("inspect", "grads", "trace", "check")
TURNS = (0, 1, 2, 3, 4, 5, 6)  # each string gets another payload in each
VIEW = View(root="/src", start="/src")
UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
CI = re.compile(r"##\[|##vso\[|##teamcity\[", re.IGNORECASE)
TABLE = {"table", "thead", "tbody", "tr", "th", "td", "ul", "li"}
OWN = re.compile(r"::(endgroup::$|group::|(error|warning|notice) (file=[^:]*,line=\d+,)?title=)")


def text_law(text, *, own=None):
    """No control, no bidi mark, and no line that a CI system takes as a command."""
    wrong = {c for c in text if c not in "\n\t" and unicodedata.category(c) in UNSEEN}
    assert not wrong, [line for line in text.split("\n") if wrong & set(line)][:3]
    for line in text.split("\n"):
        assert not CI.search(line), line[:300]
        if line.lstrip().startswith("::"):
            assert own is not None, line[:300]
            assert own.match(line), line[:300]


class Elements(HTMLParser):
    """The elements of a page, the attributes' names, and the text outside of scripts."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.names, self.text, self.scripts = [], set(), [], []
        self._in_script = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.names |= {name for name, _ in attributes}
        self._in_script = tag == "script"
        if self._in_script:
            self.scripts.append([dict(attributes), ""])

    def handle_endtag(self, tag):
        self._in_script = False

    def handle_data(self, data):
        if self._in_script:
            self.scripts[-1][1] += data
        else:
            self.text.append(data)


def _refuse(word):
    raise AssertionError(f"{word} is not JSON")


def read_json(text):
    text_law(text)
    data = json.loads(text, parse_constant=_refuse)
    json.dumps(data, ensure_ascii=False).encode()  # no lone surrogate
    return data


def table_law(text, plain_text):
    text_law(text)


def markdown_law(text, plain_text):
    text_law(text)
    known, seen = Elements(rendered(plain_text)), Elements(rendered(text))
    assert set(seen.tags) <= set(known.tags) | {
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "ul",
        "li",
    }
    assert not {"a", "img", "script", "code", "em"} & set(seen.tags)
    assert seen.tags.count("h3") == known.tags.count("h3")
    shown = "".join(seen.text)
    # What GitHub looks for in the text, after it has read entities.
    assert not re.search(r"@\w|(?<![&\w])#\d|\w#\d", shown)
    # What it looks for in the source.
    assert not re.search(r"(?i)www\.|(https?|ftp|mailto|xmpp):", text)


def rendered(text):
    extensions = ["tables", "pymdownx.tilde", "pymdownx.magiclink", "pymdownx.superfences"]
    return markdown.markdown(text, extensions=extensions)


def html_law(text, plain_text):
    known, seen = Elements(plain_text), Elements(text)
    assert set(seen.tags) <= set(known.tags) | {"a", "li", "ul", "p", "div", "span"}
    assert {n for n in seen.names if n.startswith("on")} == set()
    assert seen.tags.count("script") == known.tags.count("script")
    text_law("".join(seen.text))
    data = [
        body for attributes, body in seen.scripts if attributes.get("type") == "application/json"
    ]
    assert data
    for body in data:
        assert not re.search("[<>&]", body)
        read_json(body)


def svg_law(text, plain_text):
    text_law(text)
    tags = {e.tag.rpartition("}")[2] for e in ET.fromstring(text).iter()}
    assert not {"script", "a", "image", "foreignObject", "img", "b"} & tags
    assert not re.search(r"\son\w+=", re.sub(r">[^<]*<|\"[^\"]*\"", "", text))


def junit_law(text, plain_text):
    text_law(text)
    tags = {e.tag for e in ET.fromstring(text).iter()}
    assert tags <= {
        "testsuites", "testsuite", "testcase", "failure", "error", "skipped", "system-out",
        "system-err", "properties", "property",
    }  # fmt: skip


def json_law(text, plain_text):
    read_json(text)


def sarif_law(text, plain_text):
    data = read_json(text)
    for uri in found(data, "uri"):
        assert re.fullmatch(r"(%[0-9A-Fa-f]{2}|[\w\-.~:/?#\[\]@!$&'()*+,;=])*", uri, re.ASCII), uri
    for result in data["runs"][0]["results"]:
        assert "](" not in result["message"]["text"]
        assert not re.search(r"(?<!\{)(\{\{)*\{(?!\{)\d", result["message"]["text"])


def found(value, key):
    """Yield each value of a key, however deep."""
    if isinstance(value, dict):
        for name, item in value.items():
            if name == key:
                yield item
            yield from found(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from found(item, key)


def github_law(text, plain_text):
    text_law(text, own=OWN)


def files_law(files, plain_files):
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.graph_pb2 import GraphDef

    for name, data in files.items():
        text_law(name)
        assert "/" not in name
        while data:  # a record: its length, a checksum, the event, a checksum
            size = int.from_bytes(data[:8], "little")
            event, data = Event.FromString(data[12 : 12 + size]), data[16 + size :]
            for value in event.summary.value:
                text_law(value.tag)
            for node in GraphDef.FromString(event.graph_def).node:
                text_law(node.name)
                text_law(node.op)


LAWS = {
    "table": table_law, "tree": table_law, "html": html_law, "json": json_law,
    "markdown": markdown_law, "svg": svg_law, "junit": junit_law, "sarif": sarif_law,
    "github": github_law, "perfetto": json_law, "tensorboard": files_law,
}  # fmt: skip


def test_each_format_has_its_row_and_its_law():
    named = [name for row in SINKS for name in row.formats]
    assert sorted(named) == sorted(FORMATS)
    assert LAWS.keys() == FORMATS.keys()


def drawn(form, report):
    row = FORMATS[form]
    return (row.files if row.writes_folder else row.render)(report, VIEW)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("form", sorted(set(FORMATS) - {"perfetto"}))
def test_no_name_is_a_command_in_a_report(form, command):
    if form == "tensorboard":
        pytest.importorskip("tensorboard")
    for error in (None, ERROR):
        base = plain(command, error=error)
        clean = drawn(form, base)
        for turn in TURNS if form != "html" else TURNS[::3]:
            LAWS[form](drawn(form, poisoned(base, turn)), clean)


def test_no_name_is_a_command_on_a_timeline():
    from hookcli.formats.timeline.perfetto import _label, instant, written
    from hookcli.report.events import EventRow

    for turn in TURNS:
        report = poisoned(plain("trace"), turn)
        titles = [{"args": _label(row).args, "name": _label(row).name} for row in report.layers]
        events = [
            {"name": instant(event, 0)[0], "args": instant(event, 0)[1]}
            for event in report.events
            if isinstance(event, EventRow)
        ]
        json_law(written([*titles, *events], [], {}), "")


@pytest.mark.parametrize("base", [SMALL, exploding(20)], ids=["small", "exploding"])
@pytest.mark.parametrize("form", list(formats_of("run")))
def test_no_name_is_a_command_in_the_report_of_a_training(form, base):
    row = FORMATS[form]
    if row.writes_folder:
        pytest.importorskip("tensorboard")
    draw = row.files if row.writes_folder else row.render
    clean = draw(base, VIEW)
    for turn in TURNS[:3] if form != "html" else TURNS[:1]:
        LAWS[form](draw(poisoned(base, turn), VIEW), clean)


@pytest.mark.parametrize("form", list(formats_of("diff")))
def test_no_name_is_a_command_in_a_diff(form):
    base = plain("grads")
    one, two = poisoned(base, 0, ["one"]), poisoned(plain("grads", error=ERROR), 0, ["two"])
    clean = FORMATS[form].render(compare(one, two), VIEW)
    for turn in TURNS if form != "html" else TURNS[:2]:
        a, b = poisoned(base, turn), poisoned(plain("grads", error=ERROR), turn + turn % 2)
        LAWS[form](FORMATS[form].render(compare(a, b), VIEW), clean)


@pytest.mark.parametrize("form", list(formats_of("rundiff")))
def test_no_name_is_a_command_in_a_diff_of_trainings(form):
    clean = FORMATS[form].render(compare_trainings(SMALL, exploding(20)), VIEW)
    for turn in TURNS[:3] if form != "html" else TURNS[:1]:
        for a, b in ((SMALL, exploding(20)), (SMALL, SMALL)):
            diff = compare_trainings(poisoned(a, turn), poisoned(b, turn + 1))
            LAWS[form](FORMATS[form].render(diff, VIEW), clean)


def test_no_name_is_markup_in_a_notebook():
    for command in COMMANDS:
        known = Elements(notebook(plain(command, error=ERROR), VIEW))
        for turn in TURNS[::2]:
            seen = Elements(notebook(poisoned(plain(command, error=ERROR), turn), VIEW))
            assert set(seen.tags) <= set(known.tags) | {"title", "path", "g"}
            assert seen.names <= known.names | {"d", "transform"}
            text_law("".join(seen.text))
    for turn in TURNS:
        diff = compare(poisoned(plain("grads"), turn), poisoned(plain("grads"), turn + 1))
        seen = Elements(notebook(diff, VIEW))
        assert not {"script", "img", "b", "a"} & set(seen.tags)
        text_law("".join(seen.text))


def test_no_name_is_a_command_on_stderr_or_in_a_failed_test(capsys):
    for name in PAYLOADS:
        error = RequestError(name, place=name, hint=name)
        problems = ProblemsError([error, error])
        Console(color="never").error(problems)
        Console(color="never").note(name)
        text_law(_lines(error))
        text_law(_lines(problems))
        text_law(harmless(name))
        assert "\n" not in harmless(name)
    text_law(capsys.readouterr().err)
    for turn in TURNS:
        text_law(message(poisoned(plain("check", error=ERROR), turn), VIEW))


def test_a_snapshot_is_read_back_and_has_no_command():
    names = [name for name in PAYLOADS if not SURROGATES & set(name)]  # the loader refuses them
    for name in names:
        value = {"at": name, "of": [name]}
        text_law(value_text(value))
        assert yaml.load(value_text(value), Loader=CoreLoader) == value
    checks = tuple({"rule": "finite", "at": name} for name in names)
    kept = tuple(Suppression("finite", name, name, "") for name in names)
    whole = snapshot_text(
        Snapshot((Section(("Some.",), checks),), kept, ()), ["head"], {"model": PAYLOADS[0]}
    )
    text_law(whole)
    read = yaml.load(whole, Loader=CoreLoader)
    assert [row["at"] for row in read["checks"]] == names
    assert [row["reason"] for row in read["suppress"]] == names


# What each row of the list guarantees, for one string.
def _one_line(text, name):
    text_law(text)
    assert "\n" not in text


def _json_row(text, name):
    read_json(escapes.json_text(json.dumps(name)))


ROWS = {
    "text": _one_line,
    "lines": lambda text, name: text_law(text),
    "json": _json_row,
    "markdown": lambda text, name: None,  # by the format
    "xml": lambda text, name: ET.fromstring(f"<a>{escapes.html_text(text)}</a>"),
    "xml_markup": lambda text, name: ET.fromstring(f'<a b="{text}">{text}</a>'),
    "html": lambda text, name: _no_element(text),
    "script_data": lambda text, name: read_json(escapes.script_data(json.dumps(name))),
    "fragment": lambda text, name: re.fullmatch(r"[\w%.~-]*", text, re.ASCII).group(),
    "sarif": lambda text, name: _no_placeholder(text),
    "github": lambda text, name: _no_end(text, "\r\n"),
    "github_property": lambda text, name: _no_end(text, "\r\n,:"),
    "yaml": lambda text, name: text is None or _read_yaml(text, name),
    "shell": lambda text, name: _no_words(text, name),
    "bash": lambda text, name: _no_words(text, re.sub(escapes._UNSAFE, escapes._spelled, name)),
    "zsh": lambda text, name: _quoted_for_zsh(text),
    "fish": lambda text, name: _one_line(text, name),
    "progress": _one_line,
    "script_line": _one_line,
}


def _quoted_for_zsh(text):
    """Nothing ends the quotes around it, and nothing in double quotes is expanded."""
    _one_line(text, "")
    assert not re.search(r"[`\"']|(?<!\\)(\\\\)*\$", text)


def _no_element(text):
    assert Elements(f"<p title='{text}'>{text}</p>").tags == ["p"]


def _no_placeholder(text):
    assert "](" not in text
    assert "{" not in text.replace("{{", "")


def _no_end(text, letters):
    assert not set(letters) & set(text)


def _read_yaml(text, name):
    text_law(text)
    if not SURROGATES & set(name):
        assert yaml.load(text, Loader=CoreLoader) == name


def _no_words(text, name):
    assert shlex.split(text) == [name]


def test_each_row_of_the_list_keeps_what_it_promises():
    assert [row.name for row in SINKS] == list(ROWS)
    for row in SINKS:
        module, _, function = row.escape.partition(":")
        escaped = getattr(import_module(module), function)
        assert row.dangerous
        for name in PAYLOADS:
            ROWS[row.name](escaped(name), name)


def test_an_ordinary_name_is_not_changed():
    for row in SINKS:
        module, _, function = row.escape.partition(":")
        assert getattr(import_module(module), function)("layers.0_b.c-d") in {
            "layers.0_b.c-d",
            None,
        }


def test_no_layer_moves_the_cursor_in_the_line_of_progress():
    from hookcli.spec.request import Attempt
    from hookcli.worker.last_event import LastEvent
    from hookcli.worker.progress.line import Running, columns, line

    for name in PAYLOADS:
        layer = LastEvent("forward", name, 0, None)
        for event in (layer, LastEvent("inputs", None, None, None, 0, name)):
            running = Running(Attempt("real"), 3, lambda event=event: event)
            for encoding, width in (("utf-8", 80), ("ascii", 40)):
                text = line([running], "", 3, width, encoding)
                _one_line(text.replace("…", ""), name)
                assert columns(text) <= width


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_no_name_in_the_folder_is_a_command_in_a_completion(shell, tmp_path, monkeypatch):
    """Of names with control characters none is offered; bash reads each other one as one word."""
    from hookcli.cli.application import application
    from hookcli.cli.completion.answer import _SHELLS, TypedLine, candidates

    more = ("$(touch x)", "a b", "a'b", 'a"b', "a;b", "a&b", "!!", "*")
    names = [n for n in (*PAYLOADS, *more) if "/" not in n and n.isprintable() and len(n) < 200]
    for name in [*names, "a\nb", "a\tb", "\x1b[31m"]:
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").touch()
    monkeypatch.chdir(tmp_path)
    typed = TypedLine(["inspect"], "hf:", "hf:")
    rows = candidates(typed, application)
    offered = {row.value.removeprefix("hf:") for row in rows}
    assert offered <= set(names)
    assert {"$(touch x)", "a b", "a;b", "*"} <= offered
    text, _ = _SHELLS[shell][1](typed, rows, {})
    text_law(text)
    if shell == "bash":
        assert {word for line in text.split("\n") for word in shlex.split(line)} == offered
    if shell == "zsh":
        for line in text.removeprefix("_arguments '*: :((").removesuffix("))'").split("\n"):
            assert line[0] == line[-1] == '"'
            _quoted_for_zsh(line[1:-1])


def test_no_name_in_the_folder_is_a_command_in_a_hint(tmp_path, monkeypatch, capsys):
    from hookcli.cli.help.next_command import missing_model, remember

    for name in PAYLOADS:
        name = name.replace("/", "").replace("\0", "")[:100] + ".py"
        (tmp_path / name.encode("utf-8", "replace").decode()).write_text(
            "import torch\nclass Net(torch.nn.Module): pass\n"
        )
    monkeypatch.chdir(tmp_path)
    remember(("inspect",))
    error = missing_model()
    assert ".py" in error.hint
    Console(color="never").error(error)
    text_law(capsys.readouterr().err)


# The modules that write to a standard stream, and what they write.
WRITERS = {
    "actions/debugger.py": "a byte of memory that is shared",
    "cli/application.py": "the help of a command, as typer makes it",
    "cli/watch/ready_run.py": "a byte and JSON in pipes of hookcli's",
    "worker/child/forking.py": "numbers in pipes of hookcli's; a traceback of its own",
    "console.py": "all of the command line; it escapes",
    "report/sinks.py": "events as JSON, in the file of --stream",
    "report/journal/journal_file.py": "entries of a journal, as JSON",
    "training/script/ending.py": "the traceback of a script, as Python writes it",
    "training/script/say.py": "lines while a script runs: harmless()",
    "training/script/verdict.py": "a byte in a pipe of hookcli's",
    "system/process_end.py": "one line at the end of a process: escape()",
    "system/supervised_process.py": "numbers in pipes of hookcli's",
    "system/told_status.py": "a mark and a status of Windows",
    "worker/__main__.py": "the version, in a pipe of hookcli's",
    "worker/progress/screen.py": "copies the model's bytes, and the line of progress",
    "models/fake/fork.py": "a pickle in a pipe of hookcli's",
    "outputs/special_files.py": "files that the user named",
}


def test_each_module_that_writes_to_a_stream_is_known():
    """A new place of output must escape what it prints: use Console, or add it here with a row."""
    package = Path(hookcli.__file__).parent
    found = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if any(map(_writes, ast.walk(tree_of(path))))
    }
    assert found == set(WRITERS)


def _writes(node):
    """Whether a call prints, or writes to a standard stream or a descriptor."""
    if not isinstance(node, ast.Call):
        return False
    function = ast.unparse(node.func)
    streams = r"(sys\.)?(__)?(stdout|stderr)(__)?(\.buffer)?\.(write|writelines)"
    others = r"print|os\.(write|writev|pwrite)|(click|typer)\.(echo|secho)"
    if re.fullmatch(f"{others}|{streams}", function):
        return True
    given = [ast.unparse(one) for one in (*node.args, *(k.value for k in node.keywords))]
    return function == "_write" and bool({"sys.stdout", "sys.stderr"} & set(given))


def test_no_other_module_escapes_by_itself():
    package = Path(hookcli.__file__).parent
    wrong = re.compile(r"from html import|import html$|saxutils|&lt;|%0A|\\u003c", re.MULTILINE)
    files = [path for path in package.rglob("*.py") if wrong.search(path.read_text("utf-8"))]
    assert files == [package / "outputs" / "escapes.py"]
