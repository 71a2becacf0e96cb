"""`frozen_by_mistake`: no layer is frozen between equal layers that are trained."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hookcli.report.report import ParameterRow, Report
from hookcli.rules.rule import NO_BACKWARD, Options, Rule, RuleFinding, RuleOption, passed, skipped
from hookcli.rules.select import parameters_at, places
from hookcli.spec.checks import BACKWARD
from hookcli.text import counted, join_names, pluralize

_NUMBER = re.compile(r"(?<![^.])(?:0|[1-9][0-9]*)(?![^.])")  # a part of a name between dots
_MOST = 0.25  # of the layers of a series, so of four or more; more are frozen on purpose


def _series(rows: list[ParameterRow]) -> dict[tuple[str, str, str], dict[int, ParameterRow]]:
    """Return parameters that differ only in one number, by what is before and after it."""
    series: dict[tuple[str, str, str], dict[int, ParameterRow]] = {}
    for row in rows:
        for match in _NUMBER.finditer(row.name):
            before, after = row.name[: match.start()], row.name[match.end() :]
            series.setdefault((before, after, row.module_type), {})[int(match[0])] = row
    return series


def _odd_ones(numbers: dict[int, ParameterRow]) -> list[int]:
    """Return the numbers of the few frozen parameters that are between trained ones."""
    frozen = [number for number, row in numbers.items() if not row.requires_grad]
    trained = [number for number, row in numbers.items() if row.requires_grad]
    if not frozen or len(frozen) > _MOST * len(numbers):
        return []
    inside = all(min(trained) < number < max(trained) for number in frozen)
    return sorted(frozen) if inside else []


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each layer that has frozen parameters and trained neighbours."""
    rows = list(parameters_at(report, options["at"]))
    if all(row.status is None for row in report.parameters):
        yield skipped(NO_BACKWARD)
        return
    layers: dict[str, list[str]] = {}
    sizes: dict[str, int] = {}
    for (before, after, _), numbers in _series(rows).items():
        for number in _odd_ones(numbers):
            layer = f"{before}{number}"
            layers.setdefault(layer, []).append(after.lstrip("."))
            sizes[layer] = len(numbers)
    where = places(report) if layers else {}
    for layer, names in layers.items():
        message = (
            f"'{layer}' is frozen ({join_names(names)}), but the {sizes[layer] - 1} layers like it "
            "are trained: requires_grad is False there"
        )
        advice = f"call `requires_grad_(True)` on '{layer}', or freeze a whole block"
        yield RuleFinding(
            "fail", layer, "frozen", message, len(names), 0, where.get(layer), advice=advice
        )
    if not layers:
        word = pluralize(len(rows), "fits", "fit")
        yield passed(f"requires_grad of {counted(len(rows), 'parameter')} {word} its neighbours")


RULE = Rule(
    name="frozen_by_mistake",
    severity="warning",
    diagnoses=True,
    looks_at="gradients",
    says="no layer is frozen between equal layers that are trained",
    computes="Compares parameters whose names differ in one number, such as blocks.3.fc.weight, "
    "and whose modules have the same type. At least four of them must exist, at most a quarter may "
    "be frozen, and each frozen one must have trained ones before and after it. The first or last "
    "layers, a whole backbone, or all norms are frozen on purpose.",
    formula="frozen(i) and trained(j) and trained(k), j < i < k, in a series of at least 4",
    source="layers are frozen as prefixes or by type: Howard and Ruder 2018, Houlsby et al. 2019",
    fails="a loop that freezes layers with an index that is off: only blocks.3 is frozen",
    mend="call requires_grad_(True) on the layer",
    example='{rule: frozen_by_mistake, at: "encoder.*"}',
    options=(RuleOption("at", "globs", "globs of parameter names", ("*",)),),
    needs=lambda options: (BACKWARD,),
    judge=judge,
)
