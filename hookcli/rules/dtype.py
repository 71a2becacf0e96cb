"""`dtype`: layers or parameters have the expected dtype."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.report import Report
from hookcli.rules.rule import (
    UNFINISHED,
    Options,
    Rule,
    RuleFinding,
    RuleOption,
    no_match,
    passed,
    skipped,
)
from hookcli.rules.select import calls_at, layer, leaves_of, owner, parameters_at, places
from hookcli.text import counted

_NOUNS = {
    "float": "floating-point tensor",
    "complex": "complex tensor",
    "other": "integer or Boolean tensor",
}


def _kind(dtype: str) -> str:
    """Return the sort of a dtype, so that masks and indices are not compared with floats."""
    if dtype.startswith(("float", "bfloat")):
        return "float"
    return "complex" if dtype.startswith("complex") else "other"


def _values(report: Report, options: Options) -> Iterator[tuple[str, str, str, str | None, str]]:
    """Yield (target, label in messages, dtype, place, kind) of each tensor."""
    part = options["part"]
    if part == "parameter":
        where = places(report)
        for parameter in parameters_at(report, (options["at"],)):
            yield (
                parameter.name,
                parameter.name,
                parameter.dtype,
                where.get(owner(parameter.name)),
                part,
            )
        return
    for row in calls_at(report, options["at"]):
        for leaf in leaves_of(row, part):
            label = f"{part}{leaf.path} of {layer(row)}"
            yield row.name or "", label, leaf.dtype, row.place, f"{part}{leaf.path}"


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each layer or parameter with another dtype."""
    wanted = options["dtype"]
    seen, reported = 0, set()
    for target, text, dtype, place, kind in _values(report, options):
        if _kind(dtype) != _kind(wanted):
            continue
        seen += 1
        if dtype != wanted and (target, kind) not in reported:
            reported.add((target, kind))
            yield RuleFinding(
                "fail", target, kind, f"{text} is {dtype}, expected {wanted}", dtype, wanted, place
            )
    if not seen and report.error is not None:
        yield skipped(UNFINISHED)
    elif not seen:
        yield no_match(_NOUNS[_kind(wanted)], options["at"])
    elif not reported:
        yield passed(f"{counted(seen, 'tensor')} of dtype {wanted}", limit=wanted)


RULE = Rule(
    name="dtype",
    severity="error",
    says="layers or parameters have the expected dtype",
    computes="Compares the dtype of every tensor in the outputs of the calls (or in the inputs, or "
    "of the parameters) with the expected one. If that is a floating-point dtype, only "
    "floating-point tensors are compared, not masks and indices.",
    formula="dtype(tensor) = expected",
    source="a common unit test",
    fails="a float64 buffer, after which a bfloat16 model computes in float64",
    mend="cast the input: x.to(self.weight.dtype); register buffers in the model's dtype",
    example='{rule: dtype, at: "*", dtype: bfloat16}',
    options=(
        RuleOption("dtype", "dtype", "float32, bfloat16, int64 …", required=True),
        RuleOption("at", "glob", "glob of module or parameter names", "*"),
        RuleOption("part", "part", "output, input or parameter", "output"),
    ),
    judge=judge,
)
