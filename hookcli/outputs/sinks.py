"""What each output must escape: one list, with the function that every place of output uses.

Names, messages and paths come from the user's code. What is harmless in one output is a command in
another: a control character moves a terminal's cursor, `##vso[` commands a CI system, `<` begins
an element. `SINKS` says for each output what is dangerous in it, and what escapes it. A new output
needs a row; tests/outputs/test_sinks.py sends hostile names through all of them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OutputSink:
    """One kind of output. `escape` is "module:function": not all modules import this one."""

    name: str
    dangerous: str  # what a name must not do in it
    escape: str
    formats: tuple[str, ...] = ()  # the formats of the registry that write it


_ESCAPES = "hookcli.outputs.escapes"

SINKS: tuple[OutputSink, ...] = (
    OutputSink(
        "text",
        "controls and bidi marks, which change what a terminal shows; commands of CI systems",
        f"{_ESCAPES}:escape",
        ("table", "tree", "perfetto", "tensorboard"),
    ),
    OutputSink("lines", "as text; an exception's lines stay lines", f"{_ESCAPES}:escape_lines"),
    OutputSink(
        "json",
        "lone surrogates, which strict readers refuse; commands of CI systems",
        f"{_ESCAPES}:json_text",
        ("json",),
    ),
    OutputSink(
        "markdown",
        "markup, HTML, links, mentions and references to issues",
        f"{_ESCAPES}:markdown",
        ("markdown",),
    ),
    OutputSink("xml", "characters that XML 1.0 forbids", f"{_ESCAPES}:xml_text", ("junit",)),
    OutputSink(
        "xml_markup", "as xml, and what begins an element", f"{_ESCAPES}:xml_markup", ("svg",)
    ),
    OutputSink("html", "as text, and what begins an element", f"{_ESCAPES}:html_text"),
    OutputSink(
        "script_data",
        "what ends a script element or begins a comment in it",
        f"{_ESCAPES}:script_data",
        ("html",),
    ),
    OutputSink("fragment", "what separates the parts of an address", f"{_ESCAPES}:fragment"),
    OutputSink(
        "sarif", "placeholders and links in messages", f"{_ESCAPES}:sarif_message", ("sarif",)
    ),
    OutputSink(
        "github",
        "the end of an annotation's line: another line would be another command",
        f"{_ESCAPES}:github_data",
        ("github",),
    ),
    OutputSink("github_property", "as github, and its end", f"{_ESCAPES}:github_property"),
    OutputSink(
        "yaml",
        "invisible characters; commands of CI systems. PyYAML quotes the others",
        f"{_ESCAPES}:yaml_quoted",
    ),
    OutputSink("shell", "what a shell splits, expands or runs", "shlex:quote"),
    OutputSink(
        "bash",
        "what bash expands, splits or runs in the line that it completes",
        f"{_ESCAPES}:bash_word",
    ),
    OutputSink("zsh", "as bash, in the code that zsh evaluates", f"{_ESCAPES}:zsh_word"),
    OutputSink("fish", "the end of a candidate; fish escapes the others", f"{_ESCAPES}:escape"),
    OutputSink("progress", "as text: it would move the cursor of a terminal", f"{_ESCAPES}:escape"),
    OutputSink("script_line", "as text, without an import", "hookcli.training.script.say:harmless"),
)
