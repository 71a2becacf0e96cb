"""Hooks on the inputs and outputs of modules: attached again in every call, to its tensors.

They are freed with the autograd graph of their call, and do nothing after the run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

import torch

from hookcli.hooks.attach.graph import Edge, Ranges, edge_of, nodes_since
from hookcli.hooks.attach.input_share import InputGradient, Terms, shares, total
from hookcli.hooks.attach.tensors import AtNode, TensorHook, alone, register_together
from hookcli.hooks.context import Context
from hookcli.hooks.hook import Hook, Site
from hookcli.hooks.misuse.firings import everywhere
from hookcli.models.model import Call, CallInputs
from hookcli.models.nested import argument_leaves, leaves
from hookcli.report.recording import HookFinding
from hookcli.spec.hooks import Match
from hookcli.spec.selectors import path_matches
from hookcli.torch_private import next_sequence_nr


@dataclass(frozen=True, slots=True)
class CallTensorHook:
    """One hook on the calls of one module: on inputs, outputs, or the nodes that a call made.

    `at_node` registers it on a node. With `share` it gets the module's own share of an input's
    gradient. With `together` it fires once, with the gradients of all calls.
    """

    hook: Hook
    match: Match
    name: str  # of the module
    at_node: AtNode
    share: bool = False
    together: bool = False
    where: Literal["input", "output", "share", "nodes"] = field(init=False)
    label: str = field(init=False)  # name of a value that is one tensor

    def __post_init__(self) -> None:
        part = self.match.part
        share = part is not None and self.share
        object.__setattr__(self, "where", "share" if share else part or "nodes")
        object.__setattr__(self, "label", self.name if part is None else f"{self.name}:{part}")


@dataclass(slots=True)
class _Running:
    """A call while it runs: the edges of its inputs, and the node numbers of its children."""

    edges: dict[int, dict[str, Edge]] = field(default_factory=dict)  # by id of the hook, by path
    inner: Ranges = field(default_factory=Ranges)


class CallTensorHooks:
    """All hooks on the tensors of calls in a run, by module."""

    def __init__(self) -> None:
        # By id of the module, in the order of the configuration.
        self._before: dict[int, list[CallTensorHook]] = {}
        self._after: dict[int, list[CallTensorHook]] = {}
        self._on_nodes = False
        self._running: dict[int, _Running] = {}
        self._together: dict[int, list[tuple[CallTensorHook, str, torch.Tensor]]] = {}
        # Functions that remove hooks which would outlive the graph of the step.
        self._removals: list[Callable[[], None]] = []
        self._shares: list[InputGradient] = []

    def add(self, key: int, tap: CallTensorHook) -> None:
        """Add a hook on the calls of the module with this id."""
        where = tap.where
        self._on_nodes |= where == "nodes"
        if where in {"input", "share"}:
            self._before.setdefault(key, []).append(tap)
        if where != "input":
            self._after.setdefault(key, []).append(tap)
        tap.hook.attached += 1

    def enter(self, call: Call, batch: CallInputs) -> None:
        """Attach the hooks on the inputs of a call that starts; `batch` are its arguments."""
        taps = self._before.get(call.key)
        if not taps and not self._on_nodes:
            return
        self._running[call.order] = _Running()
        if not taps or not call.graded:
            return
        inputs = [(path, t) for path, t, _ in argument_leaves(*batch) if t.requires_grad]
        for tap in taps:
            if tap.where == "input":
                self._hook_tensors(tap, call, inputs)
                continue
            edges = {path: edge_of(t) for path, t in inputs if path_matches(tap.match, path)}
            self._running[call.order].edges[id(tap)] = edges

    def leave(self, call: Call, output: Any) -> None:
        """Attach the hooks on the output and nodes of a call that ended; None if it raised."""
        running = self._running.pop(call.order, None)
        taps = self._after.get(call.key)
        if self._running and call.parent in self._running:
            end = next_sequence_nr()
            self._running[call.parent].inner.add(call.sequence, end)
        if not call.graded or output is None or not taps:
            return
        if type(output) is torch.Tensor:
            outputs = [("", output)] if output.requires_grad else []
        else:
            outputs = [(path, t) for path, t, _ in leaves(output) if t.requires_grad]
        for tap in taps if outputs else ():
            where = tap.where
            if where == "output":
                self._hook_tensors(tap, call, outputs)
                continue
            tensors = [t for _, t in outputs]
            if running is None or not _may_read(tap.hook.context, call):
                continue
            if where == "share":
                self._hook_shares(tap, call, running.edges.get(id(tap), {}), tensors)
            else:
                made = nodes_since(tensors, call.sequence)
                _were_read(tap.hook.context, len(made))
                _hook_nodes(tap, call, made, running.inner)

    def _hook_tensors(
        self, tap: CallTensorHook, call: Call, tensors: list[tuple[str, torch.Tensor]]
    ) -> None:
        hook, match = tap.hook, tap.match
        if len(tensors) > 1 or match.path:
            tensors = _distinct(pair for pair in tensors if path_matches(match, pair[0]))
        for path, tensor in tensors:
            if tap.together:  # registered after the forward, on the tensors of all calls
                self._together.setdefault(hook.spec.index, []).append((tap, path, tensor))
                continue
            target = tap.label + path
            site = Site(
                target, call.module, call.index, call.order, call.recomputed, match.part, path
            )
            handle = tensor.register_hook(TensorHook(hook, site))  # type: ignore[no-untyped-call]
            if tensor.is_leaf:  # a parameter as an input or output, or a tensor of the batch
                self._removals.append(handle.remove)

    def forward_ended(self) -> None:
        """Register the hooks on tensors of several calls."""
        for entries in self._together.values():
            hook = entries[0][0].hook
            names = [f"{tap.name}:{tap.match.part}{path}" for tap, path, _ in entries]
            handle = register_together(hook, [tensor for _, _, tensor in entries], names)
            self._removals.append(handle.remove)
        self._together.clear()

    def release(self) -> None:
        """Remove the hooks of this step that would not be freed with its graph."""
        for remove in self._removals:
            remove()
        for share in reversed(self._shares):  # see `let_go`
            share.close()
        self._removals.clear()
        self._shares.clear()
        self._together.clear()
        self._running.clear()

    def release_fired(self) -> None:
        """Free the graphs of shares that have fired, as another forward of the step begins."""
        for share in reversed(self._shares):  # see `let_go`
            if share.fired:
                share.close()
        self._shares = [share for share in self._shares if not share.fired]

    def _hook_shares(
        self, tap: CallTensorHook, call: Call, edges: dict[str, Edge], outputs: list[torch.Tensor]
    ) -> None:
        if not edges:
            return
        senders, returned, read = shares(edges, outputs, call.sequence)
        _were_read(tap.hook.context, read)
        for path in returned:
            _note_returned(tap, call, path)
        for path, places in senders.items():
            hook, site = tap.hook, _site(call, tap, "input", path)
            share = InputGradient(places, lambda terms, h=hook, s=site: _fire(h, s, terms))  # type: ignore[misc]
            self._shares.append(share)


def _may_read(context: Context, call: Call) -> bool:
    """Return whether the nodes that a call has made may be read; if not, note it on the call."""
    left = context.nodes_left
    if left is None or next_sequence_nr() - call.sequence <= left:
        return True
    if _TOO_MANY not in (call.notes or ()):
        call.note(_TOO_MANY)
    return False


def _were_read(context: Context, nodes: int) -> None:
    if context.nodes_left is not None:
        context.nodes_left -= nodes


_TOO_MANY = "its autograd graph was not read: the step has too many operators"


def _distinct(tensors: Iterable[tuple[str, torch.Tensor]]) -> list[tuple[str, torch.Tensor]]:
    """Return each tensor once, with its first path."""
    first: dict[int, tuple[str, torch.Tensor]] = {}
    for path, tensor in tensors:
        first.setdefault(id(tensor), (path, tensor))
    return [*first.values()]


_RETURNED = "returned an input unchanged: its own share of the gradient is unknown"


def _note_returned(tap: CallTensorHook, call: Call, path: str) -> None:
    """Note on a call that it returned its input; a finding too if the hook names the module."""
    if _RETURNED not in (call.notes or ()):
        call.note(_RETURNED)
    spec = tap.hook.spec
    if not everywhere(spec):
        target = f"{tap.name}:input{path}"
        tap.hook.context.find(
            HookFinding("hook_misuse", target, "input returned", _RETURNED, spec.place, "warning")
        )


def _fire(hook: Hook, site: Site, terms: Terms) -> None:
    """Fire with the sum of the terms; it is computed only if an action reads it."""
    if len(terms) == 1:
        hook.fire(site, terms[0], alone)
    elif hook.looks_only:
        hook.look(site, terms[0])
    elif hook.norms_only:
        hook.look(site, terms[0], measure=lambda: hook.context.norm_of_sum(*terms))
    else:
        hook.fire(site, total(terms), alone)


def _site(call: Call, tap: CallTensorHook, part: str | None = None, path: str = "") -> Site:
    target = tap.name if part is None else f"{tap.name}:{part}{path}"
    return Site(target, call.module, call.index, call.order, call.recomputed, part, path)


def _hook_nodes(tap: CallTensorHook, call: Call, made: list[Any], inner: Ranges) -> None:
    match = tap.match
    named = match.node is not None or match.op is not None
    pattern = _node_pattern(match)
    chosen = [
        node
        for node in made
        if (named or node._sequence_nr() not in inner) and pattern.fullmatch(node.name())
    ]
    if match.call is not None:
        chosen = chosen[match.call : match.call + 1]
    for node in chosen:
        tap.at_node(tap.hook, node, _site(call, tap))


def _node_pattern(match: Match) -> re.Pattern[str]:
    """Return a pattern of node names: AddmmBackward0 itself, or that of the operator aten.addmm."""
    if match.node is not None:
        return re.compile(re.escape(match.node))
    if match.op is None:
        return re.compile(r".*")
    word = match.op.split(".")[1] if "." in match.op else match.op
    camel = "".join(part[:1].upper() + part[1:] for part in word.strip("_").split("_"))
    return re.compile(rf"{re.escape(camel)}Backward\d*")
