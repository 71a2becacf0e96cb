"""`deterministic`: two runs with one seed agree, bit by bit."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.report import Report
from hookcli.rules.rule import Options, Rule, RuleFinding, RuleOption, passed, skipped
from hookcli.text import counted, join_names

PROBE = {"eval": "repeat_eval", "train": "repeat_train"}


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """A finding for each mode in which two runs differ."""
    values = {
        measurement.probe: measurement.value
        for measurement in report.measurements
        if measurement.probe in PROBE.values()
    }
    good, seen = [], 0
    for mode in options["modes"]:
        value = values.get(PROBE[mode])
        if value is None:
            continue
        seen += 1
        place = report.model.place
        if "why" in value:
            yield skipped(value["why"])
        elif "error" in value:
            message = f"the model could not be run again in {mode} mode: {value['error']}"
            yield RuleFinding(
                "error", "", f"{mode} failed", message, None, None, value.get("place")
            )
        elif value["differ"]:
            message = (
                f"two runs in {mode} mode with one seed differ in {join_names(value['differ'])}, "
                f"by up to {value['largest']} of the largest value"
            )
            kind = f"differs in {mode}"
            yield RuleFinding("fail", "", kind, message, len(value["differ"]), 0, place)
        else:
            good.append(f"{counted(value['compared'], 'tensor')} in {mode} mode")
    if not seen:
        yield skipped("the model was not run twice")
    elif len(good) == seen:
        yield passed(f"two runs with one seed agree bit by bit: {', '.join(good)}", limit=0)


RULE = Rule(
    name="deterministic",
    severity="error",
    safe=True,
    says="two runs with one seed give the same bits, in eval mode",
    computes="Runs the model twice with the same batch, from the same state of parameters, "
    "buffers and attributes, and with torch, random and numpy seeded anew. Compares every tensor "
    "of the output; in train mode the gradients too.",
    formula="bits(f(x; seed)) = bits(f(x; seed))",
    source="hookcli's own",
    fails="torch.rand from a generator that is seeded by the clock; an iteration over a set of "
    "objects; time.time() in forward",
    mend="draw from torch's generator, or seed your own from it; sort before you iterate",
    example="{rule: deterministic, modes: [eval, train]}",
    options=(RuleOption("modes", "modes", "eval, train or both", ("eval",)),),
    needs=lambda options: tuple(PROBE[mode] for mode in options["modes"]),
    judge=judge,
)
