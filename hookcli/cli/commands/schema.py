"""`hookcli schema`: the JSON Schemas of configurations, reports, diffs and reports of trainings."""

from __future__ import annotations

import json
from dataclasses import dataclass

from hookcli.cli.errors import reporting
from hookcli.cli.flags.signatures import argument
from hookcli.console import Console
from hookcli.errors import Status
from hookcli.reference.schemas import SCHEMAS


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaFlags:
    """The kind of document."""

    document: str = argument("The kind of document.", choices=tuple(SCHEMAS))


EXAMPLES = (
    ("a schema for an editor that completes YAML", "hookcli schema config"),
    ("the schema of `-f json`", "hookcli schema report"),
)


def schema(flags: SchemaFlags) -> int:
    """Print the JSON Schema (2020-12) of a kind of document."""
    console = Console()

    def command() -> int:
        console.out(json.dumps(SCHEMAS[flags.document](), indent=2) + "\n")
        return Status.FINE

    return reporting(console, command)
