"""A picture of a terminal, as SVG: what a command prints at a terminal with colours."""

from __future__ import annotations

import io
import re
from xml.sax.saxutils import escape

from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text

_MONOSPACE = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
# Fonts of the system in place of the web font that rich names: a page fetches nothing.
_FORMAT = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg"
 role="img" aria-label="A terminal with the output of COMMAND">
<style>
.{unique_id}-matrix {{
  font-family: MONOSPACE;
  font-size: {char_height}px;
  line-height: {line_height}px;
  font-variant-east-asian: full-width;
}}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: MONOSPACE; }}
{styles}
</style>
<defs>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
""".replace("MONOSPACE", _MONOSPACE)


def picture(command: str, output: str, width: int) -> str:
    """The SVG of a command and its output, which may have ANSI colours. The same at every call."""
    console = Console(
        record=True, width=width, file=io.StringIO(), color_system="truecolor", legacy_windows=False
    )
    console.print(Text.assemble(("$ ", "bold green"), (command, "bold")))
    console.print(Text.from_ansi(output), soft_wrap=True)
    svg = console.export_svg(
        title="hookcli", theme=DIMMED_MONOKAI, code_format=_FORMAT, unique_id="terminal"
    )
    svg = svg.replace("COMMAND", escape(command, {'"': "&quot;"}))
    return re.sub(r"[ \t]+$", "", svg, flags=re.M)
