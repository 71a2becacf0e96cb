"""Edges between calls, each model with those that are worked out by hand."""

from __future__ import annotations

import gc
import random
import threading
import weakref

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
import torch.utils.checkpoint
from hypothesis import HealthCheck, given, settings, strategies as st
from torch import nn

import hookcli
from hookcli.report.report import Report

X = torch.arange(12, dtype=torch.float32).reshape(3, 4) / 10
BATCH = None


def edges(report: Report) -> set[tuple]:
    """The edges by names of calls: (source, output, target, input, through), "→" for an output.

    A call after the first of a module has its number: "cell 1". The root's input is left out.
    """
    names = {
        row.order: f"{row.name} {row.call}".removesuffix(" 0").strip() or "root"
        for row in report.layers
    }
    assert len(set(names.values())) == len(names)
    return {
        (
            names.get(edge.source, BATCH),
            edge.output,
            names[edge.target] + ("→" if edge.end == "output" else ""),
            edge.input,
            *edge.through,
        )
        for edge in report.edges
        if (edge.source, edge.target) != (None, 0)
    }


def attached(model: nn.Module, *args: torch.Tensor) -> Report:
    with hookcli.attach(model) as hooks:
        model(*args)
    return hooks.report()


RUNS = {"graph": hookcli.grads, "operators": hookcli.inspect, "attached": attached}


@pytest.fixture(params=RUNS)
def edges_of(request):
    """Return the edges of a model's run: found in the graph, by its operators, and in a loop."""

    def run(model: nn.Module, *args: torch.Tensor) -> set[tuple]:
        report = RUNS[request.param](model, *args)
        assert report.error is None
        return edges(report)

    return run


def chain(*names: str) -> set[tuple]:
    """Edges of calls that run one after another, from the batch to the output of the root."""
    hops = zip((BATCH, *names), names, strict=False)
    inner = {(a, "[0]" if a is BATCH else "", b, "[0]") for a, b in hops}
    return inner | {(names[-1], "", "root→", "")}


def linear() -> nn.Linear:
    return nn.Linear(4, 4)


class Function(nn.Module):
    """A model whose forward is a function of itself and its inputs."""

    def __init__(self, function, **children):
        super().__init__()
        self.function = function
        for name, child in children.items():
            setattr(self, name, child)

    def forward(self, *args, **kwargs):
        return self.function(self, *args, **kwargs)


def test_a_sequence(edges_of):
    model = nn.Sequential(linear(), nn.Tanh(), linear())
    assert edges_of(model, X) == chain("0", "1", "2")


def test_modules_that_return_their_input_or_write_to_it(edges_of):
    model = nn.Sequential(linear(), nn.Identity(), nn.Dropout(0.0), nn.ReLU(inplace=True), linear())
    assert edges_of(model, X) == chain("0", "1", "2", "3", "4")


def test_a_container_does_not_hide_its_last_child(edges_of):
    model = nn.Sequential(nn.Sequential(linear(), nn.Tanh()), linear())
    assert edges_of(model, X) == {
        (BATCH, "[0]", "0", "[0]"),
        (BATCH, "[0]", "0.0", "[0]"),
        ("0.0", "", "0.1", "[0]"),
        ("0.1", "", "1", "[0]"),
        ("1", "", "root→", ""),
    }


def _residual(self, x):
    return x + self.act(self.fc(x))


def _residual_in_place(self, x):
    out = self.act(self.fc(x))
    out += x
    return out


@pytest.mark.parametrize("function", [_residual, _residual_in_place])
def test_a_residual_block_and_what_its_own_operators_make(edges_of, function):
    block = Function(function, fc=linear(), act=nn.Sigmoid() if function is _residual else linear())
    model = nn.Sequential(linear(), block, linear())
    assert edges_of(model, X) == {
        (BATCH, "[0]", "0", "[0]"),
        ("0", "", "1", "[0]"),
        ("0", "", "1.fc", "[0]"),
        ("1.fc", "", "1.act", "[0]"),
        ("1.act", "", "1→", "", "add"),
        ("1", "", "2", "[0]"),
        ("2", "", "root→", ""),
    }


def test_operators_between_modules(edges_of):
    def forward(self, x):
        x = self.stem(x)
        y = self.a(F.relu(x))
        z = self.b(torch.softmax(F.relu(x) * 2, -1).view(-1, 4).transpose(0, 1).reshape(3, 4))
        return self.head(y - z)

    names = ("stem", "a", "b", "head")
    model = Function(forward, **{name: linear() for name in names})
    found = edges_of(model, X)
    assert found == {
        (BATCH, "[0]", "stem", "[0]"),
        ("stem", "", "a", "[0]", "relu"),
        ("stem", "", "b", "[0]", "relu", "mul", "softmax", "clone"),
        ("a", "", "head", "[0]", "sub"),
        ("b", "", "head", "[0]", "sub"),
        ("head", "", "root→", ""),
    }


def test_branches_that_are_concatenated(edges_of):
    def forward(self, x):
        return self.head(torch.cat([self.a(x), self.b(x), self.c(self.pool(x))], dim=1))

    model = Function(
        forward, a=linear(), b=linear(), c=linear(), pool=nn.AvgPool1d(1), head=nn.Linear(12, 2)
    )
    assert edges_of(model, X) == {
        (BATCH, "[0]", "a", "[0]"),
        (BATCH, "[0]", "b", "[0]"),
        (BATCH, "[0]", "pool", "[0]"),
        ("pool", "", "c", "[0]"),
        ("a", "", "head", "[0]", "cat"),
        ("b", "", "head", "[0]", "cat"),
        ("c", "", "head", "[0]", "cat"),
        ("head", "", "root→", ""),
    }


def test_a_module_that_is_called_twice_and_a_recurrent_loop(edges_of):
    def forward(self, x):
        h = self.cell(x)
        h = self.cell(h)
        h = self.cell(torch.tanh(h) + x)
        return h

    assert edges_of(Function(forward, cell=linear()), X.clone().requires_grad_()) == {
        (BATCH, "[0]", "cell", "[0]"),
        ("cell", "", "cell 1", "[0]"),
        ("cell 1", "", "cell 2", "[0]", "tanh", "add"),
        (BATCH, "[0]", "cell 2", "[0]", "add"),
        ("cell 2", "", "root→", ""),
    }


def test_paths_of_several_outputs_and_keyword_inputs(edges_of):
    class Halves(nn.Module):
        def forward(self, x):
            a, b = x.chunk(2, dim=1)
            return {"both": (a, b), "sum": a + b}

    def forward(self, x):
        made = self.halves(self.stem(x))
        a, b = made["both"]
        return {"y": self.join(b, other=a), "z": self.last(made["sum"] * 2)}

    join = Function(lambda self, x, other: self.fc(x) + other, fc=nn.Linear(2, 2))
    model = Function(forward, stem=linear(), halves=Halves(), join=join, last=nn.Linear(2, 1))
    assert edges_of(model, X) == {
        (BATCH, "[0]", "stem", "[0]"),
        ("stem", "", "halves", "[0]"),
        ("halves", ".both[1]", "join", "[0]"),
        ("halves", ".both[0]", "join", ".other"),
        ("halves", ".both[1]", "join.fc", "[0]"),
        ("join.fc", "", "join→", "", "add"),
        ("halves", ".sum", "last", "[0]", "mul"),
        ("join", "", "root→", ".y"),
        ("last", "", "root→", ".z"),
    }


def test_a_recurrent_layer_has_several_outputs(edges_of):
    def forward(self, x):
        out, (h, c) = self.rnn(x)
        return self.a(out), self.b(h + c)

    model = Function(forward, rnn=nn.LSTM(4, 4), a=linear(), b=linear())
    assert edges_of(model, X[None]) == {
        (BATCH, "[0]", "rnn", "[0]"),
        ("rnn", "[0]", "a", "[0]"),
        ("rnn", "[1][0]", "b", "[0]", "add"),
        ("rnn", "[1][1]", "b", "[0]", "add"),
        ("a", "", "root→", "[0]"),
        ("b", "", "root→", "[1]"),
    }


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.proj = nn.Linear(4, 12), linear()

    def forward(self, x):
        q, k, v = self.qkv(x).split(4, dim=-1)
        return self.proj(torch.softmax(q @ k.transpose(-1, -2) / 2, -1) @ v)


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.attn = nn.LayerNorm(4), Attention()
        self.ln2, self.mlp = nn.LayerNorm(4), linear()

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


def test_a_transformer(edges_of):
    def forward(self, ids):
        x = self.tokens(ids) + self.places(torch.arange(3))
        return self.block(x) @ self.tokens.weight.T

    model = Function(
        forward, tokens=nn.Embedding(7, 4), places=nn.Embedding(3, 4), block=Transformer()
    )
    found = edges_of(model, torch.tensor([[0, 1, 2]]))
    both = [("tokens", "", "add"), ("places", "", "add")]
    assert {edge for edge in found if edge[0] != "block.attn.qkv"} == {
        (BATCH, "[0]", "tokens", "[0]"),
        *((name, out, "block", "[0]", op) for name, out, op in both),
        *((name, out, "block.ln1", "[0]", op) for name, out, op in both),
        *((name, out, "block.ln2", "[0]", op, op) for name, out, op in both),
        ("block.ln1", "", "block.attn", "[0]"),
        ("block.ln1", "", "block.attn.qkv", "[0]"),
        ("block.attn.proj", "", "block.ln2", "[0]", "add"),
        ("block.ln2", "", "block.mlp", "[0]"),
        ("block.attn.proj", "", "block→", "", "add", "add"),
        ("block.mlp", "", "block→", "", "add"),
        ("block", "", "root→", "", "matmul"),
    }
    assert [edge[:4] for edge in found if edge[0] == "block.attn.qkv"] == [
        ("block.attn.qkv", "", "block.attn.proj", "[0]")
    ]


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoints(edges_of, reentrant):
    """The recomputed calls, which some runs have, get edges from the first calls."""

    def forward(self, x):
        x = self.stem(x)
        y = torch.utils.checkpoint.checkpoint(self.body, x, use_reentrant=reentrant)
        return self.head(x + y)

    body = nn.Sequential(linear(), nn.Tanh())
    model = Function(forward, stem=linear(), body=body, head=linear())
    run = hookcli.grads(model, X)
    assert run.error is None
    first = {row.order for row in run.layers if not row.recomputed}
    names = {row.order: row.name for row in run.layers}
    found = {
        (names.get(edge.source), names[edge.target], *edge.through)
        for edge in run.edges
        if edge.target in first and edge.end == "input"
    }
    inner = {("stem", "body"), ("stem", "body.0"), ("body.0", "body.1")}
    outer = {("stem", "head", "add")}
    if not reentrant:  # a reentrant one hides its calls from the graph
        outer |= {("body.1", "head", "add")}
    assert found - {(None, ""), (None, "stem")} == inner | outer
