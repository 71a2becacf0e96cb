"""Attaches to CUDA graphs: to each graph that a run captures or replays, or to all at once.

A graph is made during the run, so nothing can be attached to it before. Torch's hooks on all graphs
tell of a graph, and run before its own hooks: those are registered in time for the same event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch.utils.hooks import RemovableHandle

from hookcli.hooks.attach.attachments import Attachments
from hookcli.hooks.hook import Hook, Site
from hookcli.hooks.portable import Portable
from hookcli.hooks.resolve import Targets
from hookcli.report.recording import HookFinding

# The first event of a graph that a run sees may be any of these: it may be captured earlier.
_MEETINGS = (
    "register_graph_capture_start_hook",
    "register_graph_capture_end_hook",
    "register_graph_instantiate_hook",
    "register_graph_replay_start_hook",
)


class GraphHook(Portable):
    """A hook on the capture, the instantiation or the replay of graphs."""

    is_spent = False

    def __init__(self, hook: Hook) -> None:
        self._hook = hook

    def __call__(self, graph: Any) -> None:
        """Fire; PyTorch calls this. An error of a function ends what the graph does."""
        _fire(self._hook, self._hook.context.graphs.of(graph), (graph,))


class HookOnAllGraphs(Portable):
    """The same on all graphs of the process."""

    def __init__(self, hook: Hook) -> None:
        self._hook = hook

    def __call__(self, graph: Any) -> None:
        """Fire; PyTorch calls this."""
        name = self._hook.context.graphs.of(graph)
        with _telling(self._hook, name):
            _fire(self._hook, name, (graph,))


class DestroyCallback(Portable):
    """A callback at the end of one graph. It must not reference the graph, which it would keep."""

    def __init__(self, hook: Hook, name: str) -> None:
        self._hook = hook
        self._name = name
        self.is_spent = False  # torch calls it once: a graph that is captured again needs another

    def __call__(self) -> None:
        """Fire; PyTorch calls this."""
        self.is_spent = True
        with _telling(self._hook, self._name):
            self._hook.fire(Site(self._name), None, lambda _: ())


class DestroyHook(Portable):
    """A hook at the end of all graphs. Torch passes the ids of what was instantiated."""

    def __init__(self, hook: Hook) -> None:
        self._hook = hook

    def __call__(self, exec_ids: set[int]) -> None:
        """Fire; PyTorch calls this."""
        name = torch.cuda.CUDAGraph.__name__
        node = ", ".join(map(str, sorted(exec_ids))) or None
        with _telling(self._hook, name):
            self._hook.fire(Site(name), None, lambda _: (exec_ids,), node=node)


def _fire(hook: Hook, name: str, arguments: tuple[Any, ...]) -> None:
    call = hook.context.calls.running()
    site = Site(name, order=None if call is None else call.order)
    hook.fire(site, None, lambda _: arguments)


@contextmanager
def _telling(hook: Hook, target: str) -> Iterator[None]:
    """Add a finding about an error, which PyTorch discards: the run does not fail with it."""
    try:
        yield
    except Exception as error:
        context = hook.context
        if context.raised is not None and context.raised[0] is error:
            context.raised = None
        what = f"{type(error).__name__} at '{target}', which PyTorch discards: {error}"
        message = f"kind {hook.spec.kind} raised {what}"
        context.find(HookFinding("hook_misuse", target, "raised", message, hook.spec.place))
        raise


_Registered = tuple[RemovableHandle, Any]


class Follower(Portable):
    """Registers a hook on each graph, at the first event of the graph."""

    def __init__(self, hook: Hook, make: Callable[[str], Any]) -> None:
        self._hook = hook
        self._make = make
        self._registered: WeakKeyDictionary[Any, _Registered] = WeakKeyDictionary()

    def __call__(self, graph: Any) -> None:
        """Register; PyTorch calls this."""
        known = self._registered.get(graph)
        if known is None or known[1].is_spent:
            function = self._make(self._hook.context.graphs.of(graph))
            handle = getattr(graph, self._hook.kind.method)(function)
            self._registered[graph] = (handle, function)

    def close(self) -> None:
        """Remove the hook from the graphs that still exist."""
        for handle, _ in [*self._registered.values()]:
            handle.remove()
        self._registered.clear()


def attach_to_each(
    hook: Hook, _targets: Targets, _attachments: Attachments, stack: ExitStack
) -> None:
    """Attach to each graph from its first event on."""
    _follow(hook, lambda _name: GraphHook(hook), stack)


def attach_destroy_to_each(
    hook: Hook, _targets: Targets, _attachments: Attachments, stack: ExitStack
) -> None:
    """Attach to the end of each graph, from its first event on."""
    _follow(hook, lambda name: DestroyCallback(hook, name), stack)


def attach_to_all(
    hook: Hook, _targets: Targets, _attachments: Attachments, stack: ExitStack
) -> None:
    """Attach to all graphs of the process."""
    _register(hook.kind.method, HookOnAllGraphs(hook), stack)
    hook.attached += 1


def attach_destroy_to_all(
    hook: Hook, _targets: Targets, _attachments: Attachments, stack: ExitStack
) -> None:
    """Attach to the end of all graphs of the process."""
    _register(hook.kind.method, DestroyHook(hook), stack)
    hook.attached += 1


def _follow(hook: Hook, make: Callable[[str], Any], stack: ExitStack) -> None:
    follower = Follower(hook, make)
    stack.callback(follower.close)
    for method in _MEETINGS:
        _register(method, follower, stack)
    hook.attached += 1


def _register(method: str, function: Callable[..., None], stack: ExitStack) -> None:
    register: Callable[..., RemovableHandle] = getattr(torch.cuda.graphs, method)
    stack.enter_context(register(function))
