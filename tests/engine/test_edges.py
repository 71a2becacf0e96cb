"""Edges between calls, each model with those that are worked out by hand."""

from __future__ import annotations

import contextlib
import gc
import random
import threading
import weakref

import pytest
import torch
import torch.nn.functional as F
import torch.utils.checkpoint
from torch import nn

import hookcli
from hookcli.report.report import Report
from tests.conftest import attempt

X = torch.arange(12, dtype=torch.float32).reshape(3, 4) / 10
BATCH = None


def edges(report: Report) -> set[tuple]:
    """The edges by names of calls: (source, output, target, input, through), "→" for an output.

    A call after the first of a module has its number: "cell 1". The root's input is left out.
    """
    names = {
        row.order: f"{row.name or 'root'} {row.call}".removesuffix(" 0") for row in report.layers
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
        ("0", "", "1→", "", "add"),
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
        return self.cell(torch.tanh(h) + x)

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
        ("halves", ".both[0]", "join→", "", "add"),
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
        *((name, out, "block→", "", op, op, op) for name, out, op in both),
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


def test_without_gradients_only_shared_memory_and_counted_operators_tell():
    """Only `inspect` sees operators; others read the graph."""
    model = Function(
        lambda self, x: self.b(F.relu(self.a(x)) + self.c(x)), a=linear(), b=linear(), c=linear()
    )
    direct = {(BATCH, "[0]", "a", "[0]"), (BATCH, "[0]", "c", "[0]"), ("b", "", "root→", "")}
    through = {("a", "", "b", "[0]", "relu", "add"), ("c", "", "b", "[0]", "add")}
    assert edges(hookcli.inspect(model.requires_grad_(False), X)) == direct | through
    assert edges(attached(model, X)) == direct
    assert edges(attached(model.requires_grad_(True), X)) == direct | through


def test_the_state_that_a_module_keeps_is_not_its_output():
    class Keeper(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = linear()

        def forward(self, x):
            self.kept = x * 2
            return self.fc(x)

    def forward(self, x):
        self.a(self.stem(x))
        return self.b(self.a.kept)

    model = Function(forward, stem=linear(), a=Keeper(), b=linear())
    with hookcli.attach(model) as hooks:
        model(X)
    assert edges(hooks.report()) == {
        (BATCH, "[0]", "stem", "[0]"),
        ("stem", "", "a", "[0]"),
        ("stem", "", "a.fc", "[0]"),
        ("a", "", "b", "[0]"),
        ("b", "", "root→", ""),
    }


def test_a_call_that_raised_makes_nothing(edges_of):
    class Fails(nn.Module):
        def forward(self, x):
            self.made = torch.tanh(x)
            raise ValueError

    def forward(self, x):
        y = self.a(x)
        with contextlib.suppress(ValueError):
            self.fails(y)
        return self.b(y + 1)

    model = Function(forward, a=nn.Sigmoid(), b=linear(), fails=Fails())
    assert edges_of(model, X.clone().requires_grad_()) == {
        (BATCH, "[0]", "a", "[0]"),
        ("a", "", "fails", "[0]"),
        ("a", "", "b", "[0]", "add"),
        ("b", "", "root→", ""),
    }


def test_a_model_that_raises_has_the_edges_so_far():
    model = nn.Sequential(linear(), nn.Tanh(), nn.Linear(3, 3))
    report = hookcli.inspect(model, X)
    assert report.status == "partial"
    assert edges(report) == {
        (BATCH, "[0]", "0", "[0]"),
        ("0", "", "1", "[0]"),
        ("1", "", "2", "[0]"),
    }


def test_calls_on_other_threads(edges_of):
    def forward(self, x):
        x, made = self.stem(x), {}
        threads = [
            threading.Thread(target=lambda m=m: made.update({m: m(x)})) for m in (self.a, self.b)
        ]
        for thread in threads:
            thread.start()
            thread.join()
        return self.head(made[self.b])

    model = Function(forward, stem=linear(), a=linear(), b=linear(), head=linear())
    assert edges_of(model, X) == {
        (BATCH, "[0]", "stem", "[0]"),
        ("stem", "", "a", "[0]"),
        ("stem", "", "b", "[0]"),
        ("b", "", "head", "[0]"),
        ("head", "", "root→", ""),
    }


def test_a_module_that_calls_itself(edges_of):
    class Nested(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = linear()

        def forward(self, x, depth=2):
            x = self.fc(x)
            return self(x, depth - 1) if depth else x

    assert edges_of(Nested(), X) == {
        (BATCH, "[0]", "fc", "[0]"),
        ("fc", "", "root 1", "[0]"),
        ("fc", "", "fc 1", "[0]"),
        ("fc 1", "", "root 2", "[0]"),
        ("fc 1", "", "fc 2", "[0]"),
        ("fc 2", "", "root→", ""),
    }


def test_weights_and_a_tensor_subclass_with_code_of_its_own(edges_of):
    class Named(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            calls.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

    def forward(self, x):
        return self.b(self.a(x), self.weight).as_subclass(torch.Tensor)

    two = Function(lambda self, x, w: x @ w)
    model = Function(forward, a=linear(), b=two, weight=nn.Parameter(torch.eye(4)))
    calls: list = []
    model(X.as_subclass(Named))
    plain = len(calls)
    assert edges_of(model, X) == {
        (BATCH, "[0]", "a", "[0]"),
        ("a", "", "b", "[0]"),
        ("b", "", "root→", ""),
    }
    with hookcli.attach(model) as hooks:
        calls.clear()
        model(X.as_subclass(Named))
    seen = [func for func in calls if func is torch.Tensor.untyped_storage]
    assert plain and len(seen) <= len(hooks.report().layers)  # those of the sizes of activations
    assert len(edges(hooks.report())) == 3


def test_no_tensor_and_no_node_stays_alive():
    kept = []

    def forward(self, x):
        y = self.a(x)
        kept.append(weakref.ref(y.untyped_storage()))
        z = F.relu(y) + y
        kept.extend(weakref.ref(t) for t in (y, z))
        return self.b(z)

    model = Function(forward, a=linear(), b=linear())
    with hookcli.attach(model) as hooks:
        model(X)
        gc.collect()
        assert [ref() for ref in kept] == [None] * len(kept)
    assert len(hooks.report().edges) == 4


def test_a_long_loop_stays_within_its_limits():
    """Each result is added to all before it: the edges of a model with many calls are bounded."""

    def forward(self, x):
        for _ in range(100):
            x = x + self.fc(x)
        return x

    report = hookcli.grads(Function(forward, fc=linear()), X)
    by_target = {}
    for edge in report.edges:
        if edge.end == "input":
            by_target.setdefault(edge.target, []).append(edge)
    assert len(by_target[2]) == 1
    assert len(by_target[40]) == 39
    assert {len(rows) for target, rows in by_target.items() if target > 70} == {64}
    nearest = {edge.source: edge.through for edge in by_target[20]}
    assert nearest[19] == ("add",)
    assert nearest[12] == ("add",) * 8
    assert nearest[11] == ("…", *["add"] * 8)


def random_model(seed: int) -> tuple[nn.Module, set[tuple]]:
    """Modules that are wired at random, with operators between, and a set that gets the wiring."""
    expected: set[tuple] = set()
    draw = random.Random(seed)
    kinds = [linear, nn.Identity, lambda: nn.ReLU(inplace=True), Transformer]
    kinds.append(lambda: nn.Sequential(linear(), nn.Sequential(nn.Identity())))

    def forward(self, x):
        """Run the program. With each tensor goes what made the contents of its memory.

        A graph does not tell of a call that returned one of several views of its memory.
        """
        program = random.Random(seed)
        expected.clear()
        values = [(x * 1, [{}])]
        for name, module in self.named_children():
            for _ in range(program.randrange(4)):
                (tensor, memory), (other, others) = program.choice(values), program.choice(values)
                kind = program.choice(["add", "sigmoid", "view", "in place"])
                if kind == "add":
                    values.append((tensor + other, [joined(memory[0], others[0], "add")]))
                elif kind == "sigmoid":
                    values.append((torch.sigmoid(tensor), [joined(memory[0], {}, "sigmoid")]))
                elif kind == "view":
                    values.append((tensor.view(-1).view(3, 4), memory))
                else:
                    tensor += other * 2
                    memory[0] = joined(memory[0], joined(others[0], {}, "mul"), "add")
            tensor, memory = program.choice(values)
            if isinstance(module, nn.Identity) and sum(m is memory for _, m in values) > 1:
                tensor, memory = tensor * 1, [joined(memory[0], {}, "mul")]
            expected.update((maker, name, len(after)) for maker, after in memory[0].items())
            out = module(tensor)
            same = isinstance(module, nn.Identity | nn.ReLU)
            if same:
                memory[0] = {name: ()}
            values.append((out, memory if same else [{name: ()}]))
        return values[-1][0]

    children = {f"m{i}": draw.choice(kinds)() for i in range(draw.randrange(2, 10))}
    return Function(forward, **children), expected


def joined(left: dict, right: dict, name: str) -> dict:
    """What made the result of an operator: each maker with the fewest operators after it."""
    makers: dict = {}
    for maker, after in (*left.items(), *right.items()):
        if maker not in makers or len(after) + 1 < len(makers[maker]):
            makers[maker] = (*after, name)
    return makers


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("seed", range(15))
def test_random_wirings(run, seed):
    model, expected = random_model(seed)
    report = RUNS[run](model, X.clone().requires_grad_())  # so that all is in the graph
    rows = {row.order: row for row in report.layers}

    def child(order):
        """The child of the root that a call is in: its output may be that of a call inside."""
        while order is not None and rows[order].depth > 1:
            order = rows[order].parent
        return None if order is None else rows[order].name

    assert expected == {
        (child(edge.source), rows[edge.target].name, len(edge.through))
        for edge in report.edges
        if rows[edge.target].depth == 1 and edge.end == "input" and edge.source is not None
    }


class Scriptable(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.norm, self.head = linear(), nn.LayerNorm(4), nn.Linear(8, 2)

    def forward(self, x):
        x = self.stem(x)
        return self.head(torch.cat([F.relu(x), x + self.norm(x)], 1))


@pytest.mark.parametrize("form", ["script", "trace", "export"])
def test_other_formats_have_the_edges_of_the_python_model(form, tmp_path):
    model = Scriptable()
    expected = {
        (BATCH, "[0]", "stem", "[0]"),
        ("stem", "", "norm", "[0]"),
        ("norm", "", "head", "[0]", "add", "cat"),
        ("stem", "", "head", "[0]", "relu", "cat"),
        ("head", "", "root→", ""),
    }
    assert edges(hookcli.grads(model, X)) == expected
    if form == "export":
        path = tmp_path / "model.pt2"
        torch.export.save(torch.export.export(model, (X,)), path)
        for tensors in ("fake", "real"):
            assert edges(attempt(path, "3x4", tensors=tensors)) == expected
        return
    made = torch.jit.script(model) if form == "script" else torch.jit.trace(model, X)
    assert edges(hookcli.grads(made, X)) == expected
    assert edges(hookcli.inspect(made, X)) == expected


def test_a_transform_hides_its_tensors_but_not_what_it_returns(edges_of):
    def forward(self, x):
        return self.head(torch.func.vmap(self.body)(self.stem(x)) * 2)

    model = Function(forward, stem=linear(), body=nn.Sequential(linear()), head=linear())
    found = edges_of(model, X)
    assert found >= {(BATCH, "[0]", "stem", "[0]"), ("head", "", "root→", "")}
    assert {(edge[0], edge[2]) for edge in found} <= {
        (BATCH, "stem"),
        ("stem", "head"),
        ("body", "head"),
        ("body.0", "head"),
        ("head", "root→"),
    }


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad


def test_a_function_with_its_own_backward_and_backward_hooks():
    def forward(self, x):
        return self.b(Square.apply(self.a(x) + 1))

    model = Function(forward, a=linear(), b=linear())
    model.a.register_full_backward_hook(lambda *_: None)
    assert ("a", "", "b", "[0]", "add", "Square") in edges(hookcli.grads(model, X))


def test_operators_that_write_into_a_buffer(edges_of):
    def forward(self, x):
        out = torch.zeros(2, 3, 4)
        out[0] = self.a(x)
        out[1] = self.b(x)
        return self.c(out)

    model = Function(forward, a=linear(), b=linear(), c=linear())
    assert {edge[:4] for edge in edges_of(model, X)} == {
        (BATCH, "[0]", "a", "[0]"),
        (BATCH, "[0]", "b", "[0]"),
        ("a", "", "c", "[0]"),
        ("b", "", "c", "[0]"),
        ("c", "", "root→", ""),
    }
