"""Compares a model with its parallel plan: makes a Diff of what the judge of all ranks found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hookcli.comparison.compare import counts, side_of
from hookcli.comparison.diff import (
    SCHEMA,
    CallDiff,
    Diff,
    First,
    Names,
    ParallelInfo,
    RankLayout,
    StateDiff,
    Status,
    TensorDiff,
)
from hookcli.comparison.plan_cause import CauseFinder, Evidence, PlanCause
from hookcli.comparison.tolerance import worst
from hookcli.comparison.walk import ref
from hookcli.report.report import ErrorInfo, LayerRow, Report
from hookcli.spec.compared.parallel import ParallelPlan
from hookcli.text import counted


def compare_plan(
    reference: Report,
    compared: Mapping[str, Any],
    error: ErrorInfo | None,
    plan: ParallelPlan,
    source: str,
) -> Diff:
    """Return the Diff of a model and its plan; `source` is how the user names the plan's side.

    `compared` is the measurement of the judge, and `error` what a rank raised.
    """
    evidence = Evidence(reference, compared, error, plan.mesh)
    cause = CauseFinder(evidence).cause()
    rows = tuple(_call(row, evidence, cause) for row in reference.layers)
    state = tuple(_state(row, cause) for row in compared["parameters"])
    output = tuple(_tensor(row, cause) for row in compared["result"])
    return Diff(
        schema=SCHEMA,
        verdict="same" if cause is None else "different",
        reasons=tuple(_reasons(rows, state, output, error, cause)),
        environment=reference.environment,
        a=side_of(reference),
        b=_ranks_side(reference, plan, source),
        inputs=reference.inputs,
        names=Names("", ""),
        weights=None,
        calls=counts(row.status for row in rows),
        parameters=counts(row.status for row in state),
        buffers=counts(()),
        first=None if cause is None else _first(cause),
        first_inexact=next((row.a for row in rows if row.status == "close"), None),
        order=None,
        output=output,
        rows=rows,
        state=state,
        warnings=tuple(_warnings(reference, evidence)),
        parallel=ParallelInfo(
            plan=plan.function,
            mesh=tuple((n, s) for n, s in zip(plan.mesh.names, plan.mesh.sizes, strict=True)),
            ranks=plan.mesh.ranks,
            named=() if cause is None else cause.named,
            gradients=sum(row.gradient is not None for row in state),
            layouts=tuple(_layouts(compared["calls"], evidence)),
        ),
    )


def _ranks_side(reference: Report, plan: ParallelPlan, source: str) -> Any:
    side = side_of(reference)
    return replace(side, source=source, run=replace(side.run, world_size=plan.mesh.ranks))


def _first(cause: PlanCause) -> First:
    call = cause.call
    there = None if call is None else replace(call, place=cause.place or call.place)
    return First(cause.fault, call, there, None, None, cause.sentence, cause.relative, cause.limit)


def _status(row: Mapping[str, Any], cause: PlanCause | None) -> Status:
    """Return the status of a tensor: without a cause, what fits no layout is only unknown."""
    status: Status = row["status"]
    if status == "different" and cause is None:
        return "unknown"
    if status == "unknown" and cause is not None and row["ranks_shape"] is not None:
        return "different"
    return status


def _tensor(row: Mapping[str, Any], cause: PlanCause | None) -> TensorDiff:
    shape = row["ranks_shape"]
    status = _status(row, cause)
    how: Any = "bits" if status == "same" else "exact"
    if row["relative"] is None:
        how = None if shape is None else "shape"
    return TensorDiff(
        path=row["path"],
        other_path=None if shape is None else row["path"],
        shapes=(tuple(row["shape"]), None if shape is None else tuple(shape)),
        dtypes=(row["dtype"], None if shape is None else row["dtype"]),
        relative=row["relative"],
        limit=row["limit"],
        how=how,
        status=status,
    )


def _call(row: LayerRow, evidence: Evidence, cause: PlanCause | None) -> CallDiff:
    found = evidence.call(row)
    if found is None:
        return CallDiff(ref(row), None, "only_a", None, None, fault=False)
    inputs = tuple(_tensor(item, cause) for item in found["inputs"])
    outputs = tuple(_tensor(item, cause) for item in found["outputs"])
    if not outputs:
        status: Status = "same" if cause is None else "unknown"
    else:
        status = worst(outputs) or "unknown"
    at_fault = cause is not None and cause.fault == "output" and cause.call == ref(row)
    return CallDiff(
        ref(row), ref(row), status, worst(inputs), worst(outputs), fault=at_fault,
        inputs=inputs, outputs=outputs,
    )  # fmt: skip


def _state(row: Mapping[str, Any], cause: PlanCause | None) -> StateDiff:
    name = row["name"]
    if row["value"]["ranks_shape"] is None:
        return StateDiff("parameter", name, None, "only_a")
    value = _tensor(row["value"], cause)
    gradient = None if row["gradient"] is None else _tensor(row["gradient"], cause)
    if gradient is not None and row["gradient"]["ranks_shape"] is None:  # a rank has none
        gradient = replace(gradient, status="different", how="structure")
    status = worst([value, *([] if gradient is None else [gradient])]) or "unknown"
    return StateDiff("parameter", name, name, status, value, gradient)


def _layouts(calls: Iterable[Mapping[str, Any]], evidence: Evidence) -> Iterable[RankLayout]:
    for call in calls:
        for row in call["outputs"]:
            text = evidence.layout(row)
            if text:
                yield RankLayout(call["name"], call["index"], row["path"], text)


def _reasons(
    rows: Sequence[CallDiff],
    state: Sequence[StateDiff],
    output: Sequence[TensorDiff],
    error: ErrorInfo | None,
    cause: PlanCause | None,
) -> list[str]:
    if cause is None:
        return []
    reasons = []
    if error is not None:
        reasons.append("the ranks raised an error")
    calls = sum(row.status == "different" for row in rows)
    if calls:
        reasons.append(f"{calls} of {counted(len(rows), 'call')}")
    elif any(row.status == "different" for row in output):
        reasons.append("the output of the model")
    graded = [row.gradient for row in state if row.gradient is not None]
    differ = sum(gradient.status == "different" for gradient in graded)
    if differ and error is None:
        reasons.append(f"{differ} of {counted(len(graded), 'gradient')}")
    values = sum(row.value is not None and row.value.status == "different" for row in state)
    if values:
        reasons.append(f"{values} of {counted(len(state), 'parameter')}")
    return reasons or [cause.sentence]


def _warnings(reference: Report, evidence: Evidence) -> Iterable[str]:
    yield from reference.warnings
    if evidence.alone:
        yield (
            f"{counted(len(evidence.alone), 'parameter')} of the model have no counterpart in the "
            f"plan's model, so that their gradients were not compared: {evidence.alone[0]}"
        )
    if reference.run.mode == "train":
        yield "in train mode dropout and batch statistics may differ between ranks"
    if not any(row["gradient"] for row in evidence.compared["parameters"]):
        yield "no gradient was compared: the output of the model does not require grad"


def compared_sentence(diff: Diff) -> str:
    """Return what of a plan was compared: "12 layer outputs and 18 gradients on 2 ranks"."""
    layers = diff.calls.same + diff.calls.close
    gradients, ranks = (0, 0) if diff.parallel is None else (
        diff.parallel.gradients, diff.parallel.ranks,
    )  # fmt: skip
    return (
        f"{counted(layers, 'layer output')} and {counted(gradients, 'gradient')} on {ranks} ranks"
    )
