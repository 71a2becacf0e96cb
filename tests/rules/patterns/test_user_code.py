"""Mistakes in the source of the classes that ran, and code that only looks like one."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import hookcli

X = torch.randn(4, 8, generator=torch.Generator().manual_seed(1))
RULES = ("discarded_result", "module_backward", "unread_input", "repeated_module")


def found(model, inputs=X):
    report = hookcli.check(model, inputs=inputs)
    return [row for row in report.checks if row.status == "fail" and row.rule in RULES]


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.net, self.log = nn.Linear(8, 8), []


class LostMask(Base):
    def forward(self, x):
        y = self.net(x)
        y.masked_fill(x > 0, 0.0)
        return y


def clean(y):
    F.relu(y)
    return y


class LostInHelpers(Base):
    def forward(self, x):
        return self.finish(clean(self.net(x)))

    def finish(self, y):
        torch.clamp(y, 0, 1)
        return y

    def never_called(self, y):
        y.detach()
        return y


class Used(Base):
    """What has an effect, belongs to something else, or is used."""

    def forward(self, x):
        y = self.net(x).clone()
        y.masked_fill_(x > 0, 0.0)
        F.relu(y, inplace=True)
        F.relu(y, True)
        torch.clamp(y, 0, 1, out=y)
        self.log.clear()
        self.log.append(y.detach())
        y.requires_grad_() if not y.requires_grad else y.detach()
        return y.squeeze()


class LostModules(nn.Module):
    """An activation and a branch whose results nothing reads, and a lost dropout."""

    def __init__(self):
        super().__init__()
        self.net, self.relu = nn.Linear(8, 8), nn.ReLU()
        self.branch, self.drop = nn.Sequential(nn.Linear(8, 8), nn.Tanh()), nn.Dropout(0.5)

    def forward(self, x):
        y = self.net(x) + self.branch(x)
        activated = self.relu(y)  # noqa: F841
        largest = self.branch(x.amax(0, keepdim=True))  # noqa: F841
        self.drop(y)
        return y


class Counts(nn.ReLU):
    """A module of the user, which may do more than return a tensor."""


@contextmanager
def captured(module):
    """As features are read; the hook is removed before the run ends."""
    handle = module.register_forward_hook(lambda *_: None)
    yield
    handle.remove()


class KeptModules(nn.Module):
    """Results that nothing reads, of modules that have an effect, or that did not run."""

    def __init__(self):
        super().__init__()
        self.net, self.relu, self.inside = nn.Linear(8, 8), nn.ReLU(), nn.ReLU(inplace=True)
        self.norm, self.counts, self.seen = nn.BatchNorm1d(8), Counts(), nn.Tanh()
        self.seen.register_forward_hook(lambda *_: None)
        self.mark = nn.Identity()
        self.probe, self.never, self.kept = nn.Linear(8, 8), nn.Linear(8, 8), nn.Tanh()
        self.probe(torch.zeros(1, 8))  # as for lazy modules

    def forward(self, x):
        y = self.net(x) * 1
        changed = self.inside(y)  # noqa: F841
        warmed = self.norm(y.detach())  # noqa: F841
        counted = self.counts(y)  # noqa: F841
        _ = self.relu(y)
        with captured(self.kept):
            self.kept(y)
        self.mark(y)
        self.probe(y)  # its parameters get no gradient
        self.seen(y)
        self.norm(y)
        activated = self.relu(y)
        if y.dim() > 2:
            other = self.never(y)  # noqa: F841
        first, second = self.relu(y), self.relu(-y)  # noqa: F841
        total = self.relu(y)
        total += 1

        def late():
            return activated

        return y + late() + first


class Reversal(nn.Module):
    def forward(self, x):
        return x

    def backward(self, grad_output):
        return -grad_output


class Manual(Base):
    """A method that starts backward, as in libraries of trainings."""

    def forward(self, x):
        return self.net(x)

    def backward(self, loss):
        loss.backward()


class Unread(Base):
    def forward(self, x, scale=1.0, _unused=None):
        return self.net(x)


class Read(Base):
    def forward(self, x, scale=None, **more):
        return self.net(x) if scale is None else self.net(x) * scale


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (LostMask(), ["`masked_fill` at tests/rules/patterns/test_user_code.py:32"]),
        (LostInHelpers(), ["`clamp` at tests/rules/patterns/test_user_code.py:46",
                           "`relu` at tests/rules/patterns/test_user_code.py:37"]),
        (Used(), []),
    ],
)  # fmt: skip
def test_a_result_that_is_lost_is_found(model, words):
    rows = found(model)
    assert sorted(row.message.split(" returns")[0] for row in rows) == sorted(words)
    assert all((row.rule, row.severity) == ("discarded_result", "warning") for row in rows)


def test_a_backward_that_autograd_never_calls_is_found():
    (row,) = found(nn.Sequential(nn.Linear(8, 8), Reversal()))
    assert (row.rule, row.target) == ("module_backward", "1")
    assert row.message.startswith("Reversal is an nn.Module, so autograd never calls")
    assert found(Manual()) == []


def test_an_input_that_forward_does_not_read_is_a_note():
    (row,) = found(Unread(), (X, torch.ones(()), torch.ones(())))
    assert (row.rule, row.severity) == ("unread_input", "note")
    assert "its argument 'scale'" in row.message
    assert found(Unread()) == []  # the batch does not have it
    assert found(Read(), (X, torch.ones(()))) == []


class Multiplied(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(8, 8)] * 3)
        self.acts = nn.ModuleList([nn.ReLU()] * 3)
        self.sizes = [8] * 3

    def forward(self, x):
        for layer, act in zip(self.layers, self.acts, strict=True):
            x = act(layer(x))
        return x


class SharedOnPurpose(Multiplied):
    def __init__(self):
        super().__init__()
        shared = nn.Linear(8, 8)
        self.layers = nn.ModuleList([shared] * 3)


class ByAVariable(Multiplied):
    def __init__(self):
        super().__init__()
        layer = nn.Linear(8, 8)
        self.layers = nn.ModuleList([layer] * 3)


class Several(Multiplied):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(3)])


def test_a_list_that_multiplies_a_new_module_is_a_note():
    (row,) = found(Multiplied())
    assert (row.rule, row.severity, row.target, row.value) == (
        "repeated_module", "note", "layers", 3
    )  # fmt: skip
    assert [one.value for one in found(ByAVariable())] == [3]
    assert found(SharedOnPurpose()) == []
    assert found(Several()) == []


class Block(nn.Module):
    def __init__(self, feed):
        super().__init__()
        self.first, self.feed = nn.Linear(8, 8), feed

    def forward(self, x):
        return self.feed(torch.relu(self.first(x)))


class SharesFeed(Multiplied):
    def __init__(self):
        super().__init__()
        feed = nn.Linear(8, 8)
        self.layers = nn.ModuleList([Block(feed) for _ in range(3)])


class OwnFeeds(Multiplied):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Block(nn.Linear(8, 8)) for _ in range(3)])


def test_a_part_that_all_entries_of_a_list_share_is_a_note():
    (row,) = found(SharesFeed())
    assert (row.rule, row.severity, row.target) == ("repeated_module", "note", "layers.0.feed")
    assert row.message == (
        "the 3 entries of 'layers' share one 'feed', but each has a separate 'first'"
    )
    assert found(OwnFeeds()) == []


def test_results_of_modules_that_nothing_uses_are_found():
    rows = [(row.severity, row.message.split(" at ")[0]) for row in found(LostModules())]
    assert rows == [
        ("note", "the result of `self.relu`"), ("note", "the result of `self.branch`"),
        ("warning", "`self.drop`"),
    ]  # fmt: skip
    assert found(KeptModules()) == []


class OverwrittenFunction(Base):
    def forward(self, x):
        after = torch.relu(self.net(x))
        before = torch.relu(self.net(-x))
        before = self.net(after)  # `before` was meant
        return after + before


class ReadBeforehand(Base):
    def forward(self, x):
        before = torch.relu(self.net(-x))
        before = self.net(before)
        return x + before


def test_the_result_of_a_function_whose_variable_gets_another_value_is_lost():
    (row,) = found(OverwrittenFunction())
    assert row.rule == "discarded_result"
    assert "the result of `torch.relu(self.net(-x))` at " in row.message
    assert found(ReadBeforehand()) == []
