"""The JSON Schemas that `schema` and `explain schema:NAME` print, by the kind of document."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


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


SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {
    "config": _config,
    "report": _report,
    "diff": _diff,
    "run": _training,
    "rundiff": _run_diff,
    "weights": _weights,
    "weights_diff": _weights_diff,
}
