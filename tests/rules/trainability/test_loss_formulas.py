"""The formula of a loss: what is found, and what healthy models do."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import hookcli

X = torch.randn(12, 8, generator=torch.Generator().manual_seed(1))
CLASSES = torch.arange(12) % 3
MASK = (torch.arange(12) % 2).float()


def findings(model, rule, *inputs):
    torch.manual_seed(0)
    report = hookcli.check(model, inputs=inputs, rules=[rule])
    rows = [row for row in report.checks if row.status == "fail"]
    return [(next(k for k, v in SAID.items() if v in row.message), row.severity) for row in rows]


SAID = {
    "relu before log_softmax": "log_softmax gets the result of relu",
    "relu before sigmoid": "sigmoid gets the result of relu",
    "softmax before sigmoid": "sigmoid gets the result of softmax",
    "softmax before log_softmax": "log_softmax gets the result of softmax",
    "noise": "noise is multiplied by ",
    "smallest": "the KL term of the loss is smallest where the variance exp(x) is 2, not 1",
    "divergence": "the KL term of the loss has the wrong sign",
    "overlap": "the loss is a score, such as dice or IoU, with the wrong sign",
    "log_probability": "the loss grows with the log-probability of the targets",
    "log_likelihood": "the loss is a log-likelihood, by logsigmoid, without a minus sign",
    "error": "the loss is the negative of an error",
    "own token": "cross_entropy compares each position with its own input token",
    "padding": "targets of cross_entropy are padding",
}


class Loss(nn.Module):
    """A linear layer, and a loss of its outputs."""

    def __init__(self, function):
        super().__init__()
        torch.manual_seed(0)
        self.fc, self.function = nn.Linear(8, 3), function

    def forward(self, x, *aims):
        return {"loss": self.function(self.fc(x), *aims)}


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (lambda z, y: F.cross_entropy(F.relu(z), y), "relu before log_softmax"),
        (
            lambda z, y: F.nll_loss(F.log_softmax(z.clamp(0).relu(), 1), y),
            "relu before log_softmax",
        ),
        (lambda z, y: F.relu(z).sigmoid().square().mean(), "relu before sigmoid"),
        (lambda z, y: F.softmax(z, 1).sigmoid().square().mean(), "softmax before sigmoid"),
        (lambda z, y: F.softmax(z, 1).log_softmax(1).square().mean(), "softmax before log_softmax"),
        (lambda z, y: F.cross_entropy(z, y), None),
        (lambda z, y: F.cross_entropy(F.relu(z) @ torch.ones(3, 3), y), None),
        (lambda z, y: F.cross_entropy(F.leaky_relu(z), y), None),
        (lambda z, y: F.cross_entropy(F.relu(z).mean(1, keepdim=True) - z, y), None),
    ],
)
def test_an_activation_before_a_softmax_is_a_note(function, kind):
    expected = [(kind, "note")] if kind else []
    assert findings(Loss(function), "clipped_logits", X, CLASSES) == expected


@pytest.mark.parametrize(
    ("bounded", "floor"),
    [(torch.sigmoid, 0.551), (torch.tanh, 0.24), (lambda z: 10 * torch.tanh(z), None)],
)
def test_bounded_logits_have_a_smallest_loss(bounded, floor):
    model = Loss(lambda z, y: F.cross_entropy(bounded(z), y))
    report = hookcli.check(model, inputs=(X, CLASSES), rules=["double_softmax"])
    (row,) = report.checks
    assert row.status == ("pass" if floor is None else "fail")
    if floor is not None:  # that of the largest value for the right class, by plain PyTorch
        best = bounded(torch.tensor([[1e3, -1e3, -1e3]]))
        assert F.cross_entropy(best, torch.tensor([0])).item() == pytest.approx(floor, abs=1e-3)
        assert f"cannot fall below {floor}" in row.message


class Variational(nn.Module):
    """A variational autoencoder: the scale of its noise, and its KL term."""

    def __init__(self, scale, divergence):
        super().__init__()
        torch.manual_seed(0)
        self.mu, self.spread, self.decode = nn.Linear(8, 4), nn.Linear(8, 4), nn.Linear(4, 8)
        self.scale, self.divergence = scale, divergence

    def forward(self, x):
        mu, spread = self.mu(x), self.spread(x)
        made = self.decode(mu + torch.randn_like(mu) * self.scale(spread))
        return {"loss": F.mse_loss(made, x) + 0.1 * self.divergence(mu, spread)}


def of_variance(mu, s):
    return -0.5 * (1 + s - mu.pow(2) - s.exp()).sum(1).mean()


def of_deviation(mu, s):
    return (-0.5 * torch.sum(1 + 2 * s - mu**2 - s.exp() ** 2, dim=1)).mean()


@pytest.mark.parametrize(
    ("scale", "divergence", "kind"),
    [
        (torch.exp, of_variance, "noise"),
        (lambda s: s, of_variance, "noise"),
        (lambda s: s / 2, of_variance, "noise"),
        (lambda s: (s / 2).exp(), of_deviation, "noise"),
        (torch.exp, lambda mu, s: -0.5 * (1 + 2 * s - mu**2 - s.exp()).mean(), "noise"),
        (F.softplus, lambda mu, s: -0.5 * (1 + 2 * s - mu**2 - s.exp()).mean(), "smallest"),
        (lambda s: (0.5 * s).exp(), of_variance, None),
        (lambda s: s.mul(0.5).exp(), lambda mu, s: 0.5 * (mu**2 + s.exp() - s - 1).mean(), None),
        (torch.exp, of_deviation, None),
        (torch.exp, lambda mu, s: (s.exp().pow(2) / 2 - s + mu**2 / 2 - 0.5).mean(), None),
        (F.softplus, lambda mu, s: mu.square().mean(), None),
    ],
)
def test_noise_has_the_scale_of_its_kl_term(scale, divergence, kind):
    expected = [(kind, "warning")] if kind else []
    assert findings(Variational(scale, divergence), "noise_scale", X) == expected


def dice(z, t):
    p = z[:, 0].sigmoid()
    return (2 * (p * t).sum() + 1) / (p.sum() + t.sum() + 1)


def test_a_kl_term_of_the_wrong_sign_is_found():
    def wrong(mu, s):
        return -of_variance(mu, s)

    def scale(s):
        return (s / 2).exp()

    assert findings(Variational(scale, wrong), "loss_sign", X) == [("divergence", "warning")]
    assert findings(Variational(scale, of_variance), "loss_sign", X) == []


@pytest.mark.parametrize(
    ("function", "aim", "found"),
    [
        (dice, MASK, [("overlap", "warning")]),
        (lambda z, t: F.mse_loss(z[:, 0], t) + 0.5 * dice(z, t), MASK, [("overlap", "warning")]),
        (lambda z, t: 1 - dice(z, t), MASK, []),
        (lambda z, t: -dice(z, t), MASK, []),
        (lambda z, t: dice(z, 1 - t), MASK, []),  # a rate of false positives
        (lambda z, y: z.log_softmax(1).gather(1, y[:, None]).mean(), CLASSES,
         [("log_probability", "warning")]),
        (lambda z, y: -z.log_softmax(1).gather(1, y[:, None]).mean(), CLASSES, []),
        (lambda z, t: F.logsigmoid(z[:, 0]).mean() + F.logsigmoid(-z[:, 1]).sum() / 4, MASK,
         [("log_likelihood", "warning")]),
        (lambda z, t: -F.logsigmoid(z[:, 0]).mean(), MASK, []),
        (lambda z, t: F.logsigmoid(z[:, 0]).mean() + z.square().mean(), MASK, []),
        (lambda z, y: -F.cross_entropy(z, y), CLASSES, [("error", "note")]),
        (lambda z, y: F.cross_entropy(z, y), CLASSES, []),
        (lambda z, y: z.square().mean() - F.cross_entropy(z, y), CLASSES, []),  # adversarial
    ],
)  # fmt: skip
def test_the_sign_of_a_loss(function, aim, found):
    assert findings(Loss(function), "loss_sign", X, aim) == found


class Language(nn.Module):
    """A recurrent language model with token 0 for padding."""

    def __init__(self, shift, ignored=-100):
        super().__init__()
        torch.manual_seed(0)
        self.embedding = nn.Embedding(9, 8, padding_idx=0)
        self.rnn, self.head = nn.GRU(8, 8, batch_first=True), nn.Linear(8, 9)
        self.shift, self.ignored = shift, ignored

    def forward(self, ids):
        given = ids[:, : ids.shape[1] - self.shift]
        logits = self.head(self.rnn(self.embedding(given))[0])
        aims = ids[:, self.shift :]
        return {"loss": F.cross_entropy(logits.transpose(1, 2), aims, ignore_index=self.ignored)}


IDS = torch.tensor([[1, 2, 3, 4, 5], [6, 7, 8, 1, 2]])
PADDED = torch.tensor([[1, 2, 3, 4, 5], [6, 7, 0, 0, 0]])


@pytest.mark.parametrize(
    ("shift", "ignored", "ids", "kind"),
    [
        (0, -100, IDS, "own token"),
        (1, -100, IDS, None),
        (1, -100, PADDED, "padding"),
        (1, 0, PADDED, None),
    ],
)
def test_targets_of_a_language_model(shift, ignored, ids, kind):
    expected = [(kind, "note")] if kind else []
    assert findings(Language(shift, ignored), "token_targets", ids) == expected


class GivenTargets(nn.Module):
    """A language model whose batch has the targets, too."""

    def __init__(self):
        super().__init__()
        self.embedding, self.head = nn.Embedding(12, 6), nn.Linear(6, 12)

    def forward(self, ids, targets):
        logits = self.head(self.embedding(ids))
        return {"loss": F.cross_entropy(logits.flatten(0, 1), targets.flatten())}


def test_inputs_and_targets_may_be_parts_of_one_tensor():
    whole = torch.randint(1, 12, (4, 9), generator=torch.Generator().manual_seed(0))
    report = hookcli.check(
        GivenTargets(), inputs=(whole[:, :-1], whole[:, 1:]), rules=["token_targets"]
    )
    assert report.checks[0].status == "pass"


def test_padding_of_targets_is_counted():
    report = hookcli.check(Language(1), inputs=PADDED, rules=["token_targets"])
    assert report.checks[0].message.startswith("3 of 8 targets of cross_entropy are padding")
