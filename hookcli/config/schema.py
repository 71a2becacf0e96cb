"""JSON Schema of a configuration, for editors: made of the shapes that read it."""

from __future__ import annotations

from typing import Any

from hookcli.config.sections.root import DEFS, ROOT

SCHEMA = "hookcli.config/1"


def config_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) that every configuration satisfies.

    It holds structure: keys, types, names of kinds, actions and options. Files that must exist,
    hooks that exclude each other and the like are found by reading.
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"https://hookcli.dev/schema/{SCHEMA.replace('/', '-')}.json",
        "title": "hookcli configuration",
        **ROOT.schema(),
        "minProperties": 1,
        "$defs": DEFS,
    }
