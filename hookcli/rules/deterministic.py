"""`deterministic`: two runs with the same seed are bitwise equal."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.report import Report
from hookcli.rules.rule import (
    Options,
    Rule,
    RuleFinding,
    RuleOption,
    passed,
    run_again_failed,
    skipped,
)
from hookcli.spec.checks import request_probe
from hookcli.text import counted, join_names

PROBE = {"eval": "repeat_eval", "train": "repeat_train"}


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each mode in which two runs differ."""
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
            message = run_again_failed(mode, value["error"])
            yield RuleFinding(
                "error", "", f"{mode} failed", message, None, None, value.get("place")
            )
        elif value["differ"]:
            message = (
                f"two runs in {mode} mode with the same seed differ in "
                f"{join_names(value['differ'])}, by up to {value['largest']} of the largest value"
            )
            kind = f"differs in {mode}"
            yield RuleFinding("fail", "", kind, message, len(value["differ"]), 0, place)
        else:
            good.append(f"{counted(value['compared'], 'tensor')} in {mode} mode")
    if not seen:
        yield skipped("the model was not run twice")
    elif len(good) == seen:
        yield passed(f"two runs with the same seed are bitwise equal: {', '.join(good)}", limit=0)


RULE = Rule(
    name="deterministic",
    severity="error",
    safe=True,
    looks_at="repeated runs",
    says="two runs with the same seed are bitwise equal, in eval mode",
    computes="Runs the model twice with the same batch and the same state of parameters, buffers "
    "and attributes, and seeds torch, random and numpy before each run. Compares every tensor of "
    "the output, and in train mode the gradients too.",
    formula="bits(f(x; seed)) = bits(f(x; seed))",
    source="hookcli's own",
    fails="torch.rand with a generator that is seeded from the clock; iteration over a set of "
    "objects; time.time() in forward",
    mend="use torch's default generator, or seed your own from it; sort before you iterate",
    example="{rule: deterministic, modes: [eval, train]}",
    options=(RuleOption("modes", "modes", "eval, train or both", ("eval",)),),
    needs=lambda options: tuple(request_probe(PROBE[mode]) for mode in options["modes"]),
    judge=judge,
)
