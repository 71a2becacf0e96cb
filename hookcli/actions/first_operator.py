"""The action `assert_finite` on operators: which of them made a NaN or Inf, where and why."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from hookcli.models import places
from hookcli.models.bits import sized_storage
from hookcli.operators.arguments import LIFTS, UNINITIALIZED, contributes, inputs, is_infinite
from hookcli.operators.finite import counts_of, described
from hookcli.operators.gradients import why_in_backward
from hookcli.operators.names import operator_name, packet_name, written
from hookcli.operators.nodes import NodeLines, node_name
from hookcli.operators.operator_run import OperatorRun
from hookcli.operators.reasons import Operation, why, why_from_inf
from hookcli.rules.first_operator import sentence
from hookcli.torch_private import current_autograd_node, disable_current_modes


@dataclass(slots=True)
class _InMemory:
    """Facts about the memory of tensors, as long as it is alive."""

    known: dict[int, tuple[StorageWeakRef, Any]] = field(default_factory=dict)

    def note(self, tensor: torch.Tensor, fact: Any) -> None:
        sized = sized_storage(tensor)
        if sized is not None:
            reference = StorageWeakRef(sized[0])  # type: ignore[no-untyped-call]
            self.known[sized[0]._cdata] = (reference, fact)

    def of(self, tensor: torch.Tensor) -> Any:
        sized = sized_storage(tensor)
        known = None if sized is None else self.known.get(sized[0]._cdata)
        return None if known is None or known[0].expired() else known[1]  # type: ignore[no-untyped-call]


class FirstOperator:
    """Finds the first operator that made NaN or Inf.

    Constants count for nothing, nor does -Inf in the forward, which is taken for a mask. A node of
    autograd may replace what its operators made, so in backward a value counts when an operator of
    another node gets it.
    """

    def __init__(self) -> None:
        self._lines = NodeLines()
        self._masks = _InMemory()  # what made -Inf
        self._in_node = _InMemory()  # what an operator of a node made, and the node's number

    def look(self, run: OperatorRun, step: int) -> str | None:
        """Return the sentence about a value that is not finite; None if there is none."""
        with torch.no_grad(), disable_current_modes():
            self._lines.note(run.func, run.frame, run.call)
            node: Any = current_autograd_node() if run.phase == "backward" else None
            number = None if node is None or run.call is not None else node._sequence_nr()
            made = None if node is None else self._made_before(run)
            if made is not None and made[0] != number:
                return made[1]
            if packet_name(run.func) in {*UNINITIALIZED, *LIFTS}:
                return None
            for tensor in run.outputs:
                counts = counts_of(tensor)
                if counts is None:
                    continue
                if made is not None:
                    self._in_node.note(tensor, made)
                    continue
                value = self._judged(Operation(run.func, run.args, run.kwargs, tensor), counts, run)
                if value is None:
                    continue
                value["step"] = step
                if number is None:
                    return sentence(value, step + 1)
                self._add_forward(value, node, counts)
                self._in_node.note(tensor, (number, sentence(value, step + 1)))
        return None

    def _made_before(self, run: OperatorRun) -> tuple[int, str] | None:
        """Return which node made an input that is not finite, and the sentence about it."""
        for _, value in inputs(Operation(run.func, run.args, run.kwargs, torch.empty(0))):
            if isinstance(value, torch.Tensor) and counts_of(value) is not None:
                made: tuple[int, str] | None = self._in_node.of(value)
                if made is not None:
                    return made
        return None

    def _judged(
        self, operation: Operation, counts: dict[str, int], run: OperatorRun
    ) -> dict[str, Any] | None:
        """Return the facts of a result that counts, unless it is a mask, or not made here."""
        nan_inside, origin, finite = False, None, True
        for _, value in inputs(operation):
            if is_infinite(value):
                finite, nan_inside = False, nan_inside or math.isnan(value)
            bad = counts_of(value) if isinstance(value, torch.Tensor) else None
            if bad is not None and contributes(operation, value):
                finite, nan_inside = False, nan_inside or bool(bad["nans"])
                origin = origin or self._masks.of(value)
        masked = not counts["nans"] and not counts["infs"]
        facts = self._facts(operation, counts, run, from_inf=not finite)
        if masked and run.phase != "backward":
            self._masks.note(operation.output, origin or facts)
            return None
        if nan_inside or not (finite or counts["nans"]):
            return (
                None
                if run.phase == "backward" or not counts["nans"]
                else self._passed_on(operation, facts)
            )
        return {**facts, "from": None if finite else origin}

    def _passed_on(self, operation: Operation, facts: dict[str, Any]) -> dict[str, Any] | None:
        """Return the facts of NaN that a tensor had before; None for NaN that is a constant."""
        if any(isinstance(v, float) and math.isnan(v) for _, v in inputs(operation)):
            return None
        return {**facts, "reason": "of_nan", "facts": {}}

    def _facts(
        self, operation: Operation, counts: dict[str, int], run: OperatorRun, *, from_inf: bool
    ) -> dict[str, Any]:
        found = why_from_inf(operation) if from_inf else why(operation)
        node: Any = current_autograd_node() if run.phase == "backward" else None
        if node is not None and run.call is None:
            found = why_in_backward(node_name(node), found, from_inf=from_inf)
        call = run.call
        return {
            **counts,
            "operator": operator_name(run.func),
            "written": written(run.func, call),
            "reason": None if found is None else found[0],
            "facts": {} if found is None else found[1],
            "inputs": [described(name, value) for name, value in inputs(operation)],
            "layer": None if call is None else call.name,
            "type": None if call is None else call.type,
            "place": places.of_frame(run.frame) or (None if call is None else call.place),
            "phase": run.phase,
            "node": None,
            "from": None,
            "becomes_nan": None,
        }

    def _add_forward(self, value: dict[str, Any], node: Any, counts: dict[str, int]) -> None:
        """Add what made the node, unless the user's own backward ran the operator."""
        value["node"] = node_name(node)
        made = self._lines.of(node)
        if made is None:
            return
        call = made[2]
        if call is not None:
            value["layer"], value["type"] = call.name, call.type
        if value["place"] is None and made[0]:
            value["written"], value["place"] = made[0], made[1]
