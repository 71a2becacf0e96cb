"""Names that are commands in some output, and reports in which every string has one of them."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Sequence
from typing import Any, Literal

from hookcli.report.existing_hook import ExistingHook
from hookcli.report.findings import CheckRow, Diagnosis, HookFault, PassedOver
from hookcli.report.report import BufferRow, ErrorInfo, UncalledRow
from tests.formats.fabricate import EVENTS, LAYERS, PARAMETERS, report

PAYLOADS = (
    "\x1b[31mred\x1b[0m", "\x9b2J", "a\x00b\x07\x08\x7f\x85c", "\u202eabc\u2066d\u200b\u00ad\ufeff",
    "x\n::error::x", "y\r::warning::x", "::error file=a::x", "##[error]x", "###[group]x",
    "##vso[task.setvariable variable=x]y", "##teamcity[x]", "\x1b[0Ksection_start:1:x\r\x1b[0K",
    "<script>alert(1)</script>", "]]>", "--><b>", "</script><img src=x onerror=alert(1)>",
    "![a](http://x.y)", "[a](javascript:x)", "[a]: http://x.y", "www.a.b", "_www.a.b", "1http://a.b",
    "a@b.cc", "@user", "#123", "GH org/repo#12", "`code`", "| a | b |", "$x$", "{{7*7}}", "{0} {",
    "a\ud800b\udfff", "\"q' onload='x", "# heading", "- item", "1. item", "\t", "&lt;&amp;%0A,%3A",
    "\u2028x\u2029::y", "\ufffe\uffff", "n" * 3000, "*a* __b__ ~~c~~", "\\", "\\::e", "a\\##[x]",
)  # fmt: skip
_KEPT = {"command", "schema"}  # a report's, by which a format selects what it draws


def _poisoned(value: Any, hint: Any, change: Any) -> Any:
    """Return the value with all strings changed that may be any string."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        hints = typing.get_type_hints(type(value))
        return dataclasses.replace(value, **{
            field.name: _poisoned(getattr(value, field.name), hints[field.name], change)
            for field in dataclasses.fields(value) if field.name not in _KEPT
        })  # fmt: skip
    if origin in (typing.Union, types.UnionType):
        if isinstance(value, str):
            return change(value) if str in args and not _is_number(value) else value
        known = [arg for arg in args if typing.get_origin(arg) is type(value)]
        return _poisoned(value, known[0] if known else None, change)
    if isinstance(value, str):
        return change(value) if hint is str and origin is not Literal else value
    if isinstance(value, tuple) and args:
        kinds = [args[0]] * len(value) if len(args) == 2 and args[1] is ... else args
        pairs = zip(value, kinds, strict=False)
        return tuple(_poisoned(item, kind, change) for item, kind in pairs)
    if isinstance(value, tuple):
        return tuple(_poisoned(item, None, change) for item in value)
    return value


def _is_number(text: str) -> bool:
    return text in {"nan", "inf", "-inf"}


def poisoned(value: Any, turn: int, payloads: Sequence[str] = PAYLOADS) -> Any:
    """Return a report whose strings begin with payloads: equal strings with the same one."""
    known: dict[str, str] = {}

    def change(text: str) -> str:
        if text not in known:
            payload = payloads[(len(known) * 7 + turn) % len(payloads)]
            known[text] = f"{payload}{text} {payload}" if len(known) % 2 else f"{payload}{text}"
        return known[text]

    return _poisoned(value, None, change)


_ROW = CheckRow("finite", "fc", "fail", "error", "nan", 0, "fc has NaN", "net.py:4", "a" * 16)
CHECKS = (
    _ROW,
    dataclasses.replace(_ROW, target="head", severity="warning", advice="remove it", message="b"),
    dataclasses.replace(_ROW, rule="own", status="error", message="not judged", place=None),
    dataclasses.replace(_ROW, target="", status="pass", message="passed"),
    dataclasses.replace(_ROW, target="c", status="skip", message="skipped", rule="third"),
    dataclasses.replace(
        _ROW, target="d", passed_over=PassedOver("suppression", "known", "c.yaml:3")
    ),
    dataclasses.replace(_ROW, target="e", passed_over=PassedOver("baseline", None, None)),
)
_HOOK = ExistingHook(
    "forward", "fc", None, ("body",), "Linear", "net.log", "net.py:3", None, ("x",)
)


def plain(command: str, **more: Any) -> Any:
    """A report of this command with a row of nearly everything."""
    return report(
        command,
        layers=tuple(
            dataclasses.replace(row, notes=("note",), aliases=("alias",), shared_with=("other",))
            for row in LAYERS
        ),
        parameters=PARAMETERS,
        events=EVENTS,
        checks=CHECKS,
        uncalled=(UncalledRow("never", "Dropout", "net.py:9"),),
        buffers=(BufferRow("count", (1,), "int64", changed=True),),
        existing_hooks=(_HOOK,),
        diagnoses=(
            Diagnosis(
                "cut", "error", "no gradient", "detach", "fc", "net.py:4", ("finite",), ("a",)
            ),
        ),
        examined=("finite",),
        warnings=("a warning",),
        **more,
    )


ERROR = ErrorInfo(
    "forward", "fc", 0, (), "ValueError", "bad\nvalue", "net.py:4", "a hint",
    HookFault("net.py:8", "forward", "fc", "changed it", "return None", "log"),
)  # fmt: skip
