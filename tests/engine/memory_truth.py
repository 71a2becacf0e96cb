"""The memory of calls by plain PyTorch. Nothing of hookcli is used here."""

from __future__ import annotations

import weakref

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


def plain(value):
    """The strided tensors in a value."""
    for leaf in tree_leaves(value):
        if isinstance(leaf, torch.Tensor) and leaf.layout is torch.sparse_coo:
            yield from (leaf._indices(), leaf._values())
        elif isinstance(leaf, torch.Tensor) and leaf.layout is torch.strided:
            yield leaf


class Alive(TorchDispatchMode):
    """After every operator, adds up the storages that operators made and that still exist."""

    def __init__(self, after):
        super().__init__()
        self.made = []  # pairs of a weak reference and bytes
        self.known = {}
        self.after = after
        self.keep = []  # what existed before: its addresses are not used again

    def total(self):
        self.made = [(ref, size) for ref, size in self.made if not ref.expired()]
        return sum(size for _, size in self.made)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        given = {t.untyped_storage()._cdata for t in plain((args, kwargs))}
        out = func(*args, **(kwargs or {}))
        for tensor in plain(out):
            storage = tensor.untyped_storage()
            ref = self.known.get(storage._cdata)
            if ref is not None and not ref.expired():
                continue
            self.known[storage._cdata] = new = StorageWeakRef(storage)
            if storage._cdata not in given or "lift" in func._schema.name:
                self.made.append((new, storage.nbytes()))
        self.after(self.total())
        return out


class Calls:
    """The calls of all modules while the context is open, in the order in which they started."""

    def __init__(self, enter=lambda order: None):
        self.running = []
        self.ranges = []  # of torch's numbers of nodes
        self.enter = enter

    def __enter__(self):
        def start(module, args):
            order = len(self.ranges)
            self.ranges.append([torch._C._autograd._get_sequence_nr(), None])
            self.running.append(order)
            self.enter(order)

        def stop(module, args, output):
            self.ranges[self.running.pop()][1] = torch._C._autograd._get_sequence_nr()

        self.handles = [
            register_module_forward_pre_hook(start),
            register_module_forward_hook(stop),
        ]
        return self

    def __exit__(self, *_):
        for handle in self.handles:
            handle.remove()


def saved_by_hand(model, args, kwargs):
    """Bytes that each call packs first and that are kept; and of all."""
    own = {t.untyped_storage()._cdata for t in plain((args, kwargs))}
    own |= {t.untyped_storage()._cdata for t in (*model.parameters(), *model.buffers())}
    packed = []

    class Box:
        def __init__(self, tensor):
            self.tensor = tensor

    def pack(tensor):
        box = Box(tensor)
        packed.append((weakref.ref(box), calls.running[-1] if calls.running else None))
        return box

    with Calls() as calls, torch.autograd.graph.saved_tensors_hooks(pack, lambda box: box.tensor):
        output = model(*args, **kwargs)
    by_call, seen = {}, set(own)
    for ref, order in packed:
        if ref() is None:
            continue
        for tensor in plain(ref().tensor):
            storage = tensor.untyped_storage()
            if storage._cdata not in seen:
                seen.add(storage._cdata)
                by_call[order] = by_call.get(order, 0) + storage.nbytes()
    del output
    return by_call


def peaks_by_hand(model, args, kwargs, loss):
    """(peaks in forward, peaks in backward) by call; the highest of forward, of backward."""
    forward, backward, highest = {}, {}, {"forward": 0, "backward": 0}
    phase = "forward"

    def enter(order):
        forward[order] = alive.total()

    def after(total):
        highest[phase] = max(highest[phase], total)
        for order in calls.running:
            forward[order] = max(forward[order], total)
        node = torch._C._current_autograd_node()
        if phase == "backward" and node is not None:
            for order, (start, stop) in enumerate(calls.ranges):
                if start <= node._sequence_nr() < (stop or 1 << 62):
                    backward[order] = max(backward.get(order, 0), total)

    with Calls(enter) as calls:
        alive = Alive(after)
        with alive:
            start = loss(model(*args, **kwargs))
            phase = "backward"
            if start.requires_grad:
                start.backward()
    return forward, backward, highest
