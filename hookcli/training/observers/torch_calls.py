"""Tells observers of calls of some functions of PyTorch.

No hook of PyTorch tells of these calls, so that the functions are replaced while a training is
watched, in the classes and modules that have them. The replacement calls the function with the
same arguments, and returns its result. Nothing is replaced any more once the script compiles:
torch.compile knows some of these functions by their identity.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.utils import clip_grad
from torch.optim import lr_scheduler
from torch.utils.data import DataLoader

from hookcli.engine.loop.hooks import most_nodes_read
from hookcli.torch_private import next_sequence_nr
from hookcli.training.guard import Guard
from hookcli.training.observers.observer import Observer
from hookcli.training.script.watched_function import ON, TorchCall, watched_function

# By name: the classes and modules that have the function, and its name there.
WATCHED: dict[str, tuple[tuple[Any, str], ...]] = {
    "load_state_dict": ((nn.Module, "load_state_dict"),),
    "optimizer_load": ((torch.optim.Optimizer, "load_state_dict"),),
    "save": ((torch, "save"), (torch.serialization, "save")),
    "set_rng_state": ((torch, "set_rng_state"), (torch.random, "set_rng_state")),
    "zero_grad": ((torch.optim.Optimizer, "zero_grad"),),
    "module_zero_grad": ((nn.Module, "zero_grad"),),
    "clip_grad_norm_": ((clip_grad, "clip_grad_norm_"), (nn.utils, "clip_grad_norm_")),
    "clip_grad_value_": ((clip_grad, "clip_grad_value_"), (nn.utils, "clip_grad_value_")),
    "scheduler_step": ((lr_scheduler.LRScheduler, "step"),),
    "scheduler_made": (
        (lr_scheduler.LRScheduler, "__init__"),
        (lr_scheduler.ReduceLROnPlateau, "__init__"),
        (lr_scheduler.SequentialLR, "__init__"),
        (lr_scheduler.ChainedScheduler, "__init__"),
    ),
    "plateau_step": ((lr_scheduler.ReduceLROnPlateau, "step"),),
    "iterate": ((DataLoader, "__iter__"),),
    "scale": ((torch.amp.GradScaler, "scale"),),
    "unscale_": ((torch.amp.GradScaler, "unscale_"),),
    # torch.manual_seed calls it, also without a GPU; importing torch.compile replaces that itself.
    "manual_seed_all": ((torch.cuda, "manual_seed_all"),),
    "backward": ((torch.autograd, "backward"),),
    "grad": ((torch.autograd, "grad"),),
}
if dist.is_available():
    WATCHED["destroy_process_group"] = tuple(
        (owner, "destroy_process_group") for owner in (dist, dist.distributed_c10d)
    )

# Told between the steps that are watched, too.
_RARE = {"load_state_dict", "optimizer_load", "save", "set_rng_state"}
_READS_GRAPH = "backward"  # its observers read the nodes of the loss


def _let_threads_end(_: TorchCall) -> None:
    """Let threads of process groups that wait for the GIL have it, before groups are destroyed.

    A group of gloo is destroyed with the DistributedDataParallel that has it, holds the GIL, and
    waits for its threads. One that still destroys the work of the last backward needs the GIL, as
    the work refers to the context of that pass, and neither ends (torch 2.13; pytorch#56297 is of
    this kind). Hooks make that likelier on a busy machine.
    """
    time.sleep(_PAUSE)


# What is done before a call, beside what observers are told.
_BEFORE = {"destroy_process_group": _let_threads_end}
_PAUSE = 0.05  # seconds


class _NodeCount:
    """How many nodes of autograd a thread has made since its last backward.

    Torch frees nodes that Python has read recursively, which needs a deep stack for many.
    """

    def __init__(self) -> None:
        self._last = {threading.get_ident(): next_sequence_nr()}

    def is_small(self) -> bool:
        """Return whether all nodes since the last call may be read."""
        thread, number = threading.get_ident(), next_sequence_nr()
        made = number - self._last.get(thread, 0)
        self._last[thread] = number
        return made <= most_nodes_read()


class TorchCalls:
    """The functions that are replaced now."""

    def __init__(self, observers: Sequence[Observer], guard: Guard) -> None:
        self._observers, self._guard = observers, guard
        self._replaced: list[tuple[Any, str, Any, Any]] = []

    def start(self) -> None:
        """Replace the functions that observers ask for."""
        for name, owners in WATCHED.items():
            asking = [one for one in self._observers if name in one.before or name in one.after]
            if not asking and name not in _BEFORE:
                continue
            always = name in _RARE or name in _BEFORE or any(one.is_always_told for one in asking)
            switch = ON if always else self._guard
            before = self._told("before", name, always=always)
            after = self._told("after", name, always=always)
            made: dict[int, Any] = {}
            for owner, attribute in owners:
                original = vars(owner)[attribute]
                if id(original) not in made:
                    made[id(original)] = watched_function(original, before, after, switch)
                new = made[id(original)]
                self._replaced.append((owner, attribute, original, new))
                setattr(owner, attribute, new)

    def _told(self, when: str, name: str, *, always: bool) -> Callable[[TorchCall], None] | None:
        """Return a function that tells all observers of a call, as far as they ask for it."""
        found = tuple(
            getattr(one, getattr(one, when)[name])
            for one in self._observers
            if name in getattr(one, when)
        )
        if when == "before" and name in _BEFORE:
            found = (_BEFORE[name], *found)
        if not found:
            return None

        count = _NodeCount() if name == _READS_GRAPH else None

        def tell(call: TorchCall) -> None:
            if count is None or count.is_small():
                for method in found:
                    method(call)

        guarded: Callable[[TorchCall], None] = self._guard(tell, always=always)
        return guarded

    def stop(self) -> None:
        """Put the functions back, unless the script has replaced them itself since."""
        for owner, attribute, original, new in reversed(self._replaced):
            if vars(owner).get(attribute) is new:
                setattr(owner, attribute, original)
        self._replaced.clear()
