"""What is kept of long loops, large models and loops that end early or are odd."""

from __future__ import annotations

import inspect
import math
import sys
import threading
import types

import numpy
import pytest
import torch
from torch import nn

from hookcli.config.load import read_config
from hookcli.config.merge import Flags, training_spec_of
from hookcli.formats.training.facts import figures, observed
from hookcli.report.training import ScriptInfo
from hookcli.rules.catalogue import with_training_set
from hookcli.rules.judge_training import judge_training
from hookcli.spec.request import ModelSpec, Spec
from hookcli.spec.training import RunJob, ScriptSpec, TrainingSpec, parse_steps
from hookcli.training import observed_script, root_watch, watch as watching
from hookcli.training.backward import BackwardPass, running_backward
from hookcli.training.non_finite.forward_call import ForwardCall
from hookcli.training.non_finite.generators import GeneratorKeeper, Generators
from hookcli.training.record import records
from hookcli.training.roots import owner_of
from hookcli.training.script.ending import EndOfRun
from hookcli.training.steps import Steps, TrainingStep, sum_of


def watched(train, spec=None, *, file=None, verbose=False, steps="0-2", **training):
    """The report of a training in this process, and what ended it."""
    spec = spec or Spec("grads", ModelSpec("train.py"))
    chosen = TrainingSpec(parse_steps(steps, ""), **training)
    watch = watching.start(RunJob(ScriptSpec("train.py"), chosen, spec, file, verbose))
    ended = "completed"
    try:
        train()
    except EndOfRun as end:
        ended = end.ended
    finally:
        report = watch.finish(ScriptInfo("train.py", (), False, "completed", 0))
    assert report.tracking.detached is None
    return report, ended


def steps_of(net, count=5, rate=0.1, spoil=lambda loss, _: loss, close=None):
    """A loop; `spoil` changes the loss of a step."""

    def train():
        optimizer = torch.optim.SGD(net.parameters(), lr=rate)
        for step in range(count):
            optimizer.zero_grad()
            spoil(net(torch.ones(2, 4)).square().mean(), step).backward()
            optimizer.step(*([] if close is None else [close(net)]))

    return train


def step(loss=1.0, *, sampled=False):
    return TrainingStep(-1, 1, 1, loss, 2.0, 0.1, sampled=sampled)


def test_of_too_many_steps_every_second_one_is_dropped_again_and_again():
    steps = Steps(most=16)
    for i in range(38):
        steps.add(step(float(i), sampled=i in {1, 3}))
    rows = steps.rows()
    assert (steps.total, steps.every) == (38, 4)
    assert [row.step for row in rows] == [0, 1, 3, *range(4, 37, 4), 37]
    assert [row.loss for row in rows] == [0, 1, 3, *range(4, 37, 4), 37]


def test_sampled_steps_are_dropped_too_if_they_alone_are_too_many():
    steps = Steps(most=8)
    for i in range(12):
        steps.add(step(float(i), sampled=True))
    assert [row.step for row in steps.rows()] == [0, 2, 4, 6, 8, 9, 10, 11]


def test_the_last_step_stays_only_as_long_as_it_is_the_last():
    steps = Steps(most=4)
    for i in range(6):
        steps.add(step(float(i)))
    assert [row.step for row in steps.rows()] == [0, 2, 4, 5]
    steps.add(step(6.0))
    assert [row.step for row in steps.rows()] == [0, 2, 4, 6]
    steps.add(step(7.0))
    assert [row.step for row in steps.rows()] == [0, 4, 7]


@pytest.mark.parametrize("sampled", [False, True])
def test_values_of_a_gpu_are_read_together(sampled):
    """Tensors stand for them: nothing may wait for them at each step."""
    steps, later = Steps(), step(torch.tensor(3.0), sampled=sampled)
    later.grad_norm = torch.tensor(float("nan"))
    steps.add(later)
    assert isinstance(later.loss, float) is sampled
    assert later.is_finite() is not sampled  # not known before it is read
    (row,) = steps.rows()
    assert (row.loss, row.grad_norm) == (3.0, "nan")
    again = step(torch.tensor(2.0))
    again.read()
    assert again.loss == 2.0


def test_the_loss_of_a_step_is_the_sum_of_those_that_are_known():
    known = BackwardPass(1, None, torch.tensor([4.0]), None, scale=2.0)
    unknown = BackwardPass(2, None, None, None)
    assert sum_of([unknown, known, known]) == 4.0
    assert sum_of([unknown]) is None


def test_the_report_says_that_steps_were_dropped(monkeypatch):
    monkeypatch.setattr(records, "Steps", lambda: Steps(most=4))
    report, _ = watched(steps_of(nn.Linear(4, 2), 9))
    assert report.records[0].training.every == 4
    assert f"{report.records[0].training.record}: one step in 4 is kept, and the last one" in (
        report.warnings
    )


def test_updates_of_large_parameters_are_estimated(monkeypatch):
    """A constant update of each element: a sample of them gives its norm."""
    monkeypatch.setattr(records, "_COPIED", 64)
    monkeypatch.setattr(records, "_SAMPLE", 8)
    net = nn.Linear(4, 8, bias=False)

    def close(net):
        for p in net.parameters():
            p.grad = torch.ones_like(p)

    def train():
        optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
        net(torch.ones(1, 4)).sum().backward()
        close(net)
        optimizer.step()

    report, _ = watched(train)
    (row,) = report.records[0].training.steps
    assert row.update_norm == pytest.approx(0.5 * math.sqrt(32))
    assert "update norms of large parameters are estimated from a sample" in report.warnings


def test_sparse_parameters_have_no_update():
    table = nn.Parameter(torch.eye(3).to_sparse())

    def train():
        optimizer = torch.optim.SGD([table], lr=0.5)
        torch.sparse.mm(table, torch.ones(3, 1)).sum().backward()
        optimizer.step()

    report, _ = watched(train)
    (row,) = report.records[0].training.steps
    assert row.update_norm is None
    assert row.grad_norm == pytest.approx(math.sqrt(3))  # as sparse as the parameter: three ones


HOOKS = """\
hooks:
  - {kind: forward, at: "*", root: {type: Linear}, do: stats}
  - {kind: forward, at: "*", root: {type: Conv2d}}
  - {kind: forward, at: "*", root: "other"}
  - {kind: forward, at: "encoder.*"}
"""


def test_a_hook_that_stands_on_no_root_is_a_warning(tmp_path):
    file = tmp_path / "hooks.yaml"
    file.write_text(HOOKS)
    spec = training_spec_of("grads", read_config(str(file)), Flags(), "train.py")
    net = nn.Linear(4, 2)
    report, _ = watched(steps_of(net), spec)
    assert {event.hook for event in report.records[0].events} == {0}
    texts = [text for text in report.warnings if "hooks.yaml" in text]
    assert [text.rpartition(": ")[2].partition(",")[0] for text in texts[:2]] == [
        "no root matches", "no root matches",
    ]  # fmt: skip
    assert len(texts) == 3
    assert "encoder" in texts[2]


def test_the_script_ends_after_the_most_steps():
    net = nn.Linear(4, 2)
    report, ended = watched(steps_of(net), max_steps=2)
    assert ended == "max_steps"
    assert report.records[0].training.total == 2


def test_with_two_optimizers_the_script_ends_before_one_steps_too_often():
    one, other = nn.Linear(4, 2), nn.Linear(4, 2)

    def train():
        first = torch.optim.SGD(one.parameters(), lr=0.1)
        second = torch.optim.SGD(other.parameters(), lr=0.1)
        for i in range(6):
            (one(torch.ones(1, 4)) + other(torch.ones(1, 4))).sum().backward()
            first.step()
            if i % 2:
                second.step()

    report, ended = watched(train, max_steps=3)
    assert ended == "max_steps"
    assert sorted(record.training.total for record in report.records) == [1, 3]


def test_the_script_ends_at_the_first_finding():
    """A learning rate of zero changes no parameter."""
    net = nn.Linear(4, 2)
    report, ended = watched(steps_of(net, rate=0.0), stop_on="finding")
    assert ended == "stopped"
    assert report.records[0].training.total == 2  # the rules need two steps to see that


@pytest.mark.parametrize("file", [None, "missing/batch.pt"])
def test_a_batch_that_cannot_be_written_is_a_warning(file, tmp_path):
    path = None if file is None else str(tmp_path / file)
    spoiled = steps_of(nn.Linear(4, 2), spoil=lambda loss, i: loss * (math.nan if i else 1))
    report, ended = watched(spoiled, file=path, stop_on="nonfinite")
    assert ended == "stopped"
    assert report.first_non_finite.batch is None
    notes = [text for text in report.warnings if "batch of the step was not saved" in text]
    assert len(notes) == (0 if file is None else 1)


def test_a_batch_of_the_users_class_is_not_saved(tmp_path):
    class Wrapped:
        value = torch.ones(2, 4)

    class Net(nn.Linear):
        def forward(self, batch):
            return super().forward(batch.value) / 0

    net = Net(4, 2)

    def train():
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        net(Wrapped()).sum().backward()
        optimizer.step()

    report, _ = watched(train, file=str(tmp_path / "b.pt"), stop_on="nonfinite")
    wanted = "the batch of the step was not saved: the batch contains a value of type Wrapped"
    assert wanted in report.warnings


def test_an_optimizer_that_steps_with_another_is_not_a_record_of_its_own():
    """As those that wrap another one, and call its step."""
    net = nn.Linear(4, 2)

    class Outer(torch.optim.SGD):
        def __init__(self, parameters):
            parameters = list(parameters)
            super().__init__(parameters, lr=0.0)
            self.inner = torch.optim.SGD(parameters, lr=0.1)

        def step(self, closure=None):
            return self.inner.step()

    def train():
        optimizer = Outer(net.parameters())
        for _ in range(3):
            optimizer.zero_grad()
            net(torch.ones(2, 4)).sum().backward()
            optimizer.step()

    report, _ = watched(train)
    assert [record.training.total for record in report.records] == [3]


def test_a_step_that_raises_does_not_hide_the_next_one():
    net = nn.Linear(4, 2)

    def close(net):
        tries = []

        def closure():
            tries.append(1)
            raise ArithmeticError

        return closure

    def train():
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for i in range(3):
            net(torch.ones(2, 4)).sum().backward()
            try:
                optimizer.step(close(net) if i == 0 else None)
            except ArithmeticError:
                optimizer.zero_grad()

    report, _ = watched(train)
    assert [record.training.total for record in report.records] == [2]


def test_a_forward_that_was_interrupted_does_not_hide_the_next_one():
    """PyTorch calls no hook if a call ends by Ctrl-C."""

    class Net(nn.Linear):
        calls = 0

        def forward(self, x):
            Net.calls += 1
            if Net.calls in {2, 5}:
                raise KeyboardInterrupt
            return super().forward(x)

    net = Net(4, 2)

    def train():
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(7):
            try:
                loss = net(torch.ones(2, 4)).sum()
            except KeyboardInterrupt:
                optimizer.step()  # with the gradients of the last step
                continue
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    report, _ = watched(train)
    (record,) = report.records
    assert (record.training.total, record.training.steps[-1].forwards) == (7, 1)


def test_optimizers_that_step_in_backward_make_one_step():
    net = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2))
    optimizers = {p: torch.optim.SGD([p], lr=0.1) for p in net.parameters()}

    def update(parameter):
        optimizers[parameter].step()
        optimizers[parameter].zero_grad()

    def train():
        for p in net.parameters():
            p.register_post_accumulate_grad_hook(update)
        for _ in range(3):
            net(torch.ones(2, 4)).sum().backward()

    report, _ = watched(train)
    (record,) = report.records
    assert record.training.total == 3
    assert {row.name for row in record.parameters} == {"0.weight", "0.bias", "1.weight", "1.bias"}


def test_parameters_of_no_module_have_the_names_of_their_variables():
    weight, bias = (torch.zeros(3, requires_grad=True) for _ in range(2))

    def train():
        optimizer = torch.optim.SGD([weight, bias], lr=0.1)
        ((weight + bias) - 1).square().sum().backward()
        optimizer.step()

    report, _ = watched(train)
    assert [row.name for row in report.records[0].parameters] == ["weight", "bias"]
    both = [torch.zeros(3, requires_grad=True) for _ in range(2)]

    def in_a_list():
        optimizer = torch.optim.SGD(both, lr=0.1)
        (sum(both) - 1).square().sum().backward()
        optimizer.step()

    report, _ = watched(in_a_list)
    assert [row.name for row in report.records[0].parameters] == ["[0]", "[1]"]


def test_a_backward_on_another_thread_is_found():
    """As that of a GPU: autograd's thread calls the hooks, and this one waits."""
    x, found = torch.ones(2, requires_grad=True), []

    def hook(_):
        thread = threading.Thread(target=lambda: found.append(running_backward(7)))
        thread.start()
        thread.join()

    y = x * 2
    y.register_hook(hook)
    y.sum().backward()  # here
    assert found[0].loss == 4
    assert found[0].place is not None


def test_outside_of_backward_there_is_no_pass():
    found = running_backward(1)
    assert (found.start, found.loss, found.place) == (None, None, None)


def test_a_pass_from_several_tensors_or_a_vector_has_no_loss():
    x, found = torch.ones(2, requires_grad=True), []
    for start in ([x * 2, x * 3], [x * 2]):
        start[0].register_hook(lambda _: found.append(running_backward(1)))
        torch.autograd.backward(start, [torch.ones(2) for _ in start])
    assert [one.loss for one in found] == [None, None]
    assert [one.start is None for one in found] == [True, False]


def test_gradients_of_an_output_are_added_and_large_ones_not_kept(monkeypatch):
    call = ForwardCall(
        (torch.ones(3),), {"more": [torch.ones(2), {"x": torch.ones(5)}]}, Generators()
    )
    assert call.size() == 4 * (3 + 2 + 5)
    call.keep_gradient(0, torch.ones(2))
    call.keep_gradient(0, torch.ones(2))
    assert call.gradients[0].tolist() == [2, 2]
    monkeypatch.setattr("hookcli.training.non_finite.forward_call._MOST_ELEMENTS", 4)
    call.keep_gradient(1, torch.ones(5))
    assert (call.gradients, call.has_all_gradients) == ({}, False)
    call.keep_gradient(0, torch.ones(2))
    assert not call.gradients


def test_a_call_that_made_its_outputs_without_gradients_made_no_node():
    call = ForwardCall((torch.ones(3),), {}, Generators())
    call.end([torch.ones(3), torch.ones(3, requires_grad=True) * 2])
    assert list(call.made_by.values()) == [1]


def test_numpys_numbers_repeat_if_the_file_of_a_module_has_one_of_its_functions(monkeypatch):
    made = types.ModuleType("made_for_numpy")
    made.draw = numpy.random.rand  # `from numpy.random import rand as draw`
    made.Net = type("Net", (nn.Identity,), {"__module__": "made_for_numpy"})
    monkeypatch.setitem(sys.modules, "made_for_numpy", made)
    kept = GeneratorKeeper(made.Net()).keep()
    first = numpy.random.rand(3)
    kept.restore()
    assert (numpy.random.rand(3) == first).all()
    assert GeneratorKeeper(nn.Identity()).keep().numpy is None


def test_the_owner_is_the_smallest_module_with_most_of_the_parameters():
    net = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 3)))
    assert owner_of(list(net[1].parameters())) is net[1]
    assert owner_of([net[1][0].weight, net[1][1].weight]) is net[1]
    assert owner_of([torch.ones(2, requires_grad=True)]) is None


def test_dropout_without_a_probability_has_no_mode():
    net = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.0), nn.Dropout(0.5), nn.Linear(4, 2))
    net.eval()
    report, _ = watched(steps_of(net))
    training = report.records[0].training
    assert training.eval_modules == ("2",)


def test_earlier_forwards_with_large_batches_are_not_kept(monkeypatch):
    monkeypatch.setattr(root_watch, "_MOST_BYTES", 40)
    net = nn.Linear(4, 2)

    def train():
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for scale in (math.inf, 1.0):  # the first of two forwards is the bad one
            (net(torch.ones(2, 4)) * scale).sum().backward()
        optimizer.step()

    report, _ = watched(train)
    assert report.first_non_finite is not None


def test_ranks_that_are_no_numbers_are_those_of_one_process(monkeypatch):
    monkeypatch.setenv("RANK", "first")
    assert observed_script.rank_and_world() == {"rank": 0, "world_size": 1}


def test_a_gradient_penalty_is_not_accused_of_a_missing_zero_grad():
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))

    def train():
        groups = [{"params": net[0].parameters(), "lr": 0.0}, {"params": net[2].parameters()}]
        optimizer = torch.optim.SGD(groups, lr=0.01)
        for _ in range(3):
            x = torch.randn(8, 4, requires_grad=True)
            out = net(x)
            (slope,) = torch.autograd.grad(out.sum(), x, create_graph=True)
            optimizer.zero_grad()
            (out.mean() + slope.norm()).backward()
            optimizer.step()

    report, _ = watched(train)
    training = report.records[0].training
    assert training.never_zeroed is False
    assert [(row.lr, row.largest_lr) for row in training.steps] == [(0.0, 0.01)] * 3


def by_hand(net, gradients, update, count=4):
    """A training without an optimizer, and the true (loss, update norm, weight norm) of steps."""
    rows, parameters = [], list(net.parameters())

    def train():
        for _ in range(count):
            loss = net(torch.randn(8, 4)).square().mean()
            found = gradients(loss, parameters)
            before = [p.detach().clone() for p in parameters]
            for p, g in zip(parameters, found):
                update(p, -0.1 * g)
            changes = [p.detach() - old for p, old in zip(parameters, before)]
            norms = [torch.cat([t.flatten() for t in ts]).norm() for ts in (changes, before)]
            rows.append((loss.item(), *map(float, norms)))

    return train, rows


def in_grad(loss, parameters):
    for p in parameters:
        p.grad = None
    loss.backward()
    return [p.grad for p in parameters]


def no_grad_add(p, change):
    with torch.no_grad():
        p.add_(change)


def no_grad_copy(p, change):
    with torch.no_grad():
        p.copy_(p + change)


@pytest.mark.parametrize(
    "update", [no_grad_add, no_grad_copy, lambda p, change: p.data.add_(change)]
)
@pytest.mark.parametrize("gradients", [in_grad, torch.autograd.grad])
def test_updates_without_an_optimizer_are_measured_when_they_are_made(gradients, update):
    train, rows = by_hand(nn.Linear(4, 3), gradients, update)
    report, _ = watched(train, steps="all")
    (record,) = report.records
    seen = [(row.loss, row.update_norm, row.weight_norm) for row in record.training.steps]
    assert seen == [pytest.approx(row) for row in rows]
    known = gradients is in_grad
    for row in record.training.steps:
        assert (row.grad_norm is not None, row.missing) == (known, 0 if known else None)
    statuses = {row.status for row in record.parameters}
    assert statuses == ({"ok"} if known else {None})
    assert all(row.changed for row in record.training.updates)


def test_gradients_that_are_looked_at_only_are_no_steps():
    net = nn.Linear(4, 3)
    train, _ = by_hand(net, torch.autograd.grad, lambda p, change: None)
    report, _ = watched(train)
    assert report.records == ()
    (note,) = [text for text in report.warnings if "no training step" in text]
    assert note.endswith("no gradient was added to .grad; torch.autograd.grad ran 4 times")


def test_parameters_of_functional_calls_are_not_said_to_get_no_gradient():
    net = nn.Linear(4, 3)

    def train():
        given = {k: p.detach().clone().requires_grad_() for k, p in net.named_parameters()}
        for _ in range(3):
            loss = torch.func.functional_call(net, given, (torch.ones(2, 4),)).square().mean()
            loss.backward()
            given = {k: (p - 0.1 * p.grad).detach().requires_grad_() for k, p in given.items()}

    report, _ = watched(train)
    assert report.records == ()
    assert any("3 backward passes gave no parameter of a module" in t for t in report.warnings)


@pytest.mark.parametrize(
    ("script", "end"),
    [
        (ScriptSpec("torch.distributed.run", ("train.py",), True), "in front of the script"),
        (ScriptSpec("bin/torchrun", ("train.py",)), "in front of the script"),
        (ScriptSpec("train.py"), "only processes of multiprocessing are observed"),
    ],
)
def test_a_launcher_is_told_where_hookcli_must_start(script, end):
    watch = watching.start(
        RunJob(script, TrainingSpec(parse_steps("0", "")), Spec("grads", ModelSpec("x")), None)
    )
    report = watch.finish(ScriptInfo(script.name, (), script.is_module, "completed", 0))
    assert report.warnings[-1].endswith(end)


def test_processes_that_left_no_report_are_not_told_to_be_unobserved(monkeypatch):
    script = ScriptSpec("train.py")
    watch = watching.start(
        RunJob(script, TrainingSpec(parse_steps("0", "")), Spec("grads", ModelSpec("x")), None)
    )
    monkeypatch.setattr(type(watch._children), "were_started", True)
    report = watch.finish(ScriptInfo("train.py", (), False, "completed", 0))
    assert report.warnings[-1].endswith(
        "those that it started made no step, or a signal ended them"
    )


@pytest.mark.parametrize(
    "reset, wanted",
    [
        (lambda step, net: None, True),
        (lambda step, net: net.zero_grad(), False),
        (lambda step, net: net.zero_grad(set_to_none=False), False),
        (lambda step, net: step == 9 and net.zero_grad(), False),  # between sampled steps
        (lambda step, net: [p.grad.data.mul_(0.9) for p in net.parameters() if step], None),
        (lambda step, net: net[0].zero_grad(), None),
    ],
)
def test_never_zeroed_is_claimed_only_where_each_gradient_was_left(reset, wanted):
    net = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2))

    def train():
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for step in range(12):
            reset(step, net)
            net(torch.randn(8, 4)).square().mean().backward()
            optimizer.step()

    report, _ = watched(train)
    assert report.records[0].training.never_zeroed is wanted


def test_of_two_optimizers_only_the_one_whose_gradients_were_left_is_never_zeroed():
    net = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2))

    def train():
        first = torch.optim.SGD(net[0].parameters(), lr=0.01)
        second = torch.optim.Adam(net[1].parameters(), lr=0.01)
        for _ in range(5):
            first.zero_grad()
            net(torch.randn(8, 4)).square().mean().backward()
            first.step()
            second.step()

    report, _ = watched(train)
    found = {r.training.optimizer.type: r.training.never_zeroed for r in report.records}
    assert found == {"SGD": False, "Adam": True}


@pytest.mark.parametrize("to_none", [True, False])
def test_erased_gradients_of_a_generator_are_not_in_the_loss_of_the_discriminator(to_none):
    generator, discriminator = nn.Linear(2, 4), nn.Linear(4, 1)
    losses = []

    def train():
        ours = torch.optim.SGD(generator.parameters(), lr=0.01)
        theirs = torch.optim.SGD(discriminator.parameters(), lr=0.01)
        for _ in range(4):
            fake = generator(torch.randn(8, 2))
            ours.zero_grad(to_none)
            first = -discriminator(fake).mean()
            first.backward()
            theirs.zero_grad(to_none)
            second = discriminator(fake.detach()).mean() - discriminator(torch.randn(8, 4)).mean()
            second.backward()
            ours.step()
            theirs.step()
            losses.append((first.item(), second.item()))

    report, _ = watched(train)
    seen = [[(row.loss, row.backwards) for row in r.training.steps] for r in report.records]
    assert seen == [[(pytest.approx(loss), 1) for loss in column] for column in zip(*losses)]


def losses_of(net, x):
    return net(x).square().mean()


def test_the_largest_rate_and_decay_of_all_groups_count():
    net = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2))

    def train():
        groups = [
            {"params": net[0].parameters(), "lr": 0.0},
            {"params": net[1].parameters(), "weight_decay": 0.5},
        ]
        optimizer = torch.optim.SGD(groups, lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            losses_of(net, torch.randn(8, 4)).backward()
            optimizer.step()

    report, _ = watched(train)
    optimizer = report.records[0].training.optimizer
    assert (optimizer.options["weight_decay"], optimizer.largest_weight_decay) == (0, 0.5)
    assert "largest lr 0.1" in figures(report.records[0])


def test_optimizers_that_step_in_backward_have_a_largest_rate():
    net = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2))
    rates = {p: 0.01 * i for i, p in enumerate(net.parameters())}
    optimizers = {p: torch.optim.SGD([p], lr=rate) for p, rate in rates.items()}

    def update(parameter):
        optimizers[parameter].step()
        optimizers[parameter].zero_grad()

    def train():
        for p in net.parameters():
            p.register_post_accumulate_grad_hook(update)
        for _ in range(3):
            losses_of(net, torch.randn(8, 4)).backward()

    report, _ = watched(train)
    assert [row.largest_lr for row in report.records[0].training.steps] == [0.03] * 3


@pytest.mark.parametrize("optimized", [True, False])
def test_steps_that_train_two_roots_are_counted_once(optimized):
    one, other = nn.Linear(4, 3), nn.Linear(3, 2)
    parameters = [*one.parameters(), *other.parameters()]

    def train():
        optimizer = torch.optim.SGD(parameters, lr=0.1) if optimized else None
        for _ in range(4):
            for p in parameters:
                p.grad = None
            losses_of(other, one(torch.randn(8, 4))).backward()
            if optimizer:
                optimizer.step()

    report, _ = watched(train)
    assert [record.training.total for record in report.records] == [4, 4]
    assert observed(report).startswith(f"3 of 4 {'steps' if optimized else 'passes'} in detail")
    names = [record.training.record for record in report.records]
    assert [record.training.shared for record in report.records] == [(names[1],), (names[0],)]


@pytest.mark.parametrize("copied", [True, False])
def test_a_copy_that_no_optimizer_has_is_not_accused_of_never_running(copied):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.more = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x):
            return self.body(x)

    net = Net()

    def train():
        trained = net.body if copied else net
        optimizer = torch.optim.SGD(trained.parameters(), lr=0.1)
        for _ in range(4):
            optimizer.zero_grad()
            losses_of(net, torch.randn(8, 4)).backward()
            optimizer.step()
            for p, q in zip(net.body.parameters(), net.more.parameters()):
                q.data.lerp_(p.data, 0.1 * copied)

    report, _ = watched(train)
    (record,) = judge_training(report, with_training_set(())).records
    bad = {finding.rule for finding in record.checks if finding.status == "fail"}
    assert bool(bad & {"uncalled_modules", "grad_exists"}) is not copied


def test_calls_inside_transforms_are_not_known():
    net = nn.Linear(4, 2)

    def train():
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            found = torch.func.grad(
                lambda given, x: torch.func.functional_call(net, given, (x,)).square().mean()
            )({k: p.detach() for k, p in net.named_parameters()}, torch.ones(2, 4))
            for name, p in net.named_parameters():
                p.grad = found[name]
            optimizer.step()

    report, _ = watched(train)
    assert report.records[0].training.calls is None


def test_weights_that_are_nan_are_not_said_to_be_set_back():
    """The statistics of NaN are always the same."""
    net = nn.Linear(4, 2)
    torch.nn.init.constant_(net.weight, math.nan)
    report, _ = watched(steps_of(net), steps="all")
    (row,) = [row for row in report.records[0].training.updates if row.name == "weight"]
    assert row.restored is None
    judged = judge_training(report, with_training_set(())).records[0]
    assert not any("back" in f.message for f in judged.checks if f.status == "fail")


def test_a_scripted_model_is_looked_at_without_an_error():
    torch.manual_seed(0)
    report, _ = watched(steps_of(torch.jit.script(nn.Sequential(nn.Linear(4, 2), nn.ReLU()))))
    assert [note for note in report.warnings if "failed" in note] == []
    assert report.records[0].training.total == 5


def test_a_record_has_the_lines_of_its_optimizer_backward_and_step():
    net = nn.Linear(4, 2)

    def train():
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)  # optimizer
        for _ in range(2):
            loss = net(torch.ones(2, 4)).square().mean()
            loss.backward()  # backward
            optimizer.step()  # step

    report, _ = watched(train)
    source, first = inspect.getsourcelines(train)
    lines = report.records[0].training.lines
    for name in ("optimizer", "backward", "step"):
        (number,) = [i for i, line in enumerate(source, first) if line.endswith(f"# {name}\n")]
        assert getattr(lines, name) == f"tests/training/test_loops.py:{number}"


def test_a_training_without_an_optimizer_has_the_line_of_its_backward_pass():
    net = nn.Linear(4, 2)

    def train():
        for _ in range(3):
            net(torch.ones(2, 4)).square().mean().backward()
            with torch.no_grad():
                for p in net.parameters():
                    p -= 0.1 * p.grad
                    p.grad = None

    report, _ = watched(train)
    lines = report.records[0].training.lines
    assert (lines.optimizer, lines.step) == (None, None)
    assert lines.backward.startswith("tests/training/test_loops.py:")
