"""The first non-finite value of a training is named truly, and training goes on as without it."""

from __future__ import annotations

import math
import os
import random
import re
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.distributed as dist
import torch.nn.functional as F  # its usual name
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from hookcli.catalogue.reasons import REASONS
from hookcli.training.non_finite import find as finder
from hookcli.training.non_finite.find import find
from hookcli.training.non_finite.forward_call import ForwardCall
from hookcli.training.non_finite.generators import GeneratorKeeper, Generators
from tests.rules import non_finite_faults as faults
from tests.rules.legitimate_infinities import LEGITIMATE
from tests.rules.non_finite_faults import BACKWARD, FORWARD, Net, batch
from tests.training.non_finite.loop import same, state, statuses, train

HERE = Path(faults.__file__).name
FORWARD_FAULTS = (
    "zero_by_zero", "log_of_zero_times_zero", "exp_of_large", "overflow_of_half",
    "softmax_of_a_masked_row",
)  # fmt: skip
BACKWARD_FAULTS = ("gradient_of_root", "division_behind_where", "own_backward")


def says(text, reason):
    """Whether a text has the parts of a reason's clause that do not depend on figures."""
    return all(part in text for part in re.split(r"{\w+}", REASONS[reason].clause))


def asked_at(model, x, loss_of=torch.Tensor.sum, **options):
    """What is found at step 0 of a training, after the same bits as a training without asking."""
    before = state(model)
    train(model, [x], loss_of, ask=False)
    plain = state(model)
    model.load_state_dict(dict(zip(model.state_dict(), before[0], strict=True)))
    torch.set_rng_state(before[1])
    step, found = train(model, [x], loss_of, **options)
    assert step == 0
    assert same(state(model), plain)
    return found


@pytest.mark.parametrize("name", [*FORWARD_FAULTS, *BACKWARD_FAULTS])
def test_a_fault_in_a_layer_is_named(name):
    fault = {**FORWARD, **BACKWARD}[name]
    net = Net(fault.function).to(fault.dtype)
    found = asked_at(net, batch(fault.dtype))
    assert (found.found_by, found.layer, found.operator) == ("replay", "part", fault.operator)
    assert found.place.endswith(f"{HERE}:{fault.line}")
    assert says(found.reason, fault.reason)
    assert found.phase == ("forward" if name in FORWARD else "backward")
    rows = [row for row in found.inputs if "dtype" in row]
    assert rows
    if name in FORWARD and name != "softmax_of_a_masked_row":  # whose input has -Inf
        assert all(row["finite"] and row["min"] is not None for row in rows)


@pytest.mark.parametrize("name", ["causal_mask_added", "masked_logits_in_the_output"])
def test_a_mask_is_not_named(name):
    """-Inf in a mask is no fault: the root of 0 after it is."""

    def part(x):
        return LEGITIMATE[name](x) + 0 * x.sum()

    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.masked, self.a = Net(part), nn.Linear(8, 4)

        def forward(self, x):
            return self.masked(x), (self.a(x) * 0).sqrt()

    found = asked_at(Two(), batch(), lambda out: out[0].exp().sum() + out[1].sum())
    assert (found.layer, found.operator, found.phase) == ("", "torch.sqrt", "backward")


class Random(nn.Module):
    """Makes NaN if dropout, Python's or NumPy's numbers, or its own generator's are as drawn."""

    def __init__(self, how):
        super().__init__()
        self.a, self.how = nn.Linear(8, 8), how
        self.own = torch.Generator().manual_seed(5)

    def draw(self, x):
        return {
            "torch": lambda: F.dropout(x, 0.5),
            "python": lambda: x * random.random(),
            "numpy": lambda: x * np.random.rand(),
            "module": lambda: x * torch.rand(x.shape, generator=self.own),
        }[self.how]()

    def forward(self, x):
        drawn = self.draw(torch.ones_like(x)).detach()
        self.drawn = drawn.clone()
        return torch.log(self.a(x) * 0 + (drawn != WANTED["drawn"]).any())


WANTED = {"drawn": None}


@pytest.mark.parametrize("how", ["torch", "python", "numpy", "module"])
def test_a_replay_draws_the_same_numbers(how):
    """The log is of 0 only if exactly the numbers of the forward are drawn again."""
    model, x = Random(how), batch()
    keeper = GeneratorKeeper(model)
    call = ForwardCall((x,), {}, keeper.keep())
    WANTED["drawn"] = torch.zeros_like(x)
    model(x)
    WANTED["drawn"] = model.drawn
    before = state(model)
    found = find(model, [call], what="loss", loss=math.nan, gradients={})
    drawn = np.random.get_state()[1].tolist()
    assert (found.operator, found.found_by) == ("torch.log", "replay")
    assert same(state(model), before)
    assert drawn == np.random.get_state()[1].tolist()


def div_of_zero(out):
    zero = out.detach().abs().sum() * 0
    return out.sum() / zero


LOSSES = {
    "log": (lambda out: torch.log(out * 0).mean(), "torch.log", "log_of_zero"),
    "log of negative": (lambda out: (out * 0 - 5).log().sum(), "torch.log", "log_of_negative"),
    "exp": (lambda out: (out * 0 + 100).exp().sum(), "torch.exp", None),
    "div": (div_of_zero, "torch.div", "by_zero"),
    "targets": (
        lambda out: F.cross_entropy(out, torch.full((3,), -100)),
        "torch.nn.functional.nll_loss",
        "no_target",
    ),
    "pow": (lambda out: ((out * 0 - 5) ** 0.7).sum(), "torch.pow", "power_of_negative"),
}


@pytest.mark.parametrize("name", LOSSES)
def test_a_fault_of_the_loss_is_named_from_the_graph(name):
    loss_of, operator, reason = LOSSES[name]
    found = asked_at(Net(torch.relu), batch(), loss_of)
    assert (found.phase, found.found_by, found.operator) == ("loss", "graph", operator)
    assert found.place == "train.py:7"
    assert reason is None or says(found.reason, reason)
    shapes = [row["shape"] for row in found.inputs if "shape" in row]
    assert reason is None or shapes


def zeros(x):
    return x * 0


PROBABILITIES = {
    "log": (lambda out: -(out + out).log().mean(), "torch.log", "log_of_zero"),
    "reciprocal": (lambda out: out.abs().sum(1).reciprocal().sum(), "torch.reciprocal", "by_zero"),
    "div": (lambda out: (out.sum() / out.sum(1)).sum(), "torch.div", "zero_by_zero"),
    "log of softmax": (
        lambda out: (out.softmax(-1).sum(-1) - out.sigmoid().sum(-1).sum()).sqrt().sum(),
        "torch.sqrt",
        "root_of_negative",
    ),
}


@pytest.mark.parametrize("name", PROBABILITIES)
def test_a_freed_graph_runs_again_on_the_outputs_of_the_replay(name):
    loss_of, operator, reason = PROBABILITIES[name]
    net = nn.Sequential(Net(torch.relu), faults.Part(zeros))
    found = asked_at(net, batch(), loss_of, freed=True)
    assert (found.phase, found.layer, found.found_by) == ("loss", None, "replay")
    assert (found.operator, found.place) == (operator, "train.py:7")
    assert says(found.reason, reason)
    assert all(row["finite"] for row in found.inputs)


def test_a_freed_graph_with_unknown_values_names_its_operators():
    """The 2.0 of the script is not kept by autograd, so that the log cannot be repeated."""
    loss_of = lambda out: (out * 0 - 2.0).log().sum()  # noqa: E731
    found = asked_at(Net(torch.relu), batch(), loss_of, freed=True)
    assert (found.phase, found.operator, found.inputs) == ("loss", None, ())
    assert "by torch.mul, torch.sub, torch.log and 1 more" in found.reason


def test_nan_of_the_batch_is_not_blamed_on_the_statistics_that_it_changed():
    """The replay begins after the forward, when the running statistics have the NaN too."""
    net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
    x = torch.ones(5, 4)
    x[3, 1] = math.nan
    found = asked_at(net, x)
    assert (
        found.reason == "the argument input of the batch contains NaN in 1 of 20 values at [3, 1]"
    )
    assert (found.layer, found.cause, found.found_by) == ("", "input", "replay")


def test_statistics_that_a_forward_reads_are_blamed():
    net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4).eval())
    net[1].running_mean[2] = math.inf
    found = asked_at(net, torch.ones(5, 4))
    assert (found.layer, found.cause) == ("1", "buffer")


def test_a_factor_without_a_gradient_is_named_as_such():
    loss_of = lambda out: (out * torch.tensor([1.0, math.nan, 1.0, 1.0])).sum()  # noqa: E731
    found = asked_at(Net(torch.relu), batch(), loss_of)
    assert (found.phase, found.operator, found.found_by) == ("loss", "torch.mul", "graph")
    assert "got NaN from a tensor without a gradient in 1 of 4 values at [1]" in found.reason


def test_a_loss_that_no_saved_tensor_explains_is_said_to_be_the_scripts():
    found = asked_at(Net(torch.relu), batch(), lambda out: out.sum() + math.inf)
    assert (found.phase, found.layer, found.place) == ("loss", None, "train.py:7")
    assert "the outputs of the model are finite" in found.reason


@pytest.mark.parametrize("keep", [True, False])
def test_a_gradient_that_the_loss_makes_is_said_to_be_the_scripts(keep):
    found = asked_at(Net(torch.relu), batch(), lambda out: (out * 0).sqrt().sum(), keep=keep)
    assert (found.phase, found.layer, found.place) == ("backward", None, "train.py:7")
    said = "the gradient that the script's loss gives to the output"
    assert f"{said} contains NaN" in found.reason if keep else f"{said}s is not" in found.reason


@pytest.mark.parametrize("keep", [True, False])
def test_gradients_of_the_outputs_are_used_if_they_were_kept(keep):
    """The backward overflows for the gradient that training had, and not for a smaller one."""

    def scaled(x):
        return (x * 0) * 1e20  # here

    found = asked_at(Net(scaled), batch(), lambda out: out.sum() * 1e20, keep=keep)
    assert found.phase == "backward"
    assert (found.layer, found.operator) == (("part", "torch.mul") if keep else (None, None))
    assert not found.notes


def test_gradients_of_two_backward_passes_are_added():
    """Each is finite in the layer, but their sum overflows, as that of the parameters does."""

    def scaled(x):
        return x * 1e20  # here

    net, given = Net(scaled), batch()[:1]
    with torch.no_grad():
        net.b.weight.fill_(1.0)
    call = ForwardCall((given,), {}, GeneratorKeeper(net).keep())
    output = net(given)
    call.end([output])
    output.register_hook(lambda gradient: call.keep_gradient(0, gradient))
    (output.sum() * 0.6e18).backward(retain_graph=True)
    assert set(statuses(net).values()) == {"ok"}
    (output.sum() * 0.6e18).backward()
    assert statuses(net)["a.weight"] == "non_finite"
    found = find(net, [call], what="gradient", loss=1.0, gradients=statuses(net))
    assert (found.phase, found.layer, found.operator) == ("backward", "part", "torch.mul")


def test_a_large_gradient_of_an_output_is_not_kept():
    """The replay makes up gradients, which are finite, and says that the script's may not be."""
    given = torch.ones(1 << 15, 8)
    found = asked_at(Net(torch.relu), given, lambda out: (out * 0).sqrt().sum(), keep=True)
    assert (found.phase, found.found_by) == ("backward", "replay")
    assert found.reason.endswith("gives to the outputs is not finite, or large")


BAD = {"a.weight": "non_finite"}


def test_a_forward_that_was_not_seen_is_not_replayed():
    found = find(Net(torch.relu), [], what="gradient", loss=1.0, gradients=BAD)
    assert (found.found_by, found.layer) == ("gradients", "a")
    assert found.notes == ("the step was not replayed: no forward of the root was seen",)


def test_a_forward_on_another_device_is_not_replayed_in_a_copy():
    call = ForwardCall((torch.empty(3, 8, device="meta"),), {}, Generators())
    found = find(Net(torch.relu), [call], what="gradient", loss=1.0, gradients=BAD)
    assert found.notes == ("the step was not replayed: a copy of the process cannot use meta",)


def test_a_forward_that_needs_the_other_ranks_is_not_replayed():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        net = fully_shard(Net(torch.relu), mesh=init_device_mesh("cpu", (1,)))
        call = ForwardCall((batch(),), {}, Generators())
        found = find(net, [call], what="gradient", loss=1.0, gradients=BAD, may_change=True)
    finally:
        dist.destroy_process_group()
    assert found.notes == ("the step was not replayed: its parameters are shared among the ranks",)


def test_nan_in_the_batch_is_named():
    x = batch()
    x[1, 2] = math.nan
    found = asked_at(Net(torch.relu), x)
    assert (found.layer, found.operator) == ("", None)
    contains = f"contains NaN in 1 of {x.numel()} values at [1, 2]"
    assert found.reason == f"the argument x of the batch {contains}"
    (row,) = found.inputs
    assert (row["nans"], row["min"], row["max"]) == (1, -1.0, 1.0)


def test_weights_that_the_previous_update_made_are_named():
    net = Net(torch.relu)
    step, found = train(net, [batch() * 1e3] * 3, lambda out: (out**2).sum(), lr=1e37)
    assert step == 1
    assert (found.found_by, found.layer) == ("parameters", "a")
    assert "the parameter a.weight contained" in found.reason


def test_autocast_is_entered_again():
    """The product overflows in float16 only."""

    class Wide(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(8, 4, bias=False)
            nn.init.constant_(self.a.weight, 300.0)

        def forward(self, x):
            return self.a(x)

    found = asked_at(Wide(), torch.full((2, 8), 300.0), autocast=torch.float16)
    assert (found.layer, found.found_by) == ("a", "replay")
    assert "65,504" in found.reason


def test_every_micro_step_is_replayed():
    net, bad = Net(torch.relu), batch()
    bad[0, 0] = math.inf
    keep = GeneratorKeeper(net).keep
    calls = [ForwardCall((x,), {}, keep()) for x in (batch(), bad)]
    found = find(net, calls, what="loss", loss=math.nan, gradients={})
    assert found.call == 1


def test_batch_norm_and_memory_that_processes_share_do_not_change():
    net = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), Net(FORWARD["zero_by_zero"].function))
    net.share_memory()
    call = ForwardCall((batch(),), {}, GeneratorKeeper(net).keep())
    before = state(net)
    found = find(net, [call], what="loss", loss=math.nan, gradients={})
    assert found.layer == "2.part"
    assert same(state(net), before)


class Loud(nn.Module):
    """Does in its forward what a copy of a process must not do for the process."""

    def __init__(self, log, ends):
        super().__init__()
        self.a, self.log, self.ends = nn.Linear(8, 4), log, ends

    def forward(self, x):
        print("forward")
        print("error", file=sys.stderr)
        os.write(1, b"raw")
        self.log.write("line\n")
        self.log.flush()
        self.ends()
        return self.a(x).log() * 0


def test_the_copy_writes_nothing(tmp_path, capfd):
    with (tmp_path / "log").open("w") as log:
        net = Loud(log, lambda: None)
        call = ForwardCall((batch(),), {}, GeneratorKeeper(net).keep())
        found = find(net, [call], what="loss", loss=math.nan, gradients={})
    assert found.operator == "torch.log"
    assert (tmp_path / "log").read_text() == ""
    assert capfd.readouterr() == ("", "")


def children() -> set[str]:
    """The processes that this one has started and that have not been waited for."""
    lists = Path("/proc/self/task").glob("*/children")
    return {pid for file in lists for pid in file.read_text().split()}


@pytest.mark.parametrize(
    "ends", [lambda: os.abort(), lambda: os._exit(3), lambda: sys.exit(2), lambda: 1 / 0,
             lambda: signal.pause()], ids=["abort", "_exit", "exit", "raises", "hangs"]
)  # fmt: skip
def test_a_replay_that_fails_leaves_what_the_gradients_tell(tmp_path, ends):
    before = children()
    with (tmp_path / "log").open("w") as log:
        net = Loud(log, ends)
        call = ForwardCall((batch(),), {}, GeneratorKeeper(net).keep())
        found = find(
            net, [call], what="gradient", loss=1.0, patience=0.5,
            gradients={"a.weight": "non_finite", "a.bias": "ok"},
        )  # fmt: skip
    assert (found.found_by, found.layer) == ("gradients", "a")
    assert found.notes == ("the replay of the step failed, or took too long",)
    assert children() == before


def test_a_handler_of_ended_children_prevents_a_copy():
    net = Net(FORWARD["zero_by_zero"].function)
    call = ForwardCall((batch(),), {}, GeneratorKeeper(net).keep())
    net(batch()).sum().backward()
    before = signal.signal(signal.SIGCHLD, lambda *_: None)
    try:
        found = find(net, [call], what="loss", loss=math.nan, gradients=statuses(net))
        there = find(
            net, [call], what="loss", loss=math.nan, gradients=statuses(net), may_change=True
        )
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert (found.found_by, found.layer) == ("gradients", "b")
    assert "SIGCHLD" in found.notes[0]
    assert (there.found_by, there.operator) == ("replay", "torch.div")


def test_warnings_that_were_shown_do_not_appear_again(recwarn):
    import warnings

    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("default")
        for _ in range(3):
            warnings.warn("once", UserWarning, stacklevel=1)
            net = Net(FORWARD["zero_by_zero"].function)
            call = ForwardCall((batch(),), {}, GeneratorKeeper(net).keep())
            find(net, [call], what="loss", loss=math.nan, gradients={})
    assert [str(w.message) for w in shown] == ["once"]
    assert finder.PATIENCE > 1
