"""The functions that escape text for each output; `outputs/sinks.py` lists the outputs.

Nothing here changes a name of letters, digits, dots and underscores. Every command imports this, so
that most patterns are compiled when they are first used.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache

# C0, DEL, C1, zero width and bidi marks, line and paragraph separators, BOM, lone surrogates, tags
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]+"
)
# The start of a CI command: of GitHub (::, ##[), Azure (##vso[, ##[), TeamCity (##teamcity[)
_COMMANDS = re.compile(r"(?<![\w:])::|##(?=[A-Za-z]*\[)")
_NO_XML = "[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"  # XML 1.0, 2.2
_XML_MARKS = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
_LONG = 1000  # characters


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


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
_LONE = (
    r"(?<!\\)((?:\\\\)*)"
    r"(?:(\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2})|\\(ud[89a-f][0-9a-f]{2}))"
)


def json_text(text: str) -> str:
    """Return JSON with ASCII escapes as strict readers and the logs of CI systems take it.

    A lone surrogate becomes the six characters of its escape. `##`, with which commands of Azure
    and TeamCity begin anywhere in a line, is spelled so that the same string is read.
    """
    if "\\ud" in text:
        text = _compiled(_LONE).sub(lambda m: m[1] + (m[2] or "\\\\" + m[3]), text)
    return text.replace("##", "#\\u0023") if "##" in text else text


# What ends a script element or begins a comment in it.
_IN_SCRIPT = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def script_data(text: str) -> str:
    """Return JSON that can stand in a script element: no character of it can end the element."""
    return json_text(text).translate(_IN_SCRIPT)


# --- XML and HTML


def xml_text(text: str) -> str:
    """Replace characters that XML 1.0 does not allow. A writer of XML escapes the others."""
    return _compiled(_NO_XML).sub(lambda m: f"\\u{ord(m[0]):04x}", text)


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
_MARK = r"[\\`*_~\[\]|#$!]"
# Runs of characters match at once, except the bracket that may begin a shape.
_MARKS = r"(\[[0-9, ]*\](?![\[(:]))|(?<=[^\W_])_(?=[^\W_])|((?:[\\`*~\]|#$!]|\[(?=\[))+|[_\[])"
_BULLET = r"^(\d*)([-+.)])(?=\s|$)"  # which could begin a list
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}  # "&" comes first
# GitHub makes links of bare addresses: their colon or dot is written as an entity.
_ADDRESS = r"(?i)(https?|ftp|mailto|xmpp):|(www)\."
# Mentions, mail addresses and issues are found after entities are read: a space without width
# separates their sign from the name.
_REFERENCE = r"@(?=[\w+.-])|#(?=\d)"
_APART = "&#8203;"


def markdown(text: str) -> str:
    """Escape a line of text so that it renders literally: no markup, HTML, mention or link."""
    if _compiled(_MARK).search(text):
        text = _compiled(_MARKS).sub(lambda m: "\\" + "\\".join(m[2]) if m[2] else m[0], text)
    text = _compiled(_BULLET).sub(r"\1\\\2", text)
    for letter, entity in _ENTITIES.items():
        text = text.replace(letter, entity)
    text = _compiled(_REFERENCE).sub(lambda m: m[0] + _APART, text).replace("@", "&#64;")
    return _compiled(_ADDRESS).sub(lambda m: f"{m[1]}&#58;" if m[1] else f"{m[2]}&#46;", text)


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


# --- shells that complete a word

_IN_BASH = r"[^\w@%+=:,./~-]|:(?=:)"
# Each candidate is in double quotes, and all are in single quotes, which two shells' evals remove.
_IN_ZSH = str.maketrans({'"': "", "'": "", "$": r"\$", "`": "", "\\": r"\\", ":": r"\\:"})


def bash_word(text: str) -> str:
    """Return a candidate that bash inserts into the line, where it would expand and split it."""
    return _compiled(_IN_BASH).sub(lambda m: "\\" + m[0], _UNSAFE.sub(_spelled, text))


def zsh_word(text: str) -> str:
    """Return a candidate or its description within the code that zsh evaluates."""
    return escape(text).translate(_IN_ZSH)


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
