"""Faults that trainings hide well, each next to a healthy script that resembles it.

They are about optimizers, clipping, copies of models and terms of a loss.
"""

from __future__ import annotations

import copy
import importlib

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tests.rules.training.test_script_mistakes import findings, judged


def step_of(optimizer, loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def simple(optimizer_of, steps=4):
    def train():
        net = nn.Linear(4, 1)
        optimizer = optimizer_of(net)
        for _ in range(steps):
            step_of(optimizer, net(torch.randn(8, 4)).square().mean())

    return train


# Optimizers


def with_decay_for_eps(net):
    weight_decay = 0.05
    return torch.optim.Adam(net.parameters(), 1e-3, (0.9, 0.999), weight_decay)


def test_a_decay_that_is_given_as_eps_is_named():
    report = judged(simple(with_decay_for_eps))
    [message] = findings(report, "optimizer_construction")
    assert message.endswith("its fourth argument is eps, and gets `weight_decay`")
    assert report.diagnoses[0].severity == "warning"


@pytest.mark.parametrize(
    ("make", "severity"),
    [
        (lambda net: torch.optim.Adam(net.parameters(), eps=0.1), ["note"]),
        (lambda net: torch.optim.Adam(net.parameters(), eps=0.1, weight_decay=0.1), []),
        (lambda net: torch.optim.Adam(net.parameters(), eps=1e-4), []),
        (lambda net: torch.optim.RMSprop(net.parameters(), eps=0.1), []),
    ],
)
def test_a_large_eps_is_a_note_at_most(make, severity):
    assert [one.severity for one in judged(simple(make)).diagnoses] == severity


def test_a_group_without_parameters_is_a_note():
    def grouped(net):
        groups = [{"params": []}, {"params": list(net.parameters()), "weight_decay": 0.1}]
        return torch.optim.SGD(groups[::-1], lr=0.1)

    report = judged(simple(grouped))
    assert findings(report, "optimizer_construction") == [
        "group 1 of SGD has no parameters, so its weight_decay=0 applies to no parameter"
    ]
    assert report.diagnoses[0].severity == "note"


def resumed(again):
    def train():
        net = nn.Linear(4, 1)
        first = torch.optim.Adam(net.parameters())
        step_of(first, net(torch.randn(8, 4)).square().mean())
        state = copy.deepcopy(first.state_dict())
        optimizer = torch.optim.Adam(net.parameters())
        optimizer.load_state_dict(state)
        if again:
            optimizer = torch.optim.Adam(net.parameters())
        for _ in range(3):
            step_of(optimizer, net(torch.randn(8, 4)).square().mean())

    return train


def test_a_loaded_state_of_an_optimizer_that_is_replaced_is_named():
    [message] = findings(judged(resumed(again=True)), "optimizer_construction")
    assert message.startswith("the state that Adam loaded at ")
    assert findings(judged(resumed(again=False)), "optimizer_construction") == []


# Clipping


def accumulated(clip_each, erase=False):
    def train():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(5):
            optimizer.zero_grad()
            for part in range(2):
                net(torch.randn(8, 4)).square().mean().backward()
                if clip_each or part:
                    nn.utils.clip_grad_norm_(net.parameters(), 0.1)
                if erase and not part:
                    optimizer.zero_grad()
            optimizer.step()

    return train


def test_clipping_after_each_of_several_backward_passes_is_named():
    [message] = findings(judged(accumulated(clip_each=True)), "clipping_used")
    assert message.startswith("gradients are clipped after each of 2 backward passes of a step")


@pytest.mark.parametrize("train", [accumulated(False), accumulated(True, erase=True)])
def test_clipping_of_one_sum_passes(train):
    report = judged(train)
    assert not [m for m in findings(report, "clipping_used") if "after each" in m]


# Copies


def with_targets(followed):
    def train():
        actor, critic = nn.Linear(4, 4), nn.Linear(8, 1)
        target_actor, target_critic = copy.deepcopy(actor), copy.deepcopy(critic)
        optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=0.01)
        pairs = {"actor": (target_actor, actor), "critic": (target_critic, critic)}
        for _ in range(70):
            x = torch.randn(8, 4)
            with torch.no_grad():
                aim = target_critic(torch.cat([x, target_actor(x)], 1)) * 0.5 + 1
            step_of(optimizer, F.mse_loss(critic(torch.cat([x, actor(x)], 1)), aim))
            for name in followed:
                for t, p in zip(*(one.parameters() for one in pairs[name]), strict=True):
                    t.data.mul_(0.9).add_(p.data, alpha=0.1)

    return train


def test_a_target_that_stays_while_another_follows_is_named():
    [message] = findings(judged(with_targets(["critic"])), "model_copies")
    assert message.startswith("'target_actor' is never updated in 69 steps of 'actor'")
    assert findings(judged(with_targets(["critic", "actor"])), "model_copies") == []


def distilled(copied):
    def train():
        student = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
        teacher = copy.deepcopy(student) if copied else student
        optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
        for _ in range(6):
            x = torch.randn(8, 4)
            with torch.no_grad():
                aim = teacher(x).softmax(1)
            step_of(optimizer, F.cross_entropy(student(x + 0.1), aim))

    return train


def test_a_teacher_that_is_the_student_itself_is_named():
    [message] = findings(judged(distilled(copied=False)), "model_copies")
    assert message.startswith("'teacher' and 'student' are one model, not a model and its copy")
    assert findings(judged(distilled(copied=True)), "model_copies") == []


# Losses


def with_judgement(judgement):
    return f"""
def train(nn, F, torch):
    net, judge = nn.Linear(4, 4), nn.Linear(4, 1).requires_grad_(False)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(6):
        x = torch.randn(8, 4)
        fake = net(x)
        opinion = F.softplus({judgement}).mean()
        loss = F.mse_loss(fake, x) + 0.1 * opinion
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(("judgement", "count"), [("judge(fake).detach()", 1), ("judge(fake)", 0)])
def test_a_term_of_a_detached_output_is_named(judgement, count, tmp_path, monkeypatch):
    (tmp_path / f"judged_{count}.py").write_text(with_judgement(judgement))
    monkeypatch.syspath_prepend(tmp_path)
    train = importlib.import_module(f"judged_{count}").train
    messages = findings(judged(lambda: train(nn, F, torch)), "constant_term")
    assert len(messages) == count
    assert all(m.endswith("it is computed from judge(fake).detach()") for m in messages)


def adversarial(detached):
    """A loss between features, whose gradients are erased before the other terms are used."""

    def train():
        net, features = nn.Linear(4, 4), nn.Linear(4, 4)
        g_steps = torch.optim.SGD(net.parameters(), lr=0.1)
        d_steps = torch.optim.SGD(features.parameters(), lr=0.1)
        for _ in range(8):
            x = torch.randn(8, 4)
            fake = net(x)
            seen = features(fake.detach()) if detached else features(fake)
            latent = (seen - features(x)).square().mean()
            content = F.mse_loss(fake, x)
            loss = content + latent
            g_steps.zero_grad()
            loss.backward()
            d_steps.zero_grad()
            features(x).square().mean().backward()
            g_steps.step()
            d_steps.step()

    return train


def test_a_term_whose_gradients_are_erased_first_is_named():
    [message] = findings(judged(adversarial(detached=True)), "gradients_used")
    assert message.startswith("the term 'latent' of the loss gives no gradient to 'net'")
    assert findings(judged(adversarial(detached=False)), "gradients_used") == []


def masked(mean):
    def train():
        net = nn.Linear(4, 16)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(4):
            x = torch.randn(8, 4)
            aim = torch.where(torch.rand(8, 16) < 0.1, (x[:, :1] > 0).float(), torch.tensor(-1.0))
            each = F.binary_cross_entropy_with_logits(net(x), aim, reduction="none")
            mask = (aim >= 0).float()
            step_of(optimizer, mean(each, mask))

    return train


def test_a_mean_over_masked_elements_is_a_note_and_marked_targets_pass():
    report = judged(masked(lambda each, mask: (each * mask).mean()))
    [message] = findings(report, "loss_values")
    assert message.startswith("a mean of the loss counts all elements, 8")
    assert report.diagnoses[0].severity == "note"
    report = judged(masked(lambda each, mask: (each * mask).sum() / mask.sum()))
    assert findings(report, "loss_values") == []


@pytest.mark.parametrize(("dims", "count"), [(1, 1), ((1, 2, 3), 0)])
def test_a_norm_over_one_element_is_a_note(dims, count):
    def train():
        net = nn.Conv2d(1, 1, 3, padding=1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(4):
            step_of(optimizer, (net(torch.randn(4, 1, 6, 6)).norm(2, dim=dims) - 1).square().mean())

    assert len(findings(judged(train), "loss_values")) == count


# Rates


def warmed(after):
    def train():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.Adam(net.parameters(), lr=0.0)
        for step in range(9):
            optimizer.param_groups[0]["lr"] = after if step >= 7 else 0.0
            step_of(optimizer, net(torch.randn(8, 4)).square().mean())

    return train


def test_a_rate_that_begins_with_zero_is_no_reason_for_a_finding():
    assert findings(judged(warmed(0.01)), "unchanged_parameters") == []
    assert findings(judged(warmed(0.0)), "unchanged_parameters") != []


# Masks of padding


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(9, 4), nn.Linear(4, 1)

    def forward(self, ids, attention_mask=None):
        x = self.embed(ids)
        if attention_mask is not None:
            x = x * attention_mask[..., None]
        return self.head(x.mean(1))


def read(mask_of, ids_of=lambda ids: ids):
    def train():
        net = Reader()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(4):
            ids = torch.randint(1, 9, (8, 10))
            ids[:, 5:] = 0
            ids = ids_of(ids)
            step_of(optimizer, net(ids, attention_mask=mask_of(ids)).square().mean())

    return judged(train)


def test_a_mask_of_ones_beside_padding_is_a_note():
    report = read(torch.ones_like)
    assert findings(report, "batch_contents") == [
        "'attention_mask' is 1 everywhere, though 50% of the tokens are 0 at the ends of "
        "sequences, which looks like padding: the model attends to them"
    ]
    assert report.diagnoses[0].severity == "note"


@pytest.mark.parametrize(
    "report_of",
    [
        lambda: read(lambda ids: ids != 0),
        lambda: read(lambda ids: None),
        lambda: read(torch.ones_like, lambda ids: torch.randint(1, 9, (8, 10))),
    ],
    ids=["of the padding", "none", "no padding"],
)
def test_other_masks_pass(report_of):
    assert findings(report_of(), "batch_contents") == []


def test_states_of_two_models_of_other_sizes_are_followed_until_their_steps():
    def train():
        nets = nn.Linear(4, 2), nn.Linear(6, 3)
        for net in nets:
            net.load_state_dict(copy.deepcopy(net.state_dict()))
        for net in reversed(nets):
            optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
            for _ in range(3):
                x = torch.randn(8, net.in_features)
                step_of(optimizer, net(x).square().mean())

    report = judged(train)
    assert findings(report, "loaded_weights") == []
    assert not [one for one in report.warnings if "left out" in one]


def scene(n):
    """Data whose labels are a comparison: a function that makes data, and no loss."""
    mask = (torch.arange(4.0)[None] > torch.rand(n, 1) * 4).float()
    return mask + 0.3 * torch.randn(n, 4), mask


def test_a_function_that_makes_data_and_labels_is_no_loss():
    def train():
        x, mask = scene(32)
        net = nn.Linear(4, 4)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(6):
            step_of(optimizer, F.binary_cross_entropy_with_logits(net(x), mask))

    assert findings(judged(train), "constant_term") == []


def test_a_frozen_part_of_two_models_is_trained_by_one_of_them():
    """Its first model trains no more: it has no record of the second optimizer."""
    features = nn.Sequential(nn.Linear(4, 8), nn.Tanh())

    def train():
        first = nn.Sequential(features, nn.Linear(8, 3))
        optimizer = torch.optim.Adam(first.parameters(), lr=1e-2)
        for _ in range(4):
            step_of(optimizer, first(torch.randn(8, 4)).square().mean())
        features.requires_grad_(False)
        second = nn.Sequential(features, nn.Linear(8, 2))
        optimizer = torch.optim.Adam(second.parameters(), lr=1e-2)
        for _ in range(4):
            step_of(optimizer, second(torch.randn(8, 4)).square().mean())

    records = judged(train).records
    assert [record.training.record for record in records] == ["first", "second"]
