"""Faults of trainings that people report often, each next to the healthy script that it resembles.

The expected figures are worked out by hand.
"""

from __future__ import annotations

import copy
import functools
import math
import warnings

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

from tests.rules.training.test_script_mistakes import findings, judged


def small(*layers):
    return nn.Sequential(nn.Linear(4, 8), *layers, nn.Linear(8, 3))


def step_of(optimizer, loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def trained(loss_of, *, model=None, steps=30, optimizer=None):
    """A training of `steps` steps whose loss is `loss_of(model, x)`."""

    def train():
        net = small(nn.ReLU()) if model is None else model()
        made = optimizer(net) if optimizer else torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(steps):
            made.zero_grad()
            loss_of(net, torch.randn(16, 4)).backward()
            made.step()

    return train


def found(train, rule):
    return findings(judged(train), rule)


# The order of the calls


def accumulation(*, resets_each):
    def train():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for i in range(24):
            if resets_each:
                optimizer.zero_grad()
            net(torch.randn(8, 4)).square().mean().backward()
            if i % 4 == 3:
                optimizer.step()
                optimizer.zero_grad()

    return train


def test_micro_batches_whose_gradients_are_erased_are_counted():
    [message] = found(accumulation(resets_each=True), "gradients_used")
    assert "discards the gradients of 18 of 24 backward passes before a step uses them" in message
    assert found(accumulation(resets_each=False), "gradients_used") == []


def test_the_passes_of_a_closure_are_not_erased():
    def train():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.LBFGS(net.parameters(), max_iter=5)
        x = torch.randn(8, 4)

        def closure():
            optimizer.zero_grad()
            loss = (net(x) - x.sum(1, keepdim=True)).square().mean()
            loss.backward()
            return loss

        for _ in range(4):
            optimizer.step(closure)

    assert found(train, "gradients_used") == []


def test_gradients_that_are_reset_once_an_epoch_are_told_from_those_of_each_step():
    def train_with(every):
        def train():
            net = nn.Linear(4, 1)
            optimizer = torch.optim.SGD(net.parameters(), lr=0.001)
            for i in range(32):
                if i % every == 0:
                    optimizer.zero_grad()
                net(torch.randn(8, 4)).square().mean().backward()
                optimizer.step()

        return train

    [message] = found(train_with(8), "gradients_used")
    assert "zero_grad is called 4 times in 32 steps" in message
    assert found(train_with(1), "gradients_used") == []


def clipping(order, given):
    def train():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        once = net.parameters()
        for _ in range(12):
            loss = net(torch.randn(8, 4)).square().mean()
            for call in order:
                if call == "z":
                    optimizer.zero_grad()
                elif call == "b":
                    loss.backward()
                elif call == "c":
                    nn.utils.clip_grad_norm_(given(net, once), 0.1)
            optimizer.step()

    return train


@pytest.mark.filterwarnings("ignore:.parameters. is an empty generator")
def test_clipping_before_backward_and_of_a_used_up_generator_does_nothing():
    anew, kept = (lambda net, _: net.parameters()), (lambda _, once: once)
    [message] = found(clipping("zcb", anew), "clipping_used")
    assert "no parameter that it gets has a gradient" in message
    [message] = found(clipping("zbc", kept), "clipping_used")
    assert "used up" in message
    assert found(clipping("zbc", anew), "clipping_used") == []


def test_a_step_that_is_called_twice_is_named():
    def train_with(times):
        def train():
            net = nn.Linear(4, 1)
            optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
            for _ in range(8):
                optimizer.zero_grad()
                net(torch.randn(8, 4)).square().mean().backward()
                for _ in range(times):
                    optimizer.step()

        return train

    [message] = found(train_with(2), "gradients_used")
    assert message.startswith("8 of 16 steps follow another step without a backward pass")
    assert found(train_with(1), "gradients_used") == []


def test_steps_with_gradients_that_the_script_computes_are_none():
    """As in differentially private training: no backward pass is seen."""

    def train():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(20):
            for p in net.parameters():
                p.grad = p.detach() + 0.1 * torch.randn_like(p)
            optimizer.step()

    assert found(train, "gradients_used") == []


def test_a_step_with_scaled_gradients_is_told_from_one_of_the_scaler():
    def train_with(removed):
        def train():
            net, scaler = nn.Linear(4, 1), torch.amp.GradScaler("cpu", init_scale=1024.0)
            optimizer = torch.optim.SGD(net.parameters(), lr=1e-6)
            for _ in range(6):
                optimizer.zero_grad()
                scaler.scale(net(torch.randn(8, 4)).square().mean()).backward()
                if removed:
                    scaler.step(optimizer)
                    scaler.update()
                else:
                    optimizer.step()

        return train

    [message] = found(train_with(removed=False), "gradients_used")
    assert message.startswith("SGD steps with gradients that are multiplied by 1024")
    assert found(train_with(removed=True), "gradients_used") == []


# Schedules


def scheduled(make, *, steps=90, calls=True, rate=0.01):
    def train():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=rate)
        scheduler = make(optimizer)
        for i in range(steps):
            step_of(optimizer, net(torch.randn(8, 4)).square().mean())
            if calls and i % 3 == 2:
                scheduler.step()

    return train


def test_a_scheduler_that_never_steps_is_told_from_parts_that_another_one_steps():
    schedulers = torch.optim.lr_scheduler

    def parts(optimizer):
        both = [schedulers.ConstantLR(optimizer), schedulers.StepLR(optimizer, 1000)]
        return schedulers.SequentialLR(optimizer, both, milestones=[50])

    [message] = found(scheduled(lambda o: schedulers.StepLR(o, 5), calls=False), "schedule_steps")
    assert "StepLR is constructed and never steps, in 90 steps" in message
    assert found(scheduled(parts), "schedule_steps") == []
    assert found(scheduled(lambda o: schedulers.StepLR(o, 40)), "schedule_steps") == []


def test_a_lambda_that_returns_learning_rates_is_multiplied_once_more():
    def rates(step):
        return 0.001 * min(step + 1, 20 / (step + 1))

    def make(optimizer):
        return torch.optim.lr_scheduler.LambdaLR(optimizer, rates)

    [message] = found(scheduled(make, rate=0.001), "schedule_steps")
    assert "is a factor of the learning rate 0.001" in message
    assert found(scheduled(make, rate=1.0), "schedule_steps") == []


# Optimizers


def test_an_optimizer_that_is_constructed_in_each_step_has_no_moments():
    def train_with(kind, **options):
        def train():
            net = nn.Linear(4, 1)
            for _ in range(8):
                step_of(kind(net.parameters(), **options), net(torch.randn(8, 4)).square().mean())

        return train

    [message] = found(train_with(torch.optim.Adam), "optimizer_construction")
    assert "Adam is constructed again for each step, 8 times" in message
    assert found(train_with(torch.optim.SGD, lr=0.1), "optimizer_construction") == []


@pytest.mark.filterwarnings("ignore:optimizer contains a parameter group with duplicate")
def test_parameters_that_an_optimizer_gets_twice_are_named():
    def train():
        one = nn.Linear(4, 4)
        optimizer = torch.optim.Adam([*one.parameters(), *one.parameters()])
        for _ in range(6):
            step_of(optimizer, one(torch.randn(8, 4)).square().mean())

    [message] = found(train, "optimizer_construction")
    assert "Adam gets 2 parameters of 'one' twice" in message


def test_a_group_whose_rate_is_zero_in_all_steps_is_told_from_one_that_waits():
    def groups(wait):
        def train():
            net = small(nn.ReLU())
            rest = [{"params": net[0].parameters(), "lr": 0.0}, {"params": net[2].parameters()}]
            optimizer = torch.optim.SGD(rest, lr=0.1)
            for i in range(60):
                if i == wait:
                    optimizer.param_groups[0]["lr"] = 0.1
                step_of(optimizer, F.cross_entropy(net(torch.randn(8, 4)), torch.arange(8) % 3))

        return train

    [message] = found(groups(None), "optimizer_construction")
    assert "group 0 of SGD is 0 in all steps, so that '0.weight', '0.bias' do not change" in message
    assert found(groups(20), "optimizer_construction") == []


def test_weight_decay_that_leaves_nothing_of_the_weights_is_named():
    def decayed(decay):
        return trained(
            lambda net, x: net(x).square().mean(),
            optimizer=lambda net: torch.optim.SGD(net.parameters(), lr=0.1, weight_decay=decay),
        )

    [message] = found(decayed(1.0), "optimizer_construction")
    assert "a weight_decay of 1 shrinks the parameters of SGD" in message
    assert found(decayed(0.01), "optimizer_construction") == []


# Losses


def regression(last, low, high):
    return trained(
        lambda net, x: F.mse_loss(net(x), torch.linspace(low, high, 48).reshape(16, 3)),
        model=lambda: nn.Sequential(small(nn.ReLU()), last),
    )


@pytest.mark.parametrize(
    ("last", "low", "high", "words"),
    [
        (nn.Sigmoid(), 0, 10, "a sigmoid with targets from 0 to 10"),
        (nn.Tanh(), -3, 3, "a tanh with targets from -3 to 3"),
        (nn.ReLU(), -3, 3, "a ReLU with targets from -3 to 3: the model cannot reach 50% of them"),
    ],
)
def test_targets_outside_of_the_last_activation_are_named(last, low, high, words):
    [message] = found(regression(last, low, high), "loss_values")
    assert words in message
    inside = {"Sigmoid": (0, 1), "Tanh": (-1, 1), "ReLU": (0, 50)}[type(last).__name__]
    assert found(regression(last, *inside), "loss_values") == []


def test_logits_behind_a_relu_are_named():
    def loss(net, x):
        return F.cross_entropy(net(x), torch.arange(16) % 3)

    clipped = trained(loss, model=lambda: nn.Sequential(small(nn.ReLU()), nn.ReLU()))
    [message] = found(clipped, "loss_values")
    assert "cross_entropy gets the result of a ReLU as logits" in message
    assert found(trained(loss), "loss_values") == []


def contrastive(temperature):
    def loss(net, x):
        one, two = F.normalize(net(x)), F.normalize(net(x + 0.1))
        scores = one @ two.t()
        return F.cross_entropy(
            scores if temperature is None else scores / temperature, torch.arange(16)
        )

    return trained(loss)


def test_cosines_need_a_temperature():
    [message] = found(contrastive(None), "loss_values")
    least = math.log(1 + 15 * math.exp(-2))
    assert f"with 16 classes the loss cannot fall below {least:.3g}" in message
    assert found(contrastive(0.1), "loss_values") == []


def values(*, detached):
    def loss(net, x):
        following = net(x + 1).max(1).values
        target = torch.ones(16) + 0.9 * (following.detach() if detached else following)
        return F.mse_loss(net(x)[:, 0], target)

    return trained(loss)


def test_a_target_that_is_computed_from_values_must_have_no_gradient():
    [message] = found(values(detached=False), "loss_values")
    assert "has a gradient" in message
    assert found(values(detached=True), "loss_values") == []


def test_two_branches_that_are_compared_may_both_have_a_gradient():
    assert found(trained(lambda net, x: F.mse_loss(net(x), net(-x))), "loss_values") == []


def test_a_loss_with_a_minus_sign_is_named():
    labels = torch.arange(16) % 3
    [message] = found(trained(lambda net, x: -F.cross_entropy(net(x), labels)), "loss_values")
    assert "the loss is cross_entropy with a minus sign" in message

    def positive(net, x):
        return -(-F.cross_entropy(net(x), labels))

    assert found(trained(positive), "loss_values") == []


def test_a_weight_of_log_probabilities_must_have_no_gradient():
    def policy(detached):
        def train():
            actor, critic = small(nn.Tanh()), nn.Linear(4, 1)
            optimizer = torch.optim.SGD([*actor.parameters(), *critic.parameters()], lr=0.01)
            for _ in range(12):
                x = torch.randn(8, 4)
                dist = torch.distributions.Categorical(logits=actor(x))
                action = dist.sample()
                advantage = torch.ones(8) - critic(x).squeeze(1)
                if detached:
                    advantage = advantage.detach()
                loss = -(advantage * dist.log_prob(action)).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

        return train

    assert "'advantage' weighs the log-probabilities" in found(policy(False), "loss_values")[0]
    assert found(policy(True), "loss_values") == []


class Tokens(nn.Module):
    """A language model of 12 tokens."""

    def __init__(self):
        super().__init__()
        self.embed, self.out = nn.Embedding(12, 8), nn.Linear(8, 12)
        self.rnn = nn.GRU(8, 8, batch_first=True)

    def forward(self, tokens):
        return self.out(self.rnn(self.embed(tokens))[0])


def padded(ignored):
    def train():
        net = Tokens()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(6):
            tokens = torch.randint(1, 12, (8, 11))
            tokens[:, 5:] = 0
            logits = net(tokens[:, :-1]).transpose(1, 2)
            step_of(optimizer, F.cross_entropy(logits, tokens[:, 1:], ignore_index=ignored))

    return train


def test_padding_that_counts_in_the_loss_is_named():
    [message] = found(padded(-100), "loss_values")  # 6 of 10 labels of each sequence
    assert message.startswith("60% of the labels of cross_entropy are 0, at the end")
    assert found(padded(0), "loss_values") == []


def test_a_prediction_that_is_given_as_the_target_is_named():
    def binary(net, x):
        return F.binary_cross_entropy(torch.full((16, 3), 0.25), net(x).sigmoid())

    [message] = found(trained(binary), "loss_values")
    assert message.startswith("binary_cross_entropy gets the prediction as its target")


# Terms of a loss


def summed_as_tensors():
    one, two = nn.Linear(4, 1), nn.Linear(4, 1)
    optimizer = torch.optim.SGD([*one.parameters(), *two.parameters()], lr=0.1)
    for _ in range(6):
        x = torch.randn(8, 4)
        main = F.mse_loss(one(x), x[:, :1])
        extra = F.mse_loss(two(x), x[:, 1:2])
        loss = main + 0.5 * extra
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def test_a_term_that_is_a_number_trains_nothing():
    [message] = found(numbered, "constant_term")
    assert message == "the term 'extra' of the loss is a number, and trains nothing"
    assert found(summed_as_tensors, "constant_term") == []


def numbered():
    one, two = nn.Linear(4, 1), nn.Linear(4, 1)
    optimizer = torch.optim.SGD([*one.parameters(), *two.parameters()], lr=0.1)
    for _ in range(6):
        x = torch.randn(8, 4)
        main = F.mse_loss(one(x), x[:, :1])
        extra = F.mse_loss(two(x), x[:, 1:2]).item()
        loss = main + 0.5 * extra
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def penalized():
    net = small(nn.ReLU())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        penalty = 0
        for p in net.parameters():
            penalty += p.data.square().sum()
        loss = net(torch.randn(8, 4)).square().mean() + 0.01 * penalty
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def test_a_penalty_of_data_trains_nothing():
    [message] = found(penalized, "constant_term")
    assert message.startswith("the term 'penalty' of the loss is a constant for autograd")


class Consistency:
    """A loss with a term that argmax makes a constant, and one that keeps its gradient."""

    def __init__(self, soft):
        self.soft, self.beta = soft, 0.5

    def __call__(self, logits, labels):
        main = F.cross_entropy(logits, labels)
        guess = logits.argmax(1)
        wrong = (guess != labels).float().mean()
        if self.soft:
            return main
        return main + self.beta * wrong


def test_a_term_without_a_derivative_is_named_with_what_ends_it():
    loss = Consistency(soft=False)

    def train():
        net = small(nn.ReLU())
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(6):
            value = loss(net(torch.randn(9, 4)), torch.arange(9) % 3)
            optimizer.zero_grad()
            value.backward()
            optimizer.step()

    [message] = found(train, "constant_term")
    assert "'self.beta * wrong' of the loss in 'Consistency' is a constant for autograd" in message
    assert "argmax has no derivative" in message


# The sign of a loss


class ReverseGradient(torch.autograd.Function):
    """A reversal of gradients with a factor."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return -ctx.factor * gradient, None


def reversed_by(factor):
    labels = torch.arange(16) % 3
    return trained(lambda net, x: F.cross_entropy(ReverseGradient.apply(net(x), factor), labels))


def test_a_reversal_with_a_negative_factor_does_not_reverse():
    [message] = found(reversed_by(-0.5), "loss_direction")
    assert (
        "'ReverseGradient' does not reverse gradients: its backward multiplies them by 0.5"
        in message
    )
    assert found(reversed_by(0.5), "loss_direction") == []


def dice_score(logits, target):
    chance = logits.sigmoid()
    return ((2 * (chance * target).sum(1) + 1) / (chance.sum(1) + target.sum(1) + 1)).mean()


def dice_loss(logits, target):
    return 1 - dice_score(logits, target)


def overlapping(function):
    def train():
        net, target = small(nn.ReLU()), (torch.rand(16, 3) > 0.5).float()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(6):
            loss = function(net(torch.randn(16, 4)), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    return train


def test_a_score_that_is_made_small_is_named():
    [message] = found(overlapping(dice_score), "loss_direction")
    assert "the loss is the score of 'dice_score' itself" in message
    assert found(overlapping(dice_loss), "loss_direction") == []


# Batches


def sliced(move):
    def train():
        data, net = torch.randn(256, 4), small(nn.ReLU())
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        start = 0
        for _ in range(32):
            step_of(optimizer, net(data[start : start + 16]).square().mean())
            start = (start + move) % 240

    return train


def test_the_same_slice_in_each_step_is_named():
    [message] = found(sliced(0), "batch_contents")
    assert "each step slices the same 16 of 256 samples" in message
    assert found(sliced(16), "batch_contents") == []


def test_a_tensor_with_all_samples_may_be_given_in_each_step():
    x = torch.randn(256, 4)[:16]
    assert found(trained(lambda net, _: net(x).square().mean()), "batch_contents") == []


def test_samples_that_are_all_equal_are_named():
    row = torch.randn(1, 4)
    [message] = found(
        trained(lambda net, _: net(row.expand(16, 4)).square().mean()), "batch_contents"
    )
    assert "all samples of a batch have the same input" in message


def loaded(labels, **options):
    def train():
        net, data = small(nn.ReLU()), TensorDataset(torch.randn(len(labels), 4), labels)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            for x, y in DataLoader(data, 8, **options):
                step_of(optimizer, F.cross_entropy(net(x), y))

    return train


def test_sorted_labels_and_a_weight_for_each_class_are_named():
    labels = torch.arange(3).repeat_interleave(32)
    [message] = found(loaded(labels), "batch_contents")
    assert "of one class alone, of 3 classes: the data is sorted and not shuffled" in message
    assert found(loaded(labels, shuffle=True), "batch_contents") == []
    for many in (3, 96):
        sampler = WeightedRandomSampler(torch.ones(many), 64)
        message = found(loaded(torch.arange(96) % 3, sampler=sampler), "batch_contents")
        assert ["3 weights for 96 samples" in one for one in message] == [True] * (many == 3)


class Sequences(nn.Module):
    """An LSTM over sequences of 6 places, with the batch in the first dimension or not."""

    def __init__(self, *, batch_first):
        super().__init__()
        self.rnn, self.out = nn.LSTM(4, 8, batch_first=batch_first), nn.Linear(8, 3)

    def forward(self, x):
        return self.out(self.rnn(x)[0][:, -1])


def test_a_batch_in_the_dimension_of_time_is_named():
    def along(batch_first):
        return trained(
            lambda net, x: F.cross_entropy(
                net(x[:, None].expand(16, 6, 4) + 0), torch.arange(16) % 3
            ),
            model=lambda: Sequences(batch_first=batch_first),
            steps=4,
        )

    [message] = found(along(False), "batch_dimension")
    assert "'rnn' (LSTM) reads dimension 0 of its input [16, 6, 4] as time" in message
    assert "16 targets" in message
    assert found(along(True), "batch_dimension") == []


class Places(Sequences):
    def forward(self, x):
        return self.out(self.rnn(x)[0]).transpose(1, 2)


def test_the_batches_of_a_loader_tell_the_dimension_of_samples():
    def along(batch_first):
        def train():
            data = TensorDataset(torch.randn(64, 6, 4), torch.randint(0, 3, (64, 6)))
            net = Places(batch_first=batch_first)
            optimizer = torch.optim.Adam(net.parameters())
            for x, y in DataLoader(data, 16):
                optimizer.zero_grad()
                F.cross_entropy(net(x), y).backward()
                optimizer.step()

        return train

    [message] = found(along(False), "batch_dimension")
    assert "but the batches of the DataLoader have 16 samples, in dimension 0" in message
    assert found(along(True), "batch_dimension") == []


# Copies, and what is frozen


def averaged(*, buffers):
    def train():
        net = small(nn.BatchNorm1d(8), nn.ReLU())
        ema = copy.deepcopy(net).eval()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(12):
            step_of(optimizer, net(torch.randn(16, 4) + 2).square().mean())
            with torch.no_grad():
                for mine, theirs in zip(ema.parameters(), net.parameters(), strict=True):
                    mine.lerp_(theirs, 0.1)
                if buffers:
                    for mine, theirs in zip(ema.buffers(), net.buffers(), strict=True):
                        mine.copy_(theirs)
                ema(torch.randn(16, 4))

    return train


def test_an_average_without_the_buffers_is_named():
    [message] = found(averaged(buffers=False), "model_copies")
    assert (
        "the running statistics of 1 batch norm, such as '1', are those of the constructor"
        in message
    )
    assert found(averaged(buffers=True), "model_copies") == []


def taught(mode):
    def train():
        net, teacher = small(nn.ReLU()), small(nn.Dropout(0.5)).train(mode)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(32):
            x = torch.randn(16, 4)
            with torch.no_grad():
                target = teacher(x)
            step_of(optimizer, F.mse_loss(net(x), target))

    return train


def test_a_teacher_in_train_mode_is_named():
    [message] = found(taught(True), "model_copies")
    assert "'teacher' is only called under no_grad, in train mode" in message
    assert found(taught(False), "model_copies") == []


def test_a_model_whose_copies_are_trained_instead_is_named():
    def train():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(4):
            other = copy.deepcopy(net)
            step_of(optimizer, other(torch.randn(8, 4)).square().mean())

    report = judged(train)
    assert report.diagnoses[0].sentence.startswith("'net' is never called and gets no gradient")


def frozen_body(*, mode):
    def train():
        body = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU()).requires_grad_(False)
        net = nn.Sequential(body, nn.Linear(8, 3))
        body.train(mode)
        optimizer = torch.optim.SGD(net[1].parameters(), lr=0.1)
        for _ in range(12):
            step_of(optimizer, net(torch.randn(16, 4) + 1).square().mean())

    return train


def test_statistics_of_a_frozen_part_that_change_are_named():
    [message] = found(frozen_body(mode=True), "frozen_parts")
    assert "'0' is frozen, but in train mode: the running statistics of its 1 batch norm" in message
    assert found(frozen_body(mode=False), "frozen_parts") == []


def with_adapter(*, frozen):
    def train():
        net = nn.ModuleDict(
            {"base": nn.Linear(4, 3), "down": nn.Linear(4, 2), "up": nn.Linear(2, 3)}
        )
        nn.init.zeros_(net["up"].weight)
        net["base"].requires_grad_(False)
        net["up"].requires_grad_(not frozen)
        whole = Adapted(net)
        held = [p for p in whole.parameters() if p.requires_grad]
        optimizer = torch.optim.SGD(held, lr=0.1)
        for _ in range(6):
            step_of(optimizer, whole(torch.randn(8, 4)).square().mean())

    return train


class Adapted(nn.Module):
    """A layer with a low-rank update, and a scale."""

    def __init__(self, parts):
        super().__init__()
        self.parts, self.scale = parts, nn.Parameter(torch.ones(3))

    def forward(self, x):
        return (self.parts["base"](x) + self.parts["up"](self.parts["down"](x))) * self.scale


def test_a_weight_that_is_frozen_at_zero_is_named():
    [message] = found(with_adapter(frozen=True), "frozen_parts")
    assert "'parts.up.weight' is frozen at zero" in message
    assert found(with_adapter(frozen=False), "frozen_parts") == []


class Updated(nn.Module):
    """A layer with a low-rank update."""

    def __init__(self, *, frozen):
        super().__init__()
        self.base = nn.Linear(4, 3).requires_grad_(not frozen)
        self.lora_A, self.lora_B = nn.Linear(4, 2, bias=False), nn.Linear(2, 3, bias=False)

    def forward(self, x):
        return self.base(x) + self.lora_B(self.lora_A(x))


def test_a_base_that_is_trained_with_its_update_is_named():
    def updated(frozen):
        return trained(
            lambda net, x: net(x).square().mean(),
            model=lambda: nn.Sequential(Updated(frozen=frozen)),
            optimizer=lambda net: torch.optim.SGD(
                [p for p in net.parameters() if p.requires_grad], lr=0.1
            ),
        )

    [message] = found(updated(False), "frozen_parts")
    assert message.startswith("'0.base.weight' is trained together with its low-rank update")
    assert found(updated(True), "frozen_parts") == []


def kept_best(keep):
    def train():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        best = keep(net)
        for _ in range(4):
            step_of(optimizer, net(torch.randn(8, 4)).square().mean())
        net.load_state_dict(best)

    return train


def test_a_state_that_refers_to_the_live_weights_is_named():
    [message] = found(kept_best(lambda net: net.state_dict()), "loaded_weights")
    assert "gets references to the tensors of 'net' itself" in message
    assert found(kept_best(lambda net: copy.deepcopy(net.state_dict())), "loaded_weights") == []


def test_a_sum_that_keeps_the_graphs_of_all_steps_is_named():
    def summed(number):
        def train():
            net, total = nn.Linear(4, 1), 0
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            for _ in range(32):
                loss = net(torch.randn(8, 4)).square().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total = total + (loss.item() if number else loss)

        return train

    [message] = found(summed(number=False), "kept_graph")
    assert "'total' is a sum of 29 tensors with a gradient" in message  # at the 30th backward
    assert found(summed(number=True), "kept_graph") == []


# The code of a model


class Drops(nn.Module):
    """A layer with functional dropout that is told the mode, or not."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, x):
        return F.dropout(self.layer(x), 0.5)


class Rests(Drops):
    """The same, with the mode."""

    def forward(self, x):
        return F.dropout(self.layer(x), 0.5, self.training)


class Creates(Drops):
    """A second layer that forward makes anew."""

    def forward(self, x):
        return nn.Linear(3, 3)(self.layer(x))


class Tied(nn.Module):
    """An embedding whose weight is that of the output layer, or a copy of it."""

    def __init__(self, *, copied):
        super().__init__()
        self.embed, self.out = nn.Embedding(12, 8), nn.Linear(8, 12, bias=False)
        weight = self.embed.weight
        self.out.weight = nn.Parameter(weight.detach().clone()) if copied else weight

    def forward(self, tokens):
        return self.out(self.embed(tokens))


def evaluated(make, given):
    def train():
        net = make()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(4):
            net.train()
            step_of(optimizer, net(given).square().mean())
            net.eval()
            with torch.no_grad():
                net(given)

    return train


def test_what_the_code_of_a_model_makes_is_looked_at():
    x, tokens = torch.randn(8, 4), torch.arange(12)
    [message] = found(evaluated(Drops, x), "model_code")
    assert "functional dropout in 'Drops' is not told the mode" in message
    [message] = found(evaluated(Creates, x), "model_code")
    assert message.startswith("each forward makes 2 new parameters")
    [message] = found(evaluated(lambda: Tied(copied=True), tokens), "model_code")
    assert message.startswith("'out.weight' has the values of 'embed.weight' at the first step")
    for make, given in ((Rests, x), (lambda: Tied(copied=False), tokens)):
        assert found(evaluated(make, given), "model_code") == []


def test_a_generator_whose_loss_sees_a_detached_sample_is_named():
    def play(detached):
        def train():
            made, judge = nn.Linear(4, 4), nn.Linear(4, 1)
            first = torch.optim.SGD(made.parameters(), lr=0.1)
            second = torch.optim.SGD(judge.parameters(), lr=0.1)
            for _ in range(8):
                fake = made(torch.randn(8, 4))
                loss_d = F.softplus(judge(fake.detach())).mean()
                second.zero_grad()
                loss_d.backward()
                second.step()
                loss_g = F.softplus(-judge(fake)).mean()
                if detached:
                    loss_g = F.softplus(-judge(fake.detach())).mean()
                first.zero_grad()
                loss_g.backward()
                first.step()

        return train

    [message] = found(play(True), "gradients_used")
    assert message == (
        "a step of SGD has no gradient: the loss before it is computed from fake.detach()"
    )
    assert found(play(False), "gradients_used") == []


def discounted(read):
    def train():
        net = small(nn.ReLU())
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        gamma = 0.9
        for _ in range(6):
            batch = torch.randn(8, 4), torch.ones(8), torch.randn(8, 4), torch.zeros(8)
            state, reward, following, done = batch  # noqa: RUF059  # the fault
            with torch.no_grad():
                target = reward + gamma * net(following).amax(1)
            loss = F.mse_loss(net(state)[:, 0], target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    def train_and_read():
        net = small(nn.ReLU())
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        gamma = 0.9
        for _ in range(6):
            batch = torch.randn(8, 4), torch.ones(8), torch.randn(8, 4), torch.zeros(8)
            state, reward, following, done = batch
            with torch.no_grad():
                target = reward + gamma * (1 - done) * net(following).amax(1)
            loss = F.mse_loss(net(state)[:, 0], target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    return train_and_read if read else train


def test_the_end_of_an_episode_that_no_line_reads_is_named():
    [message] = found(discounted(read=False), "loss_values")
    assert message.startswith("'done' of the batch is never read")
    assert found(discounted(read=True), "loss_values") == []


def test_a_sigmoid_before_cross_entropy_and_a_single_class_are_named():
    labels = torch.arange(16) % 3
    sigmoid = trained(lambda net, x: F.cross_entropy(net(x).sigmoid(), labels))
    least = math.log(1 + 2 * math.exp(-1))  # one of three classes at 1, and the others at 0
    assert f"cannot fall below {least:.3g}" in found(sigmoid, "loss_values")[0]
    one = trained(lambda net, x: F.cross_entropy(net(x)[:, :1], labels * 0))
    assert "the logits of one class" in found(one, "loss_values")[0]


# A loss that does not fall


def flat(*, steps=80, scale=1.0, rate=0.05, frozen=False):
    labels = torch.arange(16) % 3

    def train():
        net = nn.Sequential(nn.Linear(4, 300), nn.ReLU(), nn.Linear(300, 3))
        if frozen:
            net[0].requires_grad_(False)
            net[2].weight.requires_grad_(False)
        held = [p for p in net.parameters() if p.requires_grad]
        optimizer = torch.optim.SGD(held, lr=rate)
        for _ in range(steps):
            step_of(optimizer, F.cross_entropy(net(scale * torch.randn(16, 4)), labels))

    return train


def test_a_loss_that_does_not_fall_tells_what_keeps_the_model_from_learning():
    [message] = found(flat(rate=1e-9), "loss_falls")
    assert message.startswith("each step changes the parameters by at most")
    assert "at a learning rate of up to 1e-09, and the loss does not fall" in message
    [message] = found(flat(frozen=True, rate=1e-3), "loss_falls")
    assert message.startswith(
        "only 1 of 4 parameters can be trained, 0.0012 of all values"
    )  # 3 of 2403


def repeated(again):
    """A training of 12 steps; `again(loss, first)` calls backward after the first time."""

    def train():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(12):
            optimizer.zero_grad()
            output = net(torch.randn(8, 4))
            loss = output.square().mean()
            loss.backward(retain_graph=True)
            again(loss, output)
            optimizer.step()

    return train


def test_a_backward_pass_of_the_same_loss_is_a_repetition():
    report = judged(repeated(lambda loss, _: loss.backward()))
    (message,) = findings(report, "gradients_used")
    assert message == "backward is called again for the same loss: gradients are 2 times as large"


def test_backward_passes_of_other_losses_and_of_rows_are_none():
    for again in (
        lambda _, output: output.abs().mean().backward(),
        lambda loss, _: loss.backward(torch.tensor(0.5)),
    ):
        assert findings(judged(repeated(again)), "gradients_used") == []


class Encoded(nn.Module):
    """`how` runs the encoder."""

    def __init__(self, how):
        super().__init__()
        self.encoder, self.head = nn.Sequential(nn.Linear(4, 8), nn.Tanh()), nn.Linear(8, 1)
        self.how = how

    def forward(self, x):
        return self.head(self.how(self.encoder, x))


def without_graph(encoder, x):
    with torch.no_grad():
        return encoder(x)


def test_a_part_that_runs_under_no_grad_is_told_with_its_cause():
    def train_with(how):
        def train():
            net = Encoded(how)
            optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
            for _ in range(12):
                optimizer.zero_grad()
                net(torch.randn(8, 4)).square().mean().backward()
                optimizer.step()

        return train

    [message] = found(train_with(without_graph), "grad_exists")
    assert message == "0.weight, 0.bias got no gradient: 'encoder' runs under torch.no_grad"
    reentrant = functools.partial(checkpoint, use_reentrant=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns of the inputs of the first one
        [message] = found(train_with(reentrant), "grad_exists")
    assert message == (
        "0.weight, 0.bias got no gradient: 'encoder' runs in a reentrant checkpoint, and no input "
        "of it requires grad"
    )
    assert not found(train_with(lambda encoder, x: reentrant(encoder, x.requires_grad_())),
                     "grad_exists")  # fmt: skip
    [message] = found(train_with(lambda encoder, x: encoder(x).detach()), "grad_exists")
    assert message == "0.weight, 0.bias got no gradient: the loss does not reach them"
    assert found(train_with(lambda encoder, x: encoder(x)), "grad_exists") == []


def flat_parameters(swaps):
    """Trains parameters of no module, as a sharded optimizer does, which may change them."""

    def train():
        net = nn.Linear(3, 2)
        flats = [torch.zeros(8, requires_grad=True) for _ in range(2)]
        optimizer = torch.optim.AdamW(flats[:1], lr=0.1)
        for step in range(8):
            flat = flats[step % 2 if swaps else 0]
            optimizer.param_groups[0]["params"] = [flat]
            flat.grad = torch.autograd.grad(
                net(torch.ones(1, 3)).square().sum() + flat.sum(), flat
            )[0]
            optimizer.step()
            optimizer.zero_grad()

    return train


@pytest.mark.parametrize("swaps", [False, True])
def test_parameters_of_no_module_are_those_of_their_optimizer(swaps):
    assert findings(judged(flat_parameters(swaps)), "unheld_parameters") == []
