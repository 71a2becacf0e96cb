"""Figures of operators as strict JSON can represent them."""

from __future__ import annotations

from typing import Any

from hookcli.report.rows.events import number


def facts_row(facts: dict[str, Any]) -> dict[str, Any]:
    """Return figures with NaN and infinities as strings."""
    return {key: number(v) if isinstance(v, float) else v for key, v in facts.items()}
