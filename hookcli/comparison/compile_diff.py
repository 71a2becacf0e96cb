"""Compares a model with its compiled form: makes a Diff of what the compiling process found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hookcli.comparison.compare import counts, side_of
from hookcli.comparison.compile_cause import CompileCause, CompileEvidence, find_cause, is_off
from hookcli.comparison.diff import (
    SCHEMA,
    CallDiff,
    CompiledInfo,
    Diff,
    First,
    Names,
    StateDiff,
    Status,
    TensorDiff,
)
from hookcli.comparison.tolerance import worst
from hookcli.comparison.walk import ref
from hookcli.report.measured.compiler import CompilerAccount, GraphBreak, Recompilation
from hookcli.report.report import LayerRow, Report
from hookcli.spec.compared.compiled import WITH_MODE, CompileSettings
from hookcli.text import counted


def compare_compiled(
    reference: Report, compared: Mapping[str, Any], settings: CompileSettings, source: str
) -> Diff:
    """Return the Diff of a model and its compiled form; `source` is how the user names B."""
    evidence = CompileEvidence(reference, compared)
    cause = find_cause(evidence)
    rows = tuple(_call(row, evidence, cause) for row in reference.layers)
    state = (*map(_parameter, compared["parameters"]), *map(_buffer, compared["buffers"]))
    output = tuple(map(_tensor, compared["result"]))
    side = side_of(reference)
    return Diff(
        schema=SCHEMA,
        verdict="same" if cause is None else "different",
        reasons=tuple(_reasons(state, output, cause)),
        environment=reference.environment,
        a=side,
        b=replace(side, source=source),
        inputs=reference.inputs,
        names=Names("", ""),
        weights=None,
        calls=counts(row.status for row in rows),
        parameters=counts(row.status for row in state if row.kind == "parameter"),
        buffers=counts(row.status for row in state if row.kind == "buffer"),
        first=None if cause is None else _first(cause),
        first_inexact=next((row.a for row in rows if row.status == "close"), None),
        order=None,
        output=output,
        rows=rows,
        state=state,
        warnings=tuple(_warnings(reference, evidence, cause)),
        compiled=CompiledInfo(
            backend=settings.backend,
            mode=settings.mode,
            dynamic=settings.dynamic,
            fullgraph=settings.fullgraph,
            named=() if cause is None else cause.named,
            gradients=len(compared["parameters"]),
            noise_runs=compared["noise"],
            float64=compared["precise"],
            compiler=account_of(compared["compiler"]),
        ),
    )


def account_of(values: Mapping[str, Any] | None) -> CompilerAccount | None:
    """Return the account of the compiler from its plain values."""
    if values is None:
        return None
    return CompilerAccount(
        **{
            **values,
            "breaks": tuple(GraphBreak(**row) for row in values["breaks"]),
            "recompilations": tuple(Recompilation(**row) for row in values["recompilations"]),
            "limit_hit": tuple(values["limit_hit"]),
        }
    )


def _first(cause: CompileCause) -> First:
    call = cause.call
    if call is None and cause.place is not None:
        return First("model", None, None, None, None, f"{cause.sentence} ({cause.place})")
    return First(
        cause.fault, call, call, cause.within, None, cause.sentence, cause.relative, cause.limit
    )


def _tensor(row: Mapping[str, Any]) -> TensorDiff:
    shape = row["other_shape"]
    how: Any = "bits" if row["status"] == "same" else "exact"
    if row["relative"] is None:
        how = None
    if shape is not None and shape != row["shape"]:
        how = "shape"
    elif shape is not None and row["dtype"] != row["other_dtype"]:
        how = "dtype"
    return TensorDiff(
        path=row["path"],
        other_path=None if shape is None else row["path"],
        shapes=(tuple(row["shape"]), None if shape is None else tuple(shape)),
        dtypes=(row["dtype"], row["other_dtype"]),
        relative=row["relative"],
        limit=row["limit"],
        how=how,
        status=row["status"],
    )


def _call(row: LayerRow, evidence: CompileEvidence, cause: CompileCause | None) -> CallDiff:
    found = evidence.call(row)
    if found is None:
        return CallDiff(ref(row), ref(row), "unknown", None, None, fault=False)
    if not found["is_called"]:
        return CallDiff(ref(row), None, "only_a", None, None, fault=False)
    inputs = tuple(map(_tensor, found["inputs"]))
    outputs = tuple(map(_tensor, found["outputs"]))
    status: Status = (worst(outputs) if outputs else "same") or "unknown"
    at_fault = cause is not None and cause.fault == "output" and cause.call == ref(row)
    return CallDiff(
        ref(row), ref(row), status, worst(inputs), worst(outputs), fault=at_fault,
        inputs=inputs, outputs=outputs,
    )  # fmt: skip


def _parameter(row: Mapping[str, Any]) -> StateDiff:
    gradient = _tensor(row["gradient"])
    if row["gradient"]["other_shape"] is None:  # the compiled model gives none
        gradient = replace(gradient, status="different", how="structure")
    return StateDiff(
        "parameter", row["name"], row["name"], worst([gradient]) or "unknown", None, gradient
    )


def _buffer(row: Mapping[str, Any]) -> StateDiff:
    value = _tensor(row["value"])
    return StateDiff("buffer", row["name"], row["name"], worst([value]) or "unknown", value)


def _reasons(
    state: Sequence[StateDiff], output: Sequence[TensorDiff], cause: CompileCause | None
) -> list[str]:
    if cause is None:
        return []
    reasons = []
    if any(row.status == "different" for row in output):
        reasons.append("the output of the model")
    graded = [row.gradient for row in state if row.gradient is not None]
    if differ := sum(gradient.status == "different" for gradient in graded):
        reasons.append(f"{differ} of {counted(len(graded), 'gradient')}")
    buffers = [row for row in state if row.kind == "buffer"]
    if differ := sum(row.status == "different" for row in buffers):
        reasons.append(f"{differ} of {counted(len(buffers), 'buffer')}")
    return reasons or [cause.sentence]


def _warnings(
    reference: Report, evidence: CompileEvidence, cause: CompileCause | None
) -> Iterable[str]:
    yield from reference.warnings
    compared = evidence.compared
    yield from compared["notes"]
    if cause is None and (row := _off_inside(evidence)) is not None:
        yield (
            f"{row.name} differs when hooks read the layers, and the outputs and gradients of the "
            "model agree"
        )
    if compared["draws"] and compared["backend"] == WITH_MODE:  # it has random numbers of its own
        yield (
            "the model draws random numbers: inductor was set to draw those of eager code "
            "(torch._inductor.config.fallback_random), by default it draws others"
        )
    if not compared["parameters"] and compared["backward_ran"] and compared["error"] is None:
        yield "no gradient was compared: the output of the model does not require grad"
    if (retried := compared["retried"]) is not None:
        yield _retried(retried, compared)


def _retried(retried: Mapping[str, Any], compared: Mapping[str, Any]) -> str:
    if retried["error"] is not None:
        return f"{retried['how']}, it does not compile either: {retried['error']}"
    rows = [*compared["result"], *(p["gradient"] for p in compared["parameters"])]
    agrees = "differ" if any(map(is_off, rows)) else "agree"
    account = retried["compiler"]
    graphs = "" if account is None else f" as {counted(account['graphs'], 'graph')}"
    return f"{retried['how']}, it compiles{graphs}; the outputs and gradients {agrees}"


def _off_inside(evidence: CompileEvidence) -> LayerRow | None:
    """Return the first layer that differs in a model whose outputs agree."""
    for row in evidence.reference.layers:
        call = evidence.call(row)
        if call is not None and any(map(is_off, call["outputs"])) and call["is_called"]:
            return row
    return None


def compiled_sentence(diff: Diff) -> str:
    """Return what of a compiled model was compared: "1 output, 18 gradients and 2 buffers"."""
    gradients = 0 if diff.compiled is None else diff.compiled.gradients
    parts = [counted(len(diff.output), "output"), counted(gradients, "gradient")]
    if buffers := sum(row.kind == "buffer" for row in diff.state):
        parts.append(counted(buffers, "buffer"))
    return f"{', '.join(parts[:-1])} and {parts[-1]}"
