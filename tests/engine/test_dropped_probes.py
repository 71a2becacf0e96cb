"""A probe with an error of hookcli's own is left out, and the verdict claims nothing of it."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from torch import nn

import hookcli
from hookcli.catalogue.probes import PROBES, Way
from hookcli.engine.probes import probes as probes_module
from hookcli.engine.probes.dropped import _METHODS
from hookcli.engine.probes.probes import function_of
from hookcli.engine.watcher import Watcher
from hookcli.rules.catalogue import CATALOGUE, watched

OBSERVING = list(
    dict.fromkeys(
        PROBES[request.name].function
        for request in watched()
        if PROBES[request.name].way is Way.OBSERVES
    )
)


class Net(nn.Module):
    """Layers that most probes look at."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU())
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        return self.head(self.inner(x)).softmax(-1)


def run():
    torch.manual_seed(0)
    return hookcli.grads(Net(), torch.randn(8, 6))


def breaking(monkeypatch, function, method, error):
    """Let a method of the watchers of a probe raise an error."""
    original = function_of

    def broken(probe):
        made = original(probe)
        if probe.function != function:
            return made

        def watchers(requests, spec):
            for watcher in made(requests, spec):
                kind = type(watcher)
                if getattr(kind, method) is not vars(Watcher)[method]:

                    def fail(self, *_):
                        raise error

                    watcher.__class__ = type(kind.__name__, (kind,), {method: fail})
                yield watcher

        return watchers

    monkeypatch.setattr(probes_module, "function_of", broken)


def figures(report):
    return [dataclasses.replace(row, stats=None) for row in report.parameters], report.layers


@pytest.mark.parametrize("function", OBSERVING)
@pytest.mark.parametrize("method", _METHODS)
def test_an_error_in_a_probe_ends_the_probe(monkeypatch, function, method):
    plain = run()
    breaking(monkeypatch, function, method, AttributeError("no such tensor"))
    report = run()
    assert report.status == "complete"
    assert figures(report) == figures(plain)
    notes = [note for note in report.warnings if "hookcli left out its probe" in note]
    names = {row.name for row in PROBES.values() if row.function == function}
    dropped = {row.target for row in report.measurements if row.probe == "dropped"}
    if not notes:  # the probe does not define the method
        assert not dropped
        assert report.examined == plain.examined
        return
    assert len(notes) == len({n.split("'")[1] for n in notes})
    assert "AttributeError: no such tensor" in notes[0]
    assert dropped == names
    lost = set(plain.examined) - set(report.examined)
    reasons = {one.rule: one for one in report.unexamined}
    for rule in lost:
        assert reasons[rule].unseen
        assert "failed: AttributeError: no such tensor" in reasons[rule].reason


@pytest.mark.parametrize("function", OBSERVING)
def test_the_rules_of_a_dropped_probe_find_nothing_wrong_nor_right(monkeypatch, function):
    names = {row.name for row in PROBES.values() if row.function == function}
    rules = {
        rule.name
        for rule in CATALOGUE.values()
        if rule.diagnoses and names & {one.name for one in rule.watches(rule.filled({}))}
    }
    assert rules
    breaking(monkeypatch, function, "end", KeyError("mask"))
    breaking(monkeypatch, function, "graph", KeyError("mask"))
    breaking(monkeypatch, function, "leave", KeyError("mask"))
    breaking(monkeypatch, function, "conclude", KeyError("mask"))
    assert not rules & set(run().examined)


@pytest.mark.parametrize(
    "error",
    [MemoryError(), RuntimeError("not enough memory: you tried to allocate 1 bytes")],
    ids=repr,
)
def test_a_lack_of_memory_is_not_taken_for_an_error_of_a_probe(monkeypatch, error):
    breaking(monkeypatch, OBSERVING[0], "enter", error)
    report = run()
    assert report.status == "partial"
