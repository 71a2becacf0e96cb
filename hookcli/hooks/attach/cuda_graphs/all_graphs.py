"""Attaches to all CUDA graphs of the process."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch

from hookcli.hooks.attach.attachments import Attachments
from hookcli.hooks.attach.cuda_graphs.firing import fire, register_on_all, telling
from hookcli.hooks.hook import Hook, Site
from hookcli.hooks.portable import Portable
from hookcli.hooks.resolve import Targets


class HookOnAllGraphs(Portable):
    """A hook on the capture, the instantiation or the replay of all graphs."""

    def __init__(self, hook: Hook) -> None:
        self._hook = hook

    def __call__(self, graph: Any) -> None:
        """Fire; PyTorch calls this, and discards an error."""
        name = self._hook.context.graphs.of(graph)
        with telling(self._hook, name):
            fire(self._hook, name, (graph,))


class DestroyHook(Portable):
    """A hook on the end of all graphs. Torch passes the ids of what was instantiated."""

    def __init__(self, hook: Hook) -> None:
        self._hook = hook

    def __call__(self, exec_ids: set[int]) -> None:
        """Fire; PyTorch calls this, and discards an error."""
        name = torch.cuda.CUDAGraph.__name__
        node = ", ".join(map(str, sorted(exec_ids))) or None
        with telling(self._hook, name):
            self._hook.fire(Site(name), None, lambda _: (exec_ids,), node=node)


def attach_to_all(
    hook: Hook, _targets: Targets, _attachments: Attachments, stack: ExitStack
) -> None:
    """Attach to the capture, the instantiation or the replay of all graphs."""
    register_on_all(hook.kind.method, HookOnAllGraphs(hook), stack)
    hook.attached += 1


def attach_destroy_to_all(
    hook: Hook, _targets: Targets, _attachments: Attachments, stack: ExitStack
) -> None:
    """Attach to the end of all graphs."""
    register_on_all(hook.kind.method, DestroyHook(hook), stack)
    hook.attached += 1
