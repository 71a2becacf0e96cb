"""`hookcli schema`: JSON Schemas of what hookcli reads and writes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hookcli.cli.errors import reporting
from hookcli.cli.flags.signatures import argument
from hookcli.console import Console
from hookcli.errors import Status


def _config() -> dict[str, Any]:
    from hookcli.config.schema import config_schema

    return config_schema()


def _report() -> dict[str, Any]:
    from hookcli.report.schema import json_schema

    return json_schema()


def _diff() -> dict[str, Any]:
    from hookcli.comparison.schema import diff_schema

    return diff_schema()


_SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {
    "config": _config,
    "report": _report,
    "diff": _diff,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaFlags:
    """Which schema."""

    what: str = argument("Whose schema.", choices=tuple(_SCHEMAS))


def schema(flags: SchemaFlags) -> int:
    """Print the JSON Schema (2020-12) of a document."""
    console = Console()

    def command() -> int:
        console.out(json.dumps(_SCHEMAS[flags.what](), indent=2) + "\n")
        return Status.FINE

    return reporting(console, command)
