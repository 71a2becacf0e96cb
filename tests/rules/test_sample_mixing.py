"""Which function makes samples depend on each other, or on their place in the batch."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import hookcli

SEQUENCES = torch.randn(4, 6, 8, generator=torch.Generator().manual_seed(1))


class Net(nn.Module):
    """A linear layer around what each test adds."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.last = nn.Linear(8, 8), nn.Linear(8, 3)
        self.make()

    def make(self):
        """Add layers."""


class BatchAsTime(Net):
    def make(self):
        self.rnn = nn.GRU(8, 8)

    def forward(self, x):
        return self.last(self.rnn(self.first(x))[0][:, -1])


class BatchAsKeys(Net):
    def make(self):
        self.att = nn.MultiheadAttention(8, 2)

    def forward(self, x):
        x = self.first(x)
        return self.last(self.att(x, x, x)[0][:, 0])


class SoftmaxOverBatch(Net):
    def forward(self, x):
        return self.last(F.softmax(self.first(x[:, 0]), dim=0))


class ViewOfDirections(Net):
    def make(self):
        self.rnn = nn.GRU(8, 4, batch_first=True, bidirectional=True)

    def forward(self, x):
        _, state = self.rnn(self.first(x))
        state = F.dropout(state.view(len(x), 8), 0.1, self.training)
        return self.last(state)


class FirstSampleForAll(Net):
    def forward(self, x):
        x = self.first(x[:, 0])
        return self.last(torch.relu(x + x[0]))


class LastSampleOnly(Net):
    def make(self):
        self.rnn = nn.GRU(8, 8, batch_first=True)

    def forward(self, x):
        return self.last(self.rnn(self.first(x))[0][-1])


class PositionsBySample(Net):
    def make(self):
        self.register_buffer("table", torch.randn(50, 1, 8))

    def forward(self, x):
        return self.last(torch.relu(self.first(x) + self.table[: x.size(0)]))


class EntryOfEachSample(Net):
    """The parameter has as many entries as the batch has samples, and the other one by chance."""

    def make(self):
        self.table = nn.Parameter(torch.randn(4, 1, 8))
        self.other = nn.Parameter(torch.randn(4, 8))

    def forward(self, x):
        x = torch.relu(self.first(x) + self.table)
        return self.last(x + (x @ self.other.t()) @ self.other)


class OneSequence(Net):
    """Dimension 0 of its input counts channels, as that of one picture, and the output none."""

    def make(self):
        self.scale = nn.Parameter(torch.randn(4, 1, 1))

    def forward(self, x):
        return self.last(self.first(x * self.scale).mean(0))


class FixedBatch(Net):
    """The size of the batch is a number in the code, and no parameter has it."""

    def forward(self, x):
        return self.last(torch.relu(self.first(x)).view(4, 6, 8))


MIXED = {
    BatchAsTime: "'rnn' (GRU) has batch_first=False",
    BatchAsKeys: "'att' (MultiheadAttention) has batch_first=False",
    SoftmaxOverBatch: "`softmax` at ",
    ViewOfDirections: "`view` at ",
    FirstSampleForAll: "`indexing` at ",
    LastSampleOnly: "output depends on one sample only, number 3",
    PositionsBySample: "`add` at ",
}


def finding(kind):
    report = hookcli.check(kind(), inputs=SEQUENCES)
    rows = [row for row in report.checks if row.rule == "batch_independent"]
    assert len(rows) == 1
    return rows[0]


@pytest.mark.parametrize("kind", MIXED)
def test_the_function_that_mixes_samples_is_named(kind):
    row = finding(kind)
    assert row.status == "fail"
    assert row.message.startswith(MIXED[kind])
    source = kind.forward.__code__
    if kind is not LastSampleOnly:
        line = int(row.place.rpartition(":")[2])
        assert source.co_firstlineno < line <= source.co_firstlineno + 3


class PositionsByTime(PositionsBySample):
    def forward(self, x):
        return self.last(torch.relu(self.first(x) + self.table[: x.size(1)].transpose(0, 1)))


class TimeFirst(BatchAsTime):
    def forward(self, x):
        return self.last(self.rnn(self.first(x).transpose(0, 1))[0].transpose(0, 1))


class FlatAndBack(Net):
    def forward(self, x):
        flat = self.first(x).reshape(-1, 8)
        return self.last(F.softmax(flat, dim=1).view(x.shape))


class NoiseOfEachSample(Net):
    def forward(self, x):
        return self.last(self.first(x) + torch.randn_like(x))


@pytest.mark.parametrize("kind", [PositionsByTime, TimeFirst, FlatAndBack, NoiseOfEachSample])
def test_independent_samples_are_not_accused(kind):
    assert finding(kind).status != "fail"


def test_positions_name_their_tensor():
    assert "entry i of 'table'" in finding(PositionsBySample).message


def test_the_output_of_one_sample_is_that_of_plain_pytorch():
    model = LastSampleOnly().eval()
    other = torch.cat((torch.randn(3, 6, 8), SEQUENCES[3:]))
    assert torch.equal(model(SEQUENCES), model(other))


@pytest.mark.parametrize(
    ("keeps", "found"), [(False, ("fail", "note")), (True, ("pass", "warning"))]
)
def test_a_batch_norm_without_running_statistics_is_a_note(keeps, found):
    model = nn.Sequential(nn.Linear(8, 4), nn.BatchNorm1d(4, track_running_stats=keeps))
    report = hookcli.check(model, inputs=SEQUENCES[:, 0])
    [row] = [row for row in report.checks if row.rule == "batch_independent"]
    assert (row.status, row.severity) == found


class ReturnsLoss(ViewOfDirections):
    """A classifier that returns its loss, or whose predictions a loss of its own compares."""

    def forward(self, x, target):
        logits = super().forward(x)
        return F.cross_entropy(
            logits.unsqueeze(1).expand(-1, 2, -1).flatten(0, 1), target.flatten()
        )


class RightLoss(Net):
    def forward(self, x, target):
        logits = self.last(self.first(x).mean(1))
        return F.cross_entropy(
            logits.unsqueeze(1).expand(-1, 2, -1).flatten(0, 1), target.flatten()
        )


def test_the_predictions_of_a_model_that_returns_its_loss_are_compared():
    target = torch.tensor([[0, 1], [2, 0], [1, 2], [0, 1]])
    for model, status in ((ReturnsLoss(), "fail"), (RightLoss(), "pass")):
        report = hookcli.check(model, inputs=(SEQUENCES, target), rules=["batch_independent"])
        (row,) = report.checks
        assert row.status == status
    report = hookcli.check(ReturnsLoss(), inputs=(SEQUENCES, target), rules=["batch_independent"])
    assert "output (input of cross_entropy) of sample 0 changes by" in report.checks[0].message


def test_a_parameter_with_an_entry_for_each_sample_is_named():
    row = finding(EntryOfEachSample)
    assert (row.status, row.target) == ("fail", "table")
    assert row.message == (
        "'table' [4, 1, 8] has an entry for each of the 4 samples of the batch: with fewer of "
        "both, the model runs"
    )


@pytest.mark.parametrize("kind", [FixedBatch, OneSequence])
def test_a_batch_size_that_no_parameter_has_is_not_judged(kind):
    assert finding(kind).status in {"skip", "pass"}


def test_a_parameter_is_as_before_when_it_was_tried():
    net = EntryOfEachSample()
    before = {name: (p.data_ptr(), p.clone()) for name, p in net.named_parameters()}
    hookcli.check(net, inputs=SEQUENCES)
    for name, p in net.named_parameters():
        assert p.data_ptr() == before[name][0] and torch.equal(p, before[name][1])


class Views(nn.Module):
    """Averages what a convolution makes of several pictures: over the pictures, or the samples."""

    def __init__(self, over, at=0):
        super().__init__()
        torch.manual_seed(0)
        self.conv, self.head = nn.Conv2d(1, 4, 3), nn.Linear(4, 3)
        self.over, self.at = over, at

    def forward(self, x):
        parts = [self.conv(x[:, i]).mean((2, 3)) for i in range(4)]
        return self.head(torch.stack(parts, self.at).mean(self.over))


@pytest.mark.parametrize(
    ("model", "shape", "is_found"),
    [
        (Views(1), (6, 4, 1, 8, 8), True),
        (Views(0), (6, 4, 1, 8, 8), False),
        (Views(1, at=1), (6, 4, 1, 8, 8), False),
        (nn.Sequential(nn.Conv2d(1, 4, 3), nn.Flatten(0, -1)), (1, 1, 8, 8), False),
    ],
)
def test_an_output_without_the_samples_is_a_note(model, shape, is_found):
    report = hookcli.check(model, inputs=(torch.randn(shape),), rules=["batch_independent"])
    rows = [row for row in report.checks if row.status == "fail"]
    assert [row.severity for row in rows] == ["note"] * is_found
    assert all(row.message.startswith("output [4, 3] has 4 rows for 6 samples") for row in rows)
