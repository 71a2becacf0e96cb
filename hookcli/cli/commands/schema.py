"""`hookcli schema`: the JSON Schemas of configurations, reports, diffs and reports of trainings."""

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


def _training() -> dict[str, Any]:
    from hookcli.report.schema import training_schema

    return training_schema()


def _run_diff() -> dict[str, Any]:
    from hookcli.comparison.schema import run_diff_schema

    return run_diff_schema()


def _weights() -> dict[str, Any]:
    from hookcli.report.schema import weights_schema

    return weights_schema()


def _weights_diff() -> dict[str, Any]:
    from hookcli.report.schema import weights_diff_schema

    return weights_diff_schema()


_SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {
    "config": _config,
    "report": _report,
    "diff": _diff,
    "run": _training,
    "rundiff": _run_diff,
    "weights": _weights,
    "weights_diff": _weights_diff,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaFlags:
    """The kind of document."""

    document: str = argument("The kind of document.", choices=tuple(_SCHEMAS))


EXAMPLES = (
    ("a schema for an editor that completes YAML", "hookcli schema config"),
    ("the schema of `-f json`", "hookcli schema report"),
)


def schema(flags: SchemaFlags) -> int:
    """Print the JSON Schema (2020-12) of a kind of document."""
    console = Console()

    def command() -> int:
        console.out(json.dumps(_SCHEMAS[flags.document](), indent=2) + "\n")
        return Status.FINE

    return reporting(console, command)
