"""What a hook changed: the statistics of each changed tensor before and after, by plain PyTorch."""

from __future__ import annotations

import copy
import dataclasses
import json
import math

import pytest
import torch
from torch import nn

from hookcli.engine.attempt import Session
from hookcli.report.encode import to_line
from hookcli.report.events import ChangeRow, EventRow
from hookcli.report.findings import Measurement
from hookcli.report.rows.events import event_row
from hookcli.report.sinks import StreamedSink
from hookcli.spec.hooks import FunctionRef, Match, Selector
from hookcli.spec.inputs import parse_inputs
from hookcli.spec.request import Attempt, ModelSpec, Spec
from hookcli.worker.verify_neutral import PROBE, verified
from tests.formats import fabricate
from tests.hooks.running import finished, hook, spec_of

X = torch.linspace(-1.0, 2.0, 20).reshape(4, 5)


def net() -> nn.Sequential:
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(5, 3), nn.Tanh(), nn.Linear(3, 2))


class Two(nn.Module):
    """Returns a dictionary, or what `make` makes of it."""

    def __init__(self, make=lambda a, b: {"a": a, "b": b}) -> None:
        super().__init__()
        self.make = make

    def forward(self, x):
        return self.make(x * 2, x + 1)


class Around(nn.Module):
    """Runs `inner` and adds up the tensors of its result."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.fc, self.inner = nn.Linear(5, 5), inner

    def forward(self, x):
        out = self.inner(self.fc(x))
        values = out.values() if isinstance(out, dict) else out
        return sum(value.float().sum() for value in values)


def figures(tensor: torch.Tensor) -> dict[str, float]:
    """The figures of `stats`, each by the operator of torch that is named like it."""
    values = tensor.detach().double()
    return {
        "numel": values.numel(),
        "norm": values.norm().item(),
        "mean": values.mean().item(),
        "std": values.std().item(),
        "min": values.min().item(),
        "max": values.max().item(),
        "abs_max": values.abs().max().item(),
        "zeros": int((values == 0).sum()),
        "nans": 0,
        "infs": 0,
    }


def close(measured, tensor: torch.Tensor) -> None:
    """Require that statistics are those of a tensor."""
    assert measured == pytest.approx(figures(tensor), rel=1e-5, abs=1e-6)


def written(tmp_path, body: str) -> tuple[str, FunctionRef]:
    """The action that calls a function of *given with this body."""
    file = tmp_path / "written.py"
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    file.write_text(f"import torch\n\n\ndef change(*given):\n{lines}", encoding="utf-8")
    return ("call", FunctionRef(f"{file}:change", "native"))


def events(model, hooks, x=X, **how) -> list[EventRow]:
    return [event_row(note) for note in finished(model, x, hooks, **how).events]


def changes(model, hooks, x=X, **how) -> tuple[ChangeRow, ...]:
    """What the only event of a run changed."""
    (event,) = events(model, hooks, x, **how)
    return event.changes or ()


def test_a_clipped_gradient_has_the_plain_norm_before_and_the_limit_after():
    plain = net()
    plain(X).sum().backward()
    gradient = plain[0].weight.grad
    assert gradient.norm() > 1
    (row,) = changes(net(), [hook("tensor", "0.weight", ("clip_norm", 1.0))])
    close(row.before, gradient)
    close(row.after, gradient / (gradient.norm() + 1e-6))
    assert row.after["norm"] == pytest.approx(1.0, rel=1e-5)
    assert (row.path, row.shapes, row.dtypes) == ("", None, None)


def test_statistics_are_those_at_their_place_in_the_list(tmp_path):
    """Also if a later function drops what they were computed of."""
    plain = net()
    plain(X).sum().backward()
    drop = written(tmp_path, "given[0].grad = None")
    (event,) = events(net(), [hook("post_accumulate_grad", "0.weight", "stats", drop)])
    (value,) = event.values
    assert value.shape == (3, 5)
    close(value.stats, plain[0].weight.grad)
    (event,) = events(net(), [hook("post_accumulate_grad", "0.weight", drop, "stats")])
    assert event.values == ()
    folder = tmp_path / "halve"
    folder.mkdir()
    halve = written(folder, "given[0].grad.mul_(0.5)")
    for actions, factor in (("stats", halve), 1.0), ((halve, "stats"), 0.5):
        (event,) = events(net(), [hook("post_accumulate_grad", "0.weight", *actions)])
        close(event.values[0].stats, plain[0].weight.grad * factor)


@pytest.mark.parametrize("first", [True, False])
def test_a_dropped_entry_of_a_dictionary_keeps_its_statistics(tmp_path, first):
    drop = written(tmp_path, "del given[-1]['a']")
    actions = ("stats", drop) if first else (drop, "stats")
    (event,) = events(Around(Two()), [hook("forward", "inner", *actions)])
    assert {value.path for value in event.values} == ({".a", ".b"} if first else {".b"})
    assert all(value.stats for value in event.values)


def test_a_gradient_below_the_limit_has_no_row():
    (event,) = events(net(), [hook("tensor", "0.weight", ("clip_norm", 1e6))])
    assert event.changed == 0.0
    assert event.changes is None


@pytest.mark.parametrize(
    ("action", "by_hand"),
    [
        (("scale", 0.25), lambda t: t * 0.25),
        (("clamp", (-0.1, 0.2)), lambda t: t.clamp(-0.1, 0.2)),
        ("negate", lambda t: -t),
        ("zero", torch.zeros_like),
    ],
)
def test_each_action_at_an_output_has_the_statistics_of_plain_pytorch(action, by_hand):
    output = net()[0](X)
    (row,) = changes(net(), [hook("forward", "0", action)])
    close(row.before, output)
    close(row.after, by_hand(output))


def test_noise_is_measured_as_it_is_added():
    output = net()[0](X)
    model, seen = net(), []
    model[1].register_forward_pre_hook(lambda _module, args: seen.append(args[0].detach().clone()))
    (row,) = changes(model, [hook("forward", "0", ("add_noise", 0.5))])
    close(row.before, output)
    close(row.after, seen[0])


def test_hooks_that_only_observe_have_no_changes(tmp_path):
    look = written(tmp_path, "given[0].norm()")
    hooks = [
        hook("forward", "0", "stats"),
        hook("tensor", "0.weight", "record", index=1),
        hook("tensor", "2.weight", look, index=2),
    ]
    rows = events(net(), hooks)
    assert len(rows) == 3
    assert all("changes" not in json.loads(to_line(row)) for row in rows)


# The gradient of the last bias is that of a sum over a batch of four; w is the last weight.
FOUR, EIGHT = torch.full((2,), 4.0), torch.full((2,), 8.0)
OUT, IN = (lambda m: m[0](X)), (lambda m: X)
W = lambda m: m[2].weight  # noqa: E731
GRAD = lambda m: FOUR  # noqa: E731
# kind, at, what a function of *given does, the tensor before by plain PyTorch, and what it becomes
EDITS = [
    ("forward", "0", "given[2].data.mul_(3)", OUT, lambda t: t * 3),
    ("forward_pre", "0", "given[1][0].data.add_(1)", IN, lambda t: t + 1),
    ("tensor", "2.bias", "given[0].mul_(2)", GRAD, lambda t: EIGHT),
    ("accumulate_grad", "2.bias", "given[1][0].mul_(2)", GRAD, lambda t: EIGHT),
    ("post_accumulate_grad", "2.bias", "given[0].grad.mul_(2)", GRAD, lambda t: EIGHT),
    ("post_accumulate_grad", "2.bias", "given[0].grad = given[0].grad * 2", GRAD, lambda t: EIGHT),
    ("state_dict_post", "2", "given[1]['2.weight'].mul_(2)", W, lambda t: t * 2),
    ("state_dict_post", "2", "given[1]['2.weight'] = given[1]['2.weight'] * 2", W, lambda t: t * 2),
    ("state_dict_post", "2", "return {'weight': given[1]['2.weight'] * 2}", W, lambda t: t * 2),
    ("load_state_dict_pre", "2", "given[1]['2.weight'] = given[1]['2.weight'] * 2", W,
     lambda t: t * 2),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "at", "body", "value", "by_hand"), EDITS)
def test_a_function_that_edits_has_the_tensor_before_and_after(
    kind, at, body, value, by_hand, tmp_path
):
    model = net()
    x = X.clone()
    before = value(copy.deepcopy(model))
    after = by_hand(before)
    (event,) = events(model, [hook(kind, at, written(tmp_path, body))], x)
    (row,) = event.changes
    close(row.before, before)
    close(row.after, after)
    assert event.changed == pytest.approx((after - before).norm().item(), rel=1e-5)


def test_a_function_that_edits_and_returns_has_the_tensor_before_the_edit(tmp_path):
    body = "given[2].data.mul_(3)\nreturn given[2] + 1"
    output = net()[0](X)
    (row,) = changes(net(), [hook("forward", "0", written(tmp_path, body))])
    close(row.before, output)
    close(row.after, output * 3 + 1)


def test_a_dtype_that_changes_is_noted_with_both_figures(tmp_path):
    output = net()[0](X)
    (event,) = events(
        net()[:1], [hook("forward", "0", written(tmp_path, "return given[2].half()"))]
    )
    (row,) = event.changes
    assert row.dtypes == ("float32", "float16")
    assert row.shapes is None
    close(row.before, output)
    close(row.after, output.half())
    assert event.changed == pytest.approx((output.half() - output).norm().item(), rel=1e-4)


def test_a_dtype_that_changes_no_value_is_noted(tmp_path):
    (event,) = events(
        net()[:1], [hook("forward", "0", written(tmp_path, "return given[2].double()"))]
    )
    assert event.changed == 0.0
    assert event.changes[0].dtypes == ("float32", "float64")
    assert event.changes[0].before == event.changes[0].after


def test_a_shape_that_changes_is_noted_although_no_difference_is_known(tmp_path):
    output = net()[0](X)
    (event,) = events(net()[:1], [hook("forward", "0", written(tmp_path, "return given[2][:1]"))])
    assert event.changed is None
    (row,) = event.changes
    assert row.shapes == ((4, 3), (1, 3))
    assert row.dtypes is None
    close(row.before, output)
    close(row.after, output[:1])


def test_of_several_tensors_only_the_changed_one_has_a_row(tmp_path):
    model = Around(Two())
    before = model.fc(X) + 1
    body = "return {**given[2], 'b': given[2]['b'] * 0.5}"
    (row,) = changes(model, [hook("forward", "inner", written(tmp_path, body))])
    assert row.path == ".b"
    close(row.before, before)
    close(row.after, before * 0.5)


def test_a_dictionary_that_is_changed_and_returned_has_its_tensors_before(tmp_path):
    model = Around(Two())
    before = model.fc(X) * 2
    body = "given[2]['a'] = given[2]['a'] * 0.5\nreturn given[2]"
    recording = finished(model, X, [hook("forward", "inner", written(tmp_path, body))])
    (event,) = [event_row(note) for note in recording.events]
    (row,) = event.changes
    assert recording.findings == []
    assert row.path == ".a"
    close(row.before, before)
    close(row.after, before * 0.5)
    assert event.changed == pytest.approx((before * 0.5).norm().item(), rel=1e-5)


def test_tensors_that_are_added_or_removed_have_one_side_only(tmp_path):
    model = Around(Two())
    before = model.fc(X) + 1
    body = "return {'a': given[2]['a'], 'c': given[2]['b']}"
    (event,) = events(model, [hook("forward", "inner", written(tmp_path, body))])
    gone, new = sorted(event.changes, key=lambda row: row.path)
    assert event.changed is None
    assert (gone.path, gone.after, gone.shapes) == (".b", None, ((4, 5), None))
    assert (new.path, new.before, new.dtypes) == (".c", None, (None, "float32"))
    close(gone.before, before)
    close(new.after, before)


def test_a_tensor_instead_of_a_tuple_of_one_is_compared_with_it(tmp_path):
    (row,) = changes(net(), [hook("forward_pre", "0", written(tmp_path, "return given[1][0] * 2"))])
    assert row.path == ""
    close(row.before, X)
    close(row.after, X * 2)


def test_a_tensor_with_nan_that_stays_has_no_row(tmp_path):
    class WithNan(Two):
        def forward(self, x):
            return {"a": x * math.nan, "b": x + 1}

    model = Around(WithNan())
    before = model.fc(X) + 1
    body = "given[2]['b'].data.mul_(0.5)"
    (event,) = events(model, [hook("forward", "inner", written(tmp_path, body))])
    (row,) = event.changes
    assert row.path == ".b"
    assert event.changed == pytest.approx((before * 0.5).norm().item(), rel=1e-5)


def test_nan_that_a_hook_makes_is_counted_after_and_not_before(tmp_path):
    body = "new = given[0].clone()\nnew[0] = float('nan')\nreturn new"
    (row,) = changes(net(), [hook("tensor", "2.bias", written(tmp_path, body))])
    assert (row.before["nans"], row.after["nans"]) == (0, 1)
    assert row.after["norm"] == "nan"
    assert row.after["finite"]["norm"] == 4.0


def test_saved_tensors_are_compared_when_they_are_packed_and_unpacked(tmp_path):
    file = tmp_path / "pair.py"
    file.write_text(
        "def pack(tensor):\n    return tensor.half()\n\n\n"
        "def unpack(packed):\n    return packed.float()\n",
        encoding="utf-8",
    )
    refs = {name: FunctionRef(f"{file}:{name}") for name in ("pack", "unpack")}
    output = torch.tanh(net()[0](X))  # what tanh saves
    packed, unpacked = events(net(), [hook("saved_tensors", "1", ("call", refs))])
    assert packed.changes[0].dtypes == ("float32", "float16")
    close(packed.changes[0].before, output)
    close(packed.changes[0].after, output.half())
    assert unpacked.changes[0].dtypes == ("float16", "float32")
    assert unpacked.changed == 0.0


@pytest.mark.parametrize(
    "body",
    [
        "for p in given[0].param_groups[0]['params'][2:3]:\n    p.grad.mul_(0.5)",
        "for p in given[0].param_groups[0]['params'][2:3]:\n    p.grad = p.grad * 0.5",
        "for p in given[0].param_groups[0]['params'][2:3]:\n    p.grad = p.grad * 0.5\n"
        "return given[1], given[2]",
    ],
)
def test_gradients_that_an_optimizer_hook_changes_are_found(body, tmp_path):
    plain = net()
    plain(X).sum().backward()
    gradient = plain[2].weight.grad
    (event,) = events(net(), [hook("optimizer_step_pre", None, written(tmp_path, body))])
    (row,) = event.changes
    assert row.path == '["2.weight"]'
    close(row.before, gradient)
    close(row.after, gradient * 0.5)
    assert event.changed == pytest.approx(gradient.norm().item() * 0.5, rel=1e-5)


@pytest.mark.parametrize("how", ["p.data = p.data * 0.5", "p.data.mul_(0.5)"])
def test_parameters_that_a_hook_changes_after_a_step_are_found(how, tmp_path):
    plain = net()
    plain(X).sum().backward()
    torch.optim.SGD(plain.parameters(), lr=0.01).step()
    body = f"p = given[0].param_groups[0]['params'][1]\n{how}"
    (row,) = changes(net(), [hook("optimizer_step_post", None, written(tmp_path, body))])
    assert row.path == '["0.bias"]'
    close(row.before, plain[0].bias)
    close(row.after, plain[0].bias * 0.5)


def test_an_operators_output_is_compared_with_what_replaces_it():
    product = net()[0](X)
    at = Selector((Match("", op="aten.tanh"),), "aten.tanh")
    (row,) = changes(net(), [hook("op", at, ("scale", 2.0))])
    close(row.before, torch.tanh(product))
    close(row.after, torch.tanh(product) * 2)


def test_a_recorded_change_survives_a_file(tmp_path):
    (event,) = events(net()[:1], [hook("forward", "0", written(tmp_path, "return given[2][:1]"))])
    (change,) = json.loads(to_line(event))["changes"]
    assert change["shapes"] == [[4, 3], [1, 3]]
    assert "dtypes" not in change
    assert change["after"] == event.changes[0].after


def test_a_stream_has_the_changes(tmp_path):
    found = finished(net(), X, [hook("forward", "0", ("scale", 2.0))])
    sink = StreamedSink(str(tmp_path / "events.jsonl"))
    for note in found.events:
        sink.add(note)
    sink.close(found)
    (change,) = json.loads((tmp_path / "events.jsonl").read_text())["changes"]
    close(change["after"], net()[0](X) * 2)


@pytest.mark.parametrize(("tensors", "known"), [("real", True), ("fake", False)])
def test_a_fake_run_knows_no_values_and_has_no_changes(tensors, known, tmp_path):
    file = tmp_path / "net.py"
    file.write_text(
        "from torch import nn\n\n\nclass Net(nn.Linear):\n    def __init__(self):\n"
        "        super().__init__(5, 3)\n"
    )
    spec = Spec(
        "trace",
        ModelSpec(str(file)),
        inputs=parse_inputs(("4x5",)),
        hooks=(hook("forward", "", ("scale", 2.0)),),
    )
    report = Session(spec, Attempt(tensors), lambda *_: None).run().report
    (event,) = report.events
    assert (event.changed is not None) is known
    assert (event.changes is not None) is known


def test_a_hook_that_changes_a_shape_is_not_neutral_on_purpose():
    cut = ChangeRow("", None, None, ((4, 3), (1, 3)))
    fired = EventRow(0, 0, "forward", "forward", "fc", 0, None, 0, changes=(cut,))
    digest = Measurement(PROBE, "output", None, "a", None)
    bare = fabricate.report("trace", events=(), measurements=(digest,))
    hooked = dataclasses.replace(
        bare, events=(fired,), measurements=(dataclasses.replace(digest, value="b"),)
    )
    spec = spec_of([hook("forward", "fc", ("call", FunctionRef("hooks.py:cut")))])
    (check,) = verified(spec, hooked, lambda _: bare).checks
    assert check.status == "skip"
    assert check.message.startswith("hooks change values on purpose")
    silent = dataclasses.replace(hooked, events=(dataclasses.replace(fired, changes=None),))
    assert verified(spec, silent, lambda _: bare).checks[0].status == "fail"
