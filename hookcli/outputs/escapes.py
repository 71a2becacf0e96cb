"""What each output must escape: one list, with the function that every place of output uses.

Names, messages and paths come from the user's code. What is harmless in one output is a command in
another: a control character moves a terminal's cursor, `##vso[` commands a CI system, `<` begins
an element. `SINKS` says for each output what is dangerous in it, and what escapes it. A new output
needs a row; tests/outputs/test_sinks.py sends hostile names through all of them.

Nothing here changes a name of letters, digits, dots and underscores.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

# C0, DEL, C1, zero width and bidi marks, line and paragraph separators, BOM, lone surrogates, tags
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]+"
)
# The start of a CI command: of GitHub (::, ##[), Azure (##vso[, ##[), TeamCity (##teamcity[)
_COMMANDS = re.compile(r"(?<![\w:])::|##(?=[A-Za-z]*\[)")
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, 2.2
_XML_MARKS = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
_LONG = 1000  # characters


@dataclass(frozen=True, slots=True)
class OutputSink:
    """One kind of output. `escape` is "module:function": not all modules import this one."""

    name: str
    dangerous: str  # what a name must not do in it
    escape: str
    formats: tuple[str, ...] = ()  # the formats of the registry that write it


_HERE = "hookcli.outputs.escapes"

SINKS: tuple[OutputSink, ...] = (
    OutputSink(
        "text",
        "controls and bidi marks, which change what a terminal shows; commands of CI systems",
        f"{_HERE}:escape",
        ("table", "tree", "perfetto", "tensorboard"),
    ),
    OutputSink("lines", "as text; an exception's lines stay lines", f"{_HERE}:escape_lines"),
    OutputSink(
        "json",
        "lone surrogates, which strict readers refuse; commands of CI systems",
        f"{_HERE}:json_text",
        ("json",),
    ),
    OutputSink(
        "markdown",
        "markup, HTML, links, mentions and references to issues",
        f"{_HERE}:markdown",
        ("markdown",),
    ),
    OutputSink("xml", "characters that XML 1.0 forbids", f"{_HERE}:xml_text", ("junit",)),
    OutputSink("xml_markup", "as xml, and what begins an element", f"{_HERE}:xml_markup", ("svg",)),
    OutputSink("html", "as text, and what begins an element", f"{_HERE}:html_text"),
    OutputSink(
        "script_data",
        "what ends a script element or begins a comment in it",
        f"{_HERE}:script_data",
        ("html",),
    ),
    OutputSink("fragment", "what separates the parts of an address", f"{_HERE}:fragment"),
    OutputSink("sarif", "placeholders and links in messages", f"{_HERE}:sarif_message", ("sarif",)),
    OutputSink(
        "github",
        "the end of an annotation's line: another line would be another command",
        f"{_HERE}:github_data",
        ("github",),
    ),
    OutputSink("github_property", "as github, and its end", f"{_HERE}:github_property"),
    OutputSink(
        "yaml",
        "invisible characters; commands of CI systems. PyYAML quotes the others",
        f"{_HERE}:yaml_quoted",
    ),
    OutputSink("shell", "what a shell splits, expands or runs", "shlex:quote"),
    OutputSink("script_line", "as text, without an import", "hookcli.script.say:harmless"),
)


class _Spellings(dict[str, str]):
    """The escape of each unsafe character, cached: a name may contain a million of them."""

    def __missing__(self, letter: str) -> str:
        code = ord(letter)
        if code < 0x100:
            spelling = {0x09: "\\t", 0x0A: "\\n", 0x0D: "\\r"}.get(code, f"\\x{code:02x}")
        else:
            spelling = f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
        self[letter] = spelling
        return spelling


_SPELLINGS = _Spellings()


def _spelled(match: re.Match[str]) -> str:
    return "".join(map(_SPELLINGS.__getitem__, match[0]))


def escape(text: str) -> str:
    """Return the text on one line, with control characters, bidi marks and CI commands escaped."""
    if text.isascii() and text.isprintable() and "::" not in text and "##" not in text:
        return text
    return _escaped_long(text) if len(text) > _LONG else _escaped(text)


def _escaped(text: str) -> str:
    text = _UNSAFE.sub(_spelled, text)
    return _COMMANDS.sub(lambda m: m[0][0] + f"\\x{ord(m[0][1]):02x}" + m[0][2:], text)


# A name is printed in many cells, and a hostile one may be a megabyte long.
_escaped_long = lru_cache(maxsize=32)(_escaped)


def escape_lines(text: str) -> str:
    r"""Return the text with each of its lines escaped. A line ends with \n only."""
    return "\n".join(map(escape, text.split("\n")))


# --- JSON

# A lone surrogate in JSON with ASCII escapes, whose backslash is not escaped.
_LONE = re.compile(
    r"(?<!\\)((?:\\\\)*)"
    r"(?:(\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2})|\\(ud[89a-f][0-9a-f]{2}))"
)


def json_text(text: str) -> str:
    """Return JSON with ASCII escapes as strict readers and the logs of CI systems take it.

    A lone surrogate becomes the six characters of its escape. `##`, with which commands of Azure
    and TeamCity begin anywhere in a line, is spelled so that the same string is read.
    """
    if "\\ud" in text:
        text = _LONE.sub(lambda m: m[1] + (m[2] or "\\\\" + m[3]), text)
    return text.replace("##", "#\\u0023") if "##" in text else text


# What ends a script element or begins a comment in it.
_IN_SCRIPT = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def script_data(text: str) -> str:
    """Return JSON that can stand in a script element: no character of it can end the element."""
    return json_text(text).translate(_IN_SCRIPT)


# --- XML and HTML


def xml_text(text: str) -> str:
    """Replace characters that XML 1.0 does not allow. A writer of XML escapes the others."""
    return _NO_XML.sub(lambda m: f"\\u{ord(m[0]):04x}", text)


def xml_line(text: str) -> str:
    """Return the text on one line, with what a terminal or XML forbids escaped."""
    return xml_text(escape(text))


def xml_markup(text: str) -> str:
    """Return the text as the content of an element or an attribute, on one line."""
    return _marked_up(xml_line(text))


def _marked_up(text: str) -> str:
    return re.sub('[&<>"]', lambda m: _XML_MARKS[m[0]], text)


def html_text(text: str) -> str:
    """Return the text as the content of an HTML element or attribute, on one line."""
    return _marked_up(escape(text)).replace("'", "&#x27;")


def fragment(text: str) -> str:
    """Return the text as a value in the fragment of an address."""
    from urllib.parse import quote

    return quote(text, safe="", errors="backslashreplace")


# --- Markdown

# A shape is not a link, and an underscore inside a word is not emphasis: both stay unescaped.
_MARK = re.compile(r"[\\`*_~\[\]|#$!]")
# Runs of characters match at once, except the bracket that may begin a shape.
_MARKS = re.compile(
    r"(\[[0-9, ]*\](?![\[(:]))|(?<=[^\W_])_(?=[^\W_])|((?:[\\`*~\]|#$!]|\[(?=\[))+|[_\[])"
)
_BULLET = re.compile(r"^(\d*)([-+.)])(?=\s|$)")  # which could begin a list
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}  # "&" comes first
# GitHub makes links of bare addresses: their colon or dot is written as an entity.
_ADDRESS = re.compile(r"(?i)(https?|ftp|mailto|xmpp):|(www)\.")
# Mentions, mail addresses and issues are found after entities are read: a space without width
# separates their sign from the name.
_REFERENCE = re.compile(r"@(?=[\w+.-])|#(?=\d)")
_APART = "&#8203;"


def markdown(text: str) -> str:
    """Escape a line of text so that it renders literally: no markup, HTML, mention or link."""
    if _MARK.search(text):
        text = _MARKS.sub(lambda m: "\\" + "\\".join(m[2]) if m[2] else m[0], text)
    text = _BULLET.sub(r"\1\\\2", text)
    for letter, entity in _ENTITIES.items():
        text = text.replace(letter, entity)
    text = _REFERENCE.sub(lambda m: m[0] + _APART, text).replace("@", "&#64;")
    return _ADDRESS.sub(lambda m: f"{m[1]}&#58;" if m[1] else f"{m[2]}&#46;", text)


# --- CI systems

_DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY = {**_DATA, ":": "%3A", ",": "%2C"}


def _percented(text: str, table: Mapping[str, str]) -> str:
    return re.sub("[%\r\n:,]", lambda m: table.get(m[0], m[0]), text)


def github_data(text: str) -> str:
    """Return the message of a workflow command, escaped as actions/toolkit does."""
    return _percented(text, _DATA)


def github_property(text: str) -> str:
    """Return the value of a property of a workflow command, escaped as actions/toolkit does."""
    return _percented(text, _PROPERTY)


def sarif_message(text: str) -> str:
    """Escape a string as a SARIF message, so that it contains no placeholder and no link.

    Braces are doubled (SARIF 2.1.0, 3.11.5), and a space breaks what would be a link (3.11.6).
    """
    return text.replace("{", "{{").replace("}", "}}").replace("](", "] (")


# --- YAML


_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}  # categories of invisible characters


def yaml_quoted(text: str) -> str | None:
    """Return a string in double quotes that reads back equal; None if no character is dangerous.

    Dangerous are invisible characters, also those of private use, and the commands of CI systems.
    """
    if text.isascii() and text.isprintable():
        hidden = False
    else:
        from unicodedata import category

        hidden = any(category(letter) in _UNSEEN for letter in text)
    if not hidden and not _COMMANDS.search(text):
        return None
    text = "".join(map(_yaml_spelled, text))
    return '"' + _COMMANDS.sub(lambda m: m[0][0] + f"\\x{ord(m[0][1]):02x}", text) + '"'


def _yaml_spelled(letter: str) -> str:
    from unicodedata import category

    if letter in '"\\':
        return f"\\{letter}"
    if category(letter) not in _UNSEEN:
        return letter
    code = ord(letter)
    return f"\\x{code:02x}" if code < 0x100 else f"\\U{code:08x}"
