"""`output_shape` and `input_shape`: the tensors of calls have the expected shapes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hookcli.report.report import Report
from hookcli.report.values import Leaf
from hookcli.rules.rule import (
    UNFINISHED,
    Options,
    Rule,
    RuleFinding,
    RuleOption,
    never_ran,
    no_match,
    passed,
    skipped,
)
from hookcli.rules.select import calls_at, layer, leaves_of
from hookcli.text import counted

_OPTIONS = (
    RuleOption("at", "glob", "glob of module names; the model if omitted", ""),
    RuleOption("shape", "shape", "[B, 3, '*']: sizes, '*' for any size, names for equal sizes",
           required=True),
    RuleOption("path", "path", "path of the tensor in the value: [0] or .logits; all if omitted"),
)  # fmt: skip


def shape_text(shape: Sequence[Any]) -> str:
    """Return a shape as [2, B, *]."""
    return f"[{', '.join('*' if size is None else str(size) for size in shape)}]"


def why_not(shape: Sequence[int | None], wanted: Sequence[Any], names: dict[str, int]) -> str:
    """Return what is wrong with a shape, or ""; `names` records the first size of each name."""
    if len(shape) != len(wanted):
        return f"got {counted(len(shape), 'dimension')}, expected {len(wanted)}"
    for dim, (size, expected) in enumerate(zip(shape, wanted, strict=True)):
        if expected == "*":
            continue
        if isinstance(expected, str):
            if size is None:
                return f"the size of dimension {dim} depends on the data"
            known = names.setdefault(expected, size)
            expected = size if known == size else f"{expected} = {known}"
        if size != expected:
            return f"dimension {dim} is {size}, expected {expected}"
    return ""


def _leaves(leaves: Sequence[Leaf], path: str | None) -> list[Leaf]:
    return [leaf for leaf in leaves if path is None or leaf.path == path]


def _judged(report: Report, options: Options, part: str) -> Iterator[RuleFinding]:
    wanted, path = options["shape"], options["path"]
    names: dict[str, int] = {}
    rows = list(calls_at(report, options["at"]))
    if not rows:
        yield _nothing(report, options["at"])
        return
    healthy = True
    reported: set[tuple[str | None, str]] = set()
    for row in rows:
        leaves = _leaves(leaves_of(row, part), path)
        if not leaves:
            healthy = False
            message = f"{layer(row)} has no {part}{path or ''}"
            yield RuleFinding(
                "fail", row.name or "", f"no {part}", message, None, shape_text(wanted), row.place
            )
        for leaf in leaves:
            why = why_not(leaf.shape, wanted, names)
            if not why:
                continue
            healthy = False
            if (row.name, leaf.path) in reported:  # for another call
                continue
            reported.add((row.name, leaf.path))
            message = f"{part}{leaf.path} of {layer(row)} has shape {shape_text(leaf.shape)}: {why}"
            yield RuleFinding(
                "fail", row.name or "", f"{part}{leaf.path}", message, shape_text(leaf.shape),
                shape_text(wanted), row.place,
            )  # fmt: skip
    if healthy:
        known = ", ".join(f"{name} = {size}" for name, size in names.items())
        aside = f" ({known})" if known else ""
        message = (
            f"the {part} of {counted(len(rows), 'call')} has shape {shape_text(wanted)}{aside}"
        )
        yield passed(message, limit=shape_text(wanted))


def _nothing(report: Report, glob: str) -> RuleFinding:
    if report.error is not None:
        return skipped(UNFINISHED)
    idle = next((row for row in report.uncalled if row.name == glob), None)
    if idle is not None:
        return RuleFinding("fail", glob, "never ran", never_ran(idle.type), None, None, idle.place)
    return no_match("module that ran", glob)


def _rule(part: str, example: str, fails: str) -> Rule:
    return Rule(
        name=f"{part}_shape",
        severity="error",
        says=f"the {part} of a layer has the expected shape",
        computes=f"Compares the shape of every tensor in the {part} of a call, or of the tensor at "
        "`path`, with the expected shape. '*' is any size; a name means the same size throughout "
        "the check.",
        formula="shape[i] = expected[i] for every i",
        source="a common unit test",
        fails=fails,
        mend="run `hookcli inspect` to find the first layer with an unexpected shape",
        example=example,
        options=_OPTIONS,
        judge=lambda report, options: _judged(report, options, part),
    )


OUTPUT = _rule(
    "output", "{rule: output_shape, at: fc, shape: [B, 10]}", "a head with 9 classes instead of 10"
)
INPUT = _rule(
    "input", "{rule: input_shape, at: encoder, shape: [B, 3, '*', '*']}",
    "images without a channel dimension: [2, 64, 64]",
)  # fmt: skip
