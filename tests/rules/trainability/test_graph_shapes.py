"""Rules about shapes in the graph of a loss: what they find, and what healthy models do."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import hookcli
from tests.rules.trainability.models import Do, only

AIMS = torch.linspace(-1, 1, 5)
BROADCASTS = [
    (lambda p: F.mse_loss(p, AIMS), "mse_loss broadcasts shapes [5, 1] and [5] to 25"),
    (lambda p: F.smooth_l1_loss(p, AIMS), "smooth_l1_loss broadcasts shapes [5, 1] and [5]"),
    (lambda p: F.huber_loss(p, AIMS), "huber_loss broadcasts shapes [5, 1] and [5]"),
    (lambda p: F.mse_loss(p[:, 0], AIMS[:, None]), "mse_loss broadcasts shapes [5] and [5, 1]"),
    (lambda p: F.l1_loss(p, AIMS), "a difference in the loss broadcasts shapes [5, 1] and [5]"),
    (lambda p: ((AIMS - p) ** 2).mean().sqrt(), "a difference in the loss broadcasts"),
    (lambda p: -(p * AIMS).sum() / 5, "a product in the loss broadcasts shapes [5, 1] and [5]"),
    (lambda p: 0.1 * (p - AIMS).abs().sum() + p.square().mean(), "a difference in the loss"),
]
SAME = [
    lambda p: F.mse_loss(p[:, 0], AIMS),
    lambda p: F.mse_loss(p, AIMS[:, None]),
    lambda p: F.mse_loss(p, torch.ones(1)),  # one label for all, as in a GAN
    lambda p: F.mse_loss(p, torch.ones(1).expand_as(p)),
    lambda p: F.mse_loss(p.expand(5, 3), torch.ones(5, 3)),
    lambda p: ((p - 0.5) ** 2).mean(),
    lambda p: (p - p.T).square().mean(),  # all pairs of outputs are meant
    lambda p: F.relu(1 - (p - p[:, 0]) * AIMS.sign()).mean(),
    lambda p: (p * torch.ones(5, 5)).mean(),  # a weight for each pair
    lambda p: (p - AIMS[:3]).square().mean(),  # three centers
]


def judged(model, rule, inputs, loss="probe"):
    torch.manual_seed(0)
    return only(hookcli.check(model, inputs=inputs, rules=[rule], loss=loss))


@pytest.mark.filterwarnings("ignore:Using a target size")
@pytest.mark.parametrize(("loss", "message"), BROADCASTS)
def test_a_loss_over_all_pairs_is_found(loss, message):
    row = judged(nn.Linear(8, 1), "loss_broadcasts", torch.randn(5, 8), loss)
    assert row.status == "fail"
    assert row.message.startswith(message)
    assert row.message.endswith("to 25 elements: each prediction is combined with each target")


@pytest.mark.filterwarnings("ignore:Using a target size")
@pytest.mark.parametrize("loss", SAME)
def test_losses_whose_shapes_are_meant_pass(loss):
    assert judged(nn.Linear(8, 1), "loss_broadcasts", torch.randn(5, 8), loss).status == "pass"


def shares(z):
    return z[:, :4].exp().sum(1, keepdim=True), z[:, 4:].exp().sum(1)


@pytest.mark.parametrize(
    ("loss", "what"),
    [
        (lambda a, b: -torch.log(a / (a + b)).mean(), "a sum"),
        (lambda a, b: (b + a.log()).square().sum() / 5, "a sum"),
        (lambda a, b: -(a / b).log().mean(), "a quotient"),
        (lambda a, b: (2 * (a.view(-1) + b.view(-1, 1))).sqrt().mean(1).sum(), "a sum"),
    ],
)
def test_a_loss_that_combines_a_column_with_a_row_of_samples_is_found(loss, what):
    model = nn.Sequential(nn.Linear(8, 8), Do(lambda z: loss(*shares(z))))
    row = judged(model, "loss_broadcasts", torch.randn(5, 8))
    assert row.status == "fail"
    assert row.message.startswith(f"{what} in the loss broadcasts shapes [5")
    assert row.message.endswith("to 25 elements: each sample is combined with every sample")


def distances(z):
    sizes = z.square().sum(1, keepdim=True)
    return (sizes + z.square().sum(1) - 2 * (z @ z.T)).clamp_min(0)


@pytest.mark.parametrize(
    "loss",
    [
        lambda z, a, b: -torch.log(a[:, 0] / (a[:, 0] + b)).mean(),
        lambda z, a, b: -torch.log(a / (a + b[:, None])).mean(),
        lambda z, a, b: (a + b[None]).log().mean(),  # the line writes the dimension
        lambda z, a, b: (b.unsqueeze(1) + a[:, 0]).log().mean(),
        lambda z, a, b: distances(z).mean(),
        lambda z, a, b: torch.exp(-distances(z)).mean().sqrt(),
        lambda z, a, b: (distances(z) * (1 - torch.eye(5))).sum(),
        lambda z, a, b: ((a + b) * torch.rand(5, 5)).mean(),  # a weight for each pair
        lambda z, a, b: F.relu(a + b - torch.rand(5, 5)).mean(),  # a cost for each pair
        lambda z, a, b: torch.where(torch.eye(5) > 0, 0.0, a + b).mean(),
        lambda z, a, b: (a + z.exp().sum(0)[:5]).mean(),  # features, not samples
        lambda z, a, b: (a - 2 * (a + b) / 3).mean(),  # the mean over the samples, too
        lambda z, a, b: a + b,  # a value for each pair is the output
    ],
)
def test_losses_that_mean_all_pairs_of_samples_pass(loss):
    model = nn.Sequential(nn.Linear(8, 8), Do(lambda z: loss(z, *shares(z))))
    assert judged(model, "loss_broadcasts", torch.randn(5, 8)).status == "pass"
    if model(torch.randn(5, 8)).dim():
        assert judged(model, "loss_broadcasts", torch.randn(5, 8), "mean").status == "pass"


class Between(nn.Module):
    """A function between two layers for sequences of 6 steps with 8 features."""

    def __init__(self, function, last):
        super().__init__()
        self.first, self.last = nn.Linear(8, 8), last
        self.function = function

    def forward(self, x):
        return self.last(self.function(self.first(x)))


def channels(x):
    return x.view(x.shape[0], x.shape[2], x.shape[1])


@pytest.mark.parametrize(
    ("function", "last"),
    [
        (channels, nn.Conv1d(8, 4, 3)),
        (channels, nn.BatchNorm1d(8)),
        (channels, nn.Linear(6, 2)),
        (lambda x: channels(x).contiguous(), nn.Conv1d(8, 4, 1)),
        (lambda x: x.transpose(1, 2).reshape(3, 6, 8), nn.Linear(8, 2)),
    ],
)
def test_a_view_in_place_of_a_transpose_is_found(function, last):
    row = judged(Between(function, last), "reshaped_axes", torch.randn(3, 6, 8))
    assert row.status == "fail"
    first, second = ("[3, 6, 8]", "[3, 8, 6]")
    if isinstance(last, nn.Linear) and last.in_features == 8:
        first, second = second, first
    assert f"turns shape {first} into {second}" in row.message


def heads_by_view(x):
    """The heads of Q, K and V with the samples, without a transpose of heads and steps."""
    heads = x.reshape(-1, 6, 4)
    return (heads @ heads.transpose(1, 2)) @ heads


def test_a_view_that_joins_parts_of_two_dimensions_is_found():
    model = Between(heads_by_view, Do(lambda x: x.reshape(3, 6, 8)))
    rows = hookcli.check(model, inputs=torch.randn(3, 6, 8), rules=["reshaped_axes"]).checks
    assert any("turns shape [3, 6, 8] into [6, 6, 4]" in row.message for row in rows)


def skewed(x):
    """Relative positions, as Transformer-XL shifts them."""
    scores = x @ x.transpose(1, 2)  # 6 times 6
    padded = F.pad(scores, (1, 0))
    return padded.view(3, 7, 6)[:, 1:].reshape(3, 6, 6)


def in_heads(x):
    """Heads and samples in one dimension, whose sizes are those of another by chance."""
    heads = x.transpose(0, 1).contiguous().view(6, 8, 3).transpose(0, 1)
    return heads @ heads.transpose(1, 2)


@pytest.mark.parametrize(
    ("function", "last", "shape"),
    [
        (lambda x: x.transpose(1, 2), nn.Conv1d(8, 4, 3), (3, 6, 8)),
        (channels, nn.Conv1d(8, 4, 1), (3, 1, 8)),  # nothing moves
        (
            lambda x: x.view(3, 6, 2, 4).transpose(1, 2).reshape(3, 2, 24),
            nn.Linear(24, 2),
            (3, 6, 8),
        ),
        (skewed, nn.Linear(6, 2), (3, 6, 8)),
        (lambda x: x.view(3, 3, 16), nn.Linear(16, 2), (3, 6, 8)),  # two steps in one
        (lambda x: x.view(36, 4), nn.Linear(4, 2), (3, 6, 8)),  # each head is a row
        (lambda x: x.view(3, 12, 2, 2), nn.Conv2d(12, 2, 1), (3, 6, 8)),
        (in_heads, nn.Identity(), (3, 6, 8)),
        (lambda x: channels(x).sum(), nn.Identity(), (3, 6, 8)),  # no dimension has a meaning
    ],
)
def test_views_that_are_meant_pass(function, last, shape):
    row = judged(Between(function, last), "reshaped_axes", torch.randn(shape))
    assert row.status == "pass", row.message


def test_logits_that_are_viewed_for_cross_entropy_are_found():
    aims = torch.zeros(3, 6, dtype=torch.long)

    def loss(logits):
        return F.cross_entropy(logits.view(3, 8, 6), aims)

    row = judged(nn.Sequential(nn.Linear(8, 8), Do(lambda x: x)), "reshaped_axes",
                 torch.randn(3, 6, 8), loss)  # fmt: skip
    assert row.status == "fail"
    right = judged(
        nn.Linear(8, 8), "reshaped_axes", torch.randn(3, 6, 8),
        lambda logits: F.cross_entropy(logits.transpose(1, 2), aims),
    )  # fmt: skip
    assert right.status == "pass"


LABELS = torch.arange(6).repeat(4, 1)
SWAPPED = [
    (nn.Linear(8, 6), lambda p: F.cross_entropy(p, LABELS)),
    (nn.Linear(8, 6, bias=False), lambda p: F.cross_entropy(p, LABELS)),
    (nn.Linear(8, 6), lambda p: F.cross_entropy(p.double(), LABELS)),
    (nn.Linear(8, 6), lambda p: F.nll_loss(p.log_softmax(1), LABELS)),
    (nn.Linear(8, 6), lambda p: F.mse_loss(p, p.detach()) + nn.CrossEntropyLoss()(p, LABELS)),
]
RIGHT = [
    (nn.Linear(8, 6), lambda p: F.cross_entropy(p.transpose(1, 2), LABELS)),
    (nn.Linear(8, 6), lambda p: F.cross_entropy(p.flatten(0, 1), LABELS.flatten())),
    (nn.Linear(8, 6), lambda p: F.cross_entropy(p.movedim(-1, 1), LABELS)),
    (nn.Linear(8, 7), lambda p: F.cross_entropy(p.transpose(1, 2), LABELS)),
    (nn.Conv1d(6, 6, 3, padding=1), lambda p: F.cross_entropy(p[..., :6], LABELS)),
    (nn.Linear(8, 9), lambda p: F.cross_entropy(p, torch.zeros(4, 9).long())),  # 6 classes
    (nn.Linear(8, 6), lambda p: F.cross_entropy(p.mean(1), LABELS[:, 0])),
]


@pytest.mark.parametrize(("model", "loss"), SWAPPED)
def test_classes_that_are_read_from_the_positions_are_found(model, loss):
    row = judged(nn.Sequential(model), "class_dimension", torch.randn(4, 6, 8), loss)
    assert row.status == "fail"
    assert row.target == "0"
    assert row.message == (
        "cross_entropy reads the classes of shape [4, 6, 6] from dimension 1, and '0' has its 6 "
        "outputs in the last dimension"
    )


@pytest.mark.parametrize(("model", "loss"), RIGHT)
def test_classes_in_their_dimension_pass(model, loss):
    row = judged(nn.Sequential(model), "class_dimension", torch.randn(4, 6, 8), loss)
    assert row.status == "pass"


def depth(p):
    """A loss of images with a channel, [3, 1, 4, 2], and targets without, [3, 4, 2]."""
    return (p[:, :, None].unflatten(3, (4, 2)).reshape(3, 1, 4, 2) * torch.ones(3, 4, 2)).mean()


def test_images_with_and_without_channel_are_all_pairs():
    row = judged(nn.Linear(8, 8), "loss_broadcasts", torch.randn(3, 1, 8), depth)
    assert row.status == "fail"
    assert "shapes [3, 1, 4, 2] and [3, 4, 2] to 72 elements" in row.message  # 3 * 3 * 4 * 2


CLOUD = torch.randn(5, 2)


@pytest.mark.filterwarnings("ignore:Using a target size")
@pytest.mark.parametrize(
    ("loss", "status"),
    [
        (lambda p: F.l1_loss(p[:, :, None, None], CLOUD), "fail"),  # [5, 2, 1, 1] and [5, 2]
        (lambda p: F.l1_loss(p, CLOUD), "pass"),
        (lambda p: (p[:, None] - CLOUD[None]).square().sum(-1).exp().sum(), "pass"),  # distances
    ],
)
def test_rows_of_several_values_that_are_combined_with_all_others(loss, status):
    assert judged(nn.Linear(8, 2), "loss_broadcasts", torch.randn(5, 8), loss).status == status


def test_a_prediction_that_is_compared_with_several_columns_is_a_note():
    aims = torch.randn(5, 4)
    row = judged(nn.Linear(8, 1), "loss_broadcasts", torch.randn(5, 8),
                 lambda p: (p - aims).square().mean())  # fmt: skip
    assert (row.status, row.severity, row.value) == ("fail", "note", 4)
    right = judged(nn.Linear(8, 4), "loss_broadcasts", torch.randn(5, 8),
                   lambda p: (p - aims).square().mean())  # fmt: skip
    assert right.status == "pass"


@pytest.mark.parametrize(
    ("function", "last", "is_found"),
    [
        (lambda x: x.view(3, 2, 6, 4), nn.Linear(4, 4), True),
        (lambda x: x.view(3, 6, 2, 4).transpose(1, 2), nn.Linear(4, 4), False),
        (lambda x: x.view(3, 6, 2, 4).transpose(1, 2).reshape(3, 6, 8), nn.Linear(8, 4), True),
        (lambda x: x.view(3, 6, 2, 4).flatten(2), nn.Linear(8, 4), False),
        (lambda x: x.transpose(1, 2).reshape(3, 8, 2, 3).reshape(3, 6, 8), nn.Linear(8, 4), True),
        (lambda x: x.transpose(1, 2).reshape(3, 8, 2, 3).flatten(2), nn.Linear(6, 4), False),
        (lambda x: x.transpose(1, 2).reshape(3, 8, 2, 3).flatten(2).mT, nn.Linear(8, 4), False),
    ],
)
def test_heads_and_channels_are_moved_by_a_transpose(function, last, is_found):
    row = judged(Between(function, last), "reshaped_axes", torch.randn(3, 6, 8))
    assert row.status == ("fail" if is_found else "pass")


class FromInput(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.conv, self.function = nn.Conv2d(3, 4, 3), function

    def forward(self, x):
        return self.conv(self.function(x))


def test_a_view_of_the_input_is_found():
    images = torch.randn(2, 8, 6, 3)
    row = judged(FromInput(lambda x: x.view(2, 3, 8, 6)), "reshaped_axes", images)
    assert row.status == "fail"
    assert "turns shape [2, 8, 6, 3] into [2, 3, 8, 6]" in row.message
    row = judged(FromInput(lambda x: x.permute(0, 3, 1, 2)), "reshaped_axes", images)
    assert row.status == "pass"


class Patches(nn.Module):
    """A linear layer of what a function cuts out of pictures, or of a feature map of them."""

    def __init__(self, function, features, *, maps=False):
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 1) if maps else nn.Identity()
        self.function, self.project = function, nn.Linear(features, 6)

    def forward(self, x):
        return self.project(self.function(self.conv(x)))


def square_patches(x):
    cut = x.unfold(2, 4, 4).unfold(3, 4, 4)  # b, c, 2, 2, 4, 4
    return cut.permute(0, 2, 3, 1, 4, 5).reshape(len(x), 4, -1)


@pytest.mark.parametrize("maps", [False, True])
@pytest.mark.parametrize(
    ("function", "features", "shape", "status"),
    [
        (lambda x: x.view(2, 4, 48), 48, (2, 3, 8, 8), "fail"),
        (square_patches, 48, (2, 3, 8, 8), "pass"),
        (lambda x: x.view(2, 3, 64), 64, (2, 3, 8, 8), "pass"),  # a row for each channel
        (lambda x: x.view(2, 24, 8), 8, (2, 3, 8, 8), "pass"),  # and for each line
        (lambda x: x.view(2, 64, 32), 32, (2, 8, 8, 32), "pass"),  # a window with channels last
        (lambda x: x[:, :1].reshape(2, 16, 4), 4, (2, 3, 8, 8), "fail"),
        (lambda x: x[:, :1].reshape(2, 9, 9), 9, (2, 3, 9, 9), "pass"),  # lines, of one channel
    ],
)
def test_a_view_that_cuts_no_square_patches_is_found(function, features, shape, status, maps):
    if features in {4, 9}:
        maps = True  # the part of a picture is not the picture itself
    if shape[1] != 3:
        maps = False
    row = judged(Patches(function, features, maps=maps), "reshaped_axes", torch.randn(shape))
    assert row.status == status, row.message


def test_classes_of_a_linear_layer_after_a_transpose_are_in_the_last_dimension():
    aims = torch.zeros(3, 6, dtype=torch.long)
    model = nn.Sequential(Do(lambda x: x.transpose(1, 2)), nn.Linear(8, 6))
    inputs = torch.randn(3, 8, 6)
    row = judged(model, "class_dimension", inputs, lambda logits: F.cross_entropy(logits, aims))
    assert row.status == "fail"
    row = judged(model, "class_dimension", inputs, lambda z: F.cross_entropy(z.mT, aims))
    assert row.status == "pass"
