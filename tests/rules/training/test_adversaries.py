"""Generators that work with their discriminator, and gradients that a script sets to zero."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits as bce

from tests.rules.training.test_script_mistakes import findings, judged


def game(judge_loss, own_loss, *, no_grad=False, detach=True, joined=False, steps=12):
    """A training of a generator and a discriminator, with the losses of scores."""

    def train():
        maker = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
        judge = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
        first = torch.optim.SGD(judge.parameters(), lr=1e-2)
        second = torch.optim.SGD(maker.parameters(), lr=1e-2)
        for _ in range(steps):
            real = torch.randn(16, 2) + 2
            with torch.set_grad_enabled(not no_grad):
                fake = maker(torch.randn(16, 4))
            given = fake.detach() if detach else fake
            first.zero_grad()
            if joined:
                judge(torch.cat([real, given])).mean().backward()
            else:
                judge_loss(judge(real), judge(given)).backward()
            first.step()
            second.zero_grad()
            own_loss(judge(maker(torch.randn(16, 4)))).backward()
            second.step()

    return train


def of_labels(real, fake):
    return bce(real, torch.ones_like(real)) + bce(fake, torch.zeros_like(fake))


def of_means(real, fake):
    return fake.mean() - real.mean()


def least_squares(real, fake):
    return (real - 1).square().mean() + fake.square().mean()


def as_real(scores):
    return bce(scores, torch.ones_like(scores))


def as_fake(scores):
    return bce(scores, torch.zeros_like(scores))


@pytest.mark.parametrize(
    ("judge_loss", "own_loss", "verb"),
    [
        (of_labels, as_fake, "lower"),
        (of_means, torch.mean, "lower"),
        (lambda r, f: of_means(f, r), lambda scores: -scores.mean(), "raise"),
    ],
)
@pytest.mark.parametrize("no_grad", [False, True])
def test_a_generator_that_goes_with_its_discriminator_is_named(judge_loss, own_loss, verb, no_grad):
    report = judged(game(judge_loss, own_loss, no_grad=no_grad, detach=not no_grad))
    [message] = findings(report, "loss_direction")
    assert message == (
        f"the steps of 'maker' {verb} the scores that 'judge' gives to its outputs, and so do the "
        "steps of 'judge': the generator does not work against its discriminator"
    )
    assert report.diagnoses[0].sentence == f"maker: {message}"
    assert report.diagnoses[0].place.rpartition("/")[2].startswith("test_adversaries.py:")


@pytest.mark.parametrize(
    ("judge_loss", "own_loss"),
    [
        (of_labels, as_real),
        (of_labels, lambda scores: -as_fake(scores)),
        (of_means, lambda scores: -scores.mean()),
        (least_squares, lambda scores: (scores - 1).square().mean()),
        (least_squares, lambda scores: scores.square().mean()),  # not one direction of all scores
    ],
)
def test_a_generator_that_works_against_its_discriminator_is_not(judge_loss, own_loss):
    assert findings(judged(game(judge_loss, own_loss)), "loss_direction") == []


def test_what_is_not_known_to_be_an_output_is_not_judged():
    report = judged(game(of_means, torch.mean, joined=True))
    assert findings(report, "loss_direction") == []


# Gradients that are set to zero


def masked(optimizer_of, mask, *, restore=False, steps=12):
    """A training of an embedding whose gradient `mask(gradient, step)` changes before the step."""

    def train():
        words = nn.Embedding(8, 4)
        optimizer = optimizer_of(words.parameters())
        kept = words.weight.detach().clone()
        for step in range(steps):
            optimizer.zero_grad()
            rows = torch.cat([torch.zeros(1, dtype=torch.int64), torch.arange(step, step + 5) % 8])
            words(rows).square().sum().backward()
            mask(words.weight.grad, step)
            optimizer.step()
            if restore:
                with torch.no_grad():
                    words.weight[1:] = kept[1:]

    return train


def all_but_first(gradient, step):
    gradient[1:] = 0


def with_decay(parameters):
    return torch.optim.AdamW(parameters, lr=0.1, weight_decay=0.1)


def without_decay(parameters):
    return torch.optim.Adam(parameters, lr=0.1)


def test_rows_that_decay_changes_although_their_gradient_is_set_to_zero_are_named():
    report = judged(masked(with_decay, all_but_first))
    [message] = findings(report, "frozen_parts")
    assert message == (
        "the script sets the gradient of rows of 'weight' to zero after backward, but the steps "
        "change them, such as row 1: AdamW moves values without a gradient by weight_decay=0.1"
    )


def test_rows_that_momentum_changes_are_named():
    def late(gradient, step):
        if step > 1:
            gradient[1:] = 0

    report = judged(masked(lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.99), late, steps=40))
    [message] = findings(report, "frozen_parts")
    assert message.endswith(
        "SGD moves values without a gradient by what it keeps of earlier gradients"
    )


@pytest.mark.parametrize(
    "train",
    [
        masked(without_decay, all_but_first),
        masked(with_decay, all_but_first, restore=True),
        masked(with_decay, lambda gradient, step: gradient),
        masked(with_decay, lambda gradient, step: gradient[step % 8].zero_()),
    ],
    ids=["no decay", "restored", "not masked", "another row each time"],
)
def test_rows_that_stay_or_are_trained_are_not_accused(train):
    assert findings(judged(train), "frozen_parts") == []


@pytest.mark.parametrize(
    ("judge_loss", "verb"),
    [
        (lambda r, f: -(r + f.mean()).mean(), "raise"),
        (lambda r, f: r.mean() + f.mean(), "lower"),
        (of_means, None),
        (of_labels, None),
        (least_squares, None),
    ],
)
def test_a_discriminator_that_moves_all_scores_in_one_direction_is_named(judge_loss, verb):
    report = judged(game(judge_loss, as_real, steps=40))
    found = [one for one in findings(report, "loss_direction") if "tell them apart" in one]
    assert len(found) == (verb is not None)
    if verb:
        assert found[0].startswith(
            f"the steps of 'judge' {verb} the scores of the outputs of 'maker' and those of other"
        )
