"""The rows of measurements of where gradients end.

`cuts`: an operator at which a gradient's path to the loss ends; the first row has their count.
`connected`: whether the gradient of the loss reaches an output of a module. `unreached`: why some
parameters got no gradient. `idle_terms`: a term of the loss that has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hookcli.report.path_ends.end_sentences import end
from hookcli.report.report import LayerRow, ParameterRow, Report

CUT, LAYER, REASON, TERM = "cuts", "connected", "unreached", "idle_terms"


def cuts_of(report: Report) -> list[Mapping[str, Any]]:
    """Return the cuts on the way to the loss, if they were measured."""
    values = (m.value for m in report.measurements if m.probe == CUT)
    return [value for value in values if isinstance(value, Mapping) and "operator" in value]


def key_of(cut: Mapping[str, Any]) -> str:
    """Return the name of a cut without its line: "LAYER:OPERATOR", as in "quantizer:detach"."""
    return f"{cut['layer'] or ''}:{cut['operator']}"


def new_cuts(then: Report, now: Report) -> list[Mapping[str, Any]]:
    """Return the cuts of `now` that `then` does not have; all, if `then` did not measure them."""
    known = {key_of(cut) for cut in cuts_of(then)}
    return [cut for cut in cuts_of(now) if key_of(cut) not in known]


def cut_before(cuts: Iterable[Mapping[str, Any]], parameters: Sequence[str]) -> str | None:
    """Return the sentence about the last cut that one of the parameters is behind."""
    for cut in reversed(list(cuts)):
        if any(is_in(name, part) for part in cut["behind"] for name in parameters):
            return end(cut)
    return None


def is_in(parameter: str, part: str) -> bool:
    """Return whether a parameter is this one, or one of the module with this name."""
    return not part or parameter == part or parameter.startswith(f"{part}.")


def backward_order(report: Report) -> list[tuple[ParameterRow, LayerRow | None]]:
    """Return the parameters in the order in which backward reaches their layers.

    A parameter comes with the last call of its module, or of the nearest one above it that ran.
    """
    last: dict[str, LayerRow] = {}
    for row in report.layers:
        if not row.recomputed:
            last.update(
                dict.fromkeys((row.name, *row.aliases) if row.name is not None else (), row)
            )
    ranked = []
    for i, parameter in enumerate(report.parameters):
        module = parameter.name.rpartition(".")[0]
        while module and module not in last:
            module = module.rpartition(".")[0]
        ranked.append((last.get(module), i, parameter))
    ranked.sort(key=lambda item: (-1 if item[0] is None else item[0].order, item[1]), reverse=True)
    return [(parameter, row) for row, _, parameter in ranked]
