"""Attaches to each CUDA graph that a run captures, instantiates or replays.

A graph is made during the run, so nothing can be attached to it before. Torch's hooks on all graphs
tell of a graph, and run before its own hooks: those are registered in time for the same event.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any
from weakref import WeakKeyDictionary

from torch.utils.hooks import RemovableHandle

from hookcli.hooks.attach.attachments import Attachments
from hookcli.hooks.attach.cuda_graphs.firing import fire, register_on_all, telling
from hookcli.hooks.hook import Hook, Site
from hookcli.hooks.portable import Portable
from hookcli.hooks.resolve import Targets

# The first event of a graph that a run sees may be any of these, as it may be captured earlier.
_MEETINGS = (
    "register_graph_capture_start_hook",
    "register_graph_capture_end_hook",
    "register_graph_instantiate_hook",
    "register_graph_replay_start_hook",
)


class GraphHook(Portable):
    """A hook on the capture, the instantiation or the replay of one graph."""

    is_spent = False

    def __init__(self, hook: Hook) -> None:
        self._hook = hook

    def __call__(self, graph: Any) -> None:
        """Fire; PyTorch calls this. An error ends what the graph does."""
        fire(self._hook, self._hook.context.graphs.of(graph), (graph,))


class DestroyCallback(Portable):
    """A callback at the end of one graph. It has no reference to the graph, to let it end."""

    def __init__(self, hook: Hook, name: str) -> None:
        self._hook = hook
        self._name = name
        self.is_spent = False  # torch calls it once: a graph that is captured again needs another

    def __call__(self) -> None:
        """Fire; PyTorch calls this, and discards an error."""
        self.is_spent = True
        with telling(self._hook, self._name):
            self._hook.fire(Site(self._name), None, lambda _: ())


class Follower(Portable):
    """Registers a hook on each graph, at the first event of the graph."""

    def __init__(self, hook: Hook, make: Callable[[str], GraphHook | DestroyCallback]) -> None:
        self._hook = hook
        self._make = make
        self._registered: WeakKeyDictionary[
            Any, tuple[RemovableHandle, GraphHook | DestroyCallback]
        ] = WeakKeyDictionary()

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


def _follow(
    hook: Hook, make: Callable[[str], GraphHook | DestroyCallback], stack: ExitStack
) -> None:
    follower = Follower(hook, make)
    stack.callback(follower.close)
    for method in _MEETINGS:
        register_on_all(method, follower, stack)
    hook.attached += 1
