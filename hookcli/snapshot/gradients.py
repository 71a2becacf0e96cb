"""Checks of how gradients flow: the cuts, the connected layers, the share of each main part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hookcli.report.path_ends.end_rows import CUT, LAYER, cuts_of
from hookcli.report.report import Report
from hookcli.rules.gradients.grad_share import share_of
from hookcli.rules.select import modules_above
from hookcli.snapshot.costs import main_parts
from hookcli.snapshot.globs import NameSet, cover, exactly, folded
from hookcli.snapshot.section import Section

PROBE = CUT
_MOST = 40  # globs of one check; a reader does not gain from more
_PARTS = 12  # checks of shares
_LEAST = 1e-3  # a smaller share may be rounding on another machine


def gradients(report: Report) -> Section:
    """Return checks of the gradients of a run whose further forward was followed."""
    measured = [m.value for m in report.measurements if m.probe == CUT]
    if not measured or not isinstance(measured[0], Mapping) or "count" not in measured[0]:
        return Section(())
    return Section(
        (
            "How gradients flow: the operators that cut them, the layers that they reach, and the",
            "share of each main part in the norm of all gradients.",
        ),
        (_cuts(report), *_connected(report), *_shares(report)),
    )


def _cuts(report: Report) -> dict[str, Any]:
    """Return the check of the operators that cut gradients: there are these and no others."""
    layers: dict[str, dict[str, str]] = {}
    for cut in cuts_of(report):
        name = str(cut["operator"])
        layers.setdefault(name, {})[cut["layer"] or ""] = name
    if not layers:
        return {"rule": "grad_cuts"}
    names = NameSet([row.name for row in report.layers if row.name is not None])
    allowed = [
        f"{glob}:{exactly(name)}"
        for name, by_layer in layers.items()
        for glob, _ in folded(by_layer, names)
    ]
    if len(allowed) > _MOST:
        allowed = [f"*:{exactly(name)}" for name in layers]
    return {"rule": "grad_cuts", "allow": tuple(allowed), "exact": True}


def _connected(report: Report) -> list[dict[str, Any]]:
    rows = {m.target: m.value for m in report.measurements if m.probe == LAYER}
    globs = cover([name for name, reached in rows.items() if reached], list(rows))
    if not globs or len(globs) > _MOST:
        return []
    return [{"rule": "connected", "at": globs[0] if len(globs) == 1 else tuple(globs)}]


def _shares(report: Report) -> list[dict[str, Any]]:
    """Return a check of each main part whose gradients are more than rounding."""
    sizes = {
        module: 1 for row in report.parameters if row.grad for module in modules_above(row.name)
    }
    parts = main_parts(sizes)
    if not 1 < len(parts) <= _PARTS:
        return []
    checks = []
    for part in parts:
        glob = f"{exactly(part)}.*"
        share = share_of(report, (glob,))
        if share is not None and share >= _LEAST:
            checks.append({"rule": "grad_share", "at": glob, "share": float(f"{share:.2g}")})
    return checks
