"""The page of `explain columns`: the columns of each command, from the table of their names."""

from __future__ import annotations

from hookcli.formats.names import ALIASES, TABLES, ColumnFacts, sorts_of
from hookcli.reference.text_page import WIDTH, fields, filled, page

TOPIC = "columns"
_ABOUT = (
    "Columns that --columns accepts, in any order: `--columns name,norm,status`. In trace and "
    "grads a statistic that a preset or --kinds does not record is measured if a column shows it. "
    "Hooks of a configuration record it with `do: stats`."
)


def columns_page(width: int = WIDTH) -> str:
    """Return the page: a list of columns with meaning and unit for each table of each command."""
    parts = ["columns  (of inspect, trace and grads)", filled(_ABOUT, width, "", "")]
    for command in TABLES:
        for rows, table in TABLES[command]:
            parts.append(f"{command}: {rows}")
            parts.append(
                fields([(f"  {name}", _meaning(facts)) for name, facts in table.items()], width)
            )
        sorts = ", ".join(sorts_of(command))
        parts.append(
            filled(f"{command} --sort: {sorts}; -KEY reverses the order.", width, "", "  ")
        )
    others = ", ".join(f"{other} = {name}" for other, name in ALIASES.items())
    parts.append(f"other names: {others}")
    return page(parts)


def _meaning(facts: ColumnFacts) -> str:
    return f"{facts.meaning} [{facts.unit}]" if facts.unit else facts.meaning
