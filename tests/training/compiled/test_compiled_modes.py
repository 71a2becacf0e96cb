"""`hookcli run --compiled`: what is seen inside compiled code; the training is the same."""

from __future__ import annotations

import functools
import math

import pytest
import torch
from torch import nn
from torch._dynamo.utils import counters

from hookcli.rules.catalogue import with_training_set
from hookcli.rules.judge_training import all_checks, judge_training
from hookcli.training.compiled.reachable import modules_of
from tests.training.test_loops import watched

pytestmark = pytest.mark.filterwarnings("ignore:The .grad attribute:UserWarning")


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    counters.clear()


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.layer = nn.LayerNorm(4), nn.Linear(4, 4)

    def forward(self, x):
        return x + self.layer(self.norm(x)).relu()


def made():
    torch.manual_seed(0)
    return nn.Sequential(Block(), Block(), nn.Linear(4, 2))


def whole(net):
    called = torch.compile(net, backend="aot_eager")
    return called, lambda x: called(x).square().mean()


def in_place(net):
    net.compile(backend="aot_eager")
    return net, lambda x: net(x).square().mean()


def regions(net):
    for block in (net[0], net[1]):
        block.compile(backend="aot_eager")
    return net, lambda x: net(x).square().mean()


def function(net):
    called = torch.compile(lambda x: net(x).square().mean(), backend="aot_eager")
    return net, called


def argument(net):
    """The function that is compiled gets the model as an argument: only the optimizer knows it."""

    def loss(model, x):
        return model(x).square().mean()

    called = None

    def call(x):
        nonlocal called
        called = called or torch.compile(loss, backend="aot_eager")
        return called(net, x)

    return net, call


FORMS = (whole, in_place, regions, function, argument)


def loop(form, kept, steps=4, spoil=None):
    def train():
        net = made()
        model, loss_of = form(net)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(steps):
            optimizer.zero_grad()
            x = torch.randn(3, 4, generator=torch.Generator().manual_seed(step))
            if spoil is not None:
                spoil(net, step)
            loss_of(x).backward()
            optimizer.step()
        kept[:] = [p.detach().clone() for p in net.parameters()]

    return train


def eager(net):
    return net, lambda x: net(x).square().mean()


@functools.cache
def figures_without_the_compiler():
    """The report and the weights of the training, and what hooks by hand note in its first step."""
    kept, seen = [], {}
    report, _ = watched(loop(eager, kept))

    def by_hand(net):
        names = {module: name for name, module in net.named_modules()}

        def after(module, args, output):
            if names[module] not in seen:
                row = seen[names[module]] = {"norm": float(output.detach().norm())}
                row["shape"] = tuple(output.shape)
                output.register_hook(lambda g: row.update(grad=float(g.norm())))

        for module in net.modules():
            module.register_forward_hook(after)
        return eager(net)

    loop(by_hand, [])()
    return report.records[0], kept, seen


def same(a, b):
    return all(torch.equal(x, y) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("form", FORMS)
def test_layers_have_the_figures_of_the_training_without_the_compiler(form):
    _, weights, known = figures_without_the_compiler()
    kept = []
    report, _ = watched(loop(form, kept), compiled="layers")
    assert same(kept, weights)
    record = report.records[0]
    found = {row.name: row for row in record.layers}
    # The call of the root has begun when only its parts are compiled.
    assert set(found) >= set(known) - ({""} if form is regions else set())
    for name, row in found.items():
        assert row.output_grad["norm"] == pytest.approx(known[name]["grad"])
        assert row.stats["norm"] == pytest.approx(known[name]["norm"])
        assert row.outputs[0].shape == known[name]["shape"]
    steps = {event.step for event in record.events if event.kind == "tensor"}
    assert steps == {0, 1, 2}
    assert any("compiled code wrote the norms" in note for note in report.warnings)


def test_without_the_option_nothing_is_put_into_a_graph():
    kept = []
    report, _ = watched(loop(whole, kept))
    assert report.records[0].layers == ()
    assert counters["stats"]["calls_captured"] < 12
    assert any("--compiled layers" in note for note in report.warnings)


def test_sampled_steps_run_without_the_compiler():
    """All hooks are called there; the other steps are compiled, and there are no hooks then."""
    plain, weights, _ = figures_without_the_compiler()
    compiled = []

    class Tells(Block):
        def forward(self, x):
            if torch.compiler.is_compiling():
                compiled.append(True)
            return super().forward(x)

    def form(net):
        net[0].__class__ = Tells
        return whole(net)

    kept = []
    report, _ = watched(loop(form, kept), compiled="eager-samples")
    assert same(kept, weights)
    record = report.records[0]
    assert {row.name for row in record.layers} == {row.name for row in plain.layers}
    assert [row.input_grad for row in record.layers] == [row.input_grad for row in plain.layers]
    assert counters["stats"]["unique_graphs"] == 1  # of step 3
    assert not nn.modules.module._global_forward_hooks
    assert any("ran without the compiler" in note for note in report.warnings)


class Quotient(nn.Module):
    def forward(self, x):
        return x / x.abs().sum(1, keepdim=True)


class Drops(Block):
    def forward(self, x):
        return self.layer(self.norm(x))


def divides(net, form=whole):
    """Divide what the first block gives by its sum, which is 0 once its weights are."""
    net[0].__class__ = Drops
    net.insert(1, Quotient())
    return form(net)


def zeros(net, step):
    for parameter in net[0].parameters():
        parameter.data.mul_(0 if step == 3 else 1)


@pytest.mark.parametrize("mode", ["layers", "statistics"])
def test_the_layer_that_makes_nan_is_named_with_its_operator(mode):
    report, ended = watched(loop(divides, [], spoil=zeros), compiled=mode, stop_on="nonfinite")
    assert ended == "stopped"
    first = report.first_non_finite
    assert (first.step, first.layer, first.operator) == (3, "1", "torch.div")
    assert first.found_by == "replay"


def test_without_a_batch_compiled_code_names_the_layer():
    """A compiled function hides the batch; what was written is of this step alone."""
    form = functools.partial(divides, form=function)
    report, _ = watched(loop(form, [], spoil=zeros), compiled="layers", stop_on="nonfinite")
    first = report.first_non_finite
    assert (first.layer, first.found_by) == ("1", "compiled")
    assert "its input is finite" in first.reason
    assert "12 NaN" in first.reason
    judged = judge_training(report, with_training_set(()))
    row = next(row for row in all_checks(judged) if row.rule == "finite" and row.status == "fail")
    assert "--eager" in (row.advice or "")


def test_a_step_whose_forward_was_not_seen_is_not_said_to_be_finite():
    """Nothing is replayed, so that nothing is said of the outputs of the model."""
    report, _ = watched(loop(divides, [], spoil=zeros), stop_on="nonfinite")
    assert "outputs of the model are finite" not in (report.first_non_finite.reason or "")
    judged = judge_training(report, with_training_set(()))
    row = next(row for row in all_checks(judged) if row.rule == "finite" and row.status == "fail")
    assert "--compiled layers" in (row.advice or "")


def test_what_a_compiled_function_holds():
    net, other = made(), made()

    class Trainer:
        def __init__(self):
            self.model = other

        def step(self, x):
            return self.model(x)

    def inner(x, extra=net[2]):
        return extra(net(x))

    assert modules_of(net) == [net]
    assert modules_of(inner) == [net]  # a part of it is not another root
    assert modules_of(Trainer().step) == [other]
    assert modules_of(functools.partial(inner, net)) == [net]
    assert modules_of(math.sqrt) == []
