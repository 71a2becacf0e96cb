"""Indices, dimensions, signs and settings that do not fit, beside those that look like them."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tests.rules.patterns.test_function_arguments import X, of_model, of_script
from tests.rules.training.test_script_mistakes import findings, judged

TOP = torch.randint(0, 5, (6, 3), generator=torch.Generator().manual_seed(0))
NODES = torch.tensor([0, 0, 1, 2, 2, 3])
OTHER = nn.Linear(16, 16)


def opacities(y):
    return torch.sigmoid(y[..., 0])


def hidden_by_others(net, y):
    a = opacities(y)
    return a * torch.cat([torch.ones_like(a[:, :1]), 1 - a], 1).cumprod(1)[:, :-1]


def distances(y):
    return (y[:, :, None] - y[:, None]).square().sum(-1)


def convolved(y):
    return F.conv1d(y.transpose(1, 2), torch.ones(8, 16, 2) / 9)


def added(net, y):
    total = torch.zeros(5, 16)
    total[NODES] += y[:, 0]
    return total


def added_once(net, y):
    total = torch.zeros(6, 16)
    total[torch.arange(6)] += y[:, 0]
    return total


def assigned(net, y):
    total = torch.zeros(5, 16)
    total[NODES] = y[:, 0] + 1
    return total


def pooled(**given):
    def function(net, y):
        index = NODES[:, None].expand(6, 16)
        return torch.zeros(5, 16).scatter_reduce(0, index, y[:, 0], **given)

    return function


def square(y):
    return (y @ y.transpose(1, 2)).exp()[:5]


def folded(size, stride, weight=1.0):
    def function(net, y):
        patches = F.unfold(y.reshape(6, 1, 8, 10), size, stride=stride)
        return F.fold(patches * weight if weight != 1 else patches, (8, 10), size, stride=stride)

    return function


def scored(**given):
    return lambda net, y: torch.baddbmm(torch.ones(5, 5), y, y.transpose(1, 2), **given)


MISTAKES = {
    "indices of all samples": (lambda net, y: y[:, TOP], "at the indices of all samples"),
    "an opacity that hides itself": (
        lambda net, y: opacities(y) * (1 - opacities(y)).cumprod(1) * 0
        + (lambda a: a * (1 - a + 1e-6).cumprod(1))(opacities(y)),
        "is hidden by its own opacity",
    ),
    "a softmax of distances": (
        lambda net, y: (distances(y) / 2).softmax(-1), "what is farthest has the largest weight"
    ),
    "a softmax of cdist": (
        lambda net, y: torch.cdist(y, y).log_softmax(-1), "what is farthest has the largest weight"
    ),
    "gates of positions": (lambda net, y: F.glu(convolved(y)), "positions gate others"),
    "zeros that are counted": (pooled(reduce="mean"), "include_self is True by default"),
    "sums of equal indices": (added, "keeps one value for each"),
    "columns that are sorted": (lambda net, y: y.sort(1).values, "orders each of the 16 columns"),
    "patches that overlap": (folded(4, 2), "most pixels are sums of 4"),
    "a scale of the bias": (scored(beta=0.25), "scales what is added, and not the product"),
    "a norm of one element": (
        lambda net, y: F.normalize(y.reshape(6, 1, 80), dim=1), "only their signs are left"
    ),
    "a similarity over a repeated dimension": (
        lambda net, y: F.cosine_similarity(y[:, 0, None], net.fc.weight[None]),
        "in which one of them has a single value",
    ),
    "features that are joined as samples": (
        lambda net, y: torch.cat([y[:, 0], OTHER(X[:, 0])]).square(),
        "of different layers along the samples: what follows has 12 rows",
    ),
    "a norm over positions": (lambda net, y: F.normalize(y), "works over dimension 1 of"),
    "an average of an instance norm": (
        lambda net, y: F.instance_norm(y.transpose(1, 2)).mean(-1), "the result is constant"
    ),
    "a row that is divided by another sum": (
        lambda net, y: (lambda z: z / z.sum(-1))(square(y)), "is divided by its sum over"
    ),
    "a row less another mean": (
        lambda net, y: (lambda z: z - z.mean(2))(square(y)), "is reduced by its mean over dimension"
    ),
    "a row that is divided by another norm": (
        lambda net, y: (lambda z: z / (z.norm(dim=2) + 1e-6))(square(y)), "by its norm over"
    ),
    "samples that are dropped": (
        lambda net, y: F.dropout3d(y[:, None], 0.1), "takes dimension 0 for channels"
    ),
    "positions that are dropped": (
        lambda net, y: F.dropout1d(y, 0.1), "takes dimension 1 for channels: it drops whole positi"
    ),
    "a layer norm of positions": (
        lambda net, y: F.layer_norm(y, (5, 16)), "is over its 5 positions, too"
    ),
    "a sum of a softmax": (lambda net, y: y.softmax(-1).sum(-1), "the same for all inputs"),
}  # fmt: skip
HEALTHY = {
    "indices of each sample": lambda net, y: y.gather(1, TOP[..., None].expand(-1, -1, 16)),
    "indices of samples and positions": lambda net, y: y[torch.arange(6)[:, None], TOP],
    "a weight that is read at indices": lambda net, y: (
        y.mean() * net.fc.weight[:, TOP[:1].expand(16, 3) * torch.arange(16)[:, None] % 16]
    ),
    "one index for all": lambda net, y: y[:, TOP[:1].expand(6, 3)],
    "an opacity that others hide": hidden_by_others,
    "a product of powers": lambda net, y: opacities(y) * opacities(y).cumprod(1),
    "a share and its own product": lambda net, y: (lambda a: a * a.cumprod(1))(opacities(y)),
    "a softmax of similarity": lambda net, y: (-distances(y)).softmax(-1),
    "a softmax of scores": lambda net, y: (y @ y.transpose(1, 2)).softmax(-1),
    "gates of channels": lambda net, y: F.glu(convolved(y), dim=1),
    "zeros that are not counted": pooled(reduce="mean", include_self=False),
    "sums": pooled(reduce="sum"),
    "sums of different indices": added_once,
    "values that are replaced": assigned,
    "numbers that are sorted": lambda net, y: y[..., 0].sort(1).values,
    "features that are sorted": lambda net, y: y.sort(-1).values,
    "patches side by side": folded(2, 2),
    "patches with a window": folded(4, 2, 0.25),
    "a scale of the product": scored(alpha=0.25),
    "a similarity over features": lambda net, y: F.cosine_similarity(
        y[:, 0, None], net.fc.weight[None], dim=-1
    ),
    "a similarity over channels": lambda net, y: F.cosine_similarity(
        y.transpose(1, 2), net.fc.bias[None, :, None].expand(6, 16, 5)
    ),
    "two views of one encoder": lambda net, y: torch.cat([y[:, 0], net.fc(X[:, 1])]).square(),
    "features that are joined": lambda net, y: torch.cat([y[:, 0], OTHER(X[:, 0])], 1),
    "a norm over features": lambda net, y: F.normalize(y, dim=-1),
    "a norm over channels": lambda net, y: F.normalize(y.transpose(1, 2)),
    "an activation in between": lambda net, y: F.instance_norm(y.transpose(1, 2)).relu().mean(-1),
    "an average of a layer norm over positions": lambda net, y: F.layer_norm(y, (16,)).mean(1),
    "a row that is divided by its sum": lambda net, y: (lambda z: z / z.sum(-1, keepdim=True))(
        square(y)
    ),
    "a batch less its mean": lambda net, y: (lambda z: z - z.mean(0))(square(y)[0]),
    "a row that is divided by the sum of another": lambda net, y: square(y) / (y[:5, :, 0] + 9),
    "shares that are divided by their sum": lambda net, y: (
        torch.distributions.Categorical(probs=y.softmax(-1)).logits
    ),
    "channels that are dropped": lambda net, y: F.dropout1d(y.transpose(1, 2), 0.1),
    "channels of pictures that are dropped": lambda net, y: F.dropout2d(y[:, None], 0.1),
    "a layer norm of features": lambda net, y: F.layer_norm(y, (16,)),
    "a layer norm of pictures": lambda net, y: F.layer_norm(y[:, None], (1, 5, 16)),
    "a sum of values": lambda net, y: (y.softmax(1) * y).sum(1),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_found(name):
    function, message = MISTAKES[name]
    assert [one for one in of_model(function) if message in one]
    assert [one for one in of_script(function) if message in one]


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_arguments_are_not_accused(name):
    assert of_model(HEALTHY[name]) == []
    assert of_script(HEALTHY[name]) == []


def biased(quarter, value=1.0):
    layer = nn.LSTM(16, 4)
    for name, parameter in layer.named_parameters():
        if "bias" in name:
            nn.init.zeros_(parameter)
    with torch.no_grad():
        layer.bias_ih_l0[4 * quarter : 4 * quarter + 4] = value
    return layer


def dropping(layers):
    layer = nn.GRU(16, 16, layers)
    layer.dropout = 0.3  # the constructor warns
    return layer


class Stack(nn.Module):
    """A stack of pre-norm layers, with or without a norm behind it."""

    def __init__(self, *, own, norm_first=True):
        super().__init__()
        layer = nn.TransformerEncoderLayer(16, 2, 32, 0.0, batch_first=True, norm_first=norm_first)
        norm = nn.LayerNorm(16) if own else None
        self.layers = nn.TransformerEncoder(layer, 2, norm, enable_nested_tensor=False)

    def forward(self, x):
        return self.layers(x)


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        (dropping(1), "GRU with dropout=0.3 and one layer drops nothing"),
        (dropping(2), None),
        (biased(2), "are 1 in its cell gate, and 0 elsewhere"),
        (biased(1), None),
        (nn.Conv1d(5, 4, 2, stride=3), "kernel size [2] and stride [3] skips positions"),
        (nn.Conv1d(5, 4, 1, stride=2), None),
        (nn.Conv1d(5, 4, 3, stride=3), None),
        (nn.Sequential(nn.Linear(16, 16), nn.SELU(), nn.Dropout(0.1)), "Dropout follows SELU"),
        (nn.Sequential(nn.Linear(16, 16), nn.SELU(), nn.AlphaDropout(0.1)), None),
        (Stack(own=False), "has layers with norm_first=True and no `norm`"),
        (Stack(own=True), None),
        (Stack(own=False, norm_first=False), None),
    ],
)
def test_settings_without_the_effect_that_is_meant(layer, message):
    def function(net, y):
        made = net.layers(y)
        return made[0] if isinstance(made, tuple) else made

    found = of_model(function, layer)
    assert len(found) == (message is not None)
    assert message is None or message in found[0]


def test_the_scale_of_a_normalized_attention_is_left_alone():
    """Queries of norm 1 with a learned or fixed scale are a similarity by cosine."""

    def function(net, y):
        q = F.normalize(y.view(6, 5, 2, 8).transpose(1, 2), dim=-1) * math.sqrt(8)
        return F.scaled_dot_product_attention(q, q, q)

    assert of_model(function) == []


@pytest.mark.parametrize(("inplace", "count"), [(True, 0), (False, 1)])
def test_the_settings_of_a_model_that_trains_are_judged_once(inplace, count):
    def train():
        torch.manual_seed(0)
        last = nn.LeakyReLU(inplace=True) if inplace else nn.LeakyReLU(True)
        model = nn.Sequential(nn.Linear(16, 8), last, nn.Linear(8, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        for _ in range(5):
            optimizer.zero_grad()
            model(torch.randn(8, 16)).square().mean().backward()
            optimizer.step()

    rows = findings(judged(train), "function_arguments")
    assert len(rows) == count
    assert all("LeakyReLU was constructed with negative_slope=True" in row for row in rows)
