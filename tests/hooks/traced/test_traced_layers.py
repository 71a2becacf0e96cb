"""Figures that compiled code writes: those of hooks by hand, and nothing else changes."""

from __future__ import annotations

import copy
import pickle

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch._dynamo.utils import counters
from torch.utils.checkpoint import checkpoint

from hookcli.hooks.traced.layers import TracedLayers
from hookcli.hooks.traced.slots import ALL, MOST, NORM, Slots
from hookcli.models.nested import leaves
from tests.torch_version import needs_torch

# Dynamo reads `.grad` of what a graph break passes on.
pytestmark = pytest.mark.filterwarnings("ignore:The .grad attribute:UserWarning")

STEPS = 2


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(8), nn.Linear(8, 16), nn.Linear(16, 8)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        return x + self.down(self.relu(self.up(self.norm(x))))


class Breaks(nn.Module):
    """A block that is called in two graphs."""

    def __init__(self):
        super().__init__()
        self.first, self.second = Block(), Block()

    def forward(self, x):
        x = self.first(x)
        torch._dynamo.graph_break()
        return self.first(self.second(x))


class Repeats(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()

    def forward(self, x):
        for _ in range(3):
            x = self.block(x)
        return x


class InPlace(nn.Module):
    """Writes to outputs of layers, some of which are views of others."""

    def __init__(self):
        super().__init__()
        self.first, self.same, self.flat = nn.Linear(8, 8), nn.Identity(), nn.Flatten()
        self.conv, self.norm = nn.Conv1d(4, 4, 3, padding=1), nn.BatchNorm1d(4)

    def forward(self, x):
        held = self.first(x)
        same = self.same(held)
        same *= 2
        flat = self.flat(held)
        flat += 1
        return F.relu_(self.norm(self.conv(held))) + held


class Parts(nn.Module):
    """Returns several tensors in a tuple and a list."""

    def __init__(self):
        super().__init__()
        self.split, self.both = Halves(), Both()

    def forward(self, x):
        left, right = self.split(x)
        one, two = self.both(left)
        return one * two + right


class Halves(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 16)

    def forward(self, x):
        return self.layer(x).chunk(2, -1)


class Both(nn.Module):
    def forward(self, x):
        return [x.tanh(), x.sigmoid()]


class Recurrent(nn.Module):
    """Dynamo does not trace an LSTM: it gives up on this forward."""

    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(8, 8, batch_first=True), nn.Linear(8, 8)

    def forward(self, x):
        return self.head(self.lstm(x)[0])


class Shares(nn.Module):
    def forward(self, x):
        shares = x.softmax(-1)
        return shares @ x.transpose(-1, -2), shares


class Attends(nn.Module):
    """Its inner module uses a tensor that it returns, as attention uses its weights."""

    def __init__(self):
        super().__init__()
        self.inner, self.shares = nn.Linear(8, 8), Wraps()

    def forward(self, x):
        out, shares = self.shares(self.inner(x))
        return out.sum(-1, keepdim=True) + 3 * shares


class Wraps(nn.Module):
    def __init__(self):
        super().__init__()
        self.used = Shares()

    def forward(self, x):
        return self.used(x)


class Cell(nn.Module):
    """Its cell makes the first tensor that it returns of the second one."""

    def __init__(self):
        super().__init__()
        self.shares = nn.LSTMCell(8, 8)

    def forward(self, x):
        hidden, cell = self.shares(x.flatten(0, 1))
        return hidden + cell


NETS = (Attends, Cell, Block, Breaks, Repeats, InPlace, Parts, Recurrent)


def by_hand(net, seen):
    """Hooks of PyTorch that note norms of outputs and of their gradients, without the compiler."""

    def after(module, args, output):
        for _, tensor, _ in leaves(output):
            if tensor.requires_grad:
                row = [float(tensor.detach().norm()), None]
                seen.setdefault(names[module], []).append(row)
                tensor.register_hook(lambda g, row=row: row.__setitem__(1, float(g.norm())))

    names = {module: name for name, module in net.named_modules()}
    for module in net.modules():
        module.register_forward_hook(after)


def trained(net, backend, layers=None, batches=None):
    """Return losses, gradients and the compiler's account of a training."""
    torch._dynamo.reset()
    counters.clear()
    call = torch.compile(net, backend=backend) if backend else net
    losses = []
    for step in range(STEPS):
        if layers is not None:
            layers.reset(net)
        torch.manual_seed(step)
        net.zero_grad()
        loss = call(torch.randn(batches[step] if batches else 3, 4, 8)).square().mean()
        loss.backward()
        losses.append(loss.item())
        with torch.no_grad():
            call(torch.randn(3, 4, 8))  # an evaluation is not a step
    gradients = [p.grad.clone() for p in net.parameters() if p.grad is not None]
    account = dict(counters["stats"]), sum(counters["graph_break"].values())
    return losses, gradients, account[0].get("unique_graphs"), account[1]


def made(kind):
    torch.manual_seed(0)
    return kind()


def attached(net, columns=NORM):
    layers = TracedLayers(Slots(columns))
    layers.attach(net)
    return layers


def rows_of(layers, net):
    rows = {}
    for one in layers.read(net):
        gradient = None if one.gradient is None else one.gradient["norm"]
        rows.setdefault(one.name, []).append([one.values["norm"], gradient])
    return rows


def last_step_by_hand(kind):
    net, seen = made(kind), {}
    by_hand(net, seen)
    torch.manual_seed(STEPS - 1)
    net.zero_grad()
    net(torch.randn(3, 4, 8)).square().mean().backward()
    return seen


@pytest.mark.parametrize("kind", NETS)
def test_norms_are_those_of_hooks_without_the_compiler(kind):
    """The training is the same bit by bit, in as many graphs, and each norm is right."""
    plain = trained(made(kind), "aot_eager")
    net = made(kind)
    layers = attached(net)
    assert trained(net, "aot_eager", layers)[0] == plain[0]
    again = made(kind)
    hooked = trained(again, "aot_eager", attached(again))
    assert all(torch.equal(a, b) for a, b in zip(hooked[1], plain[1], strict=True))
    assert hooked[2:] == plain[2:]
    found, known = rows_of(layers, net), last_step_by_hand(kind)
    assert found.keys() == known.keys()
    for name, rows in known.items():
        assert len(found[name]) == len(rows), name
        for i, ((norm, gradient), (norm_, gradient_)) in enumerate(
            zip(found[name], rows, strict=True)
        ):
            assert norm == pytest.approx(norm_, rel=1e-5), name
            # They return their input, or, as the second tensor, one that they use themselves.
            if name.endswith(("relu", "same")) or (name.startswith("shares") and i == 1):
                assert gradient is None, name
            elif gradient is None or gradient_ is None:
                assert gradient is gradient_, name
            else:
                assert gradient == pytest.approx(gradient_, rel=1e-4), name


def test_statistics_and_bad_inputs_are_written_too():
    net = made(Block)
    layers = attached(net, ALL)
    trained(net, "aot_eager", layers)
    rows = {one.name: one for one in layers.read(net)}
    again = made(Block)
    torch.manual_seed(STEPS - 1)
    output = again.norm(torch.randn(3, 4, 8)).detach()
    norm = rows["norm"].values
    assert norm["numel"] == output.numel()
    assert norm["mean"] == pytest.approx(output.mean().item(), abs=1e-6)
    assert norm["abs_max"] == pytest.approx(output.abs().max().item())
    assert (norm["nans"], norm["infs"], rows["norm"].bad_inputs) == (0, 0, 0)
    assert rows["up"].shape == (3, 4, 16)
    assert rows["up"].dtype is torch.float32


def test_the_first_bad_output_is_told_from_those_that_inherit():
    class Roots(nn.Module):
        def forward(self, x):
            return x.sqrt()

    net = nn.Sequential(nn.Linear(8, 8), Roots(), nn.Linear(8, 8))
    layers = attached(net, ALL)
    layers.reset(net)
    torch._dynamo.reset()
    torch.compile(net, backend="aot_eager")(torch.randn(3, 8)).sum().backward()
    rows = {one.name: one for one in layers.read(net)}
    assert rows["0"].values["nans"] == 0
    assert rows["1"].values["nans"] > 0
    assert (rows["1"].bad_inputs, rows["2"].bad_inputs) == (0, 1)


@needs_torch("2.7", "torch 2.6 compiles the code of blocks with hooks for each of them")
def test_code_is_compiled_once_for_blocks_of_one_class():
    """The code of one block runs for all, and each has its own figures."""
    counts = []
    for observed in (False, True):
        torch._dynamo.reset()
        counters.clear()
        torch.manual_seed(0)
        net = nn.Sequential(*[Block() for _ in range(4)])
        layers = attached(net) if observed else None
        for block in net:
            block.compile(backend="aot_eager")
        if layers is not None:
            layers.reset(net)
        torch.manual_seed(1)
        net(torch.randn(3, 4, 8, requires_grad=True)).square().mean().backward()
        counts.append(counters["stats"]["unique_graphs"])
    assert counts == [1, 1]
    found = rows_of(layers, net)
    torch._dynamo.reset()
    torch.manual_seed(0)
    net, seen = nn.Sequential(*[Block() for _ in range(4)]), {}
    by_hand(net, seen)
    torch.manual_seed(1)
    net(torch.randn(3, 4, 8, requires_grad=True)).square().mean().backward()
    for name in ("0.up", "3.up", "3.down", "2.norm"):
        assert found[name][0][0] == pytest.approx(seen[name][0][0], rel=1e-5)
    # Only the first block was traced: the others have its order.
    parts = ("norm", "up", "relu", "down", "")
    assert list(found)[:-1] == [f"{i}.{part}".rstrip(".") for i in range(4) for part in parts]


def test_what_may_not_write_is_left_out():
    """A checkpoint in compiled code runs as before; its layers are not observed."""

    class Saves(nn.Module):
        def __init__(self):
            super().__init__()
            self.block, self.head = Block(), nn.Linear(8, 8)

        def forward(self, x):
            return self.head(checkpoint(self.block, x, use_reentrant=False))

    plain = trained(made(Saves), "aot_eager")
    net = made(Saves)
    layers = attached(net)
    hooked = trained(net, "aot_eager", layers)
    assert hooked[0] == plain[0]
    assert hooked[2:] == plain[2:]
    found = rows_of(layers, net)
    assert "head" in found
    assert not [name for name in found if name.startswith("block")]
    assert "checkpoint or control flow" in layers.slots.missed


def test_dynamic_batches_compile_no_more_often():
    batches = (3, 5)
    plain = trained(made(Block), "aot_eager", batches=batches)
    net = made(Block)
    layers = attached(net)
    hooked = trained(net, "aot_eager", layers, batches)
    assert hooked[0] == plain[0]
    assert hooked[2:] == plain[2:]
    rows = {one.name: one for one in layers.read(net)}
    assert rows["up"].values["numel"] == 5 * 4 * 16
    assert rows["up"].shape in {(None, 4, 16), (5, 4, 16)}


def test_several_calls_in_one_place_are_a_mean():
    """Micro-batches run the same code: the mean of their norms, and how many there were."""
    net = made(Block)
    layers = attached(net)
    torch._dynamo.reset()
    call = torch.compile(net, backend="aot_eager")
    layers.reset(net)
    batches = [torch.randn(3, 4, 8), 2 * torch.randn(3, 4, 8)]
    for batch in batches:
        call(batch).square().mean().backward()
    rows = {one.name: one for one in layers.read(net)}
    norms = [float(net.up(net.norm(batch)).detach().norm()) for batch in batches]
    assert rows["up"].calls == 2
    assert rows["up"].values["norm"] == pytest.approx(sum(norms) / 2, rel=1e-5)


def test_copies_and_pickles_have_no_hooks():
    net = made(Block)
    layers = attached(net)
    other, loaded = copy.deepcopy(net), pickle.loads(pickle.dumps(net))
    layers.reset(net)
    x = torch.randn(3, 4, 8)
    assert torch.equal(other(x), loaded(x))
    assert layers.read(net) == []


def test_an_export_contains_nothing():
    net = made(Block)
    attached(net)
    program = torch.export.export(net, (torch.randn(3, 4, 8),))
    names = " ".join(str(node.target) for node in program.graph.nodes)
    assert "vector_norm" not in names
    assert "copy_" not in names


def test_places_are_limited():
    class Often(nn.Module):
        def __init__(self):
            super().__init__()
            self.act = nn.Tanh()
            self.weight = nn.Parameter(torch.ones(()))

        def forward(self, x):
            x = x * self.weight
            for _ in range(MOST + 3):
                x = self.act(x)
            return x

    net = Often()
    layers = attached(net)
    trained(net, "aot_eager", layers)
    assert len(rows_of(layers, net)["act"]) == MOST
    assert f"more than {MOST} calls of a class" in layers.slots.missed


def test_removed_hooks_leave_nothing():
    net = made(Block)
    layers = attached(net)
    torch._dynamo.reset()
    call = torch.compile(net, backend="aot_eager")
    x = torch.randn(3, 4, 8)
    first = call(x)
    layers.reset(net)
    layers.detach()
    assert not net.up._forward_hooks
    assert torch.equal(call(x), first)
    assert layers.read(net) == []


class Aliases(nn.Module):
    """Returns the output of a layer and a view of it."""

    def __init__(self, view):
        super().__init__()
        self.layer, self.norm, self.view = nn.Linear(8, 8), nn.LayerNorm(8), view

    def forward(self, x):
        x = self.norm(self.layer(x))
        return {"all": x, "part": self.view(x)}


@pytest.mark.parametrize(
    "view", [lambda x: x[:, 0], lambda x: x.view(-1), lambda x: x.mT, lambda x: x.detach() + x]
)
def test_an_output_and_a_view_of_it_keep_their_gradients(view):
    found = []
    for hooks in (False, True):
        torch._dynamo.reset()
        torch.manual_seed(0)
        net = Aliases(view)
        layers = attached(net) if hooks else None
        output = torch.compile(net, backend="aot_eager")(torch.randn(3, 4, 8))
        sum(one.sin().sum() for one in output.values()).backward()
        found.append([p.grad for p in net.parameters()])
        assert output["part"].requires_grad
    assert "norm" in {row.name for row in layers.read(net)}
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))


def test_a_lazy_module_is_observed():
    net = nn.Sequential(nn.LazyLinear(4), nn.Tanh())
    layers = attached(net)
    torch._dynamo.reset()
    called = torch.compile(net, backend="aot_eager")
    called(torch.ones(2, 3))
    layers.reset(net)
    called(torch.ones(2, 3)).sum().backward()
    assert {row.name for row in layers.read(net)} == {"", "0", "1"}
