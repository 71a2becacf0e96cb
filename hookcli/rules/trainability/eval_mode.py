"""What a forward in eval mode does not do: write, drop values, or return random outputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

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
from hookcli.rules.select import called, matches, owner, places
from hookcli.spec.checks import request_probe
from hookcli.text import counted

if TYPE_CHECKING:
    from hookcli.report.measured.trainability import ActiveDropout

PROBE = "eval_forward"
REPEATED = "eval_dropout"  # the dropout in the forwards of the rule deterministic


def _measured(report: Report) -> dict[str, Any] | RuleFinding:
    """Return what the probe measured, or the finding that it measured nothing."""
    for measurement in report.measurements:
        if measurement.probe == PROBE:
            if "error" in measurement.value:
                return skipped(run_again_failed("eval", measurement.value["error"]))
            value: dict[str, Any] = measurement.value
            return skipped(value["why"]) if "why" in value else value
    return skipped("this run has no forward in eval mode")


def _stateless(report: Report, options: Options) -> Iterator[RuleFinding]:
    value = _measured(report)
    if isinstance(value, RuleFinding):
        yield value
        return
    where, bad = places(report), False
    for kind in ("buffer", "parameter"):
        for name in value[f"{kind}s"]:
            if not any(matches(glob, name) for glob in options["at"]):
                continue
            bad = True
            message = f"a forward in eval mode changes the {kind} {name}"
            place = where.get(owner(name)) or report.model.place
            yield RuleFinding("fail", name, "changed", message, place=place, advice=_WRITES)
    if not bad:
        tensors = counted(value["tensors"], "buffer and parameter", "buffers and parameters")
        yield passed(f"a forward in eval mode changes none of {tensors}")


def _dropout(report: Report, options: Options) -> Iterator[RuleFinding]:
    value = _measured(report)
    repeated = next((one for one in report.measurements if one.probe == REPEATED), None)
    if isinstance(value, RuleFinding) and repeated is not None:
        value = repeated.value
    if isinstance(value, RuleFinding):
        yield value
        return
    for entry in value["dropout"]:
        name, kind = entry["name"], entry["module"]
        where = called(name, kind, 0) if kind is not None else "the model"
        function = entry["function"]
        dropout = function if "dropout" in function else f"dropout of {function}"
        message = f"{dropout} with p={entry['p']:g} is active in eval mode, in {where}"
        place = entry["place"] or places(report).get(name or "")
        target = name or ""
        yield RuleFinding(
            "fail", target, f"active {place or ''}".rpartition(":")[0] or "active", message,
            entry["p"], 0, place, advice=_REACHED if _is_unreached(entry) else _ACTIVE,
        )  # fmt: skip
    if not value["dropout"]:
        yield passed("no dropout is active in eval mode")


def _random(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each line that draws the random numbers of the outputs."""
    rows = [m.value for m in report.measurements if m.probe == REPEATED]
    looked = [value for value in rows if isinstance(value, dict) and "random" in value]
    if not looked:
        yield skipped("this run has no forward in eval mode")
        return
    for entry in looked[0]["random"]:
        name, kind = entry["name"], entry["module"]
        where = called(name, kind, 0) if kind is not None else "the model"
        place = entry["place"] or places(report).get(name or "")
        message = (
            f"`{entry['function']}` in {where} draws random numbers in eval mode, too: outputs for "
            "the same input differ"
        )
        yield RuleFinding(
            "fail", name or "", "random", message, place=place, severity="note", advice=_DRAWN
        )
    if not looked[0]["random"]:
        yield passed("outputs in eval mode depend on no random numbers")


def _is_unreached(entry: ActiveDropout) -> bool:
    """Return whether a module of torch.nn drops the values, which eval() does not reach."""
    return entry["name"] is None and "Dropout" in (entry["module"] or "")


_REACHED = "make it an attribute of the model in its constructor, so that `model.eval()` reaches it"
_DRAWN = "draw only `if self.training`, unless samples are meant"
_WRITES = "write it only `if self.training`"
_ACTIVE = "pass `training=self.training`, or `dropout_p=self.p if self.training else 0.0`"

STATELESS = Rule(
    name="eval_stateless",
    severity="warning",
    looks_at="eval mode",
    says="a forward in eval mode changes no buffer and no parameter",
    computes="Runs the model once in eval mode, and compares all buffers and parameters with those "
    "before, bit by bit. The model is restored afterwards.",
    formula="bits(buffers after f(x)) = bits(buffers before f(x)), also for parameters",
    source="hookcli's own: torch does not report it",
    fails="a step counter or moving average that forward updates without asking for "
    "self.training; nn.Embedding with max_norm",
    mend="update it only if self.training; suppress the finding for a cache that is meant",
    example='{rule: eval_stateless, at: "encoder.*"}',
    options=(RuleOption("at", "globs", "globs of buffer and parameter names", ("*",)),),
    needs=lambda options: (request_probe(PROBE),),
    judge=_stateless,
)

DROPOUT = Rule(
    name="dropout_in_eval",
    severity="warning",
    diagnoses=True,
    looks_at="eval mode",
    says="no dropout is active in eval mode",
    computes="Watches, in a forward in eval mode, the functions of torch that drop "
    "values: those of nn.functional, torch.dropout and its relatives, and "
    "scaled_dot_product_attention. Compiled and scripted code is not seen. The rule deterministic "
    "does not find it, because dropout is the same after the same seed.",
    formula="p = 0 or training is False, in each call",
    source="torch.nn.functional.dropout: training is True by default",
    fails="F.dropout(x, 0.5) without training=self.training; nn.Dropout(0.5)(x) in forward; "
    "scaled_dot_product_attention(q, k, v, dropout_p=0.1)",
    mend="pass training=self.training, or use nn.Dropout; suppress the finding if predictions are "
    "sampled on purpose (Monte Carlo dropout)",
    example="{rule: dropout_in_eval}",
    needs=lambda options: (request_probe(PROBE),),
    judge=_dropout,
)

RANDOM = Rule(
    name="random_in_eval",
    severity="warning",
    diagnoses=True,
    looks_at="eval mode",
    says="outputs in eval mode depend on no random numbers",
    computes="Runs the model in eval mode with another seed, only if it draws random numbers "
    "there, and compares the outputs. Names the lines that call functions of torch that draw, such "
    "as randn, rand_like and bernoulli. Dropout is judged by dropout_in_eval. A finding is a note, "
    "since a model may sample on purpose, as a VAE does.",
    formula="f(x; seed) = f(x; other seed) in eval mode",
    source="hookcli's own",
    fails="x + 0.1 * torch.randn_like(x), h0 = torch.randn(...) in forward",
    mend="draw only if self.training; begin with zeros",
    example="{rule: random_in_eval, severity: error}",
    needs=lambda options: (request_probe("repeat_eval"),),
    judge=_random,
)
