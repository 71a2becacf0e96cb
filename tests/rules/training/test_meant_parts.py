"""Parts of models that have no gradient on purpose: of another phase, or of another use."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tests.rules.training.test_script_mistakes import judged


class Encoder(nn.Module):
    """Has a token for what a pretraining hides, which nothing else uses."""

    def __init__(self):
        super().__init__()
        self.token = nn.Parameter(torch.zeros(8))
        self.mix, self.head = nn.Linear(8, 8), nn.Linear(8, 3)

    def forward(self, x, hidden=None):
        x = self.mix(x if hidden is None else torch.where(hidden[:, None], self.token, x))
        return x if hidden is not None else self.head(torch.relu(x))


def steps(model, loss_of, count=6):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(count):
        optimizer.zero_grad()
        loss_of(model, torch.randn(8, 8)).backward()
        optimizer.step()


def hidden(model, x):
    return F.mse_loss(model(x, torch.arange(8) < 4), x)


def classes(model, x):
    return F.cross_entropy(model(x), x[:, :3].argmax(1))


def warnings(report):
    return [one.sentence for one in report.diagnoses if one.severity != "note"]


def test_a_parameter_of_an_earlier_phase_is_not_reported_in_a_later_one():
    def both():
        pretrained = Encoder()
        steps(pretrained, lambda net, x: hidden(net, x) + 0 * net.head.weight.sum())
        later = Encoder()
        later.load_state_dict(pretrained.state_dict())
        steps(later, classes)

    assert not any("token" in one for one in warnings(judged(both)))
    alone = warnings(judged(lambda: steps(Encoder(), classes)))
    assert any("token" in one for one in alone)


def test_names_of_a_sequential_tell_of_no_phase():
    def both():
        one = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3))
        steps(one, classes)
        other = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3))
        steps(other, lambda net, x: F.mse_loss(net[0](x), x))

    assert any("'2'" in one or "2." in one for one in warnings(judged(both)))


class Block(nn.Module):
    """A block with a part for the context, which only some calls give."""

    def __init__(self):
        super().__init__()
        self.own, self.other = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x, context=None):
        x = torch.relu(self.own(x))
        return x if context is None else x + self.other(context)


class Both(nn.Module):
    def __init__(self, whole):
        super().__init__()
        self.encoder, self.decoder, self.head = Block(), Block(), nn.Linear(8, 3)
        self.whole = whole

    def forward(self, x):
        context = self.encoder(x)
        return self.head(self.decoder(x, context if self.whole else None))


@pytest.mark.parametrize(("whole", "severity"), [(True, "note"), (False, "warning")])
def test_a_part_that_another_module_of_the_class_runs_is_a_note(whole, severity):
    report = judged(lambda: steps(Both(whole), classes))
    [found] = [one for one in report.diagnoses if "encoder.other" in one.sentence]
    assert found.severity == severity


@pytest.mark.parametrize(("p", "severity"), [(0.05, "note"), (0.5, "warning")])
def test_few_dropped_outputs_are_a_note(p, severity):
    def train():
        net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 10), nn.Dropout(p))
        optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
        for _ in range(12):
            x = torch.randn(64, 8)
            optimizer.zero_grad()
            F.cross_entropy(net(x), x.argmax(1)).backward()
            optimizer.step()

    [found] = [one for one in judged(train).diagnoses if "dropout with p=" in one.sentence]
    assert found.severity == severity
