"""The parts of a run, called with plain values: states that are restored, lines, operators."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from hookcli.engine.first_non_finite.birth import Birth, first_of
from hookcli.engine.first_non_finite.initial_state import InitialState, TensorCopies
from hookcli.engine.first_non_finite.second_run import SecondRun, TensorNames, measurement_of
from hookcli.engine.first_non_finite.tracker import Tracker
from hookcli.engine.first_non_finite.triggers import Trigger
from hookcli.engine.gradient_path import source_lines
from hookcli.engine.gradient_path.tracer import GradientTracer, _floats
from hookcli.engine.hook_engine.errors import acquit, explain
from hookcli.engine.loop.clock import Scales
from hookcli.engine.neutrality.containers import Objects, Tensors
from hookcli.engine.neutrality.model_state import ModelState
from hookcli.engine.probes.context import LostGradients
from hookcli.engine.probes.gradients.cuts import cuts
from hookcli.engine.probes.rerun import Rerun
from hookcli.models.backend import backend_of
from hookcli.models.batch import as_batch
from hookcli.operators.arguments import before, contributes, written_to
from hookcli.operators.reasons import Operation, why
from hookcli.report.findings import HookFault
from hookcli.report.recording import Failure
from hookcli.spec.plan import plan
from hookcli.spec.request import DistributedSpec
from tests.hooks.running import call, hook, spec_of

A = torch.ops.aten
INF, NAN = math.inf, math.nan


def f(*values, dtype=torch.float32):
    return torch.tensor(values, dtype=dtype)


# States -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("new", [torch.ones(5), torch.ones(2, dtype=torch.float64)])
def test_a_tensor_that_got_another_shape_or_dtype_is_put_back(new):
    tensors, tensor = Tensors(), torch.tensor([1.0, 2.0])
    tensors.keep(tensor)
    tensor.data = new
    assert tensors.differ()
    tensors.restore()
    assert torch.equal(tensor, torch.tensor([1.0, 2.0]))


class Cache:
    def __init__(self):
        self.size = 1


class Slotted:
    __slots__ = ("size",)


def test_attributes_that_an_object_got_are_removed():
    objects, cache, slotted = Objects(), Cache(), Slotted()
    slotted.size = 1
    objects.keep([cache, slotted])
    cache.size, cache.last, slotted.size = 2, 3, 2
    objects.restore()
    assert vars(cache) == {"size": 1}
    assert slotted.size == 2  # it has no dictionary


def test_few_objects_are_kept(monkeypatch):
    monkeypatch.setattr("hookcli.engine.neutrality.containers._MOST", 2)
    objects, caches = Objects(), [Cache() for _ in range(3)]
    objects.keep(caches)
    for cache in caches:
        cache.size = 2
    objects.restore()
    assert sorted(cache.size for cache in caches) == [1, 2, 2]  # the list is one of them


def test_a_parameter_that_was_frozen_or_thawed_is_put_back():
    net = nn.Linear(2, 2)
    net.bias.requires_grad_(False)
    state = ModelState(net)
    net.weight.requires_grad_(False)
    net.bias.requires_grad_(True)
    assert state.restore() == []
    assert (net.weight.requires_grad, net.bias.requires_grad) == (True, False)


def test_the_values_of_a_model_without_python_state_are_put_back():
    net = nn.BatchNorm1d(2)
    state = TensorCopies(backend_of(net), parameters=True)
    nn.init.zeros_(net.weight)
    net.running_mean.fill_(7.0)
    state.restore()
    assert (net.weight.tolist(), net.running_mean.tolist()) == ([1.0, 1.0], [0.0, 0.0])


def test_the_attributes_that_a_run_made_are_removed_before_a_second_one():
    net = nn.Linear(2, 2)
    net.seen = 0
    state = InitialState(parameters=True)
    assert state.restore() is False
    state.begin(backend_of(net))
    net.seen, net.cache = 5, [1]
    assert state.restore() is True
    assert net.seen == 0
    assert not hasattr(net, "cache")


# Errors and scales --------------------------------------------------------------------------------


def failure(message):
    return Failure("forward", "RuntimeError", message, "model.py:3")


def test_the_blame_of_a_hook_is_taken_back_once():
    found = failure("broken")
    acquit(found)
    assert (found.message, found.place, found.hook) == ("broken", "model.py:3", None)
    error = ValueError()
    fault = HookFault("hooks.yaml:1", "forward", "fc", "raised", "correct it", "hooks.py:4", True)
    explain(found, error, [], SimpleNamespace(raised=(error, fault), fault=None))
    assert found.message == "the hook hooks.yaml:1 at 'fc' raised: broken"
    assert found.place == "hooks.py:4"
    acquit(found)
    assert (found.message, found.place, found.hook) == ("broken", "model.py:3", None)


@pytest.mark.parametrize("wraps", [True, False])
def test_a_view_of_a_hook_is_blamed_only_if_a_hook_of_hookcli_makes_views(wraps):
    message = "Output 0 of BackwardHookFunctionBackward is a view and is being modified inplace."
    spec = SimpleNamespace(place="hooks.yaml:1", kind="full_backward")
    one = SimpleNamespace(spec=spec, kind=SimpleNamespace(wraps_values=wraps))
    found = failure(message)
    explain(found, ValueError(), [one], SimpleNamespace(raised=None, fault=None))
    assert (found.message == message) is not wraps
    assert (found.hook is None) is not wraps


def test_the_scales_of_a_loss_are_noted_if_they_are_not_1():
    scaler = SimpleNamespace(get_scale=lambda: 1.0)
    scales = Scales(scaler)
    scales.note(0)
    assert scales.notes() == []
    scaler.get_scale = lambda: 1024.0
    scales.note(1)
    [note] = scales.notes()
    assert "1024" in note


# Lines that turn gradients off --------------------------------------------------------------------


class Off(nn.Module):
    """Its layer's gradients are lost in one of several ways."""

    def __init__(self, way):
        super().__init__()
        self.fc, self.way = nn.Linear(2, 2), way

    def forward(self, x):
        return getattr(self, self.way)(x) + x

    def block(self, x):
        with torch.inference_mode():
            if x.shape[0]:
                y = self.fc(x)
        return y.clone()

    @torch.inference_mode()
    def decorated(self, x):
        return self.fc(x)

    @torch.no_grad()
    def without(self, x):
        return self.fc(x)

    def long(self, x):
        return torch.tensor(self.fc(x).flatten().tolist() * 600)[: x.numel()].view_as(x)

    def rounded(self, x):
        return self.fc(x).round()


def lost(way):
    net = Off(way)
    model = backend_of(net)
    x = torch.ones(3, 2, requires_grad=True)
    again = Rerun(model, as_batch(x), plan(spec_of((), command="grads")), "cpu")
    names = frozenset({"fc.weight", "fc.bias"})
    which = {"zero": names} if way == "rounded" else {"missing": names}
    return [row.value for row in cuts(again, LostGradients(**which), everything=True)]


def line(text):
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(i for i, one in enumerate(lines, 1) if one.strip().startswith(text))


@pytest.mark.parametrize(
    ("way", "kind", "text"),
    [
        ("block", "inference_mode", "with torch.inference_mode():"),
        ("decorated", "inference_mode", "@torch.inference_mode()"),
        ("without", "no_grad", "@torch.no_grad()"),
        ("long", "tolist", "return torch.tensor(self.fc(x)"),
        ("rounded", "round", "return self.fc(x).round()"),
    ],
)
def test_the_line_that_loses_gradients_is_that_of_the_user(way, kind, text):
    rows = [row for row in lost(way) if isinstance(row, dict) and row.get("place")]
    places = {(row.get("operator"), row["place"].rpartition(":")[2]) for row in rows}
    assert (kind, str(line(text))) in places


def test_the_code_that_nobody_called_has_no_line():
    assert source_lines.of_context(None) is None
    assert source_lines.of_inference_mode(None) == (None, None)
    assert source_lines.custom_function(None) is None


def test_inference_mode_that_begins_elsewhere_has_the_line_of_the_user():
    frame = sys._getframe()
    place, module = source_lines.of_inference_mode(frame)
    assert place.startswith("tests/engine/test_state_parts.py:")
    assert module is None


def test_few_numbers_of_a_list_are_looked_at():
    assert list(_floats([[1.5, 2], (3.5,)])) == [1.5, 3.5]
    assert len(list(_floats([0.5] * 2000))) == 1000


# Operators whose result is not finite -------------------------------------------------------------


def operation(func, *args, **kwargs):
    return Operation(func, args, kwargs, func(*args, **kwargs))


def test_what_a_mask_replaces_does_not_reach_the_result():
    mask = torch.tensor([True, False])
    hidden, shown, fill = f(INF, 1.0), f(1.0, INF), f(INF)[0]
    for values, reaches in ((hidden, False), (shown, True)):
        filled = operation(A.masked_fill.Scalar, values, mask, -INF)
        assert contributes(filled, values) is reaches
        chosen = operation(A.where.self, ~mask, values, f(NAN, NAN))
        assert contributes(chosen, values) is reaches
    filled = operation(A.masked_fill.Tensor, f(1.0, 1.0), mask, fill)
    assert contributes(filled, fill)
    assert contributes(operation(A.mul.Tensor, f(1j, dtype=torch.complex64), hidden), hidden)


def test_the_arguments_of_an_operator_are_those_before_it_wrote():
    first, other = f(1.0), f(2.0)
    args = ([first, other], [f(1.0), f(1.0)])
    kept, _ = before(A._foreach_add_.List, args, {})
    assert written_to(A._foreach_add_.List, args, {}) == [first, other]
    A._foreach_add_.List(*args)
    assert [t.item() for t in (*args[0], *kept[0])] == [2.0, 3.0, 1.0, 2.0]
    assert kept[1] is args[1]


def test_what_is_too_large_for_float64_too_is_no_overflow_of_float32():
    assert why(operation(A.pow.Tensor_Scalar, f(1e38), 20.0)) is None
    assert why(operation(A.pow.Tensor_Scalar, f(1e38), 2.0))[0] == "overflow"


def birth(number, **more):
    known = {"operator": f"aten.op{number}", "written": "", "counts": {"infs": 1}}
    return Birth(number, **known | more)


def test_the_first_birth_is_that_of_a_computed_value():
    assert first_of([]) is None
    assert measurement_of(Trigger("loss", "", ())) is None
    given, made = birth(-1, given=True), birth(3)
    nan = birth(5, counts={"nans": 1}, sources=(made, given))
    assert first_of([nan]) == (made, nan)
    assert first_of([given]) == (given, None)
    found = measurement_of(Trigger("loss", "", (nan,)))
    assert found.value["operator"] == "aten.op3"
    assert found.value["becomes_nan"]["operator"] == "aten.op5"
    assert found.value["from"] is None


def test_the_names_of_tensors_are_those_of_their_memory():
    net, x = nn.BatchNorm1d(2), torch.ones(3, 2)
    names = TensorNames(backend_of(net), as_batch(x))
    assert names.of(x[1:]) == ("input", "[0]")
    assert names.of(net.weight.detach()) == ("parameter", "weight")
    assert names.of(net.running_mean) == ("buffer", "running_mean")
    assert names.of(torch.ones(2)) is None
    sparse = torch.eye(2).to_sparse()
    assert TensorNames(backend_of(net), as_batch(sparse)).of(sparse) is None


def tracked(given=None):
    context = SimpleNamespace(phase="forward", step=0, calls=SimpleNamespace(running=lambda: None))
    return Tracker(context, lambda _: given)


def test_births_are_followed_through_python_and_partly_computed_values():
    with tracked() as tracker:
        zero = torch.zeros(2) * 2
        inf = 1 / zero
        number = inf[0].item()
        again = torch.ones(2) * number
        half = torch.cat([inf[:1], torch.full((1,), 1e38)])
        both = half * 1e10
    assert [one.operator for one in tracker.births_of(again)] == ["aten.reciprocal"]
    assert [one.operator for one in tracker.births_of(both)] == [
        "aten.reciprocal",
        "aten.mul.Tensor",
    ]
    [strange] = tracker.births_of(f(INF))
    assert (strange.given, strange.reason) == (True, ("outside", {"name": ""}))


def test_a_value_that_was_given_has_its_name():
    x, sparse = f(NAN), f(NAN).to_sparse()
    tracker = tracked(("input", "[0]"))
    [found] = tracker.births_of(x)
    assert tracker.births_of(x) == (found,)
    [first], [other] = tracker.births_of(sparse), tracker.births_of(sparse)
    assert first is not other  # it has no memory of its own to be known by
    assert (found.operator, found.reason) == ("[0]", ("input", {"name": "[0]"}))


def test_outputs_that_no_operator_made_are_cut_at_their_call():
    net = nn.Linear(2, 2)
    tracer = GradientTracer(backend_of(net))
    made = {
        "order": 0,
        "module": net,
        "name": "fc",
        "type": "Linear",
        "place": "model.py:1",
        "parent": None,
    }
    one = SimpleNamespace(**made, sequence=0)
    x = torch.ones(1, 2)
    tracer.enter(one, ((x,), {}))
    unseen = torch.ones(1, 2)
    tracer.leave(one, unseen, None)
    [cut] = tracer.cuts
    assert (cut.kind, cut.layer, cut.place) == ("operator", "fc", "model.py:1")
    assert tracer.carried.of(unseen) == cut.bit
    assert tracer.running() is None
    tracer.leave(one, unseen, ValueError())  # its end is seen twice
    assert tracer.running() is None


class Raises(nn.Linear):
    """Raises in the second forward; until then it divides by zero."""

    calls = 0

    def forward(self, x):
        Raises.calls += 1
        if Raises.calls > 1:
            raise ValueError("twice")
        return super().forward(x) / 0.0


class Finite(nn.Linear):
    """Is not finite in the first forward only, which no state of the model tells."""

    calls = 0

    def forward(self, x):
        Finite.calls += 1
        return super().forward(x) / (0.0 if Finite.calls == 1 else 1.0)


def second(model, *hooks, batch=None, kept=True, **how):
    """What is measured after a run of the model that was not finite."""
    type(model).calls = 0
    spec = spec_of(hooks, command="grads", **how)
    initial, known = InitialState(parameters=False), backend_of(model)
    if kept:
        initial.begin(known)
    given = as_batch(torch.ones(2, 2)) if batch is None else batch
    if batch is None:
        model(torch.ones(2, 2))
    [found] = SecondRun(spec, given, initial, None).measure(known, plan(spec), 0)
    return found


OTHERS = DistributedSpec(place="run.distributed", nproc=2)


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"batch": as_batch((iter([1]),))}, "the batch contains an iterator, which one run"),
        ({"batch": as_batch([{"x": [iter([1])]}])}, "the batch contains an iterator, which one"),
        ({"distributed": OTHERS}, "several ranks run together"),
        ({"kept": False}, "the state before the run was not kept"),
        ({}, "a second run raised ValueError"),
    ],
)
def test_a_run_that_cannot_be_repeated_has_a_reason(how, why):
    assert second(Raises(2, 2), **how).value["why"].startswith(why)


def test_a_run_with_functions_of_the_user_is_not_repeated():
    own = hook("forward", "", call("event_none", signature="event"))
    assert second(Raises(2, 2), own).value["why"].startswith("a hook of the run calls a function")


def test_a_second_run_is_as_the_first_or_not():
    found = second(Finite(2, 2)).value["why"]
    assert found == "a second run of the step was finite: the model is not deterministic"

    class Divides(Finite):
        def forward(self, x):
            return nn.Linear.forward(self, x) / 0.0

    found = second(Divides(2, 2)).value
    assert (found["operator"], found["reason"]) == ("aten.div.Tensor", "by_zero")
