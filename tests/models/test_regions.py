"""Regions without gradients and under autocast: inlined into the graph, and kept while it runs."""

from __future__ import annotations

import operator

import pytest
import torch
from torch import fx, nn
from torch.export import export

from hookcli.models.exported import regions as regions_file
from hookcli.models.exported.regions import (
    ENTER_AUTOCAST,
    EXIT_AUTOCAST,
    GRAD,
    Regions,
    inline_regions,
)  # fmt: skip


class Mixed(nn.Module):
    """Two values leave the first region, one the second."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)

    def forward(self, x):
        with torch.no_grad():
            y = self.a(x)
            z = y * torch.arange(4.0)
        with torch.autocast("cpu", torch.bfloat16):
            w = self.a(x) @ x.T
        return y, z, w.float()


class Single(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)

    def forward(self, x):
        with torch.no_grad():
            return self.a(x)


def functions(program):
    return [node.target for node in program.graph.nodes if node.op == "call_function"]


def test_no_region_is_left_and_its_values_have_their_own_names():
    program = export(Mixed(), (torch.ones(2, 4),))
    inline_regions(program)
    called = functions(program)
    assert not [f for f in called if getattr(f, "__name__", "").startswith("wrap_with")]
    assert operator.getitem not in called
    marks = [f for f in called if f in (GRAD, ENTER_AUTOCAST, EXIT_AUTOCAST)]
    assert marks == [GRAD, GRAD, ENTER_AUTOCAST, EXIT_AUTOCAST]
    assert called.index(torch.ops.aten.linear.default) == 1
    output = next(node for node in program.graph.nodes if node.op == "output")
    names = [node.name for node in output.args[0]]
    assert [spec.arg.name for spec in program.graph_signature.output_specs] == names
    program.graph.lint()


def test_a_region_that_is_the_whole_forward_renames_the_output():
    program = export(Single(), (torch.ones(2, 4),))
    inline_regions(program)
    output = next(node for node in program.graph.nodes if node.op == "output")
    (spec,) = program.graph_signature.output_specs
    assert spec.arg.name == output.args[0][0].name
    assert functions(program).count(GRAD) == 2


def inner_graph(*, constant=False, empty=False):
    """A region: x plus itself, or plus a constant of its own."""
    graph = fx.Graph()
    x = graph.placeholder("x")
    if empty:
        graph.output(x)
        return fx.GraphModule(nn.Module(), graph)
    root = nn.Module()
    root.register_buffer("_tensor", torch.ones(2))
    other = graph.get_attr("_tensor") if constant else x
    graph.output(graph.call_function(operator.add, (x, other)))
    return fx.GraphModule(root, graph)


def outer_graph(inner, *, calls=1, region_name="region", operand=None):
    def wrap_with_set_grad_enabled(*args):
        raise RuntimeError("it is inlined")

    root, graph = nn.Module(), fx.Graph()
    setattr(root, region_name, inner)
    x = graph.placeholder("x")
    region = graph.get_attr(region_name)
    value = x
    for _ in range(calls):
        args = (False, region, value if operand is None else operand)
        value = graph.call_function(wrap_with_set_grad_enabled, args)
    graph.output(value)
    return fx.GraphModule(root, graph)


def run(module, x):
    """The result, with the marks carried out."""
    open_regions, seen = Regions(), []

    class Marked(fx.Interpreter):
        def call_function(self, target, args, kwargs):
            if open_regions.mark(target, args):
                return None
            seen.append(torch.is_grad_enabled())
            return super().call_function(target, args, kwargs)

    result = Marked(module).run(x)
    open_regions.close()
    return result, seen


@pytest.mark.parametrize("calls", [1, 2])
def test_a_region_is_copied_to_each_call(calls):
    owner = outer_graph(inner_graph(), calls=calls)
    regions_file._inline_in(owner, {})
    owner.recompile()
    result, seen = run(owner, torch.ones(2))
    assert result.tolist() == [2.0**calls] * 2
    assert seen == [False] * calls
    assert torch.is_grad_enabled()
    assert not [node for node in owner.graph.nodes if node.op == "get_attr"]


def test_a_constant_of_a_region_moves_to_a_free_name():
    owner = outer_graph(inner_graph(constant=True))
    owner._tensor = torch.zeros(2)
    regions_file._inline_in(owner, {})
    assert [n.target for n in owner.graph.nodes if n.op == "get_attr"] == ["_tensor_1"]
    result, _ = run(owner, torch.ones(2))
    assert result.tolist() == [2, 2]


def test_a_region_that_computes_nothing_leaves_no_mark():
    owner, renamed = outer_graph(inner_graph(empty=True)), {}
    regions_file._inline_in(owner, renamed)
    assert [node.op for node in owner.graph.nodes] == ["placeholder", "output"]
    assert list(renamed.values()) == ["x"]


@pytest.mark.parametrize(
    "owner",
    [outer_graph(nn.Identity()), outer_graph(inner_graph(), operand=3)],
    ids=["not a graph", "a constant operand"],
)
def test_a_region_of_another_form_stays(owner):
    before = [node.name for node in owner.graph.nodes]
    regions_file._inline_in(owner, {})
    assert [node.name for node in owner.graph.nodes] == before


def test_tracepoints_are_removed_with_the_signatures_of_submodules():
    def _export_tracepoint(*values):
        return values

    class Entry:
        def __init__(self, fqn):
            self.fqn, self.signature = fqn, "kept"

    graph = fx.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    point = graph.call_function(_export_tracepoint, (x, y))
    second = graph.call_function(operator.getitem, (point, 1))
    graph.output(second)

    class Program:
        module_call_graph = [Entry(""), Entry("a")]

    program = Program()
    program.graph = graph
    regions_file._drop_tracepoints(program)
    assert [node.name for node in graph.nodes] == ["x", "y", "output"]
    assert [entry.signature for entry in program.module_call_graph] == ["kept", None]
    program.module_call_graph = [Entry("b")]
    regions_file._drop_tracepoints(program)  # none is left
    assert program.module_call_graph[0].signature == "kept"


def test_marks_open_and_close_regions():
    opened = Regions()
    assert not opened.mark(operator.add, (1, 2))
    assert opened.mark(GRAD, ("leave",))  # none is open
    assert opened.mark(GRAD, (False,))
    assert opened.mark(ENTER_AUTOCAST, ("cpu", torch.bfloat16, True, False))
    x = torch.ones(2, 2, requires_grad=True)
    assert not torch.is_grad_enabled()
    assert (x @ x).dtype == torch.bfloat16
    assert opened.mark(EXIT_AUTOCAST, ())
    assert (x @ x).dtype == torch.float32
    assert opened.mark(GRAD, (True,))
    assert (x @ x).requires_grad
    opened.close()
    assert torch.is_grad_enabled()
