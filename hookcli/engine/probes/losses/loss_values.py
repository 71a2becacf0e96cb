"""`loss_values` and `function_arguments`: what functions get, in calls and in the graph of a loss.

The first one is about loss functions and distributions, the other one about other functions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import CodeType, FrameType
from typing import Any, NamedTuple

import torch
from torch import nn

from hookcli.catalogue.kinds import CATALOGUE as KINDS
from hookcli.engine.observe.node_owners import NodeOwners
from hookcli.engine.probes.arguments import call_arguments, graph_arguments
from hookcli.engine.probes.arguments.settings import settings_of
from hookcli.engine.probes.context import Requests, where_possible
from hookcli.engine.probes.function_calls import Finding, RunningCalls, caller
from hookcli.engine.probes.losses.distribution_calls import DistributionCalls
from hookcli.engine.probes.losses.loss_calls import Look, looks_by_code
from hookcli.engine.probes.losses.loss_nodes import findings, over_samples
from hookcli.engine.probes.losses.loss_terms import (
    bare_returns,
    crossed_advantages,
    divergence_weight,
)
from hookcli.engine.probes.losses.python_calls import PythonCalls
from hookcli.engine.probes.losses.surrogate import surrogate
from hookcli.engine.probes.trainability.loss_graph import (
    GraphWatcher,
    Node,
    nodes_behind,
    place_of,
)
from hookcli.models import places
from hookcli.models.batch import Batch
from hookcli.models.model import Call, CallInputs, Model
from hookcli.models.nested import argument_leaves
from hookcli.refusals import raise_if_external
from hookcli.report.findings import Measurement
from hookcli.spec.request import Spec
from hookcli.torch_private import disable_current_modes

PROBE, ARGUMENTS = "loss_values", "function_arguments"
_MOST = 20  # findings
_HEADS = re.compile(r"(n|num|nb|number_of)?_?(attention_|attn_)?heads?")  # not head_dim
_MOST_CALLS = 200_000  # of functions of Python in one forward


class Misfit(NamedTuple):
    """Something that a function gets, and is not made for.

    `what` is the name of a sentence of the rule that judges the `probe`, and `values` what that
    tells. `call` is the call of a module that runs then, if modules are watched.
    """

    probe: str
    what: str
    values: dict[str, Any]
    place: str | None
    call: Call | None = None


class CallLooks:
    """Looks at the calls of functions and distributions between `start` and `stop`."""

    def __init__(self, running: RunningCalls | None = None, most: int = _MOST_CALLS) -> None:
        self._running = running
        self._found: list[Misfit] = []
        self._distributions = DistributionCalls(_place)
        begins: dict[CodeType, Callable[[FrameType], None]] = {
            code: partial(self._called, PROBE, [partial(_of_arguments, look) for look in looks])
            for code, (_, looks) in looks_by_code().items()
        }
        for code, look in call_arguments.looks_by_code().items():
            begins[code] = partial(self._called, ARGUMENTS, [look])
        self._calls = PythonCalls(
            {**begins, **self._distributions.begins()}, self._distributions.ends(), most
        )

    def start(self) -> bool:
        """Forget earlier calls, and begin. Return False if something else profiles this thread."""
        self.forget()
        return self._calls.start()

    def forget(self) -> None:
        """Forget what was seen, and let its tensors go."""
        self._found.clear()
        self._distributions.clear()

    def stop(self) -> None:
        """Look at no more calls.

        Raises
        ------
        Exception : a look has failed.
        """
        self._calls.stop()
        error, self._calls.error = self._calls.error, None
        if error is not None:
            raise error

    def conclude(self, start: torch.Tensor) -> Iterator[Misfit]:
        """Yield what was found, before backward from `start` frees the graph; each thing once."""
        seen = set()
        drawn = (Misfit(PROBE, *found) for found in self._distributions.conclude(start))
        for found in (*self._found, *drawn):
            if (found.what, found.place) not in seen:
                seen.add((found.what, found.place))
                yield found
        self.forget()

    def _called(
        self, probe: str, looks: Sequence[Callable[[FrameType], Finding]], frame: FrameType
    ) -> None:
        if not torch.is_grad_enabled():  # it trains nothing
            return
        with where_possible(), torch.no_grad(), disable_current_modes():
            for look in looks if len(self._found) < _MOST else ():
                found = look(frame)
                if found is not None:
                    running = self._running.stack if self._running is not None else ()
                    call = running[-1] if running else None
                    self._found.append(Misfit(probe, *found, _place(frame), call))


def _of_arguments(look: Look, frame: FrameType) -> Finding:
    return look(frame.f_locals)


def _place(frame: FrameType) -> str | None:
    """Return the user's line that led to a frame of torch; None if hookcli made the call."""
    outer, _ = caller(frame)
    name = "hookcli" if outer is None else outer.f_globals.get("__name__") or ""
    return None if name.partition(".")[0] == "hookcli" else places.of_frame(outer)


def in_graph(
    start: torch.Tensor, nodes: Sequence[Node]
) -> Iterator[tuple[Node | None, str, dict[str, Any]]]:
    """Yield what the `nodes` behind a loss tell of its functions, with the node if it is of one."""
    yield from findings(nodes)
    wholes = (
        partial(over_samples, nodes), partial(surrogate, start), partial(divergence_weight, start),
        partial(bare_returns, nodes), partial(crossed_advantages, nodes),
    )  # fmt: skip
    for look in wholes:
        try:
            found = look()
        except RuntimeError as error:  # what a node saved was changed in place
            raise_if_external(error)
            continue
        if found is not None:
            yield None, *found


class LossValues(GraphWatcher):
    """Looks at a model as its loss is computed, and at the graph of the first step."""

    def __init__(self) -> None:
        super().__init__([], (PROBE, ARGUMENTS))
        self._running = RunningCalls()
        self._looks = CallLooks(self._running)
        self._samples = 0
        self._settings: list[Measurement] = []

    def begin(self, model: Model) -> None:
        """Forget an earlier run, and look at the settings of modules."""
        super().begin(model)
        self._running.stack.clear()
        self._settings = [
            _measured(ARGUMENTS, name, None, what, values, values["type"], model.place(name))
            for name, what, values in settings_of(model.root)
        ]

    def enter(self, call: Call, batch: CallInputs) -> None:
        """Look at what is called from the first call of the model on."""
        super().enter(call, batch)
        self._running.enter(call, batch)
        if call.parent is None and not self._has_looked:
            tensors = [tensor for _, tensor, _ in argument_leaves(*batch)]
            self._samples = graph_arguments.number_of_samples(tensors)
            self._looks.start()

    def leave(self, call: Call, output: Any, error: BaseException | None) -> None:
        """Note a call that has ended."""
        self._running.leave(call, output, error)

    def end(self, batch: Batch) -> None:
        """Look at no more calls."""
        self._looks.stop()

    def _look(self, start: torch.Tensor, owners: NodeOwners, calls: dict[int, Call]) -> None:
        self._looks.stop()
        rows = [Measurement(probe, "", None, {"count": 1}, None) for probe in (PROBE, ARGUMENTS)]
        with torch.no_grad():
            for probe, what, values, place, call in self._looks.conclude(start):
                name, index = ("", None) if call is None else (call.name or "", call.index)
                kind = None if call is None else call.type
                rows.append(_measured(probe, name, index, what, values, kind, place))

            def heads(node: Node) -> set[int]:
                order = owners.of(node._sequence_nr())
                call = None if order is None else calls.get(order)
                return set() if call is None else heads_of(call.module)

            nodes = list(nodes_behind(start))
            of_functions = graph_arguments.in_graph(nodes, heads, self._samples)
            for probe, found in ((PROBE, in_graph(start, nodes)), (ARGUMENTS, of_functions)):
                for node, what, values in found:
                    name, index, (kind, place) = (
                        ("", None, (None, None)) if node is None else place_of(node, owners, calls)
                    )
                    rows.append(_measured(probe, name, index, what, values, kind, place))
        self.measurements += [*rows, *self._settings][:_MOST]


def heads_of(*modules: nn.Module) -> set[int]:
    """Return the numbers of heads that attributes of modules tell."""
    return {
        value
        for module in modules
        for name, value in vars(module).items()
        if type(value) is int and _HEADS.fullmatch(name)
        if not type(module).__module__.startswith("torch.")
    }


def _measured(
    probe: str,
    name: str,
    index: int | None,
    what: str,
    values: dict[str, Any],
    kind: str | None,
    place: str | None,
) -> Measurement:
    value = {"what": what, "values": values, "module": kind, "place": place}
    return Measurement(probe, name, index, value, None)


def observe(requests: Requests, spec: Spec) -> list[LossValues]:
    """Return the watcher; none if the graph would run a hook which unpacks a tensor."""
    if any(KINDS[hook.kind].pair for hook in spec.hooks):
        return []
    return [LossValues()]
