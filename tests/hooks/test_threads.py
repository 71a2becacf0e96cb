"""Calls of one module on several threads: each backward event has the number of its own call.

Calls are told apart by their tensors: by hand a hook on the input, the output or the node of the
output of each call keeps the gradient, which the hook of hookcli for that call must get.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import permutations

import pytest
import torch
from torch import nn

from tests.hooks.running import finished, hook

KINDS = ["full_backward_pre", "full_backward", "backward", "tensor"]
LAYERS = ["a", "seq", "seq.0"]


class Workers(nn.Module):
    """Calls layers once in the main thread and then for each row in a thread of its own.

    Threads count nodes for themselves: those of row i are preceded by i others, and those of the
    main thread have the same numbers.
    """

    def __init__(self, order, before):
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
        self.seq = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
        self.order, self.before = order, before

    def forward(self, x):
        if self.before:
            x = self.seq(self.a(x))
        parts = dict.fromkeys(range(3))
        for i in self.order:
            with ThreadPoolExecutor(1) as pool:
                parts[i] = pool.submit(self.work, i, x[i : i + 1]).result()
        x = torch.cat(list(parts.values())) * torch.tensor([[1.0], [7.0], [31.0]])
        return self.b(self.seq(self.a(x)))

    def work(self, count, x):
        for _ in range(count):
            x = x + 0
        return self.seq(self.a(x))


def by_hand(model, x, name, kind):
    """The norm of the gradient that each call's hook gets first, by the number of the call."""
    norms, numbers = {}, iter(range(100))
    module = model.get_submodule(name)

    def keep(number, gradient):
        norms[number] = gradient.norm().item()

    def before(module, args):
        number, own = next(numbers), args[0].view_as(args[0])
        module.number = number
        if kind == "full_backward":
            own.register_hook(partial(keep, number))
        return own

    def after(module, args, output):
        number = module.number
        if kind == "backward":
            output.grad_fn.register_hook(lambda inputs, outputs: keep(number, inputs[0]))
        elif kind != "full_backward":
            output.register_hook(partial(keep, number))

    with module.register_forward_pre_hook(before), module.register_forward_hook(after):
        model(x).sum().backward()
    return norms


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_backward_events_of_calls_on_threads_have_their_numbers(order, before):
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(1)).requires_grad_()
    for kind in KINDS:
        at = [name + ":output" * (kind == "tensor") for name in LAYERS]
        hooks = [hook(kind, one, ("stats", "norm"), index=i) for i, one in enumerate(at)]
        events = finished(Workers(order, before), x, hooks).events
        for name, target in zip(LAYERS, at, strict=True):
            told = [(e.call, e.stats[0]["norm"]) for e in events if e.target == target]
            expected = by_hand(Workers(order, before), x, name, kind)
            assert sorted(told) == [(n, pytest.approx(expected[n])) for n in sorted(expected)]
