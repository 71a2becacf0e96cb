"""`hookcli.attach`: hooks in a training loop of the user's own."""

from __future__ import annotations

import gc
import json
import sys
import threading
import weakref

import pytest
import torch
from torch import nn
from torch.nn.modules import module as modules
from torch.utils.checkpoint import checkpoint

import hookcli
from hookcli.engine.loop.attached import Attached
from hookcli.engine.neutrality.model_state import room_for_hooks
from hookcli.errors import RequestError
from tests.hooks.running import hook, spec_of

DICTIONARIES = [name for name in vars(nn.Module()) if "hooks" in name]
GLOBALS = [name for name in vars(modules) if name.startswith("_global_")]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.act, self.b = nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2)

    def forward(self, x):
        return self.b(self.act(self.a(x)))


def net():
    torch.manual_seed(0)
    return Net()


def batch():
    return torch.ones(3, 4)


def attach(model, *hooks, command="trace", optimizers=(), scaler=None, **how):
    """As hookcli.attach, with hooks that are made here."""
    numbered = [
        hook(*one, index=i) if isinstance(one, tuple) else one for i, one in enumerate(hooks)
    ]
    spec = spec_of(numbered, command=command)
    return Attached(
        model, spec, optimizers=optimizers, scaler=scaler, shown=lambda report: report, **how
    )


def hooks_of(model):
    """All that stands on a model and in torch's global tables."""
    per_module = [
        (n, d, dict(getattr(m, d))) for n, m in model.named_modules() for d in DICTIONARIES
    ]
    flags = [m._is_full_backward_hook for m in model.modules()]
    tensors = [
        (n, dict(p._backward_hooks or {}), dict(p._post_accumulate_grad_hooks or {}))
        for n, p in model.named_parameters()
    ]
    tables = []
    for name in GLOBALS:
        value = getattr(modules, name)
        tables.append((name, dict(value) if hasattr(value, "items") else value))
    return per_module, flags, tensors, tables


def fired(recording, *fields):
    return [tuple(getattr(e, f) for f in fields) for e in recording.events]


EVERYTHING = (
    ("forward_pre", "*"), ("forward", "*"), ("full_backward", "b"), ("tensor", "*:output"),
    ("tensor", "*"), ("post_accumulate_grad", "*"), ("accumulate_grad", "*"), ("multi_grad", "a.*"),
    ("node", "*:input"), ("node", "b"), ("global_forward", None), ("global_full_backward", None),
    ("saved_tensors", "a"),
)  # fmt: skip


def test_a_step_closes_with_the_optimizer_that_was_named():
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with hookcli.attach(model, optimizer=optimizer) as recording:
        for _ in range(3):
            optimizer.zero_grad()
            model(batch()).sum().backward()
            optimizer.step()
    report = recording.report()
    assert report.run.steps == 3
    each = [[(e.kind, e.target) for e in report.events if e.step == step] for step in range(3)]
    assert each[0]
    assert each[0] == each[1] == each[2]
    assert {e.call for e in report.events if e.kind == "forward"} == {0}
    assert [row.name for row in report.layers] == ["", "a", "act", "b"]


def test_a_step_closes_where_the_loop_says_so():
    model = net()
    with attach(model, ("forward", "a")) as recording:
        model(batch())
        model(batch())
        recording.step()
        model(batch())
    assert fired(recording, "step", "call") == [(0, 0), (0, 1), (1, 0)]
    assert recording.report().run.steps == 2


def test_accumulated_gradients_belong_to_one_step():
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    wanted = (("forward", "a"), ("post_accumulate_grad", "a.bias"))
    with attach(model, *wanted, optimizers=(optimizer,)) as recording:
        for number in range(4):
            model(batch()).sum().backward()
            if number % 2:
                optimizer.step()
                optimizer.zero_grad()
    assert fired(recording, "step", "phase", "kind") == [
        (step, phase, kind)
        for step in (0, 1)
        for _ in range(2)
        for phase, kind in (("forward", "forward"), ("backward", "post_accumulate_grad"))
    ]


class Gan(nn.Module):
    def __init__(self):
        super().__init__()
        self.generator, self.critic = nn.Linear(2, 4), nn.Linear(4, 1)

    def forward(self, x):
        return self.critic(self.generator(x))


def test_of_several_optimizers_the_loop_closes_the_steps():
    model = Gan()
    both = tuple(torch.optim.SGD(part.parameters(), lr=0.1) for part in model.children())
    wanted = (
        ("optimizer_step_pre", None),
        ("global_optimizer_step_post", None),
        ("forward", "critic"),
    )
    with attach(model, *wanted, optimizers=both) as recording:
        for _ in range(2):
            for optimizer in both:
                optimizer.zero_grad()
                model(torch.ones(3, 2)).sum().backward()
                optimizer.step()
            recording.step()
    each = ["forward", "optimizer_step_pre", "global_optimizer_step_post"] * 2
    assert fired(recording, "step", "kind") == [(s, kind) for s in (0, 1) for kind in each]
    steps = [event for event in recording.events if "optimizer" in event.kind]
    assert {event.phase for event in steps} == {"optimizer"}


def test_a_global_optimizer_hook_does_not_see_another_models_optimizer():
    model, other = net(), net()
    theirs = torch.optim.SGD(other.parameters(), lr=0.1)
    mine = torch.optim.SGD(model.parameters(), lr=0.1)
    with attach(model, ("global_optimizer_step_pre", None), optimizers=(mine,)) as recording:
        theirs.step()
        mine.step()
    assert len(recording.events) == 1


def test_a_closure_runs_forward_and_backward_inside_the_step():
    model = net()
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=2)

    def closure():
        optimizer.zero_grad()
        loss = model(batch()).pow(2).sum()
        loss.backward()
        return loss

    wanted = (("forward", "a"), ("tensor", "a:output"), ("optimizer_step_post", None))
    with attach(model, *wanted, optimizers=(optimizer,)) as recording:
        optimizer.step(closure)
    assert {(e.kind, e.phase) for e in recording.events} == {
        ("forward", "forward"), ("tensor", "backward"), ("optimizer_step_post", "optimizer"),
    }  # fmt: skip
    assert {event.step for event in recording.events} == {0}


def test_after_a_step_that_raised_the_phases_are_right():
    class Broken(torch.optim.SGD):
        def step(self, closure=None):
            raise ValueError("no")

    model = net()
    optimizer = Broken(model.parameters(), lr=0.1)
    with attach(model, ("forward", "a"), optimizers=(optimizer,)) as recording:
        with pytest.raises(ValueError, match="no"):
            optimizer.step()
        model(batch())
    assert fired(recording, "phase") == [("forward",)]


def test_autocast_is_seen_as_it_computes():
    model = net()
    with attach(
        model, ("forward", "a"), ("tensor", "a:output"), ("tensor", "a.weight")
    ) as recording:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = model(batch()).sum()
        loss.backward()
    dtypes = [(event.target, event.values[0][2]) for event in recording.events]
    assert dtypes == [("a", "bfloat16"), ("a:output", "bfloat16"), ("a.weight", "float32")]


def scaled_loop(with_optimizer):
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=1)
    wanted = (("tensor", "b:output", "stats"), ("optimizer_step_pre", None, "stats"))
    given = (optimizer,) if with_optimizer else ()
    with attach(model, *wanted, optimizers=given, scaler=scaler) as recording:
        for _ in range(2):
            optimizer.zero_grad()
            scaler.scale(model(batch()).sum()).backward()
            scaler.step(optimizer)
            scaler.update()
            if not with_optimizer:
                recording.step()
    return recording.report()


@pytest.mark.parametrize("with_optimizer", [True, False])
def test_scaled_gradients_are_labelled_with_their_scale(with_optimizer):
    report = scaled_loop(with_optimizer)
    scales = [e.values[0].stats["max"] for e in report.events if e.kind == "tensor"]
    assert scales == [8.0, 16.0]
    (note,) = report.warnings
    assert "GradScaler multiplied the loss by 8 in step 0, 16 in step 1" in note
    assert "unscaled" in note
    before = [e for e in report.events if e.kind == "optimizer_step_pre"]
    bias = [[v.stats["max"] for v in e.values if "b.bias" in v.path] for e in before]
    assert bias == ([[3.0], [3.0]] if with_optimizer else [])


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("where", ["forward", "backward", "loop"])
def test_an_exception_leaves_no_hooks(error, where):
    model = net()
    mine = model.a.register_forward_hook(lambda *_: None)
    before, limit = hooks_of(model), sys.getrecursionlimit()

    def fail(*_):
        raise error("stop")

    with pytest.raises(error), attach(model, *EVERYTHING):
        if where == "forward":
            model.act.register_forward_pre_hook(fail)
        out = model(batch().requires_grad_())
        if where == "backward":
            out.register_hook(fail)
        out.sum().backward()
        if where == "loop":
            raise error("stop")
    model.act._forward_pre_hooks.clear()
    assert hooks_of(model) == before
    assert sys.getrecursionlimit() == limit
    assert mine.id in model.a._forward_hooks
    model(batch()).sum().backward()


def test_an_interrupted_loop_is_not_told_that_its_hooks_never_fired():
    recording = attach(net(), ("forward", "a"))
    with pytest.raises(KeyboardInterrupt), recording:
        raise KeyboardInterrupt
    assert recording.report().checks == ()
    with attach(net(), ("forward", "a")) as quiet:
        pass
    (finding,) = quiet.report().checks
    assert finding.rule == "hooks_fired"


def test_a_loop_goes_on_after_an_interrupt_that_it_caught():
    model = net()
    with attach(model, ("forward", "*")) as recording:
        handle = model.act.register_forward_pre_hook(lambda *_: exec("raise KeyboardInterrupt"))
        with pytest.raises(KeyboardInterrupt):
            model(batch())
        handle.remove()
        recording.step()
        model(batch())
    assert fired(recording, "target", "step") == [("a", 0), ("a", 1), ("act", 1), ("b", 1), ("", 1)]


def test_the_users_own_hooks_stay_and_fire():
    model, seen = net(), []
    handles = [
        model.a.register_forward_hook(lambda *_: seen.append("forward")),
        model.a.register_full_backward_hook(lambda *_: seen.append("full")),
        model.a.weight.register_hook(lambda _: seen.append("tensor")),
        model.a.weight.register_post_accumulate_grad_hook(lambda _: seen.append("post")),
    ]
    before = hooks_of(model)
    with attach(model, *EVERYTHING):
        model(batch().requires_grad_()).sum().backward()
    assert hooks_of(model) == before
    assert sorted(seen) == ["forward", "full", "post", "tensor"]
    model(batch().requires_grad_()).sum().backward()
    assert len(seen) == 8
    for handle in handles:
        handle.remove()


def test_events_are_those_of_hooks_registered_by_hand():
    def loop(model):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            model(batch()).sum().backward()
            optimizer.step()

    by_hand, model = [], net()
    for name, module in model.named_modules():
        module.register_forward_pre_hook(lambda *_, n=name: by_hand.append(("forward_pre", n)))

        def forward(_module, _args, output, name=name):
            by_hand.append(("forward", name))
            output.register_hook(lambda _: by_hand.append(("tensor", f"{name}:output")))

        module.register_forward_hook(forward)
    for name, parameter in model.named_parameters():
        parameter.register_post_accumulate_grad_hook(
            lambda _, n=name: by_hand.append(("post_accumulate_grad", n))
        )
    loop(model)
    other = net()
    with hookcli.attach(other) as recording:
        loop(other)
    assert fired(recording, "kind", "target") == by_hand
    for mine, theirs in zip(other.parameters(), model.parameters(), strict=True):
        assert torch.equal(mine, theirs)


def test_kinds_that_the_loop_cannot_place_itself_fire_as_well():
    model = net()
    wanted = (("op", None), ("engine_callback", None), ("saved_tensors", None))
    with attach(model, *wanted) as recording:
        for _ in range(2):
            (model(batch()) + model(batch())).sum().backward()
            recording.step()
    kinds = fired(recording, "step", "kind")
    assert kinds.count((0, "engine_callback")) == kinds.count((1, "engine_callback")) == 1
    assert recording.events[-1].kind == "engine_callback"
    ops = [event.node for event in recording.events if event.kind == "op" and event.step == 0]
    assert ops.count("aten.relu") == ops.count("aten.threshold_backward") == 2
    assert {e.phase for e in recording.events if e.kind == "saved_tensors"} == {
        "forward",
        "backward",
    }


# What must not be kept alive: by name, the hooks and what is held by weak reference.

LEAKS = {
    "a tensor hook on an intermediate": (("tensor", "a:output", "stats"),),
    "a tensor hook on an input": (("tensor", "b:input", "stats"),),
    "a node's hook": (("node", "a", "record"), ("node_pre", "a", "record")),
    "a module's share": (("node", "*:input", "stats"),),
    "several tensors": (("multi_grad", "*:output"), ("multi_grad", "a.*")),
    "post_accumulate_grad": (("post_accumulate_grad", "*", "stats"),),
    "accumulate_grad": (("accumulate_grad", "*", "stats"),),
    "a parameter's hook": (("tensor", "*", "stats"),),
    "saved tensors": (("saved_tensors", None),),
    "saved tensors of a module": (("saved_tensors", "a"),),
    "module hooks": (("forward_pre", "*"), ("forward", "*"), ("full_backward", "*")),
    "engine callback": (("engine_callback", None),),
    "operators": (("op", None, "stats"),),
    "everything": EVERYTHING,
}


@pytest.fixture
def no_collection():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("backward", [True, False], ids=["used graph", "unused graph"])
@pytest.mark.parametrize("name", LEAKS)
def test_tensors_of_a_step_die_with_it_without_a_collection(name, backward, no_collection):
    model = net()
    held = []
    model.a.register_forward_hook(lambda _m, _a, out: held.append(weakref.ref(out)))
    with attach(model, *LEAKS[name]) as recording:
        for _ in range(2):
            x = batch().requires_grad_()
            held.append(weakref.ref(x))
            out = model(x)
            held.append(weakref.ref(out))
            if backward:
                out.sum().backward()
            del x, out
            recording.step()
            alive = [ref for ref in held if ref() is not None]
            if alive:  # torch's own full backward hooks make cycles that a collection frees
                gc.collect()
            assert [ref for ref in held if ref() is not None] == []


@pytest.mark.parametrize("name", LEAKS)
def test_the_model_dies_with_the_recording(name):
    model = net()
    with attach(model, *LEAKS[name]) as recording:
        model(batch().requires_grad_()).sum().backward()
    held = [weakref.ref(m) for m in model.modules()] + [weakref.ref(p) for p in model.parameters()]
    del model, recording
    gc.collect()
    assert [ref for ref in held if ref() is not None] == []


@pytest.mark.parametrize("name", LEAKS)
def test_a_graph_that_the_user_keeps_fires_nothing_afterwards(name):
    model = net()
    with attach(model, *LEAKS[name]) as recording:
        out = model(batch().requires_grad_())
    count = len(recording.events)
    out.sum().backward()
    assert len(recording.events) == count


def test_a_loop_that_never_steps_lets_go_of_graphs_that_told_all(no_collection):
    model = net()
    held = []
    with attach(model, ("node", "*:input")) as recording:
        for _ in range(5):
            out = model(batch().requires_grad_())
            held.append(weakref.ref(out))
            out.sum().backward()
        del out
        assert len([ref for ref in held if ref() is not None]) <= 1
    assert len(recording.events) == 5 * 4


def test_a_loop_that_only_runs_forward_does_not_grow():
    model = net()
    with attach(model, ("node", "*:input"), ("tensor", "*:output")) as recording:
        for _ in range(200):
            model(batch().requires_grad_())
        assert sum(map(len, recording._clock.calls._passes._by_key.values())) <= 64 * 4
        assert len(recording._hooks.engine._attachments.calls._shares) <= 64 * 4
        assert len(recording.report().layers) == 64 * 4
    assert recording.report().run.steps == 1


def test_two_attaches_at_once_see_their_own_model():
    first, second = net(), net()
    wanted = (("global_forward", None), ("tensor", "*:output"), ("forward", "a"))
    limit, before = sys.getrecursionlimit(), (hooks_of(first), hooks_of(second))
    one, two = attach(first, *wanted), attach(second, *wanted)
    one.__enter__()
    two.__enter__()
    first(batch()).sum().backward()
    mine = len(one.events)
    assert mine
    assert not two.events
    second(batch()).sum().backward()
    one.__exit__(None, None, None)
    second(batch()).sum().backward()
    two.__exit__(None, None, None)
    assert (len(one.events), len(two.events)) == (mine, 2 * mine)
    assert sys.getrecursionlimit() == limit
    assert (hooks_of(first), hooks_of(second)) == before


def test_two_attaches_on_one_model_both_see_it():
    model = net()
    before = hooks_of(model)
    with attach(model, ("forward", "*")) as one, attach(model, ("forward", "*")) as two:
        model(batch())
    assert fired(one, "target") == fired(two, "target") == [("a",), ("act",), ("b",), ("",)]
    assert hooks_of(model) == before


def test_recursion_limits_that_are_raised_in_turn_come_back():
    limit = sys.getrecursionlimit()
    one, two = room_for_hooks(), room_for_hooks()
    one.__enter__()
    two.__enter__()
    one.__exit__(None, None, None)
    two.__exit__(None, None, None)
    assert sys.getrecursionlimit() == limit


def test_a_loop_in_a_thread_is_followed():
    model, found = net(), []

    def loop():
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with attach(
            model, ("forward", "*"), ("tensor", "*:output"), optimizers=(optimizer,)
        ) as recording:
            for _ in range(2):
                model(batch()).sum().backward()
                optimizer.step()
        found.append(recording)

    thread = threading.Thread(target=loop)
    thread.start()
    thread.join()
    (recording,) = found
    names = ["a", "act", "b", ""]
    back = ["b:output", ":output", "act:output", "a:output"]
    events = fired(recording, "step", "target")
    for step in (0, 1):
        assert [target for s, target in events if s == step][:4] == names
        assert sorted(t for s, t in events if s == step and ":" in t) == sorted(back)


def test_a_model_attached_here_may_run_in_a_thread():
    model = net()
    with attach(model, ("forward", "*")) as recording:
        thread = threading.Thread(target=lambda: model(batch()))
        thread.start()
        thread.join()
    assert fired(recording, "target") == [("a",), ("act",), ("b",), ("",)]


@pytest.mark.parametrize("reentrant", [True, False])
def test_what_a_checkpoint_runs_again_is_marked_in_every_step(reentrant):
    class Checked(Net):
        def forward(self, x):
            return self.b(checkpoint(self.a, x, use_reentrant=reentrant))

    model = Checked()
    with attach(model, ("forward_pre", "a"), ("tensor", "a:output")) as recording:
        for _ in range(2):
            model(batch().requires_grad_()).sum().backward()
            recording.step()
    for step in (0, 1):
        events = [e for e in recording.events if e.step == step]
        pre = [(e.call, e.recomputed, e.phase) for e in events if e.kind == "forward_pre"]
        assert pre == [(0, False, "forward"), (0, True, "backward")]
        assert [e.call for e in events if e.kind == "tensor"] == [0]


def test_a_report_may_be_asked_for_at_any_time():
    model = net()
    with hookcli.attach(model, command="grads") as recording:
        empty = recording.report()
        assert (empty.events, empty.layers, empty.run.steps) == ((), (), 0)
        model(batch()).sum().backward()
        during = recording.report()
        assert [row.status for row in during.parameters] == ["ok"] * 4
        recording.step()
        model(batch()).sum().backward()
    after = recording.report()
    assert (during.run.steps, after.run.steps) == (1, 2)
    assert len(after.events) == 2 * len(during.events)
    assert after.warnings == during.warnings
    assert recording.report() is after
    assert len(after.layers) == len(during.layers) == 4
    figures = {row.name: row.grad["norm"] for row in after.parameters}
    for name, parameter in model.named_parameters():
        assert figures[name] == pytest.approx(float(parameter.grad.norm()), rel=1e-5)


def test_events_are_streamed_as_they_happen(tmp_path):
    model, file = net(), tmp_path / "events.jsonl"
    with hookcli.attach(model, stream=file) as recording:
        model(batch())
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        assert [(e["kind"], e["target"]) for e in lines][:3] == [
            ("forward_pre", ""), ("forward_pre", "a"), ("forward", "a"),
        ]  # fmt: skip
        assert recording.events == []
        assert recording.report().events.count == 8
    report = recording.report()
    assert report.events.file == str(file)
    assert report.events.count == len(file.read_text().splitlines()) == 8


def test_of_more_events_than_are_kept_the_rest_is_counted():
    model = net()
    with attach(model, ("forward", "*"), most=6) as recording:
        for _ in range(3):
            model(batch())
    report = recording.report()
    assert len(report.events) == 6
    assert [w for w in report.warnings if "6 events after the first 6 were dropped" in w]


def test_what_is_no_module_is_refused():
    with pytest.raises(RequestError) as found:
        hookcli.attach(Net)
    assert "expected an nn.Module, got type" in str(found.value)
