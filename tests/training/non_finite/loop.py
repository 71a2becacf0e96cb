"""A training loop that asks for its first non-finite value, as `hookcli run` does."""

from __future__ import annotations

import functools
import math
import random

import torch

from hookcli.training.non_finite.find import find
from hookcli.training.non_finite.forward_call import Autocast, ForwardCall
from hookcli.training.non_finite.generators import GeneratorKeeper
from hookcli.training.non_finite.script_loss import graph_of_loss


def statuses(model):
    """The statuses of gradients by plain PyTorch."""
    return {
        name: "none"
        if p.grad is None
        else "ok"
        if bool(torch.isfinite(p.grad).all())
        else "non_finite"
        for name, p in model.named_parameters()
    }


def train(model, batches, loss_of, *, lr=0.1, ask=True, keep=False, freed=False, autocast=None):
    """Train, and return what `find` returned at the first bad step, with its number."""
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    keeper = GeneratorKeeper(model)
    answer = None
    for step, x in enumerate(batches):
        optimizer.zero_grad()
        with torch.autocast("cpu", autocast, enabled=autocast is not None):
            call = ForwardCall((x,), {}, keeper.keep(), Autocast.now()) if ask else None
            output = model(x)
            if ask:
                call.end([output] if isinstance(output, torch.Tensor) else output)
            if keep:
                output.register_hook(functools.partial(call.keep_gradient, 0))
        loss = loss_of(output)
        found = None
        if ask:
            call.backward_place = "train.py:7"
        if ask and not math.isfinite(loss.item()):
            if not freed:
                found = graph_of_loss(loss.grad_fn, [call])
        node = loss.grad_fn
        loss.backward()
        if ask and freed and not math.isfinite(loss.item()):
            found = graph_of_loss(node, [call])
        bad = "non_finite" in statuses(model).values()
        if ask and answer is None and (bad or not math.isfinite(loss.item())):
            answer = (
                step,
                find(
                    model,
                    [call],
                    what="gradient" if math.isfinite(loss.item()) else "loss",
                    loss=loss.item(),
                    gradients=statuses(model),
                    of_loss=found,
                ),
            )
        optimizer.step()
    return answer


def state(model):
    """All that training may change: weights, buffers and generators."""
    return (
        [t.clone() for t in model.state_dict().values()],
        torch.get_rng_state(),
        random.getstate(),
    )


def same(a, b):
    """Whether two such states are equal bit by bit."""
    pairs = zip([*a[0], a[1]], [*b[0], b[1]], strict=True)
    return a[2] == b[2] and all(x.numpy().tobytes() == y.numpy().tobytes() for x, y in pairs)
