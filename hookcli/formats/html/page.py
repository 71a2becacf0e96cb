"""Write a page: the header as html, the data as JSON, and the scripts that show it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from hookcli._version import __version__
from hookcli.formats.html.bundle import assets, source_hash
from hookcli.formats.html.plain_tables import PlainTable
from hookcli.outputs.escapes import fragment, script_data


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence of the header about what is wrong, and the link to what it is about."""

    severity: str
    sentence: str
    advice: str = ""
    link: str = ""  # the fragment, without "#"
    label: str = ""  # the text of the link
    place: str = ""


@dataclass(frozen=True, slots=True)
class Header:
    """What a page says before its tables. `verdict` is one sentence; `state` is its colour."""

    title: str
    command: str
    facts: Sequence[tuple[str, str]]
    state: str  # "good", "warning", "error" or "neutral"
    verdict: str
    findings: Sequence[Finding] = ()
    more: str = ""  # how many findings are not shown
    notes: Sequence[str] = field(default_factory=tuple)


def link(**values: object) -> str:
    """Return the fragment of a page that selects something, such as tab=layers&layer=fc."""
    pairs = ((key, str(value)) for key, value in values.items() if value is not None)
    return "&".join(f"{key}={fragment(value)}" for key, value in pairs)


def embedded(data: Any) -> str:
    """Return JSON that can stand in a script element: no character of it can end the element."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"), check_circular=False)
    return script_data(text)


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("hookcli.formats.html", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )


def write_page(
    entry: str,
    header: Header,
    data: dict[str, Any],
    tables: Sequence[PlainTable],
    *,
    diagram: bool = False,
    lines: bool = False,
    reload: int | None = None,
) -> str:
    """Return the page as one html file that needs no other, and that makes no request.

    `entry` is the script that shows the data; where no script runs, `tables` are shown. `diagram`
    and `lines` add the libraries for them. A page of a run that goes on loads its own file again
    after `reload` seconds.
    """
    parts = assets(entry, diagram=diagram, lines=lines)
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src {source_hash(parts.start)} {source_hash(parts.script)}",
            f"style-src {source_hash(parts.style)}",
            "img-src data: blob:",
            "worker-src blob:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    template = _environment().get_template("page.html.j2")
    return template.render(
        header=header,
        data=embedded(data),
        tables=tables,
        start=parts.start,
        style=parts.style,
        packed=parts.packed,
        policy=policy,
        version=__version__,
        reload=reload,
    )
