"""`finite` names the operator, its line and the reason truly, and takes no mask for a fault."""

from __future__ import annotations

import re
import traceback
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.utils.checkpoint
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import hookcli
from hookcli.catalogue.reasons import REASONS
from tests.rules import non_finite_faults as faults
from tests.rules.legitimate_infinities import LEGITIMATE, MODULES
from tests.rules.non_finite_faults import BACKWARD, FORWARD, Net, batch

HERE = Path(faults.__file__).name


def operator(report):
    """The measurement of the operator."""
    (row,) = [row for row in report.measurements if row.probe == "first_non_finite"]
    return row


def finding(report):
    (row,) = [row for row in report.checks if row.rule == "finite"]
    return row


def checked(model, dtype=torch.float32, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return hookcli.check(model, rules=["finite"], inputs=batch(dtype), **options)


def line_of(place):
    return int(place.rpartition(":")[2])


def packet(name):
    """An operator's name without its overload: aten.div of aten.div.Tensor."""
    return ".".join(name.split(".")[:2])


class ByHand(TorchDispatchMode):
    """Keeps the first operator that returned NaN or Inf for finite arguments, and its line."""

    def __init__(self):
        super().__init__()
        self.first = None

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        tensors = [t for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
        fine = all(torch.isfinite(t).all() for t in tensors)
        out = func(*args, **(kwargs or {}))
        results = [t for t in tree_leaves(out) if isinstance(t, torch.Tensor)]
        bad = not all(torch.isfinite(t).all() for t in results)
        if fine and bad and self.first is None and "full" not in str(func):
            lines = [f.lineno for f in traceback.extract_stack() if f.filename.endswith(HERE)]
            self.first = (packet(str(func)), lines[-1])
        return out


@pytest.mark.parametrize("name", FORWARD)
def test_the_first_operator_of_a_forward(name):
    fault = FORWARD[name]
    report = checked(Net(fault.function).to(fault.dtype), fault.dtype)
    row, found = operator(report), finding(report)
    assert found.status == "fail"
    assert (found.target, row.target, row.value["layer"]) == ("part",) * 3
    assert (row.value["written"], row.value["reason"]) == (fault.operator, fault.reason)
    assert line_of(row.value["place"]) == line_of(found.place) == fault.line
    assert f"`{fault.operator}`" in found.message
    assert row.value["phase"] == "forward"
    if name in {"softmax_of_a_masked_row", "mask_times_zero"}:
        return  # the Inf is a constant, which the naive mode below takes for the fault
    net = Net(fault.function).to(fault.dtype)
    with ByHand() as truth, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net(batch(fault.dtype))
    assert truth.first == (packet(row.value["operator"]), fault.line)


@pytest.mark.parametrize("name", BACKWARD)
def test_the_first_operator_of_a_backward(name):
    fault = BACKWARD[name]
    report = checked(Net(fault.function))
    row, found = operator(report), finding(report)
    assert found.status == "fail"
    assert (row.value["layer"], row.value["node"]) == ("part", fault.node)
    assert (row.value["written"], row.value["reason"]) == (fault.operator, fault.reason)
    assert line_of(row.value["place"]) == line_of(found.place) == fault.line
    then = row.value["becomes_nan"]
    last = row.value["node"] if then is None else then["node"]
    assert f"Function '{last}' returned nan values" in _anomaly(fault.function)


def _anomaly(function):
    """What torch's own detection says: the first node whose gradient has NaN."""
    net = Net(function)
    out = net(batch())
    vectors = torch.ones(out.shape)
    with pytest.raises(RuntimeError) as caught, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.detect_anomaly():
            (net(batch()) * vectors).sum().backward()
    return str(caught.value)


@pytest.mark.parametrize("name", LEGITIMATE)
def test_a_legitimate_use_of_inf_is_no_finding(name):
    report = checked(Net(LEGITIMATE[name]))
    assert finding(report).status == "pass", finding(report).message
    assert not [row for row in report.measurements if row.probe == "first_non_finite"]


@pytest.mark.parametrize("kind", MODULES)
def test_a_module_that_keeps_inf_is_no_finding(kind):
    net = Net(torch.relu)
    net.part = kind()
    report = checked(net)
    assert finding(report).status == "pass", finding(report).message


@pytest.mark.parametrize("name", LEGITIMATE)
def test_a_fault_beside_a_legitimate_inf_is_named(name):
    """The fault follows the mask, and its own line is named, not the mask's."""

    def function(x):
        y = LEGITIMATE[name](x)
        return y + (x - 9).sqrt()

    row = operator(checked(Net(function))).value
    assert (row["written"], row["reason"]) == ("torch.sqrt", "root_of_negative")


GIVEN = {
    "a number": (lambda: torch.tensor(float("nan")), "NaN", "constant"),
    "a list": (lambda: torch.tensor([1.0] * 7 + [float("inf")]), "Inf", "constant"),
    "an array": (lambda: torch.from_numpy(np.full(8, np.nan, "float32")), "NaN", "array"),
    "an array that is copied": (lambda: torch.tensor(np.full(8, np.nan)).float(), "NaN", "array"),
}


@pytest.mark.parametrize("name", GIVEN)
def test_a_value_that_no_operator_computed_is_described_as_it_is(name):
    make, kind, reason = GIVEN[name]
    report = checked(Net(lambda x: x + make()))
    assert operator(report).value["reason"] == reason
    message = finding(report).message
    assert f"{kind} first appears in 'part'" in message
    assert ("an array that torch did not make" in message) == (reason == "array")


def test_inputs_are_described():
    row = operator(checked(Net(FORWARD["log_of_negative"].function))).value
    net = Net(FORWARD["log_of_negative"].function)
    x = net.a(batch()) - 5
    (described,) = row["inputs"]
    assert described["dtype"] == "float32"
    assert described["shape"] == [3, 8]
    assert described["finite"] is True
    assert (described["min"], described["max"]) == (x.min().item(), x.max().item())
    assert row["nans"] == 24


class Diverges(nn.Module):
    """Its weight grows by the optimizer, until an exponential overflows in step 3."""

    def __init__(self):
        super().__init__()
        self.calls = 0
        self.weight = nn.Parameter(torch.tensor(1.0))

    def forward(self, x):
        self.calls += 1
        y = torch.exp(self.weight * 10)
        return x * y


def test_a_fault_of_a_later_step_is_found_with_that_steps_parameters():
    losses, model = [], Diverges()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-5)
    inputs = []
    for _ in range(5):
        inputs.append(model.weight.item())
        loss = -model(torch.ones(3, 8)).sum()
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    bad = next(i for i, loss in enumerate(losses) if not torch.isfinite(torch.tensor(loss)))
    assert 0 < bad < 5
    config = {"run": {"steps": 5, "optimizer": {"name": "SGD", "lr": 1e-5}}}
    tried = Diverges()
    report = hookcli.check(
        tried, config, rules=["finite"], inputs=torch.ones(3, 8), loss=lambda out: -out.sum()
    )
    row = operator(report).value
    assert (row["written"], row["step"], row["reason"]) == ("torch.exp", bad, "exp_overflow")
    assert row["inputs"][0]["max"] == pytest.approx(inputs[bad] * 10, rel=1e-6)
    assert f"(step {bad})" in finding(report).message
    assert (tried.calls, tried.weight.item()) == (0, 1.0)


class AtTheThirdCall(nn.Module):
    """State in Python decides: the second run must begin with it."""

    def __init__(self):
        super().__init__()
        self.calls = 0
        self.seen = []
        self.layer = nn.Linear(8, 8)

    def forward(self, x):
        self.calls += 1
        self.seen.append(self.calls)
        return self.layer(x) / (0.0 if len(self.seen) == 3 and self.calls == 3 else 1.0)


def test_the_second_run_begins_with_the_state_in_python():
    report = checked(AtTheThirdCall(), steps=5)
    row = operator(report).value
    assert (row["written"], row["step"]) == ("torch.div", 2)


def test_a_model_that_is_not_deterministic_falls_back_to_the_layer():
    counts = iter(range(100))
    report = checked(Net(lambda x: x / (0.0 if next(counts) == 0 else 1.0)))
    assert "why" in operator(report).value
    found = finding(report)
    assert (found.status, found.target) == ("fail", "part")
    assert "a second run of the step was finite" in found.message


def test_the_same_random_numbers_are_drawn():
    def function(x):
        noise = torch.rand(1000)
        return x / (noise - noise.max()).abs().min() if noise.dim() else x

    assert operator(checked(Net(function))).value["written"] == "torch.div"


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_checkpointed_part(reentrant):
    def forward(x):
        return torch.utils.checkpoint.checkpoint(
            FORWARD["by_zero"].function, x, use_reentrant=reentrant
        )

    def backward(x):
        return torch.utils.checkpoint.checkpoint(
            BACKWARD["gradient_of_root"].function, x, use_reentrant=reentrant
        )

    row = operator(checked(Net(forward))).value
    assert (row["written"], line_of(row["place"])) == ("torch.div", FORWARD["by_zero"].line)
    row = operator(checked(Net(backward))).value
    assert (row["node"], row["reason"]) == ("SqrtBackward0", "gradient_of_root")
    assert line_of(row["place"]) == BACKWARD["gradient_of_root"].line


def test_a_compiled_part():
    net = Net(FORWARD["by_zero"].function)
    net.part = torch.compile(net.part, backend="eager")
    row = operator(checked(net)).value
    assert (row["written"], line_of(row["place"])) == ("torch.div", FORWARD["by_zero"].line)


class Scripted(nn.Module):
    def forward(self, x):
        return (x - 9).sqrt()


class ScriptedRoot(nn.Module):
    def forward(self, x):
        return x + (x * 0).sqrt()


@pytest.mark.parametrize(
    ("part", "operator_name", "reason"),
    [(Scripted, "torch.sqrt", "root_of_negative"), (ScriptedRoot, "torch.div", "by_zero")],
)
def test_a_scripted_part(part, operator_name, reason):
    net = Net(torch.relu)
    net.part = torch.jit.script(part())
    report = hookcli.check(net, rules=["finite"], inputs=batch())
    row = operator(report)
    assert row.target == "part"
    assert (row.value["written"], row.value["reason"]) == (operator_name, reason)
    assert (row.value["node"] is None) == (part is Scripted)


def test_the_loss_function_is_named():
    def loss(out):
        return out.sum() / 0

    report = hookcli.check(Net(torch.relu), rules=["finite"], inputs=batch(), loss=loss)
    row = operator(report).value
    assert (row["written"], row["phase"], row["place"]) == (
        "torch.div", "loss", f"{place_of(loss)}:{loss.__code__.co_firstlineno + 1}",
    )  # fmt: skip
    assert "first appears in the loss" in finding(report).message


def place_of(function):
    return Path(function.__code__.co_filename).relative_to(Path.cwd()).as_posix()


@pytest.mark.parametrize("command", ["grads", "trace"])
def test_grads_and_trace_have_it_in_their_verdict(command):
    net = Net(BACKWARD["gradient_of_root"].function)
    options = {} if command == "grads" else {"steps": 2}
    report = getattr(hookcli, command)(net, batch(), **options)
    (diagnosis,) = [d for d in report.diagnoses if d.cause == "finite"]
    assert "SqrtBackward0" in diagnosis.sentence
    assert diagnosis.target == "part"
    assert diagnosis.advice == REASONS["gradient_of_root"].advice
    assert line_of(diagnosis.place) == BACKWARD["gradient_of_root"].line


def test_a_healthy_run_is_not_repeated():
    calls = []
    net = Net(lambda x: calls.append(0) or x)
    report = hookcli.grads(net, batch())
    assert len(calls) == 1
    assert "finite" in report.examined
    assert not [d for d in report.diagnoses if d.cause == "finite"]


def test_the_gradients_of_a_second_run_do_not_stay():
    net = Net(BACKWARD["gradient_of_root"].function)
    before = {name: p.clone() for name, p in net.named_parameters()}
    hookcli.grads(net, batch())
    assert all(torch.equal(p, before[name]) for name, p in net.named_parameters())
    assert all(p.grad is None for p in net.parameters())


ASSERTED = "{hooks: [{kind: op, do: assert_finite}]}"


@pytest.fixture(scope="module")
def asserting(tmp_path_factory):
    """A configuration that stops at the first operator."""
    path = tmp_path_factory.mktemp("op") / "op.yaml"
    path.write_text(ASSERTED)
    return str(path)


@pytest.mark.parametrize("name", [*FORWARD, *BACKWARD])
def test_assert_finite_of_operators_stops_at_the_same_place(name, asserting):
    fault = {**FORWARD, **BACKWARD}[name]
    report = stopped(Net(fault.function).to(fault.dtype), asserting, fault.dtype)
    assert report.error.type == "NotFiniteError"
    if name == "log_of_zero_times_zero":  # -Inf alone may be a mask; NaN made of it is not
        assert (
            f"`torch.mul` multiplies 0 by Inf; the -Inf comes from `torch.log` at tests/rules/"
            f"{HERE}:{fault.line}" in report.error.message
        )
        return
    assert f"`{fault.operator}`" in report.error.message
    assert f"{HERE}:{fault.line}: " in report.error.message
    assert "'part'" in report.error.message
    assert ("the backward of" in report.error.message) == (report.error.phase == "backward")


_NOT_MASKS = {"nan_replaced", "overflow_that_is_bounded"}  # made, and replaced afterwards


@pytest.mark.parametrize("name", [name for name in LEGITIMATE if name not in _NOT_MASKS])
def test_assert_finite_of_operators_accepts_masks(name, asserting):
    report = stopped(Net(LEGITIMATE[name]), asserting)
    assert report.error is None, report.error.message


@pytest.mark.parametrize("kind", MODULES)
def test_assert_finite_of_operators_accepts_modules_that_keep_inf(kind, asserting):
    net = Net(torch.relu)
    net.part = kind()
    assert stopped(net, asserting).error is None


def stopped(net, config, dtype=torch.float32):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return hookcli.grads(net, batch(dtype), config=config)


def test_every_reason_can_be_said():
    for reason in REASONS.values():
        names = set(re.findall(r"{(\w+)}", reason.clause))
        assert names <= {"op", "low", "high", "values", "limit", "dtype", "name"}
        assert reason.advice[0].islower()
