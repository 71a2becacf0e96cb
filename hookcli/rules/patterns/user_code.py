"""Mistakes in code: lost results, unread inputs and settings, and the like."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hookcli.report.report import Report
from hookcli.rules.rule import Options, Rule, RuleFinding, passed, skipped
from hookcli.rules.select import rows_with
from hookcli.spec.checks import request_probe

DISCARDED, BACKWARDS, UNREAD = "discarded_results", "module_backwards", "unread_inputs"
REPEATED, SETTINGS = "repeated_modules", "unread_settings"
UNREAD_CODE = "the source of the model was not read"


def _passed(report: Report, probe: str, message: str) -> RuleFinding:
    looked = any(m.probe == probe for m in report.measurements)
    return passed(message) if looked else skipped(UNREAD_CODE)


def _discarded(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each call whose result is lost."""
    found = rows_with(report, DISCARDED, "place")
    for name, value in found:
        call, place = value["call"], value["place"]
        if value.get("variable") is not None:
            message = (
                f"the result of `{call}` at {place} is never used: nothing reads "
                f"`{value['variable']}`"
            )
            advice = "use the result, or remove the call"
            if "=" in call:
                advice = "use it, as in a shortcut, or remove the line"
                message = f"nothing reads `{value['variable']}` after `{call}` at {place}"
            yield RuleFinding(
                "fail", name, str(call), message, place=place, severity="note",
                advice=advice,
            )  # fmt: skip
            continue
        what = "module" if call == "from_pretrained" else "tensor"
        message = f"`{call}` at {place} returns a new {what}, which nothing uses: it has no effect"
        yield RuleFinding(
            "fail", name, str(call), message, place=place,
            advice=f"assign the result, as in `x = {call if '.' in call else 'x.' + call}(...)`",
        )  # fmt: skip
    if not found:
        yield _passed(
            report, DISCARDED, "no result of a pure function is lost in the code that ran"
        )


def _backwards(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each backward that autograd does not call."""
    found = rows_with(report, BACKWARDS, "place")
    for name, value in found:
        message = (
            f"{value['module']} is an nn.Module, so autograd never calls its method `backward`: "
            "gradients pass as those of its forward"
        )
        yield RuleFinding(
            "fail", name, "backward", message, place=value["place"],
            advice="make it a `torch.autograd.Function` with static methods, and call its `apply`",
        )  # fmt: skip
    if not found:
        yield _passed(report, BACKWARDS, "no module defines a method backward")


def _unread(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a note for each input that is not read."""
    found = rows_with(report, UNREAD, "place")
    for _, value in found:
        message = f"forward does not read its argument '{value['argument']}', which is in the batch"
        yield RuleFinding(
            "fail", "", f"unread {value['argument']}", message, place=value["place"],
            severity="note", advice="use the argument, pass it on, or remove it",
        )  # fmt: skip
    if not found:
        yield _passed(report, UNREAD, "forward reads every input")


def _repeated(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a note for each list that has one module several times."""
    found = rows_with(report, REPEATED, "place")
    for name, value in found:
        if "separate" in value:
            yield _shared_part(name, value)
            continue
        count, among = value["entries"], value.get("of", value["entries"])
        which = f"the {count} entries" if count == among else f"{count} of the {among} entries"
        message = (
            f"{which} of '{name}' are one module, since {value['place']} "
            "multiplies a list: they share their parameters"
        )
        yield RuleFinding(
            "fail", name, "repeated", message, count, 1, value["place"], severity="note",
            advice=f"to have {count} modules, write `[... for _ in range({count})]`",
        )  # fmt: skip
    if not found:
        yield _passed(report, REPEATED, "no list multiplies a new module")


def _shared_part(name: str, value: Mapping[str, Any]) -> RuleFinding:
    """Return the note on a part that the entries of a list share, although others are their own."""
    entry, _, part = name.rpartition(".")
    count, of = value["entries"], entry.rpartition(".")[0]
    message = (
        f"the {count} entries of '{of}' share one '{part}', but each has a separate "
        f"'{value['separate']}'"
    )
    return RuleFinding(
        "fail", name, "shared part", message, count, 1, value["place"], severity="note",
        advice=f"make '{part}' anew for each entry, unless they are to share its parameters",
    )  # fmt: skip


def _settings(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a note for each argument of a constructor that has no effect."""
    found = rows_with(report, SETTINGS, "place")
    for name, value in found:
        argument, kind = value["argument"], value["class"]
        message = f"the argument '{argument}' of {kind} has no effect: nothing reads it"
        if value["is_stored"]:
            message = (
                f"the argument '{argument}' of {kind} has no effect: nothing reads "
                f"`self.{argument}`, where it is stored"
            )
        yield RuleFinding(
            "fail", name, f"{kind}.{argument}", message, place=value["place"], severity="note",
            advice=f"use '{argument}' where it was meant to count, or remove it",
        )  # fmt: skip
    if not found:
        yield _passed(report, SETTINGS, "each argument of a constructor is read")


_CODE = (
    "Reads the source of the classes whose modules ran, if it is in files of the user, not in "
    "installed packages: their forward, and the methods and functions that it calls. "
)

RESULT = Rule(
    name="discarded_result",
    severity="warning",
    diagnoses=True,
    looks_at="the code",
    says="no function that only returns a tensor is called without use of its result",
    computes=_CODE + "A statement that only calls a function without side effects, as "
    "`x.masked_fill(mask, value)`, does nothing. Only functions of torch and methods that tensors "
    "alone have are known, and modules of torch without parameters or hooks, as self.dropout(x). "
    "If the result of a module of torch is in a variable that nothing reads, that is a note; so is "
    "a second name of a value in a forward.",
    formula="no statement is a call of a function without side effects",
    source="QwenLM/Qwen#933; torch.Tensor: methods that change a tensor end with an underscore",
    fails="mask.masked_fill(pad, float('-inf')) on a line of its own",
    mend="assign the result, or use the form that ends with an underscore",
    example="{rule: discarded_result, severity: error}",
    watches=lambda options: (request_probe(DISCARDED),),
    judge=_discarded,
)

BACKWARD = Rule(
    name="module_backward",
    severity="warning",
    diagnoses=True,
    looks_at="the code",
    says="no nn.Module has a method backward that is meant for autograd",
    computes=_CODE + "A class of nn.Module with a method `backward` that takes gradients, by the "
    "names of its arguments, is a finding: autograd calls only that of a Function.",
    formula="backward(self, grad...) is a method of a torch.autograd.Function",
    source="torch.autograd.Function; hash2430/pitchtron#3",
    fails="class GradientReversal(nn.Module) with def backward(self, grad): return -grad",
    mend="make it a torch.autograd.Function, and call its apply",
    example="{rule: module_backward}",
    watches=lambda options: (request_probe(BACKWARDS),),
    judge=_backwards,
)

INPUT = Rule(
    name="unread_input",
    severity="warning",
    diagnoses=True,
    looks_at="the code",
    says="the model's forward reads every tensor of the batch",
    computes=_CODE + "An argument of the model's forward that has a tensor in this run, and that "
    "no line of forward reads, is a note: the interface may require it. Names that begin with an "
    "underscore are not reported.",
    formula="each argument of forward is read",
    source="p2irc/UDA4POC#3",
    fails="def forward(self, x, weight=1.0): return self.head(self.body(x))",
    mend="use the argument, pass it on, or remove it",
    example="{rule: unread_input}",
    watches=lambda options: (request_probe(UNREAD),),
    judge=_unread,
)

REPEAT = Rule(
    name="repeated_module",
    severity="warning",
    diagnoses=True,
    looks_at="the code",
    says="no constructor multiplies a list with a new module",
    computes="Reads the source of the constructors of the classes whose modules ran, if it is in "
    "files of the user. A list with one new object that is multiplied, as in [nn.Linear(4, 4)] * "
    "3, has the same object in each entry. If entries in a row of an nn.ModuleList or "
    "nn.Sequential are one module with parameters, that is a note: layers may share their "
    "parameters on purpose. So is a part with parameters that all entries have together, if they "
    "have other parts of their own.",
    formula="the entries of nn.ModuleList([Layer()] * n) are one module",
    source="yaoppeng/U-Net_v2#10",
    fails="self.convs = nn.ModuleList([nn.Conv2d(8, 8, 3)] * 4)",
    mend="write [nn.Conv2d(8, 8, 3) for _ in range(4)]",
    example="{rule: repeated_module}",
    watches=lambda options: (request_probe(REPEATED),),
    judge=_repeated,
)

SETTING = Rule(
    name="unread_setting",
    severity="warning",
    diagnoses=True,
    looks_at="the code",
    says="each argument of a constructor has an effect",
    computes="Reads the source of the constructors of the classes whose modules ran, if it is in "
    "files of the user. An argument that the constructor does not read, or that it only stores in "
    "an attribute of the same name that no line of the user's files reads, is a note: the "
    "interface may require it. Classes that inherit from one of a package, other than nn.Module, "
    "are not judged, and neither is one with five such arguments or more.",
    formula="each argument of __init__ is read, or the attribute that keeps it is",
    source="Lightning-Universe/lightning-bolts#328",
    fails="self.kl_weight = kl_weight, and loss = reconstruction + kl",
    mend="use the value, or remove the argument",
    example="{rule: unread_setting}",
    watches=lambda options: (request_probe(SETTINGS),),
    judge=_settings,
)
