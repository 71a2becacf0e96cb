"""Common faults of small trainings, each beside the healthy one that it resembles."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import (
    DataLoader,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    random_split,
)

from hookcli.rules.judge_training import all_checks
from tests.rules.training.test_script_mistakes import judged


def findings(report, rule):
    return [one.message for one in all_checks(report) if (one.rule, one.status) == (rule, "fail")]


class Model(nn.Module):
    """Layers of a classifier or a regression, with what is done to the outputs."""

    def __init__(self, outputs, end=None, between=torch.relu):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(10, 16), nn.Linear(16, 16), nn.Linear(16, outputs)
        self.end, self.between = end or nn.Identity(), between

    def forward(self, x):
        x = torch.relu(self.a(x))
        return self.end(self.c(self.between(self.b(x))))


def training(
    model_of, loss_of, batch_of, *, steps=12, optimizer_of=lambda p: torch.optim.Adam(p, lr=1e-3)
):
    """A training of `steps` steps; `loss_of(output, target)` and `batch_of(step)` are its parts."""

    def train():
        model = model_of()
        optimizer = optimizer_of(model.parameters())
        for step in range(steps):
            x, y = batch_of(step)
            loss = loss_of(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    return train


def classes(_step, samples=16):
    x = torch.randn(samples, 10)
    return x, x[:, :3].argmax(1)


def bits(_step):
    x = torch.randn(16, 10)
    return x, (x[:, :1] > 0).float()


def many_bits(_step):
    x = torch.randn(16, 10)
    return x, (x[:, :3] > 0).float()


def signs(_step):
    x, y = bits(_step)
    return x, 2 * y - 1


def one_hot(step):
    x, y = classes(step)
    return x, F.one_hot(y, 3).float()


def softmax(x):
    return torch.softmax(x, -1)


class Call(nn.Module):
    """A module that calls a function."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def of(outputs, *functions, **given):
    return lambda: Model(outputs, nn.Sequential(*map(Call, functions)), **given)


# What losses get


@pytest.mark.parametrize(
    ("train", "words"),
    [
        (
            training(
                of(1, torch.relu), lambda o, y: F.binary_cross_entropy(o.clamp(max=1), y), bits
            ),
            None,  # it is clamped
        ),
        (
            training(of(1, torch.relu, torch.sigmoid), F.binary_cross_entropy, bits),
            "gets the sigmoid of a ReLU, so that no prediction is below 0.5",
        ),
        (training(of(1, torch.sigmoid), F.binary_cross_entropy, bits), None),
        (
            training(of(3, softmax), F.binary_cross_entropy, many_bits),
            "gets a softmax over 3 classes, whose shares add up to 1, but the targets",
        ),
        (
            training(of(3, softmax), F.binary_cross_entropy, one_hot),
            "gets a softmax over 3 classes, and each sample has one: cross_entropy of the logits",
        ),
        (
            training(of(3, lambda x: F.dropout(x, 0.5)), F.cross_entropy, classes),
            "dropout with p=0.5 is applied to the outputs that the loss gets",
        ),
        (
            training(of(1, lambda x: F.dropout(x, 0.25)), F.mse_loss, bits),
            "dropout with p=0.25 is applied to the outputs that the loss gets",
        ),
        (training(of(3, between=lambda x: F.dropout(x, 0.5)), F.cross_entropy, classes), None),
        (
            training(of(1), F.soft_margin_loss, bits),
            "soft_margin_loss gets targets of 0 and 1: they must be -1 and 1",
        ),
        (training(of(1), F.soft_margin_loss, signs), None),
        (
            training(of(1), nn.HingeEmbeddingLoss(), bits),
            "hinge_embedding_loss gets targets of 0 and 1: they must be -1 and 1",
        ),
        (training(of(1), nn.HingeEmbeddingLoss(), signs), None),
        (
            training(of(1), F.cross_entropy, lambda s: (bits(s)[0], torch.ones(16, 1))),
            "cross_entropy gets the logits of one class: its softmax is 1",
        ),
    ],
)
def test_what_a_loss_is_not_made_for_is_named(train, words):
    found = findings(judged(train), "loss_values")
    assert [words in one for one in found] == [True] if words else found == []


# Sizes before the first step


def wide(x=1.0):
    model = Model(3)
    with torch.no_grad():
        model.c.weight.normal_(0, x)
    return model


def raw_pixels(step):
    x, y = classes(step)
    return (x * 60 + 128).clamp(0, 255), y


def test_inputs_that_are_not_normalized_are_a_note():
    report = judged(training(lambda: Model(3), F.cross_entropy, raw_pixels))
    [message] = findings(report, "loss_size")
    assert message.startswith("the inputs of 'a' are not normalized: they are from ")
    assert [one.severity for one in report.diagnoses] == ["note"]


def test_inputs_that_the_model_scales_itself_are_not():
    class Scaled(Model):
        def forward(self, x):
            return super().forward((x - 128) / 60)

    assert (
        findings(judged(training(lambda: Scaled(3), F.cross_entropy, raw_pixels)), "loss_size")
        == []
    )


def test_weights_that_begin_too_wide_are_named_with_the_first_loss():
    report = judged(training(lambda: wide(30.0), F.cross_entropy, classes))
    [message] = findings(report, "loss_size")
    assert (
        "that of a guess ln(3) = 1.099: 'c.weight' begins with a standard deviation of " in message
    )


def test_a_first_loss_as_of_a_guess_is_no_note():
    assert (
        findings(judged(training(lambda: wide(0.1), F.cross_entropy, classes)), "loss_size") == []
    )


# Layers


def test_linear_layers_without_an_activation_in_between_are_a_note():
    plain = training(lambda: Model(3, between=nn.Identity()), F.cross_entropy, classes)
    [message] = findings(judged(plain), "linear_after_linear")
    assert message.startswith("no activation is between 'b' and 'c': ")
    healthy = judged(training(lambda: Model(3), F.cross_entropy, classes))
    assert findings(healthy, "linear_after_linear") == []


class Normed(nn.Module):
    def __init__(self, p=0.1):
        super().__init__()
        self.a, self.norm, self.drop = nn.Linear(10, 16), nn.BatchNorm1d(16), nn.Dropout(p)
        self.c = nn.Linear(16, 3)

    def forward(self, x):
        return self.c(self.drop(torch.relu(self.norm(self.a(x)))))


@pytest.mark.parametrize(
    ("samples", "messages"),
    [
        (
            2,
            ["'norm' normalizes two values per channel: the result is 1 and -1, whatever they are"],
        ),
        (3, []),
    ],
)
def test_a_batch_norm_of_two_values_is_named(samples, messages):
    report = judged(training(Normed, F.cross_entropy, lambda step: classes(step, samples)))
    assert findings(report, "batch_norm_statistics") == messages


def test_a_last_batch_of_two_samples_is_no_batch_norm_of_two_values():
    train = training(Normed, F.cross_entropy, lambda step: classes(step, 2 if step == 1 else 16))
    assert findings(judged(train), "batch_norm_statistics") == []


@pytest.mark.parametrize(("p", "many"), [(0.9, 1), (0.5, 0)])
def test_dropout_of_most_values_is_a_note(p, many):
    report = judged(training(lambda: Normed(p), F.cross_entropy, classes))
    assert len(findings(report, "high_dropout")) == many
    assert [one.severity for one in report.diagnoses] == ["note"] * many


class Recurrent(nn.Module):
    def __init__(self, step):
        super().__init__()
        self.step, self.rnn = step, nn.GRU(10, 8, batch_first=True)
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        return self.head(self.rnn(x[:, None].expand(-1, 5, -1))[0][:, self.step])


def test_a_recurrent_layer_whose_first_output_alone_is_used_is_told_so():
    report = judged(training(lambda: Recurrent(0), F.cross_entropy, classes))
    [message] = findings(report, "grad_exists")
    assert message.endswith("exactly zero: only a first step is used, whose state is zero")
    assert (
        findings(judged(training(lambda: Recurrent(-1), F.cross_entropy, classes)), "grad_exists")
        == []
    )


class Flat(nn.Module):
    """A convolution whose channels are flattened, after a permutation or not."""

    def __init__(self, order):
        super().__init__()
        self.order, self.conv, self.c = order, nn.Conv2d(1, 4, 3), nn.Linear(256, 3)

    def forward(self, x):
        x = torch.relu(self.conv(x))
        return self.c(x.permute(self.order).reshape(x.shape[0], -1))


def images(step):
    y = torch.randint(0, 3, (6,))
    return torch.randn(6, 1, 10, 10) + y[:, None, None, None], y


@pytest.mark.parametrize(("order", "many"), [((1, 0, 2, 3), 1), ((0, 2, 3, 1), 0)])
def test_a_view_that_mixes_samples_is_named(order, many):
    found = findings(
        judged(training(lambda: Flat(order), F.cross_entropy, images)), "reshaped_axes"
    )
    assert ["a view turns shape [4, 6, 8, 8] into [6, 256]" in one for one in found] == [
        True
    ] * many


class Steps(nn.Module):
    """A layer that gets one position at a time, whose dimension is moved to the front."""

    def __init__(self):
        super().__init__()
        self.embed, self.c = nn.Linear(10, 6), nn.Linear(6, 3)

    def forward(self, x):
        return self.c(torch.relu(self.embed(x))[:, None].transpose(0, 1).reshape(len(x), -1))


def test_a_dimension_of_one_that_is_moved_mixes_nothing():
    assert findings(judged(training(Steps, F.cross_entropy, classes)), "reshaped_axes") == []


def test_a_head_behind_an_encoder_of_its_own_is_no_linear_layer_after_another_one():
    def train():
        encoder = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 16))
        head = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 3))
        optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()])
        for step in range(6):
            x, y = classes(step)
            optimizer.zero_grad()
            F.cross_entropy(head(encoder(x)), y).backward()
            optimizer.step()

    assert findings(judged(train), "linear_after_linear") == []


def test_sparse_inputs_are_left_out():
    class Product(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.randn(10, 3))

        def forward(self, x):
            return torch.sparse.mm(x, self.w)

    def sparse(step):
        x, y = classes(step)
        return x.to_sparse(), y

    report = judged(training(Product, F.cross_entropy, sparse))
    assert not [one for one in report.warnings if "left out" in one]


# Optimizers


@pytest.mark.parametrize(
    ("optimizer_of", "words"),
    [
        (lambda p: torch.optim.SGD(p, lr=1e-3, momentum=1.0), ["SGD has momentum=1: no gradient"]),
        (lambda p: torch.optim.SGD(p, lr=1e-3, momentum=0.99), []),
        (
            lambda p: torch.optim.Adam(p, betas=(0.999, 0.9)),
            ["Adam has betas=(0.999, 0.9): the average of squared gradients is over fewer steps"],
        ),
        (lambda p: torch.optim.Adam(p, betas=(0.5, 0.9)), []),
        (
            lambda p: torch.optim.SGD([{"params": p, "learning_rate": 0.1}], lr=1e-3),
            ["group 0 of SGD has `learning_rate`, which no step reads: it uses `lr`, which is 0"],
        ),
        (lambda p: torch.optim.SGD([{"params": p, "lr_scale": 0.1}], lr=1e-3), []),
        (
            lambda p: torch.optim.Adadelta(p, lr=1e-3),
            ["the learning rate of Adadelta is 0.001, which makes its updates 1,000 times smaller"],
        ),
        (lambda p: torch.optim.Adadelta(p), []),
        (
            lambda p: torch.optim.Rprop(p, lr=1e-3),
            ["Rprop compares the signs of gradients from step to step, and gets another batch"],
        ),
    ],
)
def test_settings_of_an_optimizer_that_are_seldom_meant(optimizer_of, words):
    train = training(lambda: Model(3), F.cross_entropy, classes, optimizer_of=optimizer_of)
    found = findings(judged(train), "optimizer_construction")
    assert len(found) == len(words)
    assert all(one.startswith(text) for one, text in zip(found, words, strict=True))


@pytest.mark.parametrize(
    ("settings", "keeps", "is_found"),
    [
        ({"weight_decay": 0.1}, True, True),
        ({"momentum": 0.9}, True, True),
        ({}, True, False),  # a gradient of zeros changes nothing
        ({"weight_decay": 0.1, "momentum": 0.9}, False, False),
    ],
)
def test_parameters_that_are_frozen_later_keep_their_gradients(settings, keeps, is_found):
    def train():
        model = Model(3)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-2, **settings)
        first = next(model.children())
        for step in range(12):
            if step == 4:
                first.requires_grad_(False)
                before = [p.clone() for p in first.parameters()]
            x, y = classes(step)
            optimizer.zero_grad(set_to_none=not keeps)
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        moved = any(not torch.equal(a, b) for a, b in zip(before, first.parameters(), strict=True))
        assert moved == is_found

    rows = findings(judged(train), "frozen_parts")
    assert len(rows) == is_found
    assert all("still have a gradient of zeros, and SGD goes on changing them" in r for r in rows)


def test_rprop_may_get_the_same_batch_in_each_step():
    batch = classes(0)
    train = training(
        lambda: Model(3), F.cross_entropy, lambda step: batch,
        optimizer_of=lambda p: torch.optim.Rprop(p, lr=1e-3),
    )  # fmt: skip
    assert findings(judged(train), "optimizer_construction") == []


# Inputs of evaluations, decay, rare classes


def with_evaluation(scale, *, passes=1):
    """A training with evaluations after it; each input gets `passes` calls."""

    def train():
        model = Normed(0.5)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        for step in range(12):
            x, y = classes(step)
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        with torch.no_grad():
            for _ in range(3):
                x = classes(0)[0] * scale
                for _ in range(passes):
                    model(x)

    return train


@pytest.mark.parametrize(("scale", "is_found"), [(255.0, True), (0.01, True), (3.0, False)])
def test_inputs_of_another_size_in_an_evaluation_are_named(scale, is_found):
    found = findings(judged(with_evaluation(scale)), "loss_size")
    start = "the inputs of 'model' are not scaled in evaluations as in training: "
    assert [one.startswith(start) for one in found] == [True] * is_found


@pytest.mark.parametrize(("passes", "many"), [(1, 1), (20, 0)])
def test_calls_that_draw_samples_with_dropout_are_no_evaluation_in_train_mode(passes, many):
    report = judged(with_evaluation(1.0, passes=passes))
    assert len(findings(report, "graphless_training")) == many
    assert report.records[0].training.graphless == 3 * passes


@pytest.mark.parametrize(("decay", "many"), [(2.0, 1), (1e-4, 0)])
def test_weight_decay_that_pulls_more_than_the_gradient_is_the_cause(decay, many):
    def of_decay(parameters):
        return torch.optim.SGD(parameters, lr=0.05, momentum=0.9, weight_decay=decay)

    train = training(lambda: Model(3), F.cross_entropy, classes, steps=90, optimizer_of=of_decay)
    found = findings(judged(train), "loss_falls")
    assert [f"a weight_decay of {decay:g} pulls the weights to 0" in one for one in found] == (
        [True] * many
    )


def rare(step):
    x = torch.randn(40, 10)
    return x, (torch.rand(40) < 0.03).long()


@pytest.mark.parametrize(("batch_of", "many"), [(rare, 1), (classes, 0)])
def test_a_class_that_is_too_rare_is_counted_over_all_batches(batch_of, many):
    def fast(parameters):
        return torch.optim.Adam(parameters, lr=1e-2)

    train = training(lambda: Model(3), F.cross_entropy, batch_of, steps=60, optimizer_of=fast)
    found = [one for one in findings(judged(train), "loss_size") if "for all samples" in one]
    assert len(found) == many


class ByHand(nn.Module):
    """A layer whose units are the columns of its weight."""

    def __init__(self, make):
        super().__init__()
        self.w, self.head = nn.Parameter(make(10, 6)), nn.Parameter(make(6, 3))

    def forward(self, x):
        return torch.tanh(x @ self.w) @ self.head


def sizes_of(*sizes):
    return torch.full(sizes, 0.1)


@pytest.mark.parametrize(("make", "many"), [(sizes_of, 2), (torch.randn, 0)])
def test_equal_units_of_a_layer_by_hand_are_named(make, many):
    found = findings(
        judged(training(lambda: ByHand(make), F.cross_entropy, classes)), "equal_units"
    )
    assert len(found) == many
    if many:
        assert found[0].startswith("all 6 units of 'w' have equal weights")


# Shapes and dimensions


@pytest.mark.parametrize(
    ("target_of", "words"),
    [
        (lambda y: y[:1], "broadcasts a target of shape [1, 1] to predictions of shape [16, 1]"),
        (lambda y: torch.ones(1), None),  # a label
        (lambda y: y, None),
    ],
)
@pytest.mark.filterwarnings("ignore:Using a target size")
def test_a_target_that_is_compared_with_several_predictions_is_named(target_of, words):
    def numbers(step):
        x = torch.randn(16, 10)
        return x, x[:, :1]

    train = training(lambda: Model(1), lambda o, y: F.mse_loss(o, target_of(y)), numbers)
    found = findings(judged(train), "loss_broadcasts")
    assert [words in one for one in found] == ([True] if words else [])


def picked(probabilities, y):
    return -probabilities.gather(1, y[:, None]).log().mean()


@pytest.mark.parametrize(("dim", "many"), [(0, 1), (1, 0)])
def test_a_softmax_over_the_samples_is_named(dim, many):
    def over(x):
        return torch.softmax(x, dim)

    found = findings(judged(training(of(3, over), picked, classes)), "loss_values")
    assert ["over dimension 0, the samples" in one for one in found] == [True] * many


def policy_loss(pick, outer, inner):
    """A clipped surrogate; `pick` is torch.min or torch.max, the others are signs."""

    def loss(logits, y):
        old = torch.log_softmax(logits.detach() * 0.9, 1).gather(1, y[:, None])[:, 0]
        now = torch.log_softmax(logits, 1).gather(1, y[:, None])[:, 0]
        ratio, advantage = (now - old).exp(), torch.linspace(-1, 1, len(y))
        clipped = ratio.clamp(0.8, 1.2)
        if inner < 0:
            return outer * pick(-ratio * advantage, -clipped * advantage).mean() + 0.1
        return outer * pick(ratio * advantage, clipped * advantage).mean() + 0.1

    return loss


@pytest.mark.parametrize(
    ("pick", "outer", "inner", "is_found"),
    [
        (torch.min, -1, 1, False),
        (torch.max, 1, -1, False),
        (torch.min, 1, -1, True),
        (torch.max, -1, 1, True),
    ],
)
def test_the_surrogate_of_a_policy_is_the_smaller_objective(pick, outer, inner, is_found):
    found = findings(
        judged(training(lambda: Model(3), policy_loss(pick, outer, inner), classes)), "loss_values"
    )
    assert ["with the ratio and with the clipped ratio" in one for one in found] == (
        [True] * is_found
    )


def test_a_softmax_that_is_changed_in_place_ends_no_look():
    def train():
        model = Model(3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for step in range(6):
            x, y = classes(step)
            probabilities = torch.softmax(model(x), 0)
            loss = picked(probabilities, y)
            optimizer.zero_grad()
            if step == 2:
                with torch.no_grad():
                    probabilities.add_(1)
                with pytest.raises(RuntimeError, match="inplace operation"):
                    loss.backward()
                continue
            loss.backward()
            optimizer.step()

    report = judged(train)
    assert not [one for one in report.warnings if "left out" in one]
    assert len(findings(report, "loss_values")) == 1


def test_a_pooling_over_samples_is_no_softmax_of_classes():
    def pooled(x):
        return (torch.softmax(x, 0) * x).sum(0, keepdim=True)

    train = training(of(3, pooled), lambda o, y: F.cross_entropy(o, y[:1]), classes)
    assert findings(judged(train), "loss_values") == []


def with_column(value):
    def batch(step):
        x, y = classes(step)
        x[:, 4] = torch.randn(16) if value is None else value
        return x, y

    return batch


@pytest.mark.parametrize(("value", "many"), [(-7.5, 1), (1.0, 0), (0.0, 0), (None, 0)])
def test_a_column_of_the_inputs_that_never_varies_is_a_note(value, many):
    train = training(lambda: Model(3), F.cross_entropy, with_column(value))
    found = findings(judged(train), "loss_size")
    assert found == many * [
        "column 4 of the inputs of 'model' is constant: it has the value -7.5 in all 48 samples "
        "that were looked at"
    ]


def without_last(step):
    x = torch.randn(40, 10)
    return x, x[:, :3].argmax(1)


@pytest.mark.parametrize(("outputs", "many"), [(4, 1), (3, 0), (12, 0)])
def test_a_class_that_no_label_has_is_a_note(outputs, many):
    train = training(lambda: Model(outputs), F.cross_entropy, without_last, steps=40)
    found = [one for one in findings(judged(train), "loss_size") if " has no label: " in one]
    assert len(found) == many
    if many:
        assert found[0].startswith("class 3 has no label: ")


@pytest.mark.parametrize(("learns", "many"), [(False, 1), (True, 0)])
def test_a_loss_that_ends_at_that_of_a_guess_is_told(learns, many):
    def batch(step):
        x, y = classes(step, 64)
        return x, y if learns else torch.randint(0, 3, (64,))

    def wide_model():
        return wide(2.0)

    train = training(
        wide_model, F.cross_entropy, batch, steps=120,
        optimizer_of=lambda p: torch.optim.Adam(p, lr=1e-2),
    )  # fmt: skip
    found = [one for one in findings(judged(train), "loss_falls") if "ln(3)" in one]
    assert len(found) == many


# Samples of a validation


def with_loaders(loaders_of):
    """A training with two epochs, and an evaluation after each; K folds train new models."""

    def train():
        for train_loader, val_loader in loaders_of():
            model = Model(3)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
            for _ in range(2):
                for x, y in train_loader:
                    optimizer.zero_grad()
                    F.cross_entropy(model(x), y).backward()
                    optimizer.step()
                with torch.no_grad():
                    for x, _ in val_loader:
                        model(x)

    return train


def data_of(many=40):
    return TensorDataset(*classes(0, many))


def whole_and_split():
    data = data_of()
    first, second = random_split(data, [30, 10])
    del first
    return [(DataLoader(data, 10, shuffle=True), DataLoader(second, 5))]


def overlapping():
    data = data_of()
    loaders = [DataLoader(Subset(data, part), 10) for part in (range(30), range(20, 40))]
    return [tuple(loaders)]


def samplers():
    data = data_of()
    first, second = (SubsetRandomSampler(part) for part in (range(30), range(25, 40)))
    return [(DataLoader(data, 10, sampler=first), DataLoader(data, 5, sampler=second))]


def split():
    return [tuple(DataLoader(part, 10) for part in random_split(data_of(), [30, 10]))]


def folds():
    data, every = data_of(), set(range(40))
    for start in (0, 10, 20):
        part = set(range(start, start + 10))
        yield (
            DataLoader(Subset(data, sorted(every - part)), 10),
            DataLoader(Subset(data, [*part]), 5),
        )


def of_other_data():
    return [(DataLoader(data_of(), 10), DataLoader(data_of(10), 5))]


@pytest.mark.parametrize(
    ("loaders_of", "words"),
    [
        (whole_and_split, "10 of 10 samples of 'val_loader' are in 'train_loader' too"),
        (overlapping, "10 of 20 samples of 'val_loader' are in 'train_loader' too"),
        (samplers, "5 of 15 samples of 'val_loader' are in 'train_loader' too"),
        (split, None),
        (folds, None),
        (of_other_data, None),
    ],
)
def test_samples_that_are_trained_on_are_not_held_out(loaders_of, words):
    found = findings(judged(with_loaders(loaders_of)), "separate_splits")
    assert [one.startswith(words) for one in found] == ([True] if words else [])


def validated_on(name):
    """A training whose validation goes over one of its loaders, and a second measure over `all`."""

    def train():
        torch.manual_seed(0)
        x = torch.randn(64, 10)
        data = TensorDataset(x, x[:, :3].argmax(1))
        train_loader, val_loader = DataLoader(data, 16), DataLoader(Subset(data, range(8)), 8)
        model = Model(3)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

        def validate(val_loader):
            with torch.no_grad():
                return sum(F.cross_entropy(model(x), y).item() for x, y in val_loader)

        for _ in range(3):
            for x, y in train_loader:
                optimizer.zero_grad()
                F.cross_entropy(model(x), y).backward()
                optimizer.step()
            validate(train_loader)
            if name == "both":
                validate(val_loader)

    return train


def test_a_validation_over_the_loader_of_the_training():
    [message] = findings(judged(validated_on("train_loader")), "separate_splits")
    assert message.startswith("'val_loader' is never iterated over: 'train_loader', which is tra")
    found = findings(judged(validated_on("both")), "separate_splits")
    assert not any("is never iterated over" in one for one in found)


# Targets without a relation to the inputs, and steps that are too large or too small


def points(relation):
    """400 samples in a fixed order; `relation` returns their targets."""
    torch.manual_seed(3)
    x = 2 * torch.randn(3, 10)[torch.arange(400) % 3] + torch.randn(400, 10)
    y = relation(x)
    return lambda step: (x[step * 20 % 400 :][:20], y[step * 20 % 400 :][:20])


def arms(x):
    return torch.arange(len(x)) % 3


def values(x):
    return x[:, :1] + 0.1 * torch.randn(len(x), 1)


def shuffled(relation):
    return lambda x: relation(x)[torch.randperm(len(x))]


RELATED = {
    "shuffled classes": (shuffled(arms), 3, "the labels have no relation to the inputs: "),
    "shuffled values": (shuffled(values), 1, "the targets have no relation to the inputs: of 400"),
    "classes": (arms, 3, None),
    "values": (values, 1, None),
}


@pytest.mark.parametrize("name", RELATED)
def test_targets_that_were_shuffled_without_their_inputs_are_told_of_a_flat_loss(name):
    relation, outputs, message = RELATED[name]
    loss = F.cross_entropy if outputs > 1 else F.mse_loss
    end = nn.Identity() if message else Still(0.0)  # the inputs do not reach the loss

    def train():
        training(
            lambda: Model(outputs, end), loss, points(relation), steps=200,
            optimizer_of=lambda p: torch.optim.SGD(p, lr=1e-2),
        )()  # fmt: skip

    found = [one for one in findings(judged(train), "loss_falls") if "relation" in one]
    assert [one.startswith(message or "-") for one in found] == [True] * (message is not None)


class Still(nn.Module):
    """A scale that leaves nearly nothing of the outputs."""

    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x):
        return x * self.factor


def untried(output, target):
    """A loss that hookcli cannot compute again, and so makes no steps on one batch with."""
    return F.cross_entropy(output, target) + 0 * output.sum()


@pytest.mark.parametrize(("rate", "is_found"), [(3.0, True), (1e-2, False)])
def test_a_rate_with_which_the_first_steps_raise_a_loss_to_that_of_a_guess(rate, is_found):
    train = training(
        lambda: Model(3), untried, points(arms), steps=120,
        optimizer_of=lambda p: torch.optim.SGD(p, lr=rate, momentum=0.9),
    )  # fmt: skip
    found = findings(judged(train), "loss_falls")
    assert [one.startswith("a learning rate of 3 raises the loss from ") for one in found] == (
        [True] * is_found
    )


@pytest.mark.parametrize(("rate", "is_found"), [(2e-5, True), (1e-3, False)])
def test_a_rate_with_which_all_steps_change_little_is_a_note(rate, is_found):
    train = training(
        lambda: Model(3), untried, points(arms), steps=120,
        optimizer_of=lambda p: torch.optim.Adam(p, lr=rate),
    )  # fmt: skip
    found = findings(judged(train), "loss_falls")
    assert [("120 steps change the parameters by at most" in one) for one in found] == (
        [True] * is_found
    )


def test_a_figure_of_a_fact_that_is_not_finite_is_told():
    def huge(output, target):
        return F.nll_loss(100 * output.abs() + 90, target)  # the exp of 90 is infinite

    train = training(lambda: Model(3), huge, classes)
    found = [one for one in findings(judged(train), "loss_values") if "no log-probab" in one]
    assert found[0].startswith("nll_loss gets values that are no log-probabilities")
    assert "inf" in found[0]


# Terms of a loss


class Variational(nn.Module):
    """Encoder and decoder; forward returns the reconstruction, the mean and the log variance."""

    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = nn.Linear(20, 16), nn.Linear(8, 20)

    def forward(self, x):
        mean, log_var = self.encoder(x).chunk(2, dim=1)
        z = mean + (0.5 * log_var).exp() * torch.randn_like(mean)
        return self.decoder(z), mean, log_var


def kl_of(mean, log_var, *, log=1):
    return 0.5 * (log_var.exp() + mean.square() - 1 - log * log_var)


ELBOS = {
    "sums": (lambda x, y, kl: (F.mse_loss(y, x, reduction="sum") + kl.sum()) / len(x), None),
    "means": (lambda x, y, kl: F.mse_loss(y, x) + kl.mean() * 8 / 20, None),
    "a weight": (lambda x, y, kl: F.mse_loss(y, x) + 0.01 * kl.sum(1).mean(), None),
    "mean of the divergence": (
        lambda x, y, kl: F.mse_loss(y, x, reduction="none").sum(1).mean() + kl.mean(),
        "the KL term of the loss is a mean over 8 latent values",
    ),
    "mean of the reconstruction": (
        lambda x, y, kl: F.mse_loss(y, x) + kl.sum(1).mean(),
        "the reconstruction of the loss is a mean over 20 elements, and the KL term a sum over 8",
    ),
}


@pytest.mark.parametrize("name", ELBOS)
def test_a_term_that_is_a_mean_beside_one_that_is_a_sum(name):
    loss_of, message = ELBOS[name]

    def loss(output, target):
        y, mean, log_var = output
        return loss_of(target, y, kl_of(mean, log_var))

    def same(step):
        x = torch.randn(16, 20)
        return x, x

    found = findings(judged(training(Variational, loss, same)), "loss_values")
    assert [one.startswith(message or "-") for one in found] == [True] * (message is not None)


@pytest.mark.parametrize(("log", "is_found"), [(-1, True), (1, False)])
def test_a_divergence_to_which_the_log_of_the_variance_is_added(log, is_found):
    def loss(output, target):
        y, mean, log_var = output
        return F.mse_loss(y, target, reduction="sum") + kl_of(mean, log_var, log=log).sum()

    def same(step):
        x = torch.randn(16, 20)
        return x, x

    found = findings(judged(training(Variational, loss, same)), "loss_sign")
    assert ["the log of the variance has the wrong sign" in one for one in found] == (
        [True] * is_found
    )


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.actor, self.critic = nn.Linear(10, 16), nn.Linear(16, 3), nn.Linear(16, 1)

    def forward(self, x):
        x = torch.tanh(self.body(x))
        return self.actor(x), self.critic(x)[:, 0]


@pytest.mark.parametrize("is_baseline", [False, True])
def test_returns_that_weigh_log_probabilities_without_the_value(is_baseline):
    def loss(output, returns):
        logits, value = output
        chosen = torch.distributions.Categorical(logits=logits)
        log_prob = chosen.log_prob(chosen.sample())
        weight = returns - value.detach() if is_baseline else returns
        return -(weight * log_prob).mean() + F.mse_loss(value, returns)

    train = training(ActorCritic, loss, lambda step: (torch.randn(16, 10), torch.randn(16) + 5))
    found = [one for one in findings(judged(train), "loss_values") if "baseline" in one]
    assert len(found) == (not is_baseline)


class Factors(nn.Module):
    def __init__(self, std):
        super().__init__()
        self.users, self.films = nn.Embedding(50, 64), nn.Embedding(50, 64)
        for table in (self.users, self.films):
            nn.init.normal_(table.weight, std=std)

    def forward(self, pair):
        return (self.users(pair[:, 0]) * self.films(pair[:, 1])).sum(1)


@pytest.mark.parametrize(("std", "is_found"), [(1.0, True), (0.1, False)])
def test_products_of_embeddings_with_large_values(std, is_found):
    def batch(step):
        return torch.randint(0, 50, (64, 2)), torch.randint(0, 2, (64,)).float()

    train = training(lambda: Factors(std), F.binary_cross_entropy_with_logits, batch)
    found = [one for one in findings(judged(train), "loss_size") if "first loss" in one]
    message = "the logits are products of 'users.weight' and 'films.weight', 64 values with "
    assert [message in one for one in found] == [True] * is_found


@pytest.mark.parametrize(("rounds", "is_found"), [(6, True), (2, False)])
def test_an_optimizer_that_is_constructed_again_for_some_steps_is_a_note(rounds, is_found):
    def train():
        model = Model(3)
        for _ in range(rounds):
            optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
            for step in range(4):
                x, y = classes(step)
                loss = F.cross_entropy(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

    report = judged(train)
    found = findings(report, "optimizer_construction")
    message = "Adam is constructed again 6 times for the same parameters, each time for 4 steps"
    assert [one.startswith(message) for one in found] == [True] * is_found
    kinds = [one.severity for one in all_checks(report) if one.rule == "optimizer_construction"]
    assert not is_found or "note" in kinds


class Unfolded(nn.Module):
    """A recurrent layer by hand, with an activation or without one."""

    def __init__(self, activation):
        super().__init__()
        self.step, self.out, self.activation = nn.Linear(15, 5), nn.Linear(15, 3), activation

    def forward(self, x):
        hidden = x.new_zeros(len(x), 5)
        for _ in range(4):
            both = torch.cat([x, hidden], 1)
            hidden = self.activation(self.step(both))
        return self.out(both)


@pytest.mark.parametrize(("activation", "is_found"), [(nn.Identity(), True), (torch.tanh, False)])
def test_a_recurrent_layer_without_an_activation_is_a_note(activation, is_found):
    found = findings(
        judged(training(lambda: Unfolded(activation), F.cross_entropy, classes)),
        "linear_after_linear",
    )
    assert ["the model has no activation: its 2 layers" in one for one in found] == (
        [True] * is_found
    )


def test_a_layer_behind_zero_weights_is_not_judged_by_its_first_small_step():
    def model_of():
        model = Model(3)
        nn.init.zeros_(model.c.weight)
        model.c.weight.data.add_(1e-9)
        return model

    train = training(
        model_of, F.cross_entropy, classes, steps=30,
        optimizer_of=lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    )  # fmt: skip
    assert findings(judged(train), "update_ratio") == []


# Settings, dropout and losses that are not what they seem


class Poly(torch.optim.SGD):
    def __init__(self, params, lr, weight_decay):
        super().__init__(params, lr, weight_decay)


class NamedPoly(torch.optim.SGD):
    def __init__(self, params, lr, weight_decay):
        super().__init__(params, lr, weight_decay=weight_decay)


def plain_sgd(parameters):
    weight_decay = 1e-3
    return torch.optim.SGD(parameters, 1e-2, weight_decay)


@pytest.mark.parametrize(
    ("optimizer_of", "name"),
    [
        (lambda p: Poly(p, 1e-2, 1e-3), "Poly"),
        (plain_sgd, "SGD"),
        (lambda p: NamedPoly(p, 1e-2, 1e-3), None),
        (lambda p: torch.optim.SGD(p, 1e-2, 0.9), None),
    ],
)
def test_a_setting_that_is_given_in_the_place_of_another_one(optimizer_of, name):
    train = training(lambda: Model(3), F.cross_entropy, classes, optimizer_of=optimizer_of)
    found = [one for one in findings(judged(train), "optimizer_construction") if "position" in one]
    message = f"{name} gets `weight_decay` as its momentum, by the position of the argument"
    assert found == [message] * (name is not None)


def one_hot(step):
    x, y = classes(step)
    return x, F.one_hot(y, 3).float()


@pytest.mark.parametrize(
    ("end", "batch", "is_found"),
    [
        (nn.Softmax(1), one_hot, True),
        (nn.Softmax(1), lambda step: (torch.randn(16, 10), torch.rand(16, 3)), False),
        (None, one_hot, False),
    ],
)
def test_a_squared_error_of_a_softmax_is_a_note(end, batch, is_found):
    train = training(lambda: Model(3, end), F.mse_loss, batch)
    found = [one for one in findings(judged(train), "loss_values") if "one-hot labels" in one]
    assert len(found) == is_found


class AlwaysDropped(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(10, 16), nn.Linear(16, 3)

    def forward(self, x):
        x = torch.relu(self.a(x))
        return self.b(F.dropout1d(x, 0.5, training=True))


class SometimesDropped(AlwaysDropped):
    def forward(self, x):
        x = torch.relu(self.a(x))
        return self.b(F.dropout1d(x, 0.5, training=self.training))


@pytest.mark.parametrize(("kind", "is_found"), [(AlwaysDropped, True), (SometimesDropped, False)])
def test_functional_dropout_that_is_on_in_evaluations(kind, is_found):
    def train():
        model = kind()
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
        for step in range(12):
            x, y = classes(step)
            model.train()
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
            model.eval()
            with torch.no_grad():
                model(x)

    found = [one for one in findings(judged(train), "model_code") if "functional dropout" in one]
    assert len(found) == is_found


@pytest.mark.parametrize(("is_anew", "many"), [(True, 0), (False, 1)])
def test_steps_with_signs_of_gradients_that_the_script_fills(is_anew, many):
    """All gradients have one norm: only new tensors tell that they are others."""

    def train():
        model = Model(3)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        for step in range(40):
            if is_anew or not step:
                x, y = classes(step)
                loss = F.cross_entropy(model(x), y)
                grads = torch.autograd.grad(loss, list(model.parameters()))
                for parameter, grad in zip(model.parameters(), grads, strict=True):
                    parameter.grad = grad.sign()
            optimizer.step()

    found = [one for one in findings(judged(train), "gradients_used") if "follow another" in one]
    assert len(found) == many


@pytest.mark.parametrize(("is_squeezed", "many"), [(False, 1), (True, 0)])
def test_advantages_of_all_pairs_of_samples(is_squeezed, many):
    def loss(output, returns):
        logits, value = output
        column = value if is_squeezed else value[:, None]
        advantage = returns - column.detach()
        chosen = F.log_softmax(logits, 1)[range(len(logits)), returns.long() % 3]
        return -(advantage * chosen).mean() + F.mse_loss(value, returns)

    train = training(ActorCritic, loss, lambda step: (torch.randn(16, 10), torch.rand(16) * 9))
    found = [one for one in findings(judged(train), "loss_values") if "of all samples" in one]
    assert len(found) == many
    if many:
        assert found[0].startswith("16 log-probabilities of actions are multiplied by [16, 16]")


@pytest.mark.parametrize(("least", "many"), [(1e-2, 1), (1e-4, 0)])
def test_a_plateau_schedule_whose_least_rate_is_the_first_one(least, many):
    def train():
        model = Model(3)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
        schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=2, min_lr=least)
        for step in range(12):
            x, y = classes(step)
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step(loss.item())

    found = [one for one in findings(judged(train), "plateau_mode") if "min_lr" in one]
    assert found == many * [
        "ReduceLROnPlateau cannot lower the learning rate of 0.01: its min_lr is 0.01"
    ]


@pytest.mark.parametrize(("every", "many"), [(5, 1), (12, 0)])
def test_a_decay_after_which_most_steps_change_next_to_nothing(every, many):
    def train():
        model = Model(3)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
        marks = [every, 2 * every, 3 * every]
        schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, marks)
        for step in range(40):
            x, y = classes(step)
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()

    found = [one for one in findings(judged(train), "schedule_steps") if "thousandth" in one]
    assert found == many * [
        "MultiStepLR lowers the learning rate below a thousandth of 0.01 after 15 of 40 steps: the "
        "others change next to nothing"
    ]


@pytest.mark.parametrize(("column", "many"), [(4, 1), (None, 0)])
def test_a_target_that_is_among_the_inputs(column, many):
    def batch(_step):
        x = torch.randn(32, 10)
        return x, x[:, column : column + 1] if column else x[:, :1] + x[:, 1:2]

    train = training(lambda: Model(1), F.mse_loss, batch)
    found = findings(judged(train), "label_in_inputs")
    assert found == many * [
        "value 4 of each input, counted from 0, is the target itself, in all of 384 samples: the "
        "model can copy it"
    ]


@pytest.mark.parametrize(("rare", "many"), [(0.02, 1), (0.4, 0)])
def test_predictions_of_the_most_frequent_class_alone(rare, many):
    def batch(_step):
        return torch.randn(200, 10), (torch.rand(200) < rare).long()

    def model():
        return Model(2)

    train = training(
        model, F.cross_entropy, batch, steps=60, optimizer_of=lambda p: torch.optim.Adam(p, 1e-2)
    )
    found = findings(judged(train), "single_prediction")
    assert len(found) == many
    if many:
        assert found[0].startswith("the last predictions are all of class 0, which 9")


@pytest.mark.parametrize(("is_joined", "many"), [(False, 1), (True, 0)])
def test_a_temperature_of_the_negatives_alone(is_joined, many):
    def loss(output, _target):
        query, keys = F.normalize(output[:8], dim=1), F.normalize(output[8:], dim=1)
        positive = (query * keys).sum(1, keepdim=True)
        scores = torch.cat([positive, query @ keys.T / (1 if is_joined else 0.1)], 1)
        scores = scores / 0.1 if is_joined else scores
        return F.cross_entropy(scores, torch.zeros(8, dtype=torch.long))

    found = findings(judged(training(lambda: Model(4), loss, classes)), "softmax_dimension")
    assert len(found) == many
    if many:
        assert "scores that are multiplied by 1, 10, part by part" in found[0]


@pytest.mark.parametrize(("is_repeated", "many"), [(True, 1), (False, 0)])
def test_a_group_whose_rate_is_multiplied_in_each_step(is_repeated, many):
    def train():
        model = Model(3)
        groups = [{"params": part.parameters()} for part in (model.a, model.b, model.c)]
        optimizer = torch.optim.Adam(groups, lr=1e-2)
        for step in range(60):
            for number, group in enumerate(optimizer.param_groups):
                if is_repeated or not step:
                    group["lr"] *= 0.8 ** (2 - number)
            x, y = classes(step)
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    found = [one for one in findings(judged(train), "learning_rate") if "99.9 %" in one]
    assert found == many * [
        "2 groups of the optimizer, of 3, lose 99.9 % of the learning rate, the first until step "
        "16, and the others keep theirs"
    ]


@pytest.mark.parametrize(("is_erased", "many"), [(False, 1), (True, 0)])
def test_gradients_of_a_discriminator_that_its_generator_adds_to(is_erased, many):
    def train():
        generator, judge = Model(10), Model(1)
        steps = [torch.optim.Adam(one.parameters(), lr=1e-3) for one in (judge, generator)]
        for _ in range(12):
            fake, real = generator(torch.randn(16, 10)), torch.randn(16, 10)
            if is_erased:
                judge.zero_grad()
            (F.softplus(judge(fake.detach())) + F.softplus(-judge(real))).mean().backward()
            steps[0].step()
            generator.zero_grad()
            F.softplus(-judge(fake)).mean().backward()
            steps[1].step()

    found = findings(judged(train), "zero_grad_called")
    assert len(found) == many
