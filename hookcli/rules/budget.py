"""`budget`: the cost of a model, or of parts of it, stays within limits."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from hookcli.report.report import Report
from hookcli.rules.module_costs import parts_at
from hookcli.rules.rule import Options, Rule, RuleFinding, RuleOption, no_match, passed
from hookcli.rules.select import places
from hookcli.spec.checks import request_probe
from hookcli.text import counted

Figures: TypeAlias = Mapping[str, int | None]

FIGURES: dict[str, tuple[str, Callable[[Report], int | None]]] = {
    "parameters": ("parameters", lambda report: report.model.parameters),
    "trainable_parameters": (
        "trainable parameters", lambda report: report.model.trainable_parameters,
    ),
    "parameter_bytes": ("bytes of parameters", lambda report: report.model.parameter_bytes),
    "buffer_bytes": ("bytes of buffers", lambda report: report.model.buffer_bytes),
    "macs": ("multiply-adds in a forward", lambda report: report.totals.macs),
    "flops": ("FLOPs in a forward", lambda report: report.totals.flops),
    "activation_bytes": (
        "bytes of activations in a forward", lambda report: report.totals.activation_bytes,
    ),
    "calls": ("calls of modules", lambda report: report.totals.calls),
}  # fmt: skip
_COUNTED = {"macs", "flops"}
_UNCOUNTED = "unknown: pass `--flops` to count them"


def _judged(
    target: str, figures: Figures, stated: Mapping[str, int], *, exact: bool
) -> Iterator[RuleFinding]:
    """Yield a finding for each figure of the model, or of one part, that breaks its limit."""
    of = f" in {target}" if target else ""
    for name, limit in stated.items():
        noun, value = FIGURES[name][0], figures.get(name)
        if value is None:
            why = _UNCOUNTED if name in _COUNTED else "unknown"
            message = f"the {noun}{of} are {why}"
            yield RuleFinding("error", target, f"{name} unknown", message, None, limit)
        elif exact and value != limit:
            apart = f"{abs(value - limit):,} {'more' if value > limit else 'fewer'}"
            message = f"{value:,} {noun}{of}, expected {limit:,} ({apart})"
            yield RuleFinding("fail", target, name, message, value, limit)
        elif value > limit:
            message = f"{value:,} {noun}{of} {_excess(value, limit)}"
            yield RuleFinding("fail", target, name, message, value, limit)


_MUCH = 10  # times the limit


def _excess(value: int, limit: int) -> str:
    """Return by how much a value exceeds its limit: in percent, or as a factor if it is large."""
    if not limit:
        return f"exceed the limit of {limit:,}"
    if value >= _MUCH * limit:
        return f"are {value / limit:,.1f} times the limit of {limit:,}"
    return f"exceed the limit of {limit:,} by {value / limit - 1:.1%}"


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each figure above its limit, of the model or of each module at `at`."""
    stated = {name: options[name] for name in FIGURES if options[name] is not None}
    if not stated:
        message = f"missing a limit: choose from {', '.join(FIGURES)}"
        yield RuleFinding("error", "", "no limit", message)
        return
    glob = options["at"]
    of: Mapping[str, Figures]
    if glob is None:
        of = {"": {name: FIGURES[name][1](report) for name in stated}}
    else:
        of = parts_at(report, glob, stated)
    if not of:
        yield no_match("module", glob)
        return
    findings = [
        finding
        for target, figures in of.items()
        for finding in _judged(target, figures, stated, exact=options["exact"])
    ]
    if findings:
        where = {**places(report), "": report.model.place}
        for result in findings:
            place = where.get(result.target) or _inside(report, result.target)
            yield dataclasses.replace(result, place=place)
    else:
        yield passed(_kept(of, stated))


def _inside(report: Report, module: str) -> str | None:
    """Return the place of the first call inside a module that never ran, such as a ModuleList."""
    below = (row for row in report.layers if (row.name or "").startswith(f"{module}."))
    return next((row.place for row in below if row.place is not None), None)


def _kept(of: Mapping[str, Figures], stated: Mapping[str, int]) -> str:
    """Return the message if all figures are within their limits."""
    if len(of) > 1:
        limits = ", ".join(FIGURES[n][0] for n in stated)
        return f"{counted(len(of), 'module')} within the limits of {limits}"
    ((target, figures),) = of.items()
    text = "; ".join(f"{figures[n]:,} of {most:,} {FIGURES[n][0]}" for n, most in stated.items())
    return f"{target}: {text}" if target else text


RULE = Rule(
    name="budget",
    severity="error",
    says="parameters, FLOPs, activations and other figures stay within given limits",
    computes="Compares figures of the report with limits: parameters (shared ones counted once), "
    "bytes, multiply-adds and FLOPs of one forward, bytes of all outputs, calls of modules. With "
    "`at`, compares the parameters, multiply-adds, FLOPs and calls of each matching module with "
    "its submodules. With `exact`, each figure must equal its limit.",
    formula="figure <= limit; with exact: figure = limit",
    source="hookcli's own: nobody notices a cost that grows in small steps",
    fails="a hidden size that changed from 512 to 768",
    mend="run `hookcli diff OLD NEW` or `hookcli inspect --sort params` to find the cause. If the "
    "change is intended, set the new limit in the same change",
    example="{rule: budget, parameters: 12e6, flops: 2e9}",
    options=(
        *(
            RuleOption(name, "count", f"largest number of {noun}")
            for name, (noun, _) in FIGURES.items()
        ),
        RuleOption(
            "at", "glob", "glob of modules, each compared with the limits; the model if omitted"
        ),
        RuleOption("exact", "flag", "each figure must equal its limit", default=False),
    ),
    needs=lambda options: (
        (request_probe("flops"),) if any(options[name] is not None for name in _COUNTED) else ()
    ),
    judge=judge,
)
