"""Hooks on CUDA graphs: they fire as by hand, tell of errors, and leave nothing behind.

Each test runs with fake graphs, and with those of a GPU if there is one and torch is 2.14 or newer.
"""

from __future__ import annotations

import gc
import weakref
from collections import Counter
from pathlib import Path

import pytest
import torch
from torch import nn

from hookcli.catalogue.kinds import CATALOGUE
from hookcli.spec.hooks import FunctionRef
from tests.api.test_attach import attach
from tests.hooks.cuda_graphs.capturing import KINDS, ON_ALL, OWN, Captures, by_hand
from tests.hooks.running import carry_out, finished, hook

FUNCTIONS = Path(__file__).with_name("graph_functions.py")
MOMENTS = ["capture_start", "capture_end", "instantiate", "replay_start", "replay_end", "destroy"]
LAUNCHED_TWICE = [*MOMENTS[:5], *MOMENTS[3:]]
IN_ORDER = [
    kind
    for moment in LAUNCHED_TWICE
    for kind in (f"global_cuda_graph_{moment}", f"cuda_graph_{moment}")
]
# Torch raises the errors of these, and discards those of the others.
RAISED = [kind for kind in OWN if kind != "cuda_graph_destroy"]
DISCARDED = [*ON_ALL, "cuda_graph_destroy"]
EXACT = {"loss": "sum", "command": "grads"}


def function(name):
    return ("call", FunctionRef(f"{FUNCTIONS}:{name}", "native"))


def all_kinds(*actions, names=tuple(KINDS)):
    return [hook(kind, None, *actions, index=i) for i, kind in enumerate(names)]


def kinds_of(recording):
    return [event.kind for event in recording.events]


def first(graphs):
    return f"{torch.cuda.CUDAGraph.__name__}[0]"


def test_these_are_all_kinds_of_torch_s_functions():
    assert {*OWN, *ON_ALL} == {*KINDS}
    for kind, method in {**OWN, **ON_ALL}.items():
        assert CATALOGUE[kind].method == method
        assert CATALOGUE[kind].process_wide == (kind in ON_ALL)


# The order


@pytest.mark.parametrize("kind", KINDS)
def test_one_kind_fires_as_by_hand_in_its_phases(kind, graphs):
    found = finished(Captures(graphs), graphs.x(), [hook(kind)])
    assert kinds_of(found) == by_hand(graphs, [kind]) != []
    assert {event.phase for event in found.events} <= {*CATALOGUE[kind].phases}
    assert all(event.values == () for event in found.events)
    assert found.findings == []


@pytest.mark.parametrize("mirrored", [False, True], ids=["as listed", "backwards"])
def test_all_kinds_fire_in_the_order_of_those_by_hand(mirrored, graphs):
    names = KINDS[::-1] if mirrored else KINDS
    found = finished(Captures(graphs), graphs.x(), all_kinds(names=names))
    assert kinds_of(found) == by_hand(graphs, names) == IN_ORDER
    assert [event.seq for event in found.events] == list(range(len(IN_ORDER)))


def test_a_graph_that_is_kept_is_instantiated_at_its_first_launch(graphs):
    names = [f"cuda_graph_{moment}" for moment in MOMENTS]
    found = finished(Captures(graphs, keep_graph=True), graphs.x(), all_kinds(names=names))
    expected = [f"cuda_graph_{moment}" for moment in LAUNCHED_TWICE]
    assert kinds_of(found) == by_hand(graphs, names, keep_graph=True) == expected


def test_an_event_has_the_graph_s_name_and_belongs_to_the_call_that_runs(graphs):
    found = finished(Captures(graphs), graphs.x(), all_kinds(), steps=2)
    (scaled,) = {call.order for call in found.calls if call.name == "scaled"}
    name = torch.cuda.CUDAGraph.__name__
    for event in found.events:
        unnamed = event.kind == "global_cuda_graph_destroy"
        assert event.target == (name if unnamed else f"{name}[{event.step}]")
        if event.step == 0:  # the rows of calls are those of the first step
            assert event.order == (None if event.kind.endswith("destroy") else scaled)


def test_hooks_by_hand_of_the_model_s_author_still_fire(graphs):
    fired = []

    def on_graph(graph):
        graph.register_replay_start_hook(lambda _: fired.append("author"))

    finished(Captures(graphs, on_graph=on_graph), graphs.x(), all_kinds())
    assert fired == ["author", "author"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_hook_that_looks_changes_no_bit_of_the_run(kind, graphs):
    bare = finished(Captures(graphs), graphs.x(), [hook("forward_pre", "fc")], **EXACT).model
    found = finished(Captures(graphs), graphs.x(), [hook(kind)], **EXACT).model
    for one, other in zip(bare.parameters(), found.parameters(), strict=True):
        assert torch.equal(one, other)
        assert torch.equal(one.grad, other.grad)


@pytest.mark.parametrize("kind", ["cuda_graph_replay_start", "global_cuda_graph_replay_start"])
def test_firings_are_selected_by_every_and_steps(kind, graphs):
    found = finished(Captures(graphs), graphs.x(), [hook(kind, every=2)], steps=2)
    assert [event.step for event in found.events] == [0, 1]
    found = finished(Captures(graphs), graphs.x(), [hook(kind, steps=(1,))], steps=2)
    assert [event.step for event in found.events] == [1, 1]


# What becomes of graphs


class Earlier(nn.Module):
    """A model whose graph was captured before anything was attached."""

    def __init__(self, graphs):
        super().__init__()
        self.fc = nn.Linear(4, 3)
        self.to(graphs.device)
        self.still = graphs.x()
        self.graph = graphs.make()
        graphs.capture(self.graph, lambda: self.still * 2)

    def forward(self, x):
        self.graph.replay()
        return self.fc(x)


def test_a_graph_that_was_captured_earlier_has_its_launches(graphs):
    model = Earlier(graphs)
    found = finished(model, graphs.x(), all_kinds())
    assert kinds_of(found) == [
        "global_cuda_graph_replay_start", "cuda_graph_replay_start",
        "global_cuda_graph_replay_end", "cuda_graph_replay_end",
    ]  # fmt: skip


class Again(nn.Module):
    """A model that resets its graph and captures another with the same object."""

    def __init__(self, graphs):
        super().__init__()
        self.fc, self.graphs = nn.Linear(4, 3), graphs
        self.to(graphs.device)

    def forward(self, x):
        graph, still = self.graphs.make(), x.detach().clone()
        for _ in range(2):
            self.graphs.capture(graph, lambda: still * 2)
            graph.reset()
        return self.fc(x)


@pytest.mark.parametrize("kind", ["cuda_graph_destroy", "global_cuda_graph_destroy"])
def test_each_capture_of_one_object_has_an_end(kind, graphs):
    found = finished(Again(graphs), graphs.x(), [hook(kind), hook("forward", "fc", index=1)])
    before, _, after = " ".join(kinds_of(found)).partition("forward")
    assert before.split() == [kind, kind]
    # The object itself ends later: torch has armed the hook on all graphs for it once more.
    assert after.split() == ([kind] if kind in ON_ALL else [])
    assert {event.target for event in found.events if event.kind == kind} == {
        torch.cuda.CUDAGraph.__name__ if kind in ON_ALL else first(graphs)
    }


def test_two_graphs_have_names_of_their_own(graphs):
    model = Captures(graphs, keeps=True)
    found = finished(model, graphs.x(), [hook("cuda_graph_capture_end")], steps=3)
    name = torch.cuda.CUDAGraph.__name__
    assert [event.target for event in found.events] == [f"{name}[{i}]" for i in range(3)]


def test_no_hook_keeps_a_graph_alive(graphs):
    alive = []
    model = Captures(graphs, on_graph=lambda graph: alive.append(weakref.ref(graph)))
    gc.collect()
    gc.disable()
    try:
        found = finished(model, graphs.x(), all_kinds())
        assert kinds_of(found)[-2:] == ["global_cuda_graph_destroy", "cuda_graph_destroy"]
        assert alive[0]() is None
    finally:
        gc.enable()


def test_hooks_are_gone_after_the_run(graphs):
    before = [*map(len, graphs.tables(graphs.make()))]
    model = Captures(graphs, keeps=True)
    found = finished(model, graphs.x(), all_kinds())
    (graph,) = model.scaled.kept
    # What torch has armed for a hook on the end of all graphs stays, and calls nothing.
    armed = sum(map(len, graphs.tables(graph))) - sum(before)
    assert armed == 1
    events = len(found.events)
    graph.replay()
    graph.reset()
    model(graphs.x())
    model.scaled.kept.clear()
    gc.collect()
    assert len(found.events) == events
    assert [*map(len, graphs.tables(graphs.make()))] == before


@pytest.mark.parametrize("where", ["own", "interrupt"])
def test_hooks_are_gone_after_a_run_that_ended_early(where, graphs):
    model = Captures(graphs, keeps=True)
    names = tuple(kind for kind in KINDS if kind != "global_cuda_graph_destroy")
    hooks = [*all_kinds(names=names), hook("forward_pre", "fc", function(_ENDS[where]), index=11)]
    if where == "interrupt":
        with pytest.raises(KeyboardInterrupt):
            carry_out(model, graphs.x(), hooks)
    else:
        assert str(carry_out(model, graphs.x(), hooks).error) == "not today"
    (graph,) = model.scaled.kept
    assert [*map(len, graphs.tables(graph))] == [*map(len, graphs.tables(graphs.make()))]


_ENDS = {"own": "fail", "interrupt": "interrupt"}


# Functions


def test_a_function_gets_what_torch_passes(graphs, capsys):
    shows = {"cuda_graph_destroy": "show_end", "global_cuda_graph_destroy": "show_ids"}
    hooks = [
        hook(kind, None, function(shows.get(kind, "show_graph")), index=i)
        for i, kind in enumerate(KINDS)
    ]
    found = finished(Captures(graphs), graphs.x(), hooks)
    assert found.findings == []
    counted = Counter(capsys.readouterr().out.splitlines())
    graph = f"graph {torch.cuda.CUDAGraph.__name__} True"
    assert counted == {graph: 14, "end": 1, "ids set": 1}


@pytest.mark.parametrize("kind", KINDS)
def test_a_returned_value_is_found_and_dropped(kind, graphs):
    found = finished(Captures(graphs), graphs.x(), [hook(kind, None, function("five"))])
    assert {finding.rule for finding in found.findings} == {"hook_misuse"}
    assert all("the hook must return None" in one.message for one in found.findings)


@pytest.mark.parametrize("kind", RAISED)
def test_an_error_on_one_graph_ends_the_run_with_the_hook_s_place(kind, graphs):
    if graphs.device == "cuda" and "replay" not in kind:
        pytest.skip("torch does not end the capture then, and later tests could not use the GPU")
    model = Captures(graphs, keeps=True)
    found = carry_out(model, graphs.x(), [hook(kind, None, function("fail"))])
    assert type(found.error) is ValueError
    assert found.failure.hook.kind == kind
    assert found.failure.hook.place == "hooks.yaml:1: hooks[0]"
    assert first(graphs) in found.failure.message
    assert FUNCTIONS.name in found.failure.place


@pytest.mark.parametrize("kind", DISCARDED)
def test_an_error_that_torch_discards_becomes_a_finding(kind, graphs):
    hooks = [hook(kind, None, function("fail")), hook("cuda_graph_replay_end", index=1)]
    found = finished(Captures(graphs), graphs.x(), hooks)
    (finding,) = found.findings
    name = torch.cuda.CUDAGraph.__name__ if kind == "global_cuda_graph_destroy" else first(graphs)
    assert (finding.rule, finding.target, finding.severity) == ("hook_misuse", name, "error")
    assert finding.message == (
        f"kind {kind} raised ValueError at '{name}', which PyTorch discards: not today"
    )
    assert finding.place == "hooks.yaml:1: hooks[0]"
    assert kinds_of(found) == ["cuda_graph_replay_end"] * 2


def test_an_error_that_torch_discards_is_not_blamed_for_a_later_one(graphs):
    hooks = [
        hook("global_cuda_graph_capture_end", None, function("fail")),
        hook("forward", "fc", function("fail"), index=1),
    ]
    found = carry_out(Captures(graphs), graphs.x(), hooks)
    assert (found.failure.hook.kind, found.failure.hook.target) == ("forward", "fc")
    assert [finding.target for finding in found.findings] == [first(graphs)]


def test_garbage_collected_in_a_hook_does_not_disturb_it(graphs):
    """Graphs in cycles end whenever Python collects them, also while a hook on a graph runs."""

    def cyclic(graph):
        graph.itself = graph

    hooks = [
        hook("cuda_graph_destroy"),
        hook("cuda_graph_capture_start", None, function("collect"), index=1),
    ]
    found = finished(Captures(graphs, on_graph=cyclic), graphs.x(), hooks, steps=2)
    assert found.findings == []
    name = torch.cuda.CUDAGraph.__name__
    rows = [(event.kind, event.target, event.step) for event in found.events]
    assert rows[0] == ("cuda_graph_capture_start", f"{name}[0]", 0)
    assert ("cuda_graph_destroy", f"{name}[0]", 1) in rows


# Without a graph


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_without_graphs_is_told_that_the_hook_never_fired(kind, graphs):
    found = finished(nn.Linear(4, 3).to(graphs.device), graphs.x(), [hook(kind)])
    (finding,) = found.findings
    assert found.events == []
    assert (finding.rule, finding.severity) == ("hooks_fired", "warning")
    assert finding.message == (
        f"kind {kind} never fired: no CUDA graph came to this event while the hook was attached "
        "(CUDA graphs require a GPU)"
    )


# In a loop of the user's own


def test_in_a_loop_of_the_user_s_own_the_graphs_of_each_step_are_seen(graphs):
    model = Captures(graphs)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with attach(model, *((kind,) for kind in KINDS), optimizers=[optimizer]) as recording:
        for _ in range(2):
            model(graphs.x()).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    once = by_hand(graphs)
    assert kinds_of(recording.report()) == once * 2


def test_in_a_loop_a_graph_that_the_loop_itself_launches_is_seen(graphs):
    model = nn.Linear(4, 3).to(graphs.device)
    still, graph = graphs.x(), graphs.make()
    graphs.capture(graph, lambda: still * 2)
    kinds = [("cuda_graph_replay_start",), ("cuda_graph_replay_end",)]
    with attach(model, *kinds) as recording:
        model(still)
        graph.replay()
    graph.replay()
    assert kinds_of(recording.report()) == [kind for (kind,) in kinds]
