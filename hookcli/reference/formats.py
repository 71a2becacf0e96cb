"""The pages of formats as plain text, for `explain` and `list`."""

from __future__ import annotations

from hookcli.formats.parts.text import sentence
from hookcli.formats.registry import FORMATS
from hookcli.reference.text_page import WIDTH, bullet_list, fields, filled, page


def format_page(name: str, width: int = WIDTH) -> str:
    """Return the page of one format."""
    row = FORMATS[name]
    suffix = [("suffix", f"{row.suffix}: `-o FILE` without -f writes this format")]
    suffix = suffix if row.suffix else []
    return page(
        (
            f"{name}  (format)",
            filled(sentence(row.description), width, "", ""),
            fields([("read by", row.read_by), *suffix, ("example", row.example)], width),
            bullet_list("notes", row.notes, width),
        )
    )


def formats_table(_width: int = WIDTH) -> str:
    """Return a table with a line for each format. It ignores the width."""
    wide = max(map(len, FORMATS))
    return "".join(f"{name:<{wide}}  {row.description}\n" for name, row in FORMATS.items())
