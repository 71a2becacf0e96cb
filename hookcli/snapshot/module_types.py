"""Checks of the types of modules, and of the values that they were constructed with."""

from __future__ import annotations

import json
from typing import Any

from hookcli.report.report import Report
from hookcli.snapshot.globs import folded
from hookcli.snapshot.section import Section, by_depth, known_names

PROBE = "module_settings"
_MOST = 40  # lines
# Sizes of parameters: checks of shapes and of the number of parameters tell of them.
_SIZES = {
    "in_features", "out_features", "in_channels", "out_channels", "num_features",
    "num_embeddings", "embedding_dim", "input_size", "hidden_size", "normalized_shape",
    "embed_dim", "kdim", "vdim",
}  # fmt: skip
_CONTAINERS = {"Sequential", "ModuleList", "ModuleDict"}  # the order tells what they contain


def module_types(report: Report, depth: int | None) -> Section:
    """Return checks of each module, down to `depth`, or as deep as few lines allow."""
    names = known_names(report)
    found = {
        one.target: json.dumps(_without_sizes(one.value))
        for one in report.measurements
        if one.probe == PROBE and one.value["type"] not in _CONTAINERS
    }

    def lines(some: list[str]) -> list[dict[str, Any]]:
        folds = folded({name: found[name] for name in some}, names)
        return [_check(glob, json.loads(str(value))) for glob, value in folds]

    checks, cut = by_depth(found, depth, _MOST, lines)
    says = ("The types of the modules, and the values that they were constructed with.", *cut)
    return Section(says, tuple(checks))


def _without_sizes(value: dict[str, Any]) -> dict[str, Any]:
    kept = {name: item for name, item in value["settings"].items() if name not in _SIZES}
    return {**value, "settings": kept}


def _check(glob: str, value: dict[str, Any]) -> dict[str, Any]:
    at = {"at": glob} if glob else {}
    settings = {"settings": value["settings"]} if value["settings"] else {}
    return {"rule": "module_type", **at, "type": value["type"], **settings}
