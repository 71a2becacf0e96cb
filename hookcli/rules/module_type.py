"""`module_type`: modules have the expected type and settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hookcli.report.report import Report
from hookcli.rules.rule import Options, Rule, RuleFinding, RuleOption, no_match, passed, skipped
from hookcli.rules.select import called, matches, places
from hookcli.spec.checks import request_probe
from hookcli.text import counted

_PROBE = "module_settings"


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each module of another type, and for each setting that differs."""
    known = [one for one in report.measurements if one.probe == _PROBE]
    if not known:
        yield skipped("the modules of the model are not known")
        return
    chosen = [one for one in known if matches(options["at"], one.target)]
    if not chosen:
        yield no_match("module", options["at"])
        return
    where, wanted = places(report), options["settings"] or {}
    healthy = True
    for one in chosen:
        kind, settings = one.value["type"], one.value["settings"]
        is_same = kind == options["type"]
        differ = _of_settings(one.target, kind, settings, wanted) if is_same else ()
        for what, message, now, then in (*_of_type(one.target, kind, options["type"]), *differ):
            healthy = False
            place = one.value.get("place") or where.get(one.target)
            yield RuleFinding("fail", one.target, what, message, now, then, place)
    if healthy:
        told = f"{counted(len(chosen), 'module')} of type {options['type']}"
        if wanted:
            told += f" with {counted(len(wanted), 'setting')}"
        yield passed(told, limit=options["type"])


def _of_type(name: str, kind: str, wanted: str) -> Iterator[tuple[str, str, Any, Any]]:
    if kind != wanted:
        message = f"{called(name, kind, None)} must be of type {wanted}"
        yield "type", message, kind, wanted


def _of_settings(
    name: str, kind: str, settings: Mapping[str, Any], wanted: Mapping[str, Any]
) -> Iterator[tuple[str, str, Any, Any]]:
    for key, expected in wanted.items():
        label = f"{key} of {called(name, kind, None)}"
        if key not in settings:
            yield key, f"{label} is not set, expected {_text(expected)}", None, _text(expected)
        elif not _equal(settings[key], expected):
            now, then = _text(settings[key]), _text(expected)
            yield key, f"{label} is {now}, expected {then}", now, then


def _equal(one: Any, other: Any) -> bool:
    """Whether two plain values are equal: 1 and 1.0 are, 1 and true are not."""
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_equal, one, other))
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_text, value))}]"
    return repr(value) if isinstance(value, str) else str(value)


RULE = Rule(
    name="module_type",
    severity="error",
    says="modules have the expected type, and were constructed with the expected values",
    computes="Compares the type of each module and the listed attributes with the expected ones, "
    "before the model runs. An attribute is known if it is a number or a list of numbers; in "
    "torch's own modules also if it is a string, None or a function, which its name stands for.",
    formula="type(module) = type; module.NAME = settings[NAME]",
    source="hookcli's own: a GELU that became a ReLU leaves every shape as it was",
    fails="nn.ReLU() where nn.GELU() was, nn.LayerNorm(64, eps=1e-12) where eps was 1e-5",
    mend="restore the module, or update the check in the same commit",
    example="{rule: module_type, at: 'blocks.*.drop', type: Dropout, settings: {p: 0.1}}",
    options=(
        RuleOption("type", "word", "name of the module's class: Linear", required=True),
        RuleOption("at", "glob", "glob of module names; the model if omitted", ""),
        RuleOption("settings", "settings", "{p: 0.1, inplace: false}: attributes and their values"),
    ),
    needs=lambda _: (request_probe(_PROBE),),
    judge=judge,
)
