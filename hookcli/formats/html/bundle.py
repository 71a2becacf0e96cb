"""Scripts and styles of a page, put together from the files in `assets`.

A script is an ES module. The modules that an entry imports are joined into one script, each before
those that import it, as a function that returns what the module exports. A page has this script
compressed, and `start.js`, which runs it.
"""

from __future__ import annotations

import base64
import gzip
import re
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from posixpath import dirname, join, normpath
from typing import NamedTuple

_ASSETS = files("hookcli.formats.html") / "assets"
_IMPORT = re.compile(r'^import (\{[^}]*\}) from "(\.\.?/[\w./-]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?(?:const|function|class) (\w+))", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*(?://.*|/\*\*?(?:[^*]|\*(?!/))*\*/[ \t]*)\n", re.MULTILINE)
_INDENT = re.compile(r"^[ \t]+|[ \t]+$|\n(?=\n)", re.MULTILINE)
_CSS_SPACE = re.compile(r"\s*([{};])\s*|(?<=[:,]) ")
_FIRST_STYLES = ("base.css", "header.css", "still.css")  # of what is shown without the script
_DARK_STYLE = "dark.css"
_PANEL_STYLES = (
    "grid.css", "heatmap.css", "diagram.css", "timeline.css", "findings.css", "tables.css",
    "lines.css", "print.css",
)  # fmt: skip

# Compressed by the name of the data in the page: a script unpacks a library when it needs it.
_PACKED = {"dagre": "dagre-3.1.3.min.js"}
_PAGE, _STYLE = "page", "style"
_DAGRE, _LINES, _LINES_STYLE = "dagre", "uPlot-1.6.32.iife.min.js", "uPlot-1.6.32.min.css"


class Assets(NamedTuple):
    """What a page consists of: `start` runs `script`, which is in `packed` as "page".

    `style` is that of the header. `packed` has compressed texts by name (see `_pack`): the
    script, the style of the panels, and the libraries.
    """

    start: str
    script: str
    style: str
    packed: dict[str, str]


def _read(name: str) -> str:
    return _ASSETS.joinpath(name).read_text("utf-8")


def modules(entry: str) -> list[str]:
    """Return the file names of a script and of all that it imports, in the order of execution.

    Raises
    ------
    ValueError : two files import each other.
    """
    order: list[str] = []

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            raise ValueError(f"scripts import each other: {' -> '.join((*path, name))}")
        if name not in order:
            for _, other in _IMPORT.findall(_read(f"js/{name}")):
                visit(normpath(join(dirname(name), other)), (*path, name))
            order.append(name)

    visit(entry, ())
    return order


def _scoped(name: str) -> str:
    """Return a module as a function that is called at once: `const module_x = (() => {…})();`."""
    source = _read(f"js/{name}")
    exported = ", ".join(match[2] for match in _EXPORT.finditer(source))
    source = _EXPORT.sub(r"\1", source)

    def imported(match: re.Match[str]) -> str:
        return f"const {match[1]} = {_variable(normpath(join(dirname(name), match[2])))};\n"

    body = _IMPORT.sub(imported, source)
    return f"const {_variable(name)} = (() => {{\n{body}\nreturn {{ {exported} }};\n}})();\n"


def _variable(name: str) -> str:
    return "module_" + re.sub(r"\W", "_", name.removesuffix(".js"))


def compact(source: str) -> str:
    """Return a script or style without comment lines, indentation and empty lines.

    No file has a template literal or string of several lines, which this would change.
    """
    return _INDENT.sub("", _COMMENT.sub("", source)).strip() + "\n"


@cache
def assets(entry: str, *, diagram: bool, lines: bool) -> Assets:
    """Return what a page needs: its `entry` script, and the libraries for a diagram and lines."""
    script = compact("\n".join(map(_scoped, modules(entry))))
    style, panel_style = _styles(_FIRST_STYLES) + _dark_theme(), _styles(_PANEL_STYLES)
    if lines:
        script = f"{_library(_LINES)}\n{script}"
        panel_style = f"{_read(f'vendor/{_LINES_STYLE}').strip()}\n{panel_style}"
    packed = {_PAGE: _pack(script), _STYLE: _pack(panel_style)}
    if diagram:
        packed[_DAGRE] = _pack(_library(_PACKED[_DAGRE]))
    return Assets(compact(_read("start.js")), script, style, packed)


def _library(name: str) -> str:
    """Return a vendored script after its licence, which every copy has to include."""
    licence = _read(f"vendor/{name.partition('-')[0]}-LICENSE").strip()
    return f"/*!\n{licence}\n*/\n{_read(f'vendor/{name}').strip()}"


def _styles(names: Sequence[str]) -> str:
    return _tight("\n".join(_read(f"css/{name}") for name in names))


def _tight(style: str) -> str:
    """Return a style without comment lines, and without the spaces that CSS does not need.

    No string of a style may have a space beside a brace or semicolon, or after a colon or comma.
    """
    return _CSS_SPACE.sub(lambda match: match[1] or "", compact(style))


def _dark_theme() -> str:
    """Return the colours of the dark theme, for a system that prefers it and for who chose it.

    They are for screens: paper is light.
    """
    colors = compact(_read(f"css/{_DARK_STYLE}"))
    return (
        '@media screen and (prefers-color-scheme: dark) { :root:not([data-theme="light"]) {\n'
        f"{colors}}} }}\n"
        f'@media screen {{ :root[data-theme="dark"] {{ color-scheme: dark;\n{colors}}} }}\n'
    )


def _pack(text: str) -> str:
    """Return a text compressed by gzip, in base 85 of RFC 1924 with a comma for "<"."""
    content = gzip.compress(text.encode("utf-8"), mtime=0)
    return base64.b85encode(content).decode("ascii").replace("<", ",")


def source_hash(text: str) -> str:
    """Return the source expression of a Content-Security-Policy that allows this inline text."""
    return f"'sha256-{base64.b64encode(sha256(text.encode('utf-8')).digest()).decode('ascii')}'"
