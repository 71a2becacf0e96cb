"""The JSON Schema of a diff. Imports pydantic."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from hookcli.comparison.diff import SCHEMA, Diff
from hookcli.report.schema import closed


def diff_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) that every diff satisfies."""
    return closed(TypeAdapter(Diff).json_schema(mode="serialization"), SCHEMA, "hookcli diff")
