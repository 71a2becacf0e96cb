"""`label_shift`: which tokens logits see, and which are their labels, in the forms of scripts."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tests.rules.training.test_script_mistakes import findings, judged

WORDS = 12


class Recurrent(nn.Module):
    """Logits of each place, from the tokens up to it; in both directions if it is not causal."""

    def __init__(self, *, causal=True, batch_first=True):
        super().__init__()
        self.embed = nn.Embedding(WORDS, 8)
        self.rnn = nn.GRU(8, 8, batch_first=batch_first, bidirectional=not causal)
        self.drop = nn.Dropout(0.2)
        self.head = nn.Linear(8 if causal else 16, WORDS)

    def forward(self, tokens):
        return self.head(self.drop(self.rnn(self.embed(tokens))[0]))


class WithLoss(nn.Module):
    """A model that computes its loss itself, and returns it next to the logits."""

    def __init__(self, shift):
        super().__init__()
        self.model, self.shift = Recurrent(), shift

    def forward(self, tokens, labels):
        logits = self.model(tokens)
        logits, labels = logits[:, : logits.shape[1] - self.shift], labels[:, self.shift :]
        return F.cross_entropy(logits.reshape(-1, WORDS), labels.reshape(-1)), logits


def trained(make, loss_of):
    """A training with random tokens, whose loss is `loss_of(net, tokens)`."""

    def train():
        net = make()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            loss_of(net, torch.randint(0, WORDS, (4, 9))).backward()
            optimizer.step()

    return judged(train)


def shifted(by):
    def loss_of(net, tokens):
        logits = net(tokens)[:, : 9 - by]
        return F.cross_entropy(logits.reshape(-1, WORDS), tokens[:, by:].reshape(-1))

    return loss_of


def cut_before(net, tokens):
    """The inputs end one place early, and the labels begin one later."""
    return F.cross_entropy(net(tokens[:, :-1]).transpose(1, 2), tokens[:, 1:])


def time_first(net, tokens):
    tokens = tokens.t().contiguous()
    return F.cross_entropy(net(tokens[:-1]).reshape(-1, WORDS), tokens[1:].reshape(-1))


def padded(net, tokens):
    labels = tokens.clone()
    labels[:, -2:] = -100
    logits = net(tokens)
    return F.cross_entropy(logits[:, :-1].reshape(-1, WORDS), labels[:, 1:].reshape(-1))


@pytest.mark.parametrize("loss_of", [shifted(1), cut_before, padded])
def test_the_next_token_is_the_label(loss_of):
    assert findings(trained(Recurrent, loss_of), "label_shift") == []
    [message] = findings(trained(lambda: Recurrent(causal=False), loss_of), "label_shift")
    assert message == "the model is not causal: each place sees the next token, which is its label"


def test_the_next_token_is_the_label_if_time_comes_first():
    def make(**options):
        return lambda: Recurrent(batch_first=False, **options)

    assert findings(trained(make(), time_first), "label_shift") == []
    assert "is not causal" in findings(trained(make(causal=False), time_first), "label_shift")[0]


def test_labels_that_are_not_shifted_or_shifted_twice():
    assert "are not shifted" in findings(trained(Recurrent, shifted(0)), "label_shift")[0]
    assert "is 2 tokens after" in findings(trained(Recurrent, shifted(2)), "label_shift")[0]


class ClassesFirst(nn.Module):
    """Logits with the classes in dimension 1, as cross_entropy takes them."""

    def __init__(self):
        super().__init__()
        self.model = Recurrent()

    def forward(self, tokens):
        return self.model(tokens).transpose(1, 2)


@pytest.mark.parametrize(("by", "words"), [(0, "are not shifted"), (1, None), (2, "shifted twice")])
def test_logits_whose_classes_come_first(by, words):
    def loss_of(net, tokens):
        return F.cross_entropy(net(tokens)[..., : 9 - by], tokens[:, by:])

    messages = findings(trained(ClassesFirst, loss_of), "label_shift")
    assert [words in message for message in messages] == ([True] if words else [])


def test_a_model_that_computes_its_loss_itself():
    def loss_of(net, tokens):
        return net(tokens, labels=tokens)[0]

    for shift, words in ((0, "are not shifted"), (2, "shifted twice")):
        assert words in findings(trained(lambda: WithLoss(shift), loss_of), "label_shift")[0]
    assert findings(trained(lambda: WithLoss(1), loss_of), "label_shift") == []


def test_an_autoencoder_sees_its_labels():
    assert findings(trained(lambda: Recurrent(causal=False), shifted(0)), "label_shift") == []
    one_by_one = nn.Sequential
    report = trained(lambda: one_by_one(nn.Embedding(WORDS, 8), nn.Linear(8, WORDS)), shifted(0))
    assert findings(report, "label_shift") == []


def test_heads_for_several_tokens_are_not_judged():
    def loss_of(net, tokens):
        return shifted(1)(net, tokens) + shifted(2)(net, tokens)

    assert findings(trained(Recurrent, loss_of), "label_shift") == []


def test_the_training_does_not_change():
    def weights(watch):
        torch.manual_seed(0)
        found = []

        def loss_of(net, tokens):
            found.append(net)
            return shifted(1)(net, tokens)

        if watch:
            trained(Recurrent, loss_of)
        else:
            net = Recurrent()
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            for _ in range(3):
                optimizer.zero_grad()
                loss_of(net, torch.randint(0, WORDS, (4, 9))).backward()
                optimizer.step()
        return [p.tolist() for p in found[0].parameters()], torch.get_rng_state().tolist()

    assert weights(watch=True) == weights(watch=False)
