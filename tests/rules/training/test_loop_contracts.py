"""Contracts of schedules, optimizers and loaders: loops that break them, and that keep them."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.optim import lr_scheduler
from torch.optim.swa_utils import SWALR
from torch.utils.data import DataLoader, IterableDataset, TensorDataset, get_worker_info

from tests.rules.training.test_script_mistakes import findings, judged

ROWS = torch.randn(70, 4, generator=torch.Generator().manual_seed(0))


def net_of(*layers):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), *layers, nn.Linear(8, 1))


def step(net, optimizer, x=ROWS[:8]):
    optimizer.zero_grad()
    (net(x) - x.sum(1, keepdim=True)).square().mean().backward()
    optimizer.step()


# Schedules


def averaged(*, beside):
    """Train with a schedule, and with SWALR from the 10th step on; the first one may go on."""

    def train():
        net = net_of()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        first, last = lr_scheduler.ExponentialLR(optimizer, 0.95), SWALR(optimizer, 0.02)
        for i in range(20):
            step(net, optimizer)
            if i >= 10:
                last.step()
            if i < 10 or beside:
                first.step()

    return train


def test_a_schedule_that_steps_beside_swalr_is_named():
    [message] = findings(judged(averaged(beside=True)), "schedule_steps")
    assert message.startswith("ExponentialLR steps 10 times after SWALR has begun")
    assert findings(judged(averaged(beside=False)), "schedule_steps") == []


@pytest.mark.parametrize(
    ("rates", "most", "is_found"),
    [
        ((0.001, 0.1), 0.1, True),
        ((0.001, 0.1), [0.001, 0.1], False),
        ((0.1, 0.1), 0.1, False),  # groups differ in their weight decay, perhaps
    ],
)
def test_one_max_lr_for_groups_with_different_rates_is_named(rates, most, is_found):
    def train():
        net = net_of()
        groups = [
            {"params": net[i].parameters(), "lr": rate}
            for i, rate in zip((0, -1), rates, strict=True)
        ]
        optimizer = torch.optim.SGD(groups)
        scheduler = lr_scheduler.OneCycleLR(optimizer, most, total_steps=20)
        for _ in range(20):
            step(net, optimizer)
            scheduler.step()

    found = findings(judged(train), "schedule_steps")
    assert len(found) == is_found
    assert all("one max_lr for 2 groups with the learning rates 0.001, 0.1" in one for one in found)


@pytest.mark.parametrize(("steps", "is_found"), [(True, False), (False, True)])
def test_a_schedule_that_another_one_replaces_is_not_missed(steps, is_found):
    """As of a training that is resumed: the learning rate does not stay as it is."""

    def train():
        net = net_of()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        made = [lr_scheduler.CosineAnnealingLR(optimizer, 80) for _ in range(1 + steps)]
        for _ in range(80):
            step(net, optimizer)
            for later in made[1:]:
                later.step()

    found = findings(judged(train), "schedule_steps")
    assert any("is constructed and never steps" in one for one in found) == is_found


# Optimizers


@pytest.mark.parametrize(("mode", "p", "is_found"), [(True, 0.3, True), (True, 0.0, False),
                                                     (False, 0.3, False)])  # fmt: skip
def test_dropout_in_the_closure_of_lbfgs_is_named(mode, p, is_found):
    def train():
        net = net_of(nn.Dropout(p)).train(mode)
        optimizer = torch.optim.LBFGS(net.parameters(), lr=0.1, max_iter=3)

        def closure():
            optimizer.zero_grad()
            loss = (net(ROWS) - ROWS.sum(1, keepdim=True)).square().mean()
            loss.backward()
            return loss

        for _ in range(4):
            optimizer.step(closure)

    found = findings(judged(train), "optimizer_construction")
    assert len(found) == is_found
    assert all("1 module with dropout draws another mask in each" in one for one in found)


def score(net):
    return net(ROWS[:8]).sigmoid().log()


@pytest.mark.parametrize(
    ("loss_of", "maximize", "is_found"),
    [
        (lambda net: -score(net).mean(), True, True),
        (lambda net: (-score(net) * ROWS[:8, :1]).mean(), True, True),
        (lambda net: (-score(net)).sum() / 8, True, True),
        (lambda net: score(net).mean(), True, False),
        (lambda net: -score(net).mean(), False, False),
        (lambda net: score(net).mean() - net(ROWS[:8]).square().mean(), True, False),
    ],
)
def test_a_negated_loss_that_is_maximized_is_named(loss_of, maximize, is_found):
    def train():
        net = net_of()
        optimizer = torch.optim.Adam(net.parameters(), lr=1e-3, maximize=maximize)
        for _ in range(6):
            optimizer.zero_grad()
            loss_of(net).backward()
            optimizer.step()

    found = findings(judged(train), "loss_direction")
    assert len(found) == is_found
    assert all("has maximize=True, and the loss is negated" in one for one in found)


# Loaders


def evaluated(**options):
    def train():
        net, data = net_of(), TensorDataset(ROWS)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for (x,) in DataLoader(data, 8, drop_last=True):
            step(net, optimizer, x)
        net.eval()
        with torch.no_grad():
            for (x,) in DataLoader(data, **options):
                net(x)

    return train


@pytest.mark.parametrize(
    ("options", "is_found"),
    [
        ({"batch_size": 16, "drop_last": True}, True),
        ({"batch_size": 16}, False),
        ({"batch_size": 10, "drop_last": True}, False),  # 7 whole batches
    ],
)
def test_samples_that_an_evaluation_leaves_out_are_named(options, is_found):
    found = findings(judged(evaluated(**options)), "batch_contents")
    assert len(found) == is_found
    assert all("leaves 6 of 70 samples out of an evaluation" in one for one in found)


class Stream(IterableDataset):
    def __iter__(self):
        yield from ROWS


class Divided(IterableDataset):
    def __iter__(self):
        worker = get_worker_info()
        first, many = (0, 1) if worker is None else (worker.id, worker.num_workers)
        yield from ROWS[first::many]


class Drawn(IterableDataset):
    def __iter__(self):
        for _ in range(35):
            yield torch.randn(4)


@pytest.mark.parametrize(
    ("kind", "workers", "is_found"),
    [(Stream, 2, True), (Stream, 0, False), (Divided, 2, False), (Drawn, 2, False)],
)
def test_a_stream_that_each_worker_repeats_is_named(kind, workers, is_found):
    def train():
        net = net_of()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for x in DataLoader(kind(), 8, num_workers=workers):
            step(net, optimizer, x)

    found = findings(judged(train), "batch_contents")
    assert len(found) == is_found
    assert all("each of 2 workers iterates over all samples of 'Stream'" in one for one in found)


# Labels


@pytest.mark.parametrize(
    ("shuffle", "order", "is_found"),
    [(False, True, True), (True, True, False), (False, False, False)],
)
def test_sorted_targets_of_a_regression_are_named(shuffle, order, is_found):
    x = torch.randn(160, 4, generator=torch.Generator().manual_seed(1))
    y = x.sum(1, keepdim=True)
    rows = y[:, 0].argsort() if order else torch.arange(160)

    def train():
        torch.manual_seed(0)
        net = net_of()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for a, b in DataLoader(TensorDataset(x[rows], y[rows]), 16, shuffle=shuffle):
            optimizer.zero_grad()
            nn.functional.mse_loss(net(a), b).backward()
            optimizer.step()

    found = findings(judged(train), "batch_contents")
    assert len(found) == is_found
    assert all("as the data is sorted and not shuffled" in one for one in found)


@pytest.mark.parametrize(
    ("ignored", "classes", "is_found"), [(0, 2, True), (0, 3, False), (-100, 2, False)]
)
def test_a_loss_that_ignores_one_of_two_classes_is_named(ignored, classes, is_found):
    labels = torch.arange(16) % classes

    def train():
        torch.manual_seed(0)
        net = nn.Linear(4, classes)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(8):
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(ROWS[:16]), labels, ignore_index=ignored).backward()
            optimizer.step()

    found = findings(judged(train), "batch_contents")
    assert len(found) == is_found
    assert all("the loss ignores class 0, as ignore_index=0, which 50% of" in one for one in found)


# Gradients that the script assigns


@pytest.mark.parametrize("assigns", [True, False])
def test_gradients_that_a_script_assigns_need_no_reset(assigns):
    """As in meta-learning: those of a copy are assigned, or added without a reset."""

    def train():
        net, fast = net_of(), net_of()
        meta = torch.optim.SGD(net.parameters(), lr=1e-3)
        inner = torch.optim.SGD(fast.parameters(), lr=1e-3)
        for _ in range(30):
            fast.load_state_dict(net.state_dict())
            step(fast, inner)
            fast.zero_grad()
            net(ROWS[:8]).square().mean().backward() if not assigns else None
            (fast(ROWS[8:16]) - 1).square().mean().backward()
            for p, q in zip(net.parameters(), fast.parameters(), strict=True):
                if assigns:
                    p.grad = q.grad.clone()
            meta.step()

    report = judged(train)
    found = findings(report, "zero_grad_called") + findings(report, "gradients_used")
    assert any("zero_grad is never called" in one for one in found) == (not assigns)
