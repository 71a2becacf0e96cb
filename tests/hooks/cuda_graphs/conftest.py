"""CUDA graphs of two sources: fake ones, and those of the GPU if there is one."""

from __future__ import annotations

import dataclasses
import gc
from collections import OrderedDict

import pytest
import torch

from hookcli.catalogue.kinds import CATALOGUE
from tests.hooks.cuda_graphs import fake_graphs
from tests.hooks.cuda_graphs.capturing import KINDS, Graphs
from tests.torch_version import require_torch


@pytest.fixture
def fake(monkeypatch):
    """Fake graphs in a torch that has their hooks."""
    for table in fake_graphs.ON_ALL.values():
        table.clear()
    for name, function in fake_graphs.functions().items():
        monkeypatch.setattr(torch.cuda.graphs, name, function, raising=False)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", fake_graphs.FakeGraph)
    for name in KINDS:
        monkeypatch.setitem(CATALOGUE, name, dataclasses.replace(CATALOGUE[name], since="2.0"))
    return Graphs("cpu", _capture_fake, _fake_tables)


def _capture_fake(graph, work):
    graph.capture_begin()
    work()
    graph.capture_end()


def _fake_tables(graph):
    return [*graph.own.values(), graph.end.callbacks, *fake_graphs.ON_ALL.values()]


@pytest.fixture(params=["fake", "gpu"])
def graphs(request):
    """Each test runs with fake graphs, and with those of a GPU."""
    if request.param == "fake":
        return request.getfixturevalue("fake")
    require_torch("2.14", "hooks of CUDA graphs")
    if not torch.cuda.is_available():
        pytest.skip("CUDA graphs require a GPU")
    return Graphs("cuda", _capture_real, _real_tables)


def _capture_real(graph, work):
    with torch.cuda.graph(graph):
        work()


def _real_tables(graph):
    named = {**vars(graph), **vars(torch.cuda.graphs)}
    tables = [table for table in named.values() if isinstance(table, OrderedDict)]
    return [*tables, graph._retained.callbacks]


@pytest.fixture(autouse=True)
def _no_graph_of_another_test():
    yield
    gc.collect()
