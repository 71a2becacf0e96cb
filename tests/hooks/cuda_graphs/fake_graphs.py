"""CUDA graphs without a GPU: the hooks of torch 2.14, in the order in which torch calls them.

`FakeGraph` captures and launches nothing. What it does around that is what `torch.cuda.CUDAGraph`
does: hooks on all graphs run first, and their errors are discarded; a graph's own hooks run next,
and their errors are raised; callbacks at the end of a graph run once in a cycle of capture.
"""

from __future__ import annotations

import itertools
import weakref
from collections import OrderedDict

from torch.utils.hooks import RemovableHandle

MOMENTS = ("capture_start", "capture_end", "instantiate", "replay_start", "replay_end")
ON_ALL = {moment: OrderedDict() for moment in (*MOMENTS, "destroy")}
IDS = itertools.count(7)


def _registered(table, function):
    handle = RemovableHandle(table)
    table[handle.id] = function
    return handle


def _call_all(moment, argument):
    for function in [*ON_ALL[moment].values()]:
        try:
            function(argument)
        except Exception:
            pass


class _End:
    """The callbacks at the end of one cycle of a graph, which must not reference the graph."""

    def __init__(self):
        self.callbacks = OrderedDict()
        self.fired = False

    def fire(self):
        if self.fired:
            return
        self.fired = True
        for callback in [*self.callbacks.values()]:
            try:
                callback()
            except Exception:
                pass
        self.callbacks.clear()


class FakeGraph:
    """A graph that notes what would be captured and launched, in `done`."""

    def __init__(self, keep_graph=False):
        self.keep_graph, self.is_instantiated, self.done = keep_graph, False, []
        self.own = {moment: OrderedDict() for moment in MOMENTS}
        self.fails = False
        self._begin_cycle()

    def _begin_cycle(self):
        self.ids, self.end = set(), _End()
        self._finalizer = weakref.finalize(self, self.end.fire)
        if ON_ALL["destroy"]:
            ids = self.ids
            self.register_destroy_callback(lambda: _call_all("destroy", ids))

    def register_capture_start_hook(self, hook):
        return _registered(self.own["capture_start"], hook)

    def register_capture_end_hook(self, hook):
        return _registered(self.own["capture_end"], hook)

    def register_post_instantiate_hook(self, hook):
        return _registered(self.own["instantiate"], hook)

    def register_replay_start_hook(self, hook):
        return _registered(self.own["replay_start"], hook)

    def register_replay_end_hook(self, hook):
        return _registered(self.own["replay_end"], hook)

    def register_destroy_callback(self, hook):
        return _registered(self.end.callbacks, hook)

    def _tell(self, moment):
        _call_all(moment, self)
        for function in [*self.own[moment].values()]:
            function(self)

    def capture_begin(self):
        self.done.append("begin")
        self._tell("capture_start")

    def capture_end(self):
        self.done.append("end")
        self._tell("capture_end")
        if not self.keep_graph:
            self.instantiate()

    def instantiate(self):
        self.is_instantiated = True
        self.ids.add(next(IDS))
        self._tell("instantiate")

    def replay(self):
        if not self.is_instantiated:
            self.instantiate()
        self._tell("replay_start")
        try:
            if self.fails:
                raise RuntimeError("CUDA error: the launch failed")
            self.done.append("launch")
        finally:
            self._tell("replay_end")

    def reset(self):
        self.end.fire()
        self._finalizer.detach()
        self.is_instantiated = False
        self._begin_cycle()


def functions():
    """The functions that torch.cuda.graphs has for hooks on all graphs, by name."""
    return {
        f"register_graph_{moment}_hook": lambda hook, table=table: _registered(table, hook)
        for moment, table in ON_ALL.items()
    }
