"""Why gradients are exactly zero: told only if it was seen, each reason by its evidence."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import hookcli

X = torch.rand(4, 8, generator=torch.Generator().manual_seed(1))


class Net(nn.Module):
    """A layer, and what is done with its output."""

    def __init__(self, function):
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 2)
        self.zero, self.function = nn.Parameter(torch.zeros(8), requires_grad=False), function

    def forward(self, x):
        return self.function(self, self.a(x))


class Silent(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return torch.zeros_like(grad)


def hooked():
    model = Net(lambda net, y: net.b(y))
    model.a.weight.register_hook(lambda grad: grad * 0)
    return model


def of_a(model):
    report = hookcli.check(model, inputs=X, loss=lambda y: (y**2).sum())
    return next(row for row in report.diagnoses if "a" in row.target.split("."))


@pytest.mark.parametrize(
    ("model", "cause", "words", "advice"),
    [
        (Net(lambda net, y: net.b(torch.relu(y - 99)) + 1), "clipped_gradient",
         "`relu` at tests/rules/test_zero_reasons.py:52 clips each of its 32 values", "softplus"),
        (Net(lambda net, y: net.b(y.clamp(5, 6))), "clipped_gradient", "`clamp` at", "softplus"),
        (Net(lambda net, y: net.b(torch.tanh(y * 1e3 + 1e5))), "flat_activation",
         "`tanh` at tests/rules/test_zero_reasons.py:55 is flat", "smaller weights"),
        (Net(lambda net, y: net.b(y.masked_fill(y < 99, 1.0))), "masked_gradient",
         "`masked_fill` at", "mask"),
        (Net(lambda net, y: net.b(y * net.zero)), "zero_factor",
         "they are multiplied by 'zero', which is zero", "initialize 'zero'"),
        (Net(lambda net, y: net.b(y * torch.zeros(8))), "zero_factor",
         "they are multiplied by zeros at", "why the other factor is zero"),
        (Net(lambda net, y: net.b(F.dropout(y, 1.0))), "dropout_of_all",
         "dropout at tests/rules/test_zero_reasons.py:63 has a probability of 1",
         "not of keeping it"),
        (Net(lambda net, y: net.b(nn.Dropout1d(1)(y[:, :, None]).flatten(1))), "dropout_of_all",
         "dropout at", "not of keeping it"),
        (Net(lambda net, y: net.b(y - y)), "cancelled_gradient", "several terms cancel", ""),
        (Net(lambda net, y: net.b(Silent.apply(y))), "zero_backward",
         "the backward of `Silent`", "`backward` of `Silent`"),
        (hooked(), "gradient_hook", "weight got a gradient that is exactly zero: a hook on it",
         "remove the hook"),
    ],
)  # fmt: skip
def test_a_reason_is_told_as_it_was_seen(model, cause, words, advice):
    row = of_a(model)
    assert row.cause == cause
    assert words in row.sentence
    assert advice in row.advice
    assert "grad_exists" in row.rules


def test_what_a_clip_makes_zero_is_one_diagnosis():
    model = Net(lambda net, y: torch.relu(net.b(y.sin()) - 99))
    report = hookcli.check(model, inputs=X)
    assert [row.cause for row in report.diagnoses] == ["clipped_gradient"]


@pytest.mark.parametrize("length", [1, 2])
def test_a_state_that_is_zero_is_told(length):
    class First(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = nn.LSTM(8, 4, batch_first=True)

        def forward(self, x):
            return self.rnn(x[:, None].expand(-1, length, -1))[0][:, -1]

    report = hookcli.check(First(), inputs=X)
    assert [row.cause for row in report.diagnoses] == (["zero_state"] if length == 1 else [])


def test_a_reason_that_is_not_one_is_not_told():
    def mixed(net, y):
        return torch.cat([net.b(F.relu(y - 99)), net.b(y * torch.zeros(8))])

    row = of_a(Net(mixed))
    assert row.cause == "grad_exists"
    assert row.sentence.endswith("got a gradient that is exactly zero")


@pytest.mark.parametrize("p", [1.0, 0.9])
def test_only_a_dropout_of_every_value_is_named(p):
    model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Dropout(p), nn.Linear(64, 2))
    report = hookcli.check(model, inputs=X)
    assert [row.cause for row in report.diagnoses] == [
        "dropout_of_all" if p == 1 else "high_dropout"
    ]


class Words(nn.Module):
    """A mean over those tokens that a function chooses; 0 is padding."""

    def __init__(self, choose, padding_idx=0):
        super().__init__()
        torch.manual_seed(0)
        self.embed, self.a = nn.Embedding(9, 8, padding_idx=padding_idx), nn.Linear(8, 4)
        self.choose = choose

    def forward(self, ids):
        return (self.a(self.embed(ids)) * self.choose(ids)[..., None]).mean(1)


IDS = torch.tensor([[1, 2, 3, 0], [4, 5, 0, 0]])


def test_gradients_of_padding_alone_do_not_cancel():
    report = hookcli.check(Words(lambda ids: ids == 0), inputs=IDS)
    told = {row.target: (row.cause, row.sentence) for row in report.diagnoses}
    assert told["embed"][0] == "only_padding"
    assert "only tokens of padding_idx=0 get a gradient" in told["embed"][1]
    assert told["a"][0] == "zero_rows"
    assert "gets a gradient only where its input is zero" in told["a"][1]
    assert not hookcli.check(Words(lambda ids: ids != 0), inputs=IDS).diagnoses


class Halves(nn.Module):
    """A sum of two samples with the given signs."""

    def __init__(self, layer, signs):
        super().__init__()
        self.a, self.signs = layer, torch.tensor(signs)

    def forward(self, x):
        return (self.a(x).flatten(1) * self.signs[:, None]).sum(0)


@pytest.mark.parametrize(
    ("layer", "shape"),
    [(nn.Linear(6, 4), (2, 6)), (nn.Conv1d(1, 4, 2, bias=False), (2, 1, 6))],
)
def test_terms_cancel_only_if_one_of_them_is_not_zero(layer, shape):
    first = torch.zeros(shape)
    first[0] = 1
    for x, signs, cause in (
        (torch.ones(shape), (1.0, -1.0), "cancelled_gradient"),
        (first, (0.0, 1.0), "zero_rows"),
    ):
        rows = hookcli.check(Halves(layer, signs), inputs=x, loss=torch.sum).diagnoses
        assert cause in [row.cause for row in rows]
