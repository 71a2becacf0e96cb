"""JSON Schema of a configuration, for editors. The validators that read it describe themselves."""

from __future__ import annotations

from typing import Any

from hookcli.config.sections.root import DEFS, ROOT

SCHEMA = "hookcli.config/1"


def config_schema() -> dict[str, Any]:
    """Return a JSON Schema (draft 2020-12) that every valid configuration satisfies.

    It describes structure: keys, types, names of kinds, actions and options. Only reading finds
    missing files, hooks that exclude each other, and similar problems.
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"https://hookcli.dev/schema/{SCHEMA.replace('/', '-')}.json",
        "title": "hookcli configuration",
        **ROOT.schema(),
        "minProperties": 1,
        "$defs": DEFS,
    }
