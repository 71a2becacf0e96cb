"""The JSON Schemas of diffs. Imports pydantic."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from hookcli.comparison import diff
from hookcli.comparison.diff import SCHEMA, Diff
from hookcli.comparison.training.training_diff import RUN_DIFF, TrainingDiff
from hookcli.report.schema import closed


def diff_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) that every diff satisfies."""
    made = TypeAdapter(Diff).json_schema(mode="serialization")
    return closed(made, SCHEMA, "hookcli diff", (diff,))


def run_diff_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of every comparison of two trainings."""
    made = TypeAdapter(TrainingDiff).json_schema(mode="serialization")
    return closed(made, RUN_DIFF, "hookcli diff of two trainings")
