"""The loss and the gradient norm of each sample, held against plain PyTorch."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import hookcli
from hookcli.formats.grads.samples import notes, tables, totals


def measured(report):
    (value,) = [one.value for one in report.measurements if one.probe == "per_sample"]
    return value


def norm_of(loss, net):
    grads = torch.autograd.grad(loss, list(net.parameters()), allow_unused=True)
    return float(nn.utils.get_total_norm(g for g in grads if g is not None))


def mlp(outputs=3):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, outputs))


def batch(many=6, spoiled=2):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(many, 4, generator=generator)
    x[spoiled] *= 100
    return x, torch.tensor([i % 3 for i in range(many)])


@pytest.mark.parametrize("reduction, part", [("mean", 1 / 6), ("sum", 1)])
def test_losses_and_norms_are_those_of_each_sample_alone(reduction, part):
    net, (x, y) = mlp(), batch()

    def loss(output, target):
        return F.cross_entropy(output, target, reduction=reduction)

    value = measured(hookcli.grads(net, (x, y), loss=loss, per_sample=True))
    assert value["reduction"] == reduction
    alone = [F.cross_entropy(net(x[i : i + 1]), y[i : i + 1]) for i in range(6)]
    assert value["losses"] == pytest.approx([float(one.detach()) for one in alone], rel=1e-5)
    expected = [norm_of(one * part, net) for one in alone]
    assert value["norms"] == pytest.approx(expected, rel=1e-5)
    whole = F.cross_entropy(net(x), y, reduction=reduction)
    assert value["loss"] == pytest.approx(float(whole.detach()), rel=1e-6)
    assert value["grad_norm"] == pytest.approx(norm_of(whole, net), rel=1e-5)


def test_the_sample_that_dominates_is_named():
    net, (x, y) = mlp(), batch()
    with torch.no_grad():
        y[2] = (net(x)[2].argmax() + 1) % 3  # a wrong label
    value = measured(hookcli.grads(net, (x, y), loss="cross_entropy", per_sample=True))
    assert value["dominant"] == [2]
    rest = [0, 1, 3, 4, 5]
    without = norm_of(F.cross_entropy(net(x[rest]), y[rest]) * 5 / 6, net)
    assert value["without"] == pytest.approx(without, rel=1e-4)


def test_no_sample_is_named_if_none_dominates():
    x = torch.randn(20, 4, generator=torch.Generator().manual_seed(0))
    assert measured(hookcli.grads(mlp(), x, loss="mean", per_sample=True))["dominant"] == []


def test_dropout_draws_for_all_samples_as_in_the_run():
    """The norms are those of the masks of the whole batch."""
    net = nn.Sequential(nn.Linear(4, 64), nn.Dropout(0.5), nn.Linear(64, 1))
    x, _ = batch()
    value = measured(hookcli.grads(net, x, loss="mean", mode="train", seed=3, per_sample=True))
    torch.manual_seed(3)
    out = net(x)
    expected = [
        float(
            nn.utils.get_total_norm(
                torch.autograd.grad(one.sum() / 6, list(net.parameters()), retain_graph=True)
            )
        )
        for one in out
    ]
    assert value["norms"] == pytest.approx(expected, rel=1e-5)
    assert value["reduction"] == "mean"


def test_a_text_has_several_rows_for_each_sample():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Embedding(10, 4), nn.Linear(4, 10), nn.Flatten(0, 1))
    tokens = torch.randint(10, (5, 7))
    labels = torch.randint(10, (35,))
    value = measured(hookcli.grads(net, (tokens, labels), loss="cross_entropy", per_sample=True))
    logits = net(tokens)
    for i in range(5):
        rows = slice(7 * i, 7 * i + 7)
        part = F.cross_entropy(logits[rows], labels[rows])
        assert value["norms"][i] == pytest.approx(
            float(
                nn.utils.get_total_norm(
                    torch.autograd.grad(part / 5, list(net.parameters()), retain_graph=True)
                )
            ),
            rel=1e-4,
        )


def test_samples_along_the_second_dimension_are_found():
    torch.manual_seed(0)
    net = nn.GRU(4, 3)  # time first
    x = torch.randn(6, 5, 4)

    def loss(output):
        return output[0].square().sum()

    value = measured(hookcli.grads(net, x, loss=loss, per_sample=True))
    assert value["dim"] == 1
    expected = [norm_of(net(x[:, i : i + 1])[0].square().sum(), net) for i in range(5)]
    assert value["norms"] == pytest.approx(expected, rel=1e-4)


def test_an_output_that_others_were_made_of_is_not_counted_twice():
    """As the mean of a variational autoencoder: its whole gradient has a part of the other one."""

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.one, self.two = nn.Linear(4, 2), nn.Linear(2, 4)

        def forward(self, x):
            mean = self.one(x)
            return self.two(mean), mean

    def loss(output):
        return (output[0].square().sum(1) + output[1].square().sum(1)).mean()

    net, (x, _) = Net(), batch()
    value = measured(hookcli.grads(net, x, loss=loss, per_sample=True))
    expected = [norm_of(loss(net(x[i : i + 1])) / 6, net) for i in range(6)]
    assert value["norms"] == pytest.approx(expected, rel=1e-4)


class OwnLoss(nn.Module):
    def __init__(self, drop=0.0):
        super().__init__()
        self.net, self.drop = mlp(), nn.Dropout(drop)

    def forward(self, x, labels):
        return F.cross_entropy(self.drop(self.net(x)), labels)


def test_a_model_that_returns_its_loss_runs_each_sample_alone():
    net, (x, y) = OwnLoss(), batch()
    value = measured(hookcli.grads(net, hookcli_batch(x, y), loss="sum", per_sample=True))
    alone = [F.cross_entropy(net.net(x[i : i + 1]), y[i : i + 1]) for i in range(6)]
    assert value["losses"] == pytest.approx([float(one.detach()) for one in alone], rel=1e-5)
    assert value["norms"] == pytest.approx([norm_of(one / 6, net) for one in alone], rel=1e-4)


def hookcli_batch(x, y):
    return {"x": x, "labels": y}


class Coupled(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = mlp()

    def forward(self, x):
        out = self.net(x)
        return out - out.mean(0)


@pytest.mark.parametrize(
    "net, given, reason",
    [
        (nn.Sequential(mlp(), nn.BatchNorm1d(3)), {}, "share the statistics of '1' (BatchNorm1d)"),
        (Coupled(), {}, "the outputs of a sample depend on the other samples of the batch"),
        (OwnLoss(0.5), {"labels": True}, "draws random numbers, others for each sample"),
    ],
)
def test_samples_that_are_not_independent_are_refused(net, given, reason):
    x, y = batch()
    batch_of = {"x": x, "labels": y} if given else x
    report = hookcli.grads(net, batch_of, loss="sum", mode="train", per_sample=True)
    assert reason in measured(report)["why"]
    assert reason in notes(report)[0]
    assert tables(report) == totals(report) == []


def test_batch_norm_in_eval_mode_has_independent_samples():
    net = nn.Sequential(mlp(), nn.BatchNorm1d(3))
    x, _ = batch()
    assert (
        len(measured(hookcli.grads(net, x, loss="sum", mode="eval", per_sample=True))["norms"]) == 6
    )


def test_a_loss_with_other_terms_is_refused():
    net, (x, _) = mlp(), batch()

    def loss(output):
        return output.mean() + sum(p.square().sum() for p in net.parameters())

    value = measured(hookcli.grads(net, x, loss=loss, per_sample=True))
    assert "do not add up to that of the batch" in value["why"]


def test_the_run_itself_stays_the_same():
    net, (x, y) = mlp(), batch()
    with_samples = hookcli.grads(net, (x, y), loss="cross_entropy", per_sample=True)
    without = hookcli.grads(net, (x, y), loss="cross_entropy")
    assert with_samples.parameters == without.parameters
    assert not [one for one in without.measurements if one.probe == "per_sample"]
    assert all(p.grad is None for p in net.parameters())
