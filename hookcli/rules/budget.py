"""`budget`: what a model may cost at most."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hookcli.report.model import Report
from hookcli.rules.rule import Finding, Option, Options, Rule, passed

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


def judge(report: Report, options: Options) -> Iterator[Finding]:
    """A finding for each figure that is above its limit."""
    stated = {name: options[name] for name in FIGURES if options[name] is not None}
    if not stated:
        said = f"no limit is stated: {', '.join(FIGURES)}"
        yield Finding("error", "", "no limit", said)
        return
    kept = []
    for name, limit in stated.items():
        noun, figure = FIGURES[name]
        value = figure(report)
        if value is None:
            said = f"the {noun} are not known for this model"
            yield Finding("error", "", f"{name} unknown", said, None, limit)
        elif value > limit:
            over = f", {value / limit - 1:.1%} over" if limit else ""
            said = f"{value:,} {noun}, where {limit:,} are allowed{over}"
            yield Finding("fail", "", name, said, value, limit, report.model.place)
        else:
            kept.append(f"{value:,} {noun} of {limit:,}")
    if len(kept) == len(stated):
        yield passed("; ".join(kept))


RULE = Rule(
    name="budget",
    severity="error",
    says="parameters, FLOPs, activations and the like stay under stated limits",
    computes="Compares figures of the report with limits: parameters (shared ones once), bytes, "
    "multiply-adds and FLOPs of one forward, bytes of all outputs, calls of modules.",
    formula="figure <= limit",
    source="hookcli's own: a cost that grows in small steps is seen by nobody",
    fails="a hidden size that went from 512 to 768",
    mend="see where it went: hookcli diff OLD NEW, or hookcli inspect --sort params. Where it is "
    "meant, raise the limit in the same change",
    example="{rule: budget, parameters: 12e6, flops: 2e9}",
    options=tuple(Option(name, "count", f"the most {noun}") for name, (noun, _) in FIGURES.items()),
    needs=lambda options: ("flops",) if any(options[name] is not None for name in _COUNTED) else (),
    judge=judge,
)
