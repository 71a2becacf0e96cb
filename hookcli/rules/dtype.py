"""`dtype`: what layers compute in."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.report import Report
from hookcli.rules.rule import Options, Rule, RuleFinding, RuleOption, passed, skipped
from hookcli.rules.select import calls_at, layer, leaves_of, owner, parameters_at, places
from hookcli.text import counted


def _kind(dtype: str) -> str:
    """Floating, complex, or something else: masks and indices are not compared with floats."""
    if dtype.startswith(("float", "bfloat")):
        return "float"
    return "complex" if dtype.startswith("complex") else "other"


def _values(report: Report, options: Options) -> Iterator[tuple[str, str, str, str | None, str]]:
    """(module, where, its dtype, place, kind) of each value."""
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
    """A finding for each layer, or parameter, with another dtype."""
    wanted = options["dtype"]
    seen, told = 0, set()
    for target, text, dtype, place, kind in _values(report, options):
        if _kind(dtype) != _kind(wanted):
            continue
        seen += 1
        if dtype != wanted and (target, kind) not in told:
            told.add((target, kind))
            yield RuleFinding(
                "fail", target, kind, f"{text} is {dtype}, not {wanted}", dtype, wanted, place
            )
    if not seen and report.error is not None:
        yield skipped("the run did not come so far")
    elif not seen:
        text = f"nothing of the kind of {wanted} stands at '{options['at']}'"
        yield RuleFinding("error", options["at"], "no match", text)
    elif not told:
        yield passed(f"{counted(seen, 'tensor')} of {wanted}", limit=wanted)


RULE = Rule(
    name="dtype",
    severity="error",
    says="layers, or parameters, are of a stated dtype",
    computes="Compares the dtype of every tensor in the calls' outputs (or inputs, or of the "
    "parameters) with the stated one. Where that is a floating one, floating tensors alone are "
    "compared: masks and indices stay what they are.",
    formula="dtype(tensor) = stated",
    source="the unit test that everybody writes",
    fails="a buffer of float64 that turns a bfloat16 model into float64 from there on",
    mend="cast what comes in: x.to(self.weight.dtype); register buffers in the model's dtype",
    example='{rule: dtype, at: "*", dtype: bfloat16}',
    options=(
        RuleOption("dtype", "dtype", "float32, bfloat16, int64 …", required=True),
        RuleOption("at", "glob", "the modules, or parameters, by glob", "*"),
        RuleOption("part", "part", "output, input or parameter", "output"),
    ),
    needs=lambda options: (),
    judge=judge,
)
