"""`unregistered_parameters`: every parameter that a forward uses is one of the model."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.report import Report
from hookcli.rules.rule import NO_BACKWARD, Options, Rule, RuleFinding, passed, skipped
from hookcli.rules.select import owner, places
from hookcli.spec.checks import BACKWARD, request_probe
from hookcli.text import counted, join_names, pluralize

PROBE = "unregistered"
PLAIN = "plain"  # an attribute with a tensor that needs no gradient
_CONTAINERS = {"list": "nn.ModuleList", "tuple": "nn.ModuleList", "dict": "nn.ModuleDict"}
_REGISTER = "register them in the constructor, as attributes or in an `nn.ModuleList`"
_TRAINED = "an optimizer of `model.parameters()` does not change"


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each attribute or call with parameters that are not registered."""
    if all(row.status is None for row in report.parameters):
        yield skipped(NO_BACKWARD)
        return
    where, found = places(report), False
    rows = [one for one in report.measurements if one.probe == PROBE]
    plain = [one.target for one in rows if one.value["kind"] == PLAIN]
    if plain:
        found = True
        yield _plain(plain, where.get(owner(plain[0])) or report.model.place)
    for measurement in rows:
        if measurement.value["kind"] != PLAIN:
            found = True
            name, value = measurement.target, measurement.value
            message, advice = _said(value["kind"], name, value["count"])
            place = where.get(owner(name)) or where.get(name) or report.model.place
            yield RuleFinding(
                "fail", name, value["kind"], message, value["count"], 0, place, advice=advice
            )
    if not found:
        yield passed("all parameters in the graph are parameters of the model")


def _plain(names: list[str], place: str | None) -> RuleFinding:
    """Return the note on tensors that are attributes, and need no gradient."""
    who, one = join_names([f"'{name}'" for name in names], 2), len(names) == 1
    message = (
        f"{who} is a plain tensor, neither a parameter nor a buffer: no step trains it, and "
        "state_dict() and to() ignore it"
        if one
        else f"{who} are plain tensors, neither parameters nor buffers: no step trains them, and "
        "state_dict() and to() ignore them"
    )
    return RuleFinding(
        "fail", names[0], PLAIN, message, len(names), 0, place, severity="note",
        advice="make it an `nn.Parameter` to train it, or use `register_buffer`",
    )  # fmt: skip


def _said(origin: str, name: str, count: int) -> tuple[str, str]:
    """Return the message and the advice."""
    many, are = counted(count, "parameter"), pluralize(count, "is", "are")
    them = pluralize(count, "it", "them")
    if origin == "tensor":
        return (
            f"'{name}' is a tensor that requires grad, but not an nn.Parameter: {_TRAINED} it",
            f"assign `nn.Parameter(tensor)` to '{name}' in the constructor",
        )
    if origin == "copy":
        return (
            f"forward makes a new nn.Parameter of '{name}', so the gradient goes to the copy: "
            f"{_TRAINED} '{name}'",
            f"use '{name}' itself in forward",
        )
    if origin == "replaced":
        return (
            f"forward replaces '{name}' by a new nn.Parameter: {_TRAINED} the new one",
            f"compute a new tensor instead, and keep '{name}' as it is",
        )
    if origin == "late":
        return (
            f"forward registers '{name}': an optimizer that was made before does not change it",
            f"register '{name}' in the constructor",
        )
    if origin in _CONTAINERS:
        return (
            f"'{name}' is a plain {origin}, so its {many} {are} not registered: {_TRAINED} {them}",
            f"make '{name}' an `{_CONTAINERS[origin]}`",
        )
    if origin in {"made", "made in forward"}:
        return (
            f"{many} that '{name}' uses {are} made in forward and not registered: "
            f"{_TRAINED} {them}",
            _REGISTER,
        )
    return (
        f"'{name}' ({origin}) has {many} that {are} not registered: {_TRAINED} {them}",
        _REGISTER,
    )


RULE = Rule(
    name="unregistered_parameters",
    severity="warning",
    diagnoses=True,
    looks_at="unregistered parameters",
    says="every parameter that a forward uses is a parameter of the model",
    computes="Follows the autograd graph from the loss to its leaves. Each leaf must be one of the "
    "parameters that the model had before the run. Reported are leaves in attributes of modules, "
    "such as layers in a plain list, and instances of nn.Parameter that forward makes. Other "
    "leaves, such as inputs and positions to differentiate by, are not. Attributes of the user's "
    "modules that are plain tensors of floats before and after the run, and that their forward "
    "reads, are a note: constants may be meant, but state_dict() and to() ignore them.",
    formula="leaves(graph of the loss) & (attributes of modules | nn.Parameter) <= "
    "model.parameters()",
    source="torch.nn.Module: parameters and submodules are registered if they are assigned as "
    "attributes; torch.nn.ModuleList",
    fails="self.layers = [nn.Linear(8, 8) for _ in range(3)]; nn.Linear(8, 8)(x) in forward",
    mend="use nn.ModuleList, nn.ModuleDict or nn.Parameter, and make layers in the constructor",
    example="{rule: unregistered_parameters}",
    needs=lambda options: (BACKWARD, request_probe(PROBE)),
    watches=lambda options: (request_probe(PROBE),),
    judge=judge,
)
