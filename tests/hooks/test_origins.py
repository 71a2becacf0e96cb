"""The number of the call for which a backward hook fires: held against hooks by hand, per call.

Calls are told apart by their gradients. By hand each call's inputs and output are replaced by views
of themselves, with a tensor hook on each: what it is given is what the call's own full backward
hook is given. Legacy hooks are put by hand on the output's node, as torch does it, one per call.
"""

from __future__ import annotations

import warnings
from collections import Counter
from contextlib import ExitStack
from functools import partial

import pytest
import torch
from hypothesis import example, given, settings, strategies as st
from torch import nn
from torch.nn.modules import module as M
from torch.utils.checkpoint import checkpoint

from tests.hooks.running import finished, hook

DEPTH = 3
STEPS = ["linear", "sin", "identity", "identity twice", "dropout", "nested identity", "itself",
         "through a child", "checkpoint", "reentrant checkpoint"]  # fmt: skip


class Again(nn.Module):
    """A child that calls its owner, which it does not hold as a module."""

    def __init__(self, owner):
        super().__init__()
        self.owner = [owner]

    def forward(self, x, depth):
        return self.owner[0](x, depth).cos()


class Recursive(nn.Module):
    """A module that does these steps, of which some call the module itself."""

    def __init__(self, plan):
        super().__init__()
        torch.manual_seed(0)
        self.plan = plan
        self.fc = nn.Linear(4, 4)
        self.same = nn.Identity()
        self.dropout = nn.Dropout(0.0)
        self.nested = nn.Sequential(nn.Identity(), nn.Identity())
        self.child = Again(self)
        self.mark, self.rewind = lambda: None, lambda _: None  # for who counts calls by hand

    def forward(self, x, depth=DEPTH):
        for step in self.plan:
            x = self.step(step, x, depth)
        return x.tanh() if depth < DEPTH else x

    def step(self, step, x, depth):
        if step == "linear":
            return self.fc(x)
        if step == "sin":
            return x.sin()
        if step == "identity":
            return self.same(x)
        if step == "identity twice":
            return self.same(x) * 2 + self.same(x)
        if step == "dropout":
            return self.dropout(x)
        if step == "nested identity":
            return self.nested(x)
        if not depth:
            return x
        if step == "itself":
            return self(x * 0.5, depth - 1)
        if step == "through a child":
            return self.child(x, depth - 1)
        mark = self.mark()

        def run(x):
            self.rewind(mark)
            return self(x, depth - 1)

        return checkpoint(run, x, use_reentrant=step.startswith("reentrant"))


class Hand:
    """Hooks by hand that know the call that they stand on."""

    def __init__(self, model, *, legacy):
        self.names = {id(module): name for name, module in model.named_modules()}
        self.legacy = legacy
        self.counts, self.running, self.log = Counter(), [], []
        self.again = False  # a checkpoint runs its calls a second time
        model.mark, model.rewind = self.mark, self.rewind

    def mark(self):
        return Counter(self.counts), len(self.running)

    def rewind(self, mark):
        """Count as in the first run; an early stop leaves calls that never ended."""
        counts, depth = mark
        if torch._C._current_graph_task_id() != -1:
            self.counts = Counter(counts)
            del self.running[depth:]

    def note(self, what, name, call, *gradients):
        tensor = next((g for g in gradients if isinstance(g, torch.Tensor)), None)
        norm = None if tensor is None else round(float(tensor.norm()), 5)
        self.log.append((what, name, call, norm))

    def view(self, tensor, what, name, call):
        if not (torch.is_grad_enabled() and tensor.requires_grad):
            return tensor
        tensor = tensor.view_as(tensor)
        tensor.register_hook(partial(self.note, what, name, call))
        return tensor

    def pre(self, module, args):
        name = self.names[id(module)]
        call = self.counts[name]
        self.counts[name] += 1
        self.running.append((name, call))
        if self.legacy:
            return None
        return (self.view(args[0], "full_backward", name, call), *args[1:])

    def post(self, module, args, output):
        name, call = self.running.pop()
        if not self.legacy:
            return self.view(output, "full_backward_pre", name, call)
        if output.grad_fn is not None:
            output.grad_fn.register_hook(
                lambda i, o: self.note("backward", name, call, *o) and None
            )
        return None

    def run(self, model, x):
        with ExitStack() as stack, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            stack.enter_context(M.register_module_forward_pre_hook(self.pre))
            stack.enter_context(M.register_module_forward_hook(self.post))
            model.train()(x).sum().backward()
        return self.log


def inputs():
    return torch.linspace(-1, 1, 8).view(2, 4).requires_grad_()


def by_us(plan, kinds, at="*", x=None):
    hooks = [hook(kind, at, ("stats", "norm"), index=i) for i, kind in enumerate(kinds)]
    found = finished(Recursive(plan), inputs() if x is None else x, hooks)
    return [(e.kind.removeprefix("global_"), e.target, e.call, norm_of(e)) for e in found.events]


def norm_of(event):
    norms = [stats["norm"] for stats in event.stats or () if stats is not None]
    return round(norms[0], 5) if norms else None


def close(ours, theirs):
    assert [row[:3] for row in ours] == [row[:3] for row in theirs]
    for one, other in zip(ours, theirs, strict=True):
        assert one[3] == pytest.approx(other[3], rel=1e-3, abs=2e-5)


plans = st.lists(st.sampled_from(STEPS), min_size=1, max_size=4).filter(
    lambda plan: sum(step in STEPS[6:] for step in plan) <= 2
)
slow = settings(max_examples=10, deadline=None, derandomize=True)


@slow
@given(plans)
@example(["linear", "itself", "sin"])
@example(["linear", "through a child", "linear", "itself"])
@example(["linear", "checkpoint", "identity"])
@example(["reentrant checkpoint", "linear", "identity twice"])
def test_full_backward_hooks_know_their_call(plan):
    theirs = Hand(model := Recursive(plan), legacy=False).run(model, inputs())
    close(sorted(by_us(plan, ["full_backward_pre", "full_backward"])), sorted(theirs))
    ours = by_us(plan, ["global_full_backward_pre", "global_full_backward"], None)
    close(sorted(ours), sorted(theirs))


@slow
@given(plans)
def test_where_no_input_requires_grad_they_know_it_too(steps):
    """A full backward hook fires at the output then: it has that call's number all the same."""
    plan = ["linear", *steps]
    x = inputs().detach()
    model = Recursive(plan)
    theirs = Hand(model, legacy=False).run(model, x)
    outputs = sorted({row[1:3] for row in theirs if row[0] == "full_backward_pre"})
    ours = by_us(plan, ["full_backward"], x=x)
    assert sorted(row[1:3] for row in ours) == outputs


@slow
@given(plans)
@example(["linear", "identity", "sin", "identity"])
@example(["linear", "identity twice", "nested identity"])
@example(["linear", "itself", "dropout"])
@example(["identity", "linear", "checkpoint"])
@example(["linear", "reentrant checkpoint", "identity"])
def test_legacy_hooks_know_their_call_also_on_a_node_of_several(plan):
    theirs = Hand(model := Recursive(plan), legacy=True).run(model, inputs())
    for kind, at in (("backward", "*"), ("global_backward", None)):
        ours = by_us(plan, [kind], at)
        assert [row[:3] for row in ours] == [row[:3] for row in theirs]


@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_second_backward_pass_counts_anew(times):
    plan = ["linear", "identity twice", "identity"]
    hooks = [hook("backward", "same"), hook("full_backward", "fc", index=1)]
    found = finished(Recursive(plan), inputs(), hooks, times=times)
    calls = [event.call for event in found.events if event.kind == "backward"]
    once = calls[: len(calls) // times]
    assert calls == once * times
    assert sorted(once) == [0, 1, 2]
    assert [event.call for event in found.events if event.kind == "full_backward"] == [0] * times


class Gives(nn.Module):
    """Gives one of its inputs back, in a container."""

    def __init__(self, how):
        super().__init__()
        self.how = how

    def forward(self, x, other):
        return {"tuple": (x, other * 2), "dict": {"a": x}, "list": [x], "view": x.view_as(x)}[
            self.how
        ]


class Container(nn.Module):
    def __init__(self, how):
        super().__init__()
        self.fc, self.gives = nn.Linear(4, 4), Gives(how)

    def forward(self, x):
        h = self.fc(x)
        total = h * 0
        for _ in range(3):
            found = self.gives(h, x)
            total = total + (found if isinstance(found, torch.Tensor) else self.first(found))
        return total

    @staticmethod
    def first(found):
        return found["a"] if isinstance(found, dict) else found[0]


@pytest.mark.parametrize("how", ["tuple", "dict", "list", "view"])
def test_calls_that_give_one_tensor_are_told_apart(how):
    log = []
    model = Container(how)

    def post(module, args, output):
        tensor = output if isinstance(output, torch.Tensor) else Container.first(output)
        call = post.calls
        post.calls += 1
        tensor.grad_fn.register_hook(lambda i, o: log.append(call))

    post.calls = 0
    with model.gives.register_forward_hook(post):
        model(inputs()).sum().backward()
    found = finished(model, inputs(), [hook("backward", "gives")])
    assert [event.call for event in found.events] == log
    assert sorted(log) == [0, 1, 2]
