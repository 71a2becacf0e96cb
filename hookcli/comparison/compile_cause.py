"""Finds the layer at which a compiled model first leaves the eager one.

Only outputs of the model, gradients and buffers decide whether it differs. The values of layers,
which a second compilation with hooks gives, tell where the difference begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from hookcli.comparison.diff import CallRef, Fault
from hookcli.comparison.walk import CallMoment, moments, ref
from hookcli.report.path_ends.end_rows import backward_order
from hookcli.report.report import LayerRow, Report
from hookcli.report.values import Number

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CompileCause:
    """Where the compiled model first differs. `named` are modules, parameters or buffers."""

    fault: Fault
    call: CallRef | None
    within: CallRef | None
    sentence: str
    named: tuple[str, ...]
    relative: Number | None = None
    limit: float | None = None
    place: str | None = None


class CompileEvidence:
    """What is known: the report of the eager model, and the measurement of the compiled one."""

    def __init__(self, reference: Report, compared: Row) -> None:
        self.reference, self.compared = reference, compared
        self._calls = {(call["name"], call["index"]): call for call in compared["calls"]}
        self.by_order = {row.order: row for row in reference.layers}

    def call(self, row: LayerRow) -> Row | None:
        """Return the rows of a call."""
        return self._calls.get((row.name or "", row.call))

    def rows_at(self, moment: CallMoment) -> Sequence[Row]:
        """Return the rows of the inputs of a call that begins, or of its outputs if it ends."""
        call = self.call(moment.row)
        if call is None or not call["is_called"]:
            return ()
        return list(call["inputs" if moment.kind == "enter" else "outputs"])

    def is_called(self, row: LayerRow) -> bool:
        """Return whether the compiled model calls a layer, or nothing is known of it."""
        call = self.call(row)
        return call is None or bool(call["is_called"])


def find_cause(evidence: CompileEvidence) -> CompileCause | None:
    """Return where the compiled model first differs; None if it does not differ."""
    compared = evidence.compared
    error = compared["error"]
    if error is not None:
        return _of_error(error)
    if compared["unrepeatable"] is not None:
        return _not_repeatable(evidence, compared["unrepeatable"])
    ends = [*compared["result"], *(row["value"] for row in compared["buffers"])]
    if any(map(is_off, ends)):
        return _in_forward(evidence)
    return _in_backward(evidence)


def is_off(row: Row) -> bool:
    """Return whether a tensor of the compiled model differs, or is missing."""
    return row["status"] == "different" or row["other_shape"] is None


def _of_error(error: Row) -> CompileCause:
    what = "backward of the compiled model fails" if error["in_backward"] else (
        "the model does not compile"
    )  # fmt: skip
    sentence = f"{what}: {error['type']}: {error['message']}"
    return CompileCause("model", None, None, sentence, (), place=error["place"])


def _in_forward(evidence: CompileEvidence) -> CompileCause:
    observed = evidence.compared["observed"]
    if not evidence.compared["calls"] or observed is None:
        return _at_output(evidence, "")
    if not any(map(is_off, [*observed["result"], *(b["value"] for b in observed["buffers"])])):
        return _at_output(
            evidence, "; it agrees when hooks read the layers, so that the layer is not known"
        )
    return _origin(evidence) or _at_output(evidence, "")


def _origin(evidence: CompileEvidence) -> CompileCause | None:
    """Return the first layer that rounding does not explain, also if its limit is not reached."""
    found = _first_moment(evidence)
    return None if found is None else _at_moment(evidence, *found)


def _first_moment(evidence: CompileEvidence) -> tuple[CallMoment, Row | None, str | None] | None:
    """Return the first moment whose tensors differ, a tensor of it, and the call that ended last.

    The tensor is None if the compiled model does not call the layer.
    """
    last: str | None = None
    for moment in moments(evidence.reference.layers):
        if moment.row.recomputed:
            continue
        if not evidence.is_called(moment.row):
            return moment, None, last
        off = next((r for r in evidence.rows_at(moment) if r["origin"] or is_off(r)), None)
        if off is not None:
            return moment, off, last
        if moment.kind == "leave":
            last = moment.row.name
    return None


def _at_moment(
    evidence: CompileEvidence, moment: CallMoment, off: Row | None, last: str | None
) -> CompileCause | None:
    row = moment.row
    caller = None if row.parent is None else evidence.by_order.get(row.parent)
    if moment.kind == "leave" and off is not None:
        sentence = f"{_named(row)}: the inputs agree and the output differs{_size(off)}"
        return CompileCause(
            "output", ref(row), None, sentence, (row.name or "",), off["relative"], off["limit"]
        )
    if caller is None:
        return None
    after = "" if last is None or not _is_inside(last, caller) else f" after {last}"
    if off is None:
        sentence = f"{_named(caller)}: compiled, it does not call {_named(row)}"
        relative, limit = None, None
    else:
        sentence = (
            f"{_named(caller)}: all layers before agree and the input of {_named(row)} "
            f"differs{_size(off)}; the difference begins in the code of the caller{after}"
        )
        relative, limit = off["relative"], off["limit"]
    return CompileCause(
        "code", ref(row), ref(caller), sentence, (caller.name or "", row.name or ""),
        relative, limit,
    )  # fmt: skip


def _is_inside(name: str, caller: LayerRow) -> bool:
    return not caller.name or name.startswith(f"{caller.name}.")


def _not_repeatable(evidence: CompileEvidence, name: str) -> CompileCause:
    row = next((r for r in evidence.reference.layers if (r.name or "") == name), None)
    who = "the model" if row is None else _named(row)
    sentence = (
        f"{who} gives other values in a second eager run with the same seed: it cannot be compared"
    )
    call = None if row is None else ref(row)
    return CompileCause("output", call, None, sentence, (name,))


def _at_output(evidence: CompileEvidence, rest: str) -> CompileCause:
    named: tuple[str, ...]
    compared = evidence.compared
    off = next((row for row in compared["result"] if is_off(row)), None)
    if off is not None:
        what, size, named = f"output{off['path']}", _size(off), ()
    else:
        found = next(row for row in compared["buffers"] if is_off(row["value"]))
        off, what = found["value"], f"buffer {found['name']}"
        size, named = _size(off), (found["name"],)
    sentence = f"{what} of the model differs{size}{rest}"
    return CompileCause("model", None, None, sentence, named, off["relative"], off["limit"])


def _in_backward(evidence: CompileEvidence) -> CompileCause | None:
    """Return the first parameter in the order of backward whose gradient differs."""
    gradients = {row["name"]: row["gradient"] for row in evidence.compared["parameters"]}
    off = {name: row for name, row in gradients.items() if is_off(row)}
    if not off:
        return None
    order = list(_in_order(evidence, gradients))
    origin = _origin(evidence) if evidence.compared["calls"] else None
    if origin is not None:
        count = f"{len(off)} of {len(gradients)}"
        return replace(origin, sentence=f"{origin.sentence}; {count} gradients differ")
    if (cause := _backward_origin(evidence)) is not None:
        return cause
    agreeing = list(takewhile(lambda item: item[0] not in off, order))
    name, layer = order[len(agreeing)]
    row = off[name]
    before = "" if not agreeing else (
        f"; gradients before it in backward agree, the last is {agreeing[-1][0]}"
    )  # fmt: skip
    if row["other_shape"] is None:
        sentence = f"parameter {name} gets no gradient when compiled{before}"
    else:
        sentence = f"the gradient of {name} differs{_size(row)}{before}"
    call = None if layer is None else ref(layer)
    return CompileCause("gradient", call, None, sentence, (name,), row["relative"], row["limit"])


def _backward_origin(evidence: CompileEvidence) -> CompileCause | None:
    """Return the call at whose output the gradient agrees, and not at its input or parameters.

    Calls are looked at in the order of backward: the end of each before those inside it.
    """
    rows = evidence.compared["backward"]
    if not rows:
        return None
    gradients = {row["name"]: row["gradient"] for row in evidence.compared["parameters"]}
    for moment in reversed(moments(evidence.reference.layers)):
        row = moment.row
        if not row.name or row.recomputed:
            continue
        kind = "out" if moment.kind == "leave" else "in"
        found = [
            (key, r) for key, r in rows.items() if key.startswith(f"{kind} {row.name} {row.call} ")
        ]
        off = next((r for _, r in found if _is_origin(r)), None)
        if off is not None and kind == "in":
            return _at_backward(row, f"that of its input differs{_size(off)}", off)
        if off is not None:
            caller = None if row.parent is None else evidence.by_order.get(row.parent)
            return None if caller is None else _after_call(row, caller, off)
        own = [(n, r) for n, r in gradients.items() if n.rpartition(".")[0] == row.name]
        wrong = next(((n, r) for n, r in own if _is_origin(r)), None)
        if wrong is not None and kind == "in":
            name = wrong[0].rpartition(".")[2]
            return _at_backward(row, f"that of its {name} differs{_size(wrong[1])}", wrong[1])
    return None


def _is_origin(row: Row) -> bool:
    return bool(row["origin"]) or is_off(row)


def _at_backward(row: LayerRow, rest: str, off: Row) -> CompileCause:
    sentence = f"{_named(row)}: the gradient of its output agrees and {rest}"
    return CompileCause(
        "gradient", ref(row), None, sentence, (row.name or "",), off["relative"], off["limit"]
    )


def _after_call(row: LayerRow, caller: LayerRow, off: Row) -> CompileCause:
    sentence = (
        f"{_named(caller)}: the gradient of the output of {_named(row)} differs{_size(off)}; the "
        "gradients of all layers after it agree"
    )
    return CompileCause(
        "gradient", ref(row), ref(caller), sentence, (caller.name or "", row.name or ""),
        off["relative"], off["limit"],
    )  # fmt: skip


def _in_order(
    evidence: CompileEvidence, gradients: Mapping[str, Any]
) -> Iterator[tuple[str, LayerRow | None]]:
    for parameter, layer in backward_order(evidence.reference):
        if parameter.name in gradients:
            yield parameter.name, layer


def _named(row: LayerRow) -> str:
    name = f"{row.name} ({row.type})" if row.name else f"the model ({row.type})"
    return f"{name}, call {row.call + 1}" if row.call else name


def _size(row: Row) -> str:
    if row["other_shape"] is None:
        return ": the compiled model has no such tensor"
    if row["shape"] != row["other_shape"]:
        return f": its shape is {tuple(row['other_shape'])} instead of {tuple(row['shape'])}"
    if row["dtype"] != row["other_dtype"]:
        return f": its dtype is {row['other_dtype']} instead of {row['dtype']}"
    relative, explained = row["relative"], row["explained"]
    if not isinstance(relative, float):
        return f" by {relative}"
    text = f" by {relative:.2g} of the norm"
    if isinstance(explained, float) and explained:
        text += f"; rounding explains {explained:.1g}"
    return text
