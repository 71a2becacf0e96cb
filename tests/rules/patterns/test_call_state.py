"""Values that a model keeps from one call to the next."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import hookcli
from tests.rules.training.test_script_mistakes import findings, judged

X = torch.randn(4, 8, generator=torch.Generator().manual_seed(1))


class Keeps(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.last = nn.GRUCell(8, 6), nn.Linear(6, 2)
        self.state = torch.zeros(1, 6)

    def forward(self, x):
        self.state = self.cell(x, self.state.expand(len(x), -1))
        return self.last(self.state)


class KeepsAndResets(Keeps):
    def reset_state(self):
        self.state = torch.zeros(1, 6)


class KeepsInPlace(Keeps):
    def forward(self, x):
        self.state += 1
        return self.last(self.cell(x, self.state.expand(len(x), -1)))


class KeepsLastInput(Keeps):
    """Its state is that of the last input: after two equal ones it stays as it is."""

    def forward(self, x):
        y = self.last(self.cell(x, self.state.expand(len(x), -1)))
        self.state = x[:1, :6].detach().clone()
        return y


class Detaches(Keeps):
    """Carries its state on, without the graph of the last batch."""

    def forward(self, x):
        self.state = self.cell(x, self.state.detach().expand(len(x), -1))
        return self.last(self.state)


class StartsAnew(Keeps):
    def forward(self, x):
        self.state = torch.zeros(1, 6)
        return super().forward(x)


class Caches(Keeps):
    """Computes a table once."""

    table = None

    def forward(self, x):
        if self.table is None:
            self.table = torch.arange(8.0)
        return self.last(self.cell(x + self.table))


class OnlyInTraining(Keeps):
    """A moving average that training updates."""

    def forward(self, x):
        if self.training:
            self.state = 0.9 * self.state + 0.1
        return self.last(self.cell(x, self.state.expand(len(x), -1)))


class Buffered(Keeps):
    """The state is a buffer, which forward writes in each mode, or in train mode only."""

    only_in_training = False

    def __init__(self):
        super().__init__()
        del self.state
        self.register_buffer("state", torch.zeros(1, 6))
        self.norm = nn.BatchNorm1d(8)

    def forward(self, x):
        y = self.last(self.cell(self.norm(x), self.state.clone().expand(len(x), -1)))
        if self.training or not self.only_in_training:
            with torch.no_grad():
                self.state.mul_(0.9).add_(x[:, :6].mean(0))
        return y


class BufferedInTraining(Buffered):
    only_in_training = True


class CountsCalls(Buffered):
    """A counter that no output depends on."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls += 1
        return self.last(self.cell(x))


@pytest.mark.parametrize(
    ("kind", "severity"),
    [
        (Keeps, "warning"), (KeepsInPlace, "warning"), (KeepsAndResets, "note"),
        (Detaches, "note"),
        (KeepsLastInput, "warning"),
        (Buffered, "note"), (BufferedInTraining, None), (CountsCalls, None),
        (StartsAnew, None), (Caches, None), (OnlyInTraining, None),
    ],
)  # fmt: skip
def test_a_state_that_changes_the_next_call_is_found(kind, severity):
    torch.manual_seed(0)
    model = kind()
    before = model.state.clone()
    report = hookcli.check(model, inputs=X)
    rows = [row for row in report.diagnoses if row.cause == "state_between_calls"]
    assert [(row.target, row.severity) for row in rows] == (
        [("state", severity)] if severity else []
    )
    assert torch.equal(model.state, before)


class Centers(nn.Module):
    """Subtracts the mean of its input, in place or not, and adds to a second input."""

    def __init__(self, first, second=None):
        super().__init__()
        torch.manual_seed(0)
        self.body, self.fc, self.first, self.second = (
            nn.Linear(8, 8),
            nn.Linear(8, 2),
            first,
            second,
        )

    def forward(self, x, cache):
        if self.second is not None:
            self.second(cache)
        return self.fc(self.first(self, x))


def in_place(net, x):
    x -= x.mean(1, keepdim=True)
    return x


CHANGES = [
    (Centers(in_place), [("[0]", "warning")]),
    (Centers(lambda net, x: nn.functional.relu(x, inplace=True)), [("[0]", "warning")]),
    (Centers(lambda net, x: x - x.mean()), []),
    (Centers(lambda net, x: in_place(net, x.clone())), []),
    (Centers(lambda net, x: in_place(net, net.body(x))), []),
    (Centers(lambda net, x: x, lambda cache: cache.add_(1)), [("[1]", "note")]),
]


@pytest.mark.parametrize(("model", "changes"), CHANGES)
def test_inputs_that_a_forward_changes_are_found(model, changes):
    report = hookcli.check(model, inputs=(X.clone(), torch.zeros(3)), rules=["changed_inputs"])
    rows = [row for row in report.checks if row.status == "fail"]
    assert [row.severity for row in rows] == [severity for _, severity in changes]
    for row, (path, _) in zip(rows, changes, strict=True):
        assert row.message.startswith(f"forward changes input{path}")


@pytest.mark.parametrize(("model", "changes"), CHANGES)
def test_inputs_that_a_forward_of_a_training_changes_are_found(model, changes):
    def train():
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        for _ in range(4):
            optimizer.zero_grad()
            model(X.clone(), torch.zeros(3)).square().mean().backward()
            optimizer.step()

    rows = findings(judged(train), "changed_inputs")
    assert len(rows) == len(changes)
    assert all(f"forward changes input{path}" in row for row, (path, _) in zip(rows, changes))
