"""Arguments that do not fit each other, beside the healthy code that looks like it."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

import hookcli
from tests.rules.training.test_script_mistakes import findings, judged

X = torch.randn(6, 5, 16, generator=torch.Generator().manual_seed(1))
HIDDEN = torch.arange(5).expand(6, 5) > 2


class Net(nn.Module):
    """A linear layer, and a function of the model and of the layer's outputs."""

    def __init__(self, function, *layers):
        super().__init__()
        torch.manual_seed(0)
        self.fc, self.layers, self.function = nn.Linear(16, 16), nn.Sequential(*layers), function
        self.num_heads, self.head_dim = 4, 5

    def forward(self, x):
        return self.function(self, self.fc(x))


def split(y):
    return y.view(6, 5, 4, 4)  # [batch, positions, heads, size]


def attention(q):
    return F.scaled_dot_product_attention(q, q, q)


def by_hand(q):
    return (q @ q.transpose(-1, -2) / 2).softmax(-1) @ q


def masked(mask):
    def function(net, y):
        scores = y @ y.transpose(1, 2)
        return scores.masked_fill(mask, -1e9).softmax(-1) @ y

    return function


def mixture(dim):
    return lambda net, y: torch.logsumexp(y.log_softmax(dim) - y.square(), -1)


MISTAKES = {
    "a mask of queries": (masked(HIDDEN[:, :, None]), "that is the same along that dimension"),
    "attention among heads": (
        lambda net, y: attention(split(y)), "is among the 4 heads of each position"
    ),
    "attention among heads, by hand": (
        lambda net, y: by_hand(split(y)), "is among the 4 heads of each position"
    ),
    "a mixture over positions": (mixture(1), "over dimension 1: they do not add up to 1"),
    "one norm": (lambda net, y: y / y.norm(), "is divided by one norm of all its samples"),
    "one norm and a small number": (
        lambda net, y: y / (torch.linalg.norm(y) + 1e-6), "is divided by one norm"
    ),
    "alpha_dropout that is off": (
        lambda net, y: F.alpha_dropout(y, 0.2), "alpha_dropout with p=0.2 drops nothing"
    ),
}  # fmt: skip
HEALTHY = {
    "a mask of keys": masked(HIDDEN[:, None, :]),
    "a causal mask": masked(torch.ones(5, 5).triu(1).bool()),
    "a mask that hides nothing": masked(torch.zeros(6, 5, 1).bool()),
    "attention among positions": lambda net, y: attention(split(y).transpose(1, 2)),
    "attention among positions, by hand": lambda net, y: by_hand(split(y).transpose(1, 2)),
    "a mixture": mixture(2),
    "norms of samples": lambda net, y: y / y.flatten(1).norm(dim=1)[:, None, None],
    "F.normalize": lambda net, y: F.normalize(y, dim=-1),
    "a norm of a weight": lambda net, y: y / net.fc.weight.norm(),
    "alpha_dropout": lambda net, y: F.alpha_dropout(y, 0.2, training=net.training),
}


def of_model(function, *layers):
    report = hookcli.check(Net(function, *layers), inputs=(X,), rules=["function_arguments"])
    return [row.message for row in report.checks if row.status == "fail"]


def of_script(function):
    def train():
        net = Net(function)
        optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
        for _ in range(4):
            optimizer.zero_grad()
            net(X).square().mean().backward()
            optimizer.step()

    return findings(judged(train), "function_arguments")


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_found(name):
    function, message = MISTAKES[name]
    assert [one for one in of_model(function) if message in one]
    assert [one for one in of_script(function) if message in one]


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_arguments_are_not_accused(name):
    assert of_model(HEALTHY[name]) == []
    assert of_script(HEALTHY[name]) == []


def test_a_flag_in_the_place_of_a_number():
    def found(*layers):
        return of_model(lambda net, y: net.layers(y), *layers)

    [message] = found(nn.LeakyReLU(True))
    assert message.startswith(
        "LeakyReLU was constructed with negative_slope=True, which counts as 1"
    )
    assert found(nn.LeakyReLU(inplace=True), nn.ELU(1.0), nn.Dropout(0.1)) == []
    assert found(nn.ELU(True)) == []  # that is its default


@pytest.mark.parametrize(
    ("keeps", "p", "count"), [(False, 0.1, 1), (True, 0.1, 0), (False, 0.0, 0)]
)
def test_a_checkpoint_with_dropout_keeps_the_state_of_the_generators(keeps, p, count):
    def function(net, y):
        return checkpoint(net.layers, y, use_reentrant=False, preserve_rng_state=keeps)

    messages = of_model(function, nn.Linear(16, 16), nn.Dropout(p))
    assert len(messages) == count
    assert all("runs 1 dropout module again in backward" in message for message in messages)


def test_torch_s_own_attention_is_not_judged():
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    assert of_model(lambda net, y: net.layers(y), layer) == []
