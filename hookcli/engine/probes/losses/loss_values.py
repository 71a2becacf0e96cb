"""`loss_values`: what loss functions and distributions get, in calls and in the graph of a loss."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from types import CodeType, FrameType
from typing import Any, NamedTuple

import torch

from hookcli.catalogue.kinds import CATALOGUE as KINDS
from hookcli.engine.observe.node_owners import NodeOwners
from hookcli.engine.probes.context import Requests, where_possible
from hookcli.engine.probes.function_calls import RunningCalls, caller
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
from hookcli.report.findings import Measurement
from hookcli.spec.request import Spec
from hookcli.torch_private import disable_current_modes

PROBE = "loss_values"
_MOST = 20  # findings
_MOST_CALLS = 200_000  # of functions of Python in one forward


class LossValue(NamedTuple):
    """Something that a loss function or a distribution gets, and is not made for.

    `what` is the name of a sentence, and `values` what that tells. `call` is the call of a module
    that runs then, if modules are watched.
    """

    what: str
    values: dict[str, Any]
    place: str | None
    call: Call | None = None


class LossCalls:
    """Looks at the calls of loss functions and distributions between `start` and `stop`."""

    def __init__(self, running: RunningCalls | None = None, most: int = _MOST_CALLS) -> None:
        self._running = running
        self._found: list[LossValue] = []
        self._distributions = DistributionCalls(_place)
        begins: dict[CodeType, Callable[[FrameType], None]] = {
            code: partial(self._called, looks) for code, (_, looks) in looks_by_code().items()
        }
        self._calls = PythonCalls(
            {**begins, **self._distributions.begins()}, self._distributions.ends(), most
        )

    def start(self) -> bool:
        """Forget earlier calls, and begin. Return False if something else profiles this thread."""
        self._found.clear()
        self._distributions.clear()
        return self._calls.start()

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

    def conclude(self, start: torch.Tensor) -> Iterator[LossValue]:
        """Yield what was found, before backward from `start` frees the graph; each thing once."""
        seen = set()
        drawn = (LossValue(*found) for found in self._distributions.conclude(start))
        for found in (*self._found, *drawn):
            if (found.what, found.place) not in seen:
                seen.add((found.what, found.place))
                yield found
        self._found.clear()
        self._distributions.clear()

    def _called(self, looks: tuple[Look, ...], frame: FrameType) -> None:
        given = frame.f_locals
        with where_possible(), torch.no_grad(), disable_current_modes():
            for look in looks if len(self._found) < _MOST else ():
                found = look(given)
                if found is not None:
                    running = self._running.stack if self._running is not None else ()
                    call = running[-1] if running else None
                    self._found.append(LossValue(*found, _place(frame), call))


def _place(frame: FrameType) -> str | None:
    """Return the user's line that led to a frame of torch; None if hookcli made the call."""
    outer, _ = caller(frame)
    name = "hookcli" if outer is None else outer.f_globals.get("__name__") or ""
    return None if name.partition(".")[0] == "hookcli" else places.of_frame(outer)


def in_graph(start: torch.Tensor) -> Iterator[tuple[Node | None, str, dict[str, Any]]]:
    """Yield what the graph of a loss tells of its functions, with the node if it is about one."""
    nodes = list(nodes_behind(start))
    yield from findings(nodes)
    wholes = (
        partial(over_samples, nodes), partial(surrogate, start), partial(divergence_weight, start),
        partial(bare_returns, nodes), partial(crossed_advantages, nodes),
    )  # fmt: skip
    for look in wholes:
        try:
            found = look()
        except RuntimeError:  # what a node saved was changed in place
            continue
        if found is not None:
            yield None, *found


class LossValues(GraphWatcher):
    """Looks at a model's loss, as it is computed and in the graph of the first step."""

    def __init__(self) -> None:
        super().__init__([], (PROBE,))
        self._running = RunningCalls()
        self._loss_calls = LossCalls(self._running)

    def begin(self, model: Model) -> None:
        """Forget an earlier run."""
        super().begin(model)
        self._running.stack.clear()

    def enter(self, call: Call, batch: CallInputs) -> None:
        """Look at what is called from the first call of the model on."""
        super().enter(call, batch)
        self._running.enter(call, batch)
        if call.parent is None and not self._has_looked:
            self._loss_calls.start()

    def leave(self, call: Call, output: Any, error: BaseException | None) -> None:
        """Note a call that has ended."""
        self._running.leave(call, output, error)

    def end(self, batch: Batch) -> None:
        """Look at no more calls."""
        self._loss_calls.stop()

    def _look(self, start: torch.Tensor, owners: NodeOwners, calls: dict[int, Call]) -> None:
        self._loss_calls.stop()
        self.measurements.append(Measurement(PROBE, "", None, {"count": 1}, None))
        with torch.no_grad():
            for found in self._loss_calls.conclude(start):
                call = found.call
                name, index = ("", None) if call is None else (call.name or "", call.index)
                kind = None if call is None else call.type
                self._add(name, index, found.what, found.values, kind, found.place)
            for node, what, values in in_graph(start):
                name, index, (kind, place) = (
                    ("", None, (None, None)) if node is None else place_of(node, owners, calls)
                )
                self._add(name, index, what, values, kind, place)

    def _add(
        self,
        name: str,
        index: int | None,
        what: str,
        values: dict[str, Any],
        kind: str | None,
        place: str | None,
    ) -> None:
        if len(self.measurements) <= _MOST:
            value = {"what": what, "values": values, "module": kind, "place": place}
            self.measurements.append(Measurement(PROBE, name, index, value, None))


def observe(requests: Requests, spec: Spec) -> list[LossValues]:
    """Return the watcher; none if the graph would run a hook which unpacks a tensor."""
    if any(KINDS[hook.kind].pair for hook in spec.hooks):
        return []
    return [LossValues()]
