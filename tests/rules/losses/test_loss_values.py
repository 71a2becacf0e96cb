"""What loss functions and distributions get: each mistake, and the healthy code that it resembles.

The same table is used for models that return their loss, and for training scripts.
"""

from __future__ import annotations

import warnings

import pytest
import torch
from torch import distributions as D, nn
from torch.nn import functional as F

import hookcli
from tests.rules.training.test_script_mistakes import findings, judged

X = torch.randn(12, 8, generator=torch.Generator().manual_seed(1))
CLASSES = torch.arange(12) % 3
SHARES = torch.rand(12, 3, generator=torch.Generator().manual_seed(2)).softmax(1)
BITS = F.one_hot(CLASSES, 3).float()
SIGNS = 2 * BITS - 1
RARE = torch.tensor([0] * 20 + [1] * 10 + [2] * 6)
COUNTS = torch.arange(36.0).reshape(12, 3) % 4


class Loss(nn.Module):
    """A linear layer, and a loss of its outputs."""

    def __init__(self, function):
        super().__init__()
        torch.manual_seed(0)
        self.fc, self.function = nn.Linear(8, 3), function

    def forward(self, x):
        return {"loss": self.function(self.fc(x))}


@pytest.fixture(autouse=True)
def _without_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch tells of a mean of kl_div itself
        yield


def of_model(function):
    torch.manual_seed(0)
    report = hookcli.check(Loss(function), inputs=(X,), rules=["loss_values"])
    return [row.message for row in report.checks if row.status == "fail"]


def of_script(function):
    def train():
        torch.manual_seed(0)
        net = nn.Linear(8, 3)
        optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
        for _ in range(4):
            optimizer.zero_grad()
            function(net(X)).backward()
            optimizer.step()

    report = judged(train)
    return findings(report, "loss_values")


def kl(make, target, **options):
    return lambda z: F.kl_div(make(z), target, reduction="batchmean", **options)


def categorical(**given):
    return lambda z: (
        -D.Categorical(**{key: make(z) for key, make in given.items()}).log_prob(CLASSES).mean()
    )


def scored(distribution, method):
    drawn = getattr(distribution, method)()
    return -(distribution.log_prob(drawn) * COUNTS).mean()


def logs(z):
    return z.log_softmax(1)


MISTAKES = {
    "kl_div of probabilities": (kl(lambda z: z.softmax(1), SHARES), "kl_div gets probabilities"),
    "kl_div of logits": (kl(lambda z: z, SHARES), "kl_div gets values that are not log-prob"),
    "kl_div over the samples": (
        kl(lambda z: z.log_softmax(0), SHARES),
        "kl_div compares log-probabilities over dimension 0 with probabilities over dimension 1",
    ),
    "kl_div with log_target": (
        kl(logs, SHARES, log_target=True),
        "kl_div gets probabilities as its target, but log_target is true",
    ),
    "kl_div by elements": (lambda z: F.kl_div(logs(z), SHARES), "kl_div averages over all elem"),
    "kl_div reversed": (
        lambda z: F.kl_div(SHARES.log(), z.softmax(1), reduction="batchmean"),
        "kl_div gets the prediction as its target",
    ),
    "several classes": (
        lambda z: F.cross_entropy(z, (COUNTS > 1).float()),
        "cross_entropy gets targets of 0 and 1 for all classes, which add up to 1 to 2",
    ),
    "no shares": (lambda z: F.cross_entropy(z, COUNTS), "that are not probabilities: they add up"),
    "negative shares": (lambda z: F.cross_entropy(z, X[:, :3]), "some are negative"),
    "labels that are smoothed away": (
        lambda z: F.cross_entropy(z, CLASSES, label_smoothing=1.0),
        "label_smoothing=1 replaces the labels",
    ),
    "weights of 0": (
        lambda z: F.cross_entropy(z, CLASSES, torch.tensor([0.0, 0.0, 1.0])),
        "2 of 3 classes have the weight 0 in cross_entropy: 67% of the targets train nothing",
    ),
    "weights that rise with the counts": (
        lambda z: F.cross_entropy(z.repeat(3, 1), RARE, torch.tensor([0.56, 0.28, 0.17])),
        "cross_entropy weighs class 0 most, with 0.56, which 56% of the targets",
    ),
    "sigmoids that are joined": (
        lambda z: F.binary_cross_entropy_with_logits(
            torch.stack([1 - z.sigmoid(), z.sigmoid()]), torch.stack([1 - BITS, BITS])
        ),
        "as a sigmoid returns, and applies another sigmoid",
    ),
    "positives that weigh less": (
        lambda z: F.binary_cross_entropy_with_logits(z, BITS, pos_weight=torch.tensor(0.5)),
        "pos_weight=0.5 makes positives weigh less, and 33% of the targets are positive",
    ),
    "targets above 1": (
        lambda z: F.multilabel_soft_margin_loss(z, COUNTS),
        "multilabel_soft_margin_loss gets targets from 0 to 3",
    ),
    "a rate for a logarithm": (
        lambda z: F.poisson_nll_loss(z.exp(), COUNTS),
        "poisson_nll_loss gets the result of exp as the logarithm of a rate",
    ),
    "negative counts": (
        lambda z: F.poisson_nll_loss(z, COUNTS - 1),
        "poisson_nll_loss gets targets down to -1",
    ),
    "a variance of 0": (
        lambda z: F.gaussian_nll_loss(z, SHARES, F.relu(z)),
        "gaussian_nll_loss gets the result of a ReLU as its variance",
    ),
    **{
        f"bits for {loss.__name__}": (
            lambda z, loss=loss: loss(z, BITS),
            f"{loss.__name__} gets targets of 0 and 1: they must be -1 and 1",
        )
        for loss in (F.soft_margin_loss, F.hinge_embedding_loss)
    },
    "bits for a ranking": (
        lambda z: F.margin_ranking_loss(z[:, 0], z[:, 1], BITS[:, 0]),
        "margin_ranking_loss gets targets of 0 and 1",
    ),
    "bits for cosines": (
        lambda z: F.cosine_embedding_loss(z, z.flip(1), BITS[:, 0]),
        "cosine_embedding_loss gets targets of 0 and 1",
    ),
    "flags for lists": (
        lambda z: F.multilabel_margin_loss(z, BITS.long()),
        "multilabel_margin_loss gets 0 and 1 for each class",
    ),
    "sigmoid for multilabel_soft_margin_loss": (
        lambda z: F.multilabel_soft_margin_loss(z.sigmoid(), BITS),
        "multilabel_soft_margin_loss gets the result of a sigmoid instead of logits",
    ),
    "an anchor that is its positive sample": (
        lambda z: F.triplet_margin_loss(z, z, z.flip(0)),
        "the anchor and the positive sample of triplet_margin_loss are equal",
    ),
    "labels that are too long": (
        lambda z: F.ctc_loss(
            logs(z).view(3, 4, 3), torch.ones(4, 2).long(), (3, 3, 1, 3), (2,) * 4,
            zero_infinity=True,
        ),
        "1 of 4 label sequences of ctc_loss are longer than their inputs",
    ),
    "probabilities as logits": (
        categorical(logits=lambda z: z.softmax(1)), "Categorical gets probabilities as its logits"
    ),
    "probabilities as logits of a relaxation": (
        lambda z: F.gumbel_softmax(z.softmax(1)).square().sum(),
        "gumbel_softmax gets the result of a softmax instead of logits",
    ),
    "a sigmoid as logits": (
        lambda z: D.Bernoulli(logits=z.sigmoid()).probs.square().mean(),
        "Bernoulli gets the result of a sigmoid as its logits",
    ),
    "the prior first": (
        lambda z: D.kl_divergence(D.Normal(torch.zeros(3), 1.0), D.Normal(z, 1.0)).mean(),
        "kl_divergence gets the standard normal distribution first",
    ),
    "torch.normal": (
        lambda z: (torch.normal(z, 1.0) - 1).square().mean() + z.square().mean(),
        "`torch.normal` draws from values with a gradient",
    ),
    "a score of rsample": (
        lambda z: scored(D.Normal(z, z.exp()), "rsample"),
        "log_prob of Normal gets the result of `rsample` with its gradient",
    ),
}  # fmt: skip
HEALTHY = {
    "kl_div": kl(logs, SHARES),
    "kl_div of logarithms": kl(logs, SHARES.log(), log_target=True),
    "kl_div with padding": kl(logs, SHARES * (torch.arange(12) < 8)[:, None]),
    "kl_div of some classes": kl(lambda z: logs(z)[:, :2], SHARES[:, :2]),
    "kl_div of one-hot labels": kl(logs, BITS),
    "soft labels": lambda z: F.cross_entropy(z, SHARES),
    "soft labels with padding": lambda z: F.cross_entropy(
        z, SHARES * (torch.arange(12) < 8)[:, None]
    ),
    "smoothed labels": lambda z: F.cross_entropy(z, CLASSES, label_smoothing=0.1),
    "weights that fall with the counts": lambda z: F.cross_entropy(
        z.repeat(3, 1), RARE, torch.tensor([0.6, 1.2, 2.0])
    ),
    "equal weights": lambda z: F.cross_entropy(z.repeat(3, 1), RARE, torch.ones(3)),
    "weights of classes that are as frequent": lambda z: F.cross_entropy(
        z.repeat(3, 1), CLASSES.repeat(3), torch.tensor([1.0, 2.0, 3.0])
    ),
    "logits that are joined": lambda z: F.binary_cross_entropy_with_logits(
        torch.stack([1 - z, z]), torch.stack([1 - BITS, BITS])
    ),
    "logits between 0 and 1": lambda z: F.binary_cross_entropy_with_logits(z * 1e-3 + 0.1, BITS),
    "positives that weigh more": lambda z: F.binary_cross_entropy_with_logits(
        z, BITS, pos_weight=torch.tensor(2.0)
    ),
    "frequent positives that weigh less": lambda z: F.binary_cross_entropy_with_logits(
        z, 1 - BITS, pos_weight=torch.tensor(0.5)
    ),
    "a class without a weight": lambda z: F.cross_entropy(
        z, CLASSES, torch.tensor([0.0, 1.0, 1.0])
    ),
    "logarithms of rates": lambda z: F.poisson_nll_loss(z, COUNTS),
    "rates": lambda z: F.poisson_nll_loss(z.exp(), COUNTS, log_input=False),
    "a variance by exp": lambda z: F.gaussian_nll_loss(z, SHARES, z.exp()),
    "signs": lambda z: F.soft_margin_loss(z, SIGNS) + F.hinge_embedding_loss(z, SIGNS),
    "lists of labels": lambda z: F.multilabel_margin_loss(
        z, torch.tensor([[0, 1, -1], [2, -1, -1]]).repeat(6, 1)
    ),
    "logits of a categorical": categorical(logits=lambda z: z),
    "logarithms of a categorical": categorical(logits=logs),
    "probabilities of a categorical": categorical(probs=lambda z: z.softmax(1)),
    "the posterior first": lambda z: D.kl_divergence(
        D.Normal(z, 1.0), D.Normal(torch.zeros(3), 1.0)
    ).mean(),
    "triplets": lambda z: F.triplet_margin_loss(z, z.flip(0), z.roll(1, 0)),
    "a score of sample": lambda z: scored(D.Normal(z, z.exp()), "sample"),
    "noise that is added": lambda z: (torch.normal(torch.zeros(12, 3), 1.0) + z).square().mean(),
    "gumbel_softmax": lambda z: F.gumbel_softmax(logs(z)).square().sum(),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_a_model_is_found(name):
    function, message = MISTAKES[name]
    assert [one for one in of_model(function) if message in one], of_model(function)


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_a_script_is_found(name):
    function, message = MISTAKES[name]
    assert [one for one in of_script(function) if message in one]


class Coder(nn.Module):
    """A variational autoencoder whose code is drawn by a method of its posterior."""

    def __init__(self, method):
        super().__init__()
        self.encoder, self.decoder = nn.Linear(8, 4), nn.Sequential(nn.Linear(2, 8))
        self.method = method

    def forward(self, x):
        mean, log_scale = self.encoder(x).chunk(2, 1)
        posterior = D.Independent(D.Normal(mean, log_scale.exp()), 1)
        code = getattr(posterior, self.method)()
        prior = D.Independent(D.Normal(torch.zeros(2), torch.ones(2)), 1)
        loss = F.mse_loss(self.decoder(code), x) + D.kl_divergence(posterior, prior).mean()
        return {"loss": loss}


def test_a_code_that_sample_draws_trains_no_encoder():
    def found(method):
        report = hookcli.check(Coder(method), inputs=(X,), rules=["loss_values"])
        return [row.message for row in report.checks if row.status == "fail"]

    [message] = found("sample")
    assert message == (
        "`sample` of Normal has no gradient, and Sequential gets its result: `loc`, `scale` of the "
        "distribution are not trained through it"
    )
    assert found("rsample") == []


class Agent(nn.Module):
    """A policy that returns its loss, with the entropy of its actions times a factor."""

    def __init__(self, factor, *, acts=True):
        super().__init__()
        self.body, self.factor, self.acts = nn.Linear(8, 3), factor, acts

    def forward(self, x):
        policy = D.Categorical(logits=self.body(x))
        actions = policy.sample() if self.acts else CLASSES
        gain = (policy.log_prob(actions) * X[:, 0]).mean()
        return {"loss": self.factor * policy.entropy().mean() - gain}


@pytest.mark.parametrize(
    ("factor", "acts", "count"), [(0.1, True, 1), (-0.1, True, 0), (1, False, 0)]
)
def test_the_entropy_of_a_policy_is_not_made_small(factor, acts, count):
    report = hookcli.check(Agent(factor, acts=acts), inputs=(X,), rules=["loss_values"])
    found = [row.message for row in report.checks if row.status == "fail"]
    assert len(found) == count
    assert all(
        "the entropy of the policy, of Categorical, is added to the loss" in f for f in found
    )


@pytest.mark.parametrize(("maximize", "count"), [(False, 1), (True, 0)])
def test_an_optimizer_that_maximizes_gets_what_becomes_large(maximize, count):
    def train():
        torch.manual_seed(0)
        net = nn.Linear(8, 3)
        optimizer = torch.optim.Adam(net.parameters(), lr=1e-3, maximize=maximize)
        for _ in range(4):
            optimizer.zero_grad()
            policy = D.Categorical(logits=net(X))
            (policy.log_prob(policy.sample()) * X[:, 0] + 0.01 * policy.entropy()).mean().backward()
            optimizer.step()

    assert len(findings(judged(train), "loss_values")) == count


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_losses_are_not_accused(name):
    assert of_model(HEALTHY[name]) == []
    assert of_script(HEALTHY[name]) == []
