"""Models and optimizers that a script drops: their memory is freed, and their reports are true."""

from __future__ import annotations

import copy
import gc
import weakref

import pytest
import torch
from torch import nn
from torch.optim import lr_scheduler

from hookcli.rules.catalogue import with_training_set
from hookcli.rules.judge_training import all_checks, judge_training
from tests.training.test_loops import watched

MODELS = {
    "layer": lambda: nn.Linear(4, 1),
    "several": lambda: nn.Sequential(
        nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 1)
    ),
    "recurrent": lambda: Recurrent(),
}
SCHEDULERS = {
    "none": lambda optimizer: None,
    "steps": lambda optimizer: lr_scheduler.StepLR(optimizer, 3),
    "plateau": lambda optimizer: lr_scheduler.ReduceLROnPlateau(optimizer, patience=1),
    "sequence": lambda optimizer: lr_scheduler.SequentialLR(
        optimizer,
        [lr_scheduler.LinearLR(optimizer), lr_scheduler.StepLR(optimizer, 3)],
        milestones=[3],
    ),
}


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRU(1, 6, batch_first=True)
        self.head = nn.Linear(6, 1)

    def forward(self, x):
        return self.head(self.cell(x.unsqueeze(-1))[0][:, -1])


def step(net, optimizer, scheduler=None):
    x = torch.randn(8, 4)
    loss = (net(x) - x.sum(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    if isinstance(scheduler, lr_scheduler.ReduceLROnPlateau):
        scheduler.step(loss.item())
    elif scheduler is not None:
        scheduler.step()


def fold(make, schedule, keep=None, references=None):
    net = make()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    scheduler = schedule(optimizer)
    for _ in range(6):
        step(net, optimizer, scheduler)
    net.eval()
    with torch.no_grad():
        net(torch.randn(3, 4))
    if keep is not None:
        keep.append((net, optimizer, scheduler))
    if references is not None:
        held = [net, optimizer, *net.modules(), *net.parameters()]
        references.append([weakref.ref(one) for one in held])


@pytest.mark.parametrize("schedule", SCHEDULERS)
@pytest.mark.parametrize("model", MODELS)
def test_memory_of_dropped_models_is_freed(model, schedule):
    """All but the last model and optimizer are freed at once, without Python's collector."""
    references, alive = [], []

    def train():
        gc.collect()
        gc.disable()
        try:
            for _ in range(4):
                fold(MODELS[model], SCHEDULERS[schedule], references=references)
                alive.append([sum(ref() is not None for ref in refs) for refs in references])
        finally:
            gc.enable()

    report, _ = watched(train)
    assert [record.training.total for record in report.records] == [6] * 4
    for counts in alive:
        assert counts[-1] > 0
        assert not any(counts[:-1])


@pytest.mark.parametrize("model", MODELS)
def test_reports_are_those_of_models_that_are_kept(model):
    kept = []

    def train(keep):
        def run():
            torch.manual_seed(1)
            for _ in range(3):
                fold(MODELS[model], SCHEDULERS["steps"], keep)

        return run

    truth, _ = watched(train(kept))
    report, _ = watched(train(None))
    assert [r.training.record for r in report.records] == [r.training.record for r in truth.records]
    for one, other in zip(report.records, truth.records, strict=True):
        assert one.training == other.training
        assert one.layers == other.layers
        assert one.parameters == other.parameters
        assert one.buffers == other.buffers
    assert {fact.kind for fact in report.facts or ()} == {fact.kind for fact in truth.facts or ()}


def test_reports_of_several_models_that_are_dropped_together():
    """Each record has the report of its own model, whichever order they have made steps in."""

    def pair():
        first, second = MODELS["layer"](), MODELS["several"]()
        optimizers = [torch.optim.SGD(net.parameters(), lr=0.01) for net in (first, second)]
        later = torch.optim.Adam(first.parameters(), lr=0.01)
        for _ in range(3):
            step(first, optimizers[0])
            step(second, optimizers[1])
        for _ in range(2):
            step(first, later)
            step(second, optimizers[1])

    def train():
        for _ in range(3):
            pair()

    report, _ = watched(train)
    found = [
        (r.training.root_type, r.training.optimizer.type, r.training.total, len(r.parameters))
        for r in report.records
    ]
    assert found == 3 * [
        ("Linear", "SGD", 3, 2), ("Sequential", "SGD", 5, 6), ("Linear", "Adam", 2, 2)
    ]  # fmt: skip


def test_a_model_that_the_script_keeps_goes_on():
    """Of two models that are trained in turn, none is let go of."""

    def train():
        first, second = MODELS["several"](), MODELS["several"]()
        for net in (first, second, first, second):
            optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
            for _ in range(3):
                step(net, optimizer)

    report, _ = watched(train)
    names = [record.training.record for record in report.records]
    assert [record.training.total for record in report.records] == [3] * 4
    assert sorted({name.partition(" ")[0] for name in names}) == ["first", "second"]
    assert not any(record.training.unheld for record in report.records)


def test_the_state_of_a_dropped_optimizer_is_freed():
    """Its model goes on, with parameters that an optimizer had."""
    references = []

    def train():
        net = MODELS["several"]()
        for rate in (0.1, 0.01, 0.001):
            optimizer = torch.optim.Adam(net.parameters(), lr=rate)
            references.append(weakref.ref(optimizer))
            for _ in range(3):
                step(net, optimizer)
            freed = [reference() is None for reference in references]
            assert freed[:-1] == [True] * (len(freed) - 1)
            del optimizer
        head = torch.optim.Adam(net[-1].parameters(), lr=0.01)
        step(net, head)

    report, _ = watched(train)
    assert [record.training.total for record in report.records] == [3, 3, 3, 1]
    assert not any(record.training.unheld for record in report.records)


def test_fresh_copies_are_no_stale_copy():
    """A target that is copied anew in each step is no copy that is never updated."""
    references = []

    def train():
        net = MODELS["several"]()
        optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
        for _ in range(90):
            target = copy.deepcopy(net)
            references.append(weakref.ref(target))
            with torch.no_grad():
                target(torch.randn(2, 4))
            step(net, optimizer)
        assert sum(reference() is not None for reference in references) <= 2

    report, _ = watched(train)
    (other,) = report.others
    assert (other.type, other.calls) == ("Sequential", 90)
    judged = judge_training(report, with_training_set(()))
    failed = [row.message for row in all_checks(judged) if row.status == "fail"]
    assert not any("target" in message for message in failed)


def test_parameters_that_an_optimizer_has_are_not_let_go_of():
    """A model that is dropped after its first forward is trained by its optimizer all the same."""

    def train():
        def outputs(x):
            net = nn.Sequential(nn.Linear(4, 1))
            return net(x), torch.optim.SGD(net.parameters(), lr=0.01)

        for _ in range(3):
            output, optimizer = outputs(torch.randn(8, 4))
            nn.Linear(2, 2)(torch.randn(1, 2))  # another root
            output.square().mean().backward()
            optimizer.step()

    report, _ = watched(train)
    assert [record.training.total for record in report.records] == [1, 1, 1]
    assert {record.training.root_type for record in report.records} == {"Sequential"}
    assert all(record.parameters for record in report.records)


def test_no_code_of_the_class_runs_when_a_model_is_dropped():
    made = []

    class Counted(nn.Linear):
        def __new__(cls, size=4):
            made.append("new")
            return super().__new__(cls)

        def __init__(self, size):
            made.append("init")
            super().__init__(size, 1)

        def named_parameters(self, *args, **kwargs):
            assert self.weight is not None
            return super().named_parameters(*args, **kwargs)

    def train():
        for _ in range(3):
            fold(lambda: Counted(4), SCHEDULERS["none"])

    report, _ = watched(train)
    assert [record.training.root_type for record in report.records] == ["Counted"] * 3
    assert made == ["new", "init"] * 3
    assert not [note for note in report.warnings if "left out" in note]


@pytest.mark.parametrize("trains", [True, False])
def test_a_loaded_model_that_ran_before_it_was_dropped_is_used(trains, tmp_path):
    """Another one of its class is trained afterwards, from its initialization."""

    def large():
        return nn.Sequential(nn.Linear(4, 256), nn.Tanh(), nn.Linear(256, 1))

    def fit(net):
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(4):
            step(net, optimizer)

    def first():
        net = large()
        net.load_state_dict(torch.load(tmp_path / "weights.pt"))
        with torch.no_grad():
            net(torch.randn(8, 4))
        if trains:
            fit(net)

    def train():
        torch.save(large().state_dict(), tmp_path / "weights.pt")
        first()
        fit(large())

    report, _ = watched(train)
    assert not [fact for fact in report.facts or () if fact.kind == "unused_model"]


def test_optimizers_that_compare_by_value_are_told_apart():
    """A class of the script may define `__eq__`, and so have no hash."""

    class Equal(torch.optim.SGD):
        __hash__ = None

        def __eq__(self, other):
            return True

    def train():
        for _ in range(3):
            net = MODELS["layer"]()
            optimizer = Equal(net.parameters(), lr=0.01)
            for _ in range(3):
                step(net, optimizer)

    report, _ = watched(train)
    assert [record.training.total for record in report.records] == [3, 3, 3]
    assert not [note for note in report.warnings if "left out" in note]
