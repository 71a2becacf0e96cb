"""Which module is the root of a training, whatever parts of it are called, and its figures."""

from __future__ import annotations

import gc
from contextlib import nullcontext

import pytest
import torch
from torch import nn
from torch.nn.functional import mse_loss

from hookcli.formats.training.facts import problems
from hookcli.rules.catalogue import with_training_set
from hookcli.rules.judge_training import judge_training
from tests.training.test_loops import watched

COUNT = 4


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(3, 5), nn.Tanh())
        self.head = nn.Linear(5, 1)

    def forward(self, x):
        return self.head(self.encoder(x))


class Wrapper(nn.Module):
    """Calls a model, and has no parameters of its own."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x)


def whole(net, x):
    return net(x).square().mean()


def parts(net, x):
    return net.head(net.encoder(x)).square().mean()


def parts_then_whole(net, x):
    return net.encoder(x).mean() + net.head(net.encoder(x)).mean() + net(x).square().mean()


def whole_and_encoder(net, x):
    return net(x).square().mean() + net.encoder(-x).square().mean()


def encoder_alone_backward(net, x):
    """Two passes in a step: one reaches the encoder only."""
    first = net.encoder(-x).square().mean()
    first.backward()
    return net(x).square().mean(), first.detach()


LOSSES = [whole, parts, parts_then_whole, whole_and_encoder, encoder_alone_backward]
CALLS = {whole: 1, parts: 2, parts_then_whole: 4, whole_and_encoder: 2, encoder_alone_backward: 2}
OPTIMIZERS = {
    "Adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "LBFGS": lambda p: torch.optim.LBFGS(p, lr=0.1, max_iter=3),
}


def norm_of(parameters):
    return torch.cat([p.grad.flatten() for p in parameters if p.grad is not None]).norm().item()


def train(net, loss_of, optimizer, truth):
    """Train by hand, and note the loss, the gradient norm and the rate of each step."""
    x = torch.linspace(-1, 1, 12).view(4, 3)
    for _ in range(COUNT):
        losses = []

        def closure():
            optimizer.zero_grad()
            loss = loss_of(net, x)
            loss, more = loss if isinstance(loss, tuple) else (loss, 0.0)
            loss.backward()
            losses.append(float(loss.detach() + more))
            return loss

        if isinstance(optimizer, torch.optim.LBFGS):
            optimizer.step(closure)
            norm = norm_of(net.parameters())
        else:
            closure()
            norm = norm_of(net.parameters())
            optimizer.step()
        truth.append((losses[0], norm, optimizer.param_groups[0]["lr"], len(losses)))


@pytest.mark.parametrize("warm_up", ["none", "no_grad", "grad"])
@pytest.mark.parametrize(
    ("loss_of", "kind"),
    # Two passes in a call of a closure would be two passes of LBFGS, whose loss is that of one.
    [(f, k) for f in LOSSES for k in OPTIMIZERS if (f, k) != (encoder_alone_backward, "LBFGS")],
)
def test_the_root_is_the_whole_model_however_its_parts_are_called(loss_of, kind, warm_up):
    torch.manual_seed(0)
    net, truth = Net(), []

    def script():
        with torch.no_grad() if warm_up == "no_grad" else nullcontext():
            if warm_up != "none":
                net.encoder(torch.ones(2, 3))
        train(net, loss_of, OPTIMIZERS[kind](net.parameters()), truth)

    report, _ = watched(script)
    (record,) = report.records
    info = record.training
    assert (info.root_type, info.total, report.others) == ("Net", COUNT, ())
    assert info.optimizer.elsewhere == 0
    assert len(info.steps) == COUNT
    for row, (loss, norm, rate, _) in zip(info.steps, truth):
        assert row.loss == pytest.approx(loss, rel=1e-5)
        assert row.grad_norm == pytest.approx(norm, rel=1e-5)
        assert row.lr == rate
    calls = [CALLS[loss_of] * times for *_, times in truth]
    assert [row.forwards for row in info.steps[1:]] == calls[1:]
    assert info.steps[0].forwards == calls[0] + (warm_up == "grad")
    assert info.calls == sum(calls) + {"none": 0, "no_grad": 0, "grad": 1}[warm_up]
    assert {row.status for row in record.parameters} == {"ok"}
    judged = judge_training(report, with_training_set(())).records[0]
    assert not [row for row in judged.checks if row.status == "fail"]


@pytest.mark.parametrize("wrap", [nn.DataParallel, lambda n: torch.compile(n, backend="eager")])
def test_the_root_is_inside_a_wrapper_after_a_part_was_called(wrap):
    net, truth = Net(), []

    def script():
        with torch.no_grad():
            net.encoder(torch.ones(2, 3))
        wrapped = wrap(net)
        train(wrapped, whole, OPTIMIZERS["Adam"](wrapped.parameters()), truth)

    report, _ = watched(script)
    (record,) = report.records
    assert (record.training.root_type, record.training.total) == ("Net", COUNT)
    assert len(record.training.wrappers) == 1
    assert [row.loss for row in record.training.steps] == pytest.approx([t[0] for t in truth])


def test_a_wrapper_that_is_called_before_its_model_is_not_called_twice():
    """The model is evaluated alone; the outermost module that is trained is the root."""
    net, truth = Net(), []
    wrapper = Wrapper(net)

    def script():
        net(torch.ones(2, 3))
        train(wrapper, whole, OPTIMIZERS["Adam"](net.parameters()), truth)

    (record,) = watched(script)[0].records
    assert (record.training.root_type, record.training.calls) == ("Wrapper", COUNT + 1)


def test_layers_of_parts_that_are_called_alone_are_observed():
    net, seen = Net(), []
    net.encoder[0].register_forward_hook(lambda *_: seen.append(1))

    def script():
        train(net, parts, OPTIMIZERS["Adam"](net.parameters()), [])

    (record,) = watched(script)[0].records
    assert {"encoder", "encoder.0", "encoder.1", "head"} <= {row.name for row in record.layers}
    assert len(seen) == COUNT


@pytest.mark.parametrize("passes", [1, 2])
def test_separate_modules_of_one_optimizer_have_the_same_steps_and_losses(passes):
    encoder, decoder, truth = nn.Linear(3, 2), nn.Linear(2, 3), []
    rates = [
        {"params": encoder.parameters(), "lr": 0.1},
        {"params": decoder.parameters(), "lr": 0.3},
    ]

    def script():
        optimizer = torch.optim.SGD(rates)
        x = torch.linspace(-1, 1, 12).view(4, 3)
        for _ in range(COUNT):
            optimizer.zero_grad()
            z = encoder(x)
            losses = [mse_loss(decoder(z if passes == 1 else z.detach()), x)]
            losses += [z.square().mean()] * (passes - 1)
            for loss in losses:
                loss.backward()
            truth.append([sum(losses).item(), norm_of(encoder.parameters()),
                          norm_of(decoder.parameters())])  # fmt: skip
            optimizer.step()

    report, _ = watched(script)
    infos = [record.training for record in report.records]
    assert [info.total for info in infos] == [COUNT, COUNT]
    for i, info in enumerate(infos):
        assert info.shared == (infos[1 - i].record,)
        assert [row.loss for row in info.steps] == pytest.approx([row[0] for row in truth])
        norms = [row[1 + i] for row in truth]
        assert [row.grad_norm for row in info.steps] == pytest.approx(norms)
        assert {(row.backwards, row.largest_lr) for row in info.steps} == {(passes, 0.3)}


def test_a_part_that_is_trained_later_by_another_optimizer_is_a_root_of_its_own():
    net, head = Net(), nn.Linear(5, 2)

    def script():
        train(net, whole, torch.optim.SGD(net.parameters(), lr=0.1), [])
        optimizer = torch.optim.Adam([*net.encoder.parameters(), *head.parameters()], lr=0.1)
        for _ in range(COUNT):
            optimizer.zero_grad()
            head(net.encoder(torch.ones(2, 3))).square().mean().backward()
            optimizer.step()

    infos = [record.training for record in watched(script)[0].records]
    found = [(info.root_type, info.optimizer.type, info.total) for info in infos]
    assert found == [
        ("Net", "SGD", COUNT),
        ("Sequential", "Adam", COUNT),
        ("Linear", "Adam", COUNT),
    ]


def test_without_an_optimizer_the_passes_through_a_part_are_not_counted_twice():
    net = Net()

    def script():
        with torch.no_grad():
            net.encoder(torch.ones(2, 3))
        for _ in range(COUNT):
            net.zero_grad()
            whole(net, torch.ones(2, 3)).backward()
            with torch.no_grad():
                for p in net.parameters():
                    p -= 0.1 * p.grad

    (record,) = watched(script)[0].records
    assert (record.training.root_type, record.training.total) == ("Net", COUNT)


def test_a_forward_for_the_gradient_of_its_input_has_no_mode_of_training():
    """An adversarial attack in eval mode, then a forward in train mode, in one step."""
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))

    def script():
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(COUNT):
            net.eval()
            x = torch.randn(6, 3, requires_grad=True)
            (attack,) = torch.autograd.grad(net(x).sum(), [x])
            net.train()
            optimizer.zero_grad()
            net((x + 0.1 * attack).detach()).square().mean().backward()
            optimizer.step()

    (record,) = watched(script)[0].records
    assert (record.training.eval_modules, record.training.train_modules) == ((), ("1",))


def test_a_skipped_step_of_two_roots_is_noted_for_both():
    gc.collect()  # a scaler of an earlier test in this process
    one, other = nn.Linear(3, 2), nn.Linear(2, 1)

    def script():
        optimizer = torch.optim.SGD([*one.parameters(), *other.parameters()], lr=0.1)
        scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
        for step in range(5):
            loss = other(one(torch.ones(2, 3))).square().mean()
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            if step in {0, 3}:
                one.weight.grad[0, 0] = float("inf")
            scaler.step(optimizer)
            scaler.update()

    infos = [record.training for record in watched(script)[0].records]
    assert [(info.total, info.skipped) for info in infos] == [(5, 2), (5, 2)]
    assert infos[0].shared == (infos[1].record,)


def test_the_summary_lists_no_parameter_that_another_step_has_given_a_gradient():
    """The encoder has a gradient at steps 0 and 1 only, and the spare layer at none."""
    net = Net()
    net.spare = nn.Linear(2, 2)

    def script():
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            optimizer.zero_grad()
            code = net.encoder(torch.ones(2, 3))
            net.head(code if step < 2 else code.detach()).square().mean().backward()
            optimizer.step()

    (record,) = watched(script)[0].records
    assert problems(record) == ["no gradient in 2 of 6 parameters: spare.weight, spare.bias"]


@pytest.mark.parametrize(("shared", "records"), [(True, 8), (False, 12)])
def test_optimizers_that_are_made_anew_for_each_step_go_on_with_one_record(shared, records):
    def train():
        nets = [nn.Linear(4, 1) for _ in range(1 if shared else 12)]
        for step in range(12):
            net = nets[0 if shared else step]
            optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
            optimizer.zero_grad()
            net(torch.randn(6, 4)).square().mean().backward()
            optimizer.step()

    report, _ = watched(train)
    assert len(report.records) == records
    assert sum(record.training.total for record in report.records) == 12
