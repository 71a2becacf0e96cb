"""The contract of every kind of the catalogue: it attaches, fires in its phase, and is gone."""

from __future__ import annotations

import warnings
from contextlib import ExitStack, contextmanager

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.modules import module as M
from torch.nn.parallel import DistributedDataParallel
from torch.optim import optimizer as O
from torch.overrides import _get_current_function_mode_stack
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack

from hookcli.catalogue.kinds import CATALOGUE
from hookcli.errors import HookcliError
from hookcli.spec.hooks import PackagePattern
from hookcli.torch_private import top_saved_tensors_hooks
from tests.hooks import functions, models
from tests.hooks.running import FUNCTIONS, FunctionRef, call, carry_out, hook

# Where each kind stands on models.Plain, where that is not everywhere.
AT = {
    "module": "head", "every module": None, "parameter": "fc.weight", "node": "head", "run": None,
    "optimizer": None, "package": None,
}  # fmt: skip
MOCKED = (PackagePattern("mock", "numpy", "hooks.yaml:1: run.package.mock"),)


def mocked(kind):
    return MOCKED if kind.name == "package_mock" else ()


# tests/hooks/cuda_graphs holds the same of kinds that fire only on a GPU.
KINDS = [pytest.param(kind, id=name) for name, kind in CATALOGUE.items() if not kind.needs_gpu]


def place(kind):
    if kind.name in {"tensor", "multi_grad"}:
        return "fc.weight"
    return "fc.weight" if kind.name == "accumulate_grad" else AT[kind.target]


def on(kind, *actions, at=None, **more):
    return hook(kind.name, at or place(kind), *actions, **more)


def run(kind, *actions, model=models.plain, **how):
    return carry_out(model, models.batch(), [on(kind, *actions)], package=mocked(kind), **how)


# Attaching and firing


@pytest.mark.parametrize("kind", KINDS)
def test_it_fires_in_its_phases_and_in_no_other(kind):
    found = run(kind)
    assert found.error is None
    assert found.events
    assert {event.kind for event in found.events} == {kind.name}
    assert {event.phase for event in found.events} <= set(kind.phases)
    assert [finding for finding in found.findings if finding.severity == "error"] == []


@pytest.mark.parametrize("kind", KINDS)
def test_what_it_is_given_has_shapes_or_it_says_that_it_is_given_nothing(kind):
    events = run(kind).events
    if kind.value == "nothing":
        assert all(event.values == () for event in events)
    elif kind.name != "module_registration":
        assert any(event.values for event in events)


@pytest.mark.parametrize("kind", KINDS)
def test_the_run_does_what_the_bare_one_does(kind):
    """A hook that only looks changes no gradient and no parameter by a bit."""
    how = {"command": "grads", "run_optimizer": "optimizer" in kind.phases}
    phases = ("optimizer",) if how.pop("run_optimizer") else ()
    bare = [hook("forward_pre", "fc"), *(hook(f"{p}_step_pre", None) for p in phases)]
    expected = carry_out(models.plain, models.batch(), bare, **how).model
    got = run(kind, "record", **how).model
    if kind.name == "op":
        expected = carry_out(models.plain, models.batch(), bare[:1], **how).model
    for one, other in zip(got.parameters(), expected.parameters(), strict=True):
        assert torch.equal(one, other)
        assert torch.equal(one.grad, other.grad)


@pytest.mark.parametrize("kind", KINDS)
def test_one_that_matches_nothing_is_refused_with_its_line(kind):
    if place(kind) is None:
        pytest.skip("it stands on the whole run")
    with pytest.raises(HookcliError) as raised:
        carry_out(models.plain, models.batch(), [on(kind, at="nowhere")])
    assert raised.value.place == "hooks.yaml:1: hooks[0].at  |  at: nowhere"


# Leaving nothing behind


def held(model, *tensors):
    """All places of torch in which a hook can stand."""
    found = {}
    for name, module in model.named_modules():
        for key, value in vars(module).items():
            if "hook" in key:
                found[f"{name}.{key}"] = dict(value) if hasattr(value, "items") else value
    for key, value in vars(M).items():
        if key.startswith("_global_"):
            found[key] = dict(value) if hasattr(value, "items") else value
    found["optimizers"] = (
        dict(O._global_optimizer_pre_hooks),
        dict(O._global_optimizer_post_hooks),
    )
    named = [*model.named_parameters(), *((str(i), t) for i, t in enumerate(tensors))]
    for name, tensor in named:
        found[f"{name} tensor"] = dict(tensor._backward_hooks or {})
        if tensor.is_leaf:
            found[f"{name} post"] = dict(tensor._post_accumulate_grad_hooks or {})
    found["modes"] = (_get_current_dispatch_mode_stack(), _get_current_function_mode_stack())
    found["saved"] = top_saved_tensors_hooks and top_saved_tensors_hooks(True)
    found["grad"] = torch.is_grad_enabled()
    found["group"] = dist.is_initialized()
    return found


class Fails(nn.Module):
    """`models.Plain`, which raises in forward or in backward."""

    def __init__(self, where):
        super().__init__()
        self.where = where
        self.fc, self.act, self.head = nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2)

    def forward(self, x):
        h = self.act(self.fc(x))
        if self.where == "forward":
            raise ValueError("no more")
        if self.where == "backward":
            h.register_hook(self._fail)
        if self.where == "interrupt":
            raise KeyboardInterrupt
        return self.head(h)

    def _fail(self, grad):
        raise ValueError("no more")


@pytest.mark.parametrize("where", ["nowhere", "forward", "backward", "interrupt"])
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_left_behind(kind, where):
    model, x = Fails(where), models.batch().requires_grad_()
    before = held(model, x)
    hooks = [on(kind)]
    if kind.name in {"tensor", "node", "multi_grad"}:
        hooks.append(on(kind, at=":input", index=1))
    if kind.name == "saved_tensors":
        hooks.append(on(kind, at="*", index=1))
    try:
        found = carry_out(model, x, hooks, command="grads")
        assert (found.error is None) == (where == "nowhere")
    except KeyboardInterrupt:
        assert where == "interrupt"
    assert held(model, x) == before


@pytest.mark.parametrize("kind", KINDS)
def test_an_interruption_by_the_hook_itself_leaves_nothing_behind(kind):
    model, x = models.plain(), models.batch().requires_grad_()
    before = held(model, x)
    if kind.family == "registration":
        pytest.skip("it fires while the model is built: there is none yet")
    with pytest.raises(KeyboardInterrupt):
        carry_out(model, x, [on(kind, call("interrupt", "event"))], package=mocked(kind))
    assert held(model, x) == before


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_of_ones_own_afterwards_fires_nothing(kind):
    found = run(kind)
    count, model = len(found.events), found.model
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(models.batch()).sum().backward()
    optimizer.step()
    model.load_state_dict(model.state_dict())
    models.plain()
    assert len(found.events) == count


# What is returned


def test_documented_returns_are_held_for_every_kind_that_replaces():
    assert {name for name, kind in CATALOGUE.items() if kind.replaces} == {*HAND, *LATER}


def modules(register):
    return lambda model, f: getattr(model.head, register)(f)


def nodes(attach):
    """On all nodes that a call of head made."""

    def put(model, f):
        def after(module, args, output):
            before = args[0].grad_fn
            todo = [output.grad_fn]
            while todo:
                node = todo.pop()
                if node not in {None, before} and "AccumulateGrad" not in node.name():
                    attach(node, f)
                    todo += [one for one, _ in node.next_functions]

        return model.head.register_forward_hook(after)

    return put


@contextmanager
def mode(f):
    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            new = f(func, args, kwargs, out)
            return out if new is None else new

    with Mode():
        yield


# kind: (the function of functions.py, how it is attached by hand)
HAND = {
    "forward_pre": ("forward_pre_one", modules("register_forward_pre_hook")),
    "forward": ("forward_half", modules("register_forward_hook")),
    "full_backward_pre": ("grads_half", modules("register_full_backward_pre_hook")),
    "full_backward": ("grads_half", modules("register_full_backward_hook")),
    "backward": ("grads_half", modules("register_backward_hook")),
    "global_forward_pre": (
        "forward_pre_one", lambda _, f: M.register_module_forward_pre_hook(f)
    ),
    "global_forward": ("forward_half", lambda _, f: M.register_module_forward_hook(f)),
    "global_full_backward_pre": (
        "grads_half", lambda _, f: M.register_module_full_backward_pre_hook(f)
    ),
    "global_full_backward": (
        "grads_half", lambda _, f: M.register_module_full_backward_hook(f)
    ),
    "global_backward": ("grads_half", lambda _, f: M.register_module_backward_hook(f)),
    "tensor": ("tensor_half", lambda m, f: m.fc.weight.register_hook(f)),
    "node_pre": ("node_pre_half", nodes(lambda node, f: node.register_prehook(f))),
    "node": ("node_half", nodes(lambda node, f: node.register_hook(f))),
    "saved_tensors": (
        {"pack": "pack_half", "unpack": "unpack_same"},
        lambda _, f: torch.autograd.graph.saved_tensors_hooks(*f),
    ),
    "state_dict_post": ("state_post_edit", lambda m, f: m.head.register_state_dict_post_hook(f)),
    "load_state_dict_pre": (
        "load_pre_edit", lambda m, f: m.head.register_load_state_dict_pre_hook(f)
    ),
    "parameter_registration": (
        "parameter_ones", lambda _, f: M.register_module_parameter_registration_hook(f)
    ),
    "buffer_registration": (
        "buffer_half", lambda _, f: M.register_module_buffer_registration_hook(f)
    ),
    "module_registration": (
        "module_identity", lambda _, f: M.register_module_module_registration_hook(f)
    ),
    "op": ("op_half", lambda _, f: mode(f)),
}  # fmt: skip
LATER = {"ddp_comm": "bucket_half"}


@pytest.fixture(autouse=True)
def _flag():
    """Torch never takes back by itself that there was a global backward hook."""
    before = M._global_is_full_backward_hook
    yield
    M._global_is_full_backward_hook = before


def by_hand(kind, function, attach):
    with ExitStack() as stack, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = None if kind.family == "registration" else models.plain()
        stack.enter_context(attach(model, function))
        model = model or models.plain()
        model(models.batch()).sum().backward()
        model.load_state_dict(model.state_dict())
    return model


@pytest.mark.parametrize("kind", [CATALOGUE[name] for name in HAND], ids=lambda kind: kind.name)
def test_what_a_function_returns_takes_effect_as_by_hand(kind):
    name, attach = HAND[kind.name]
    if isinstance(name, dict):
        function = tuple(getattr(functions, one) for one in name.values())
        action = ("call", {key: FunctionRef(f"{FUNCTIONS}:{one}") for key, one in name.items()})
    else:
        function, action = getattr(functions, name), call(name)
    expected = by_hand(kind, function, attach)
    bare = by_hand(kind, None, lambda *_: ExitStack())
    found = carry_out(models.plain, models.batch(), [on(kind, action)], command="grads")
    assert found.error is None
    assert [one for one in found.findings if one.severity == "error"] == []
    got = found.model
    assert str(got) == str(expected)
    assert all(map(torch.equal, got.buffers(), expected.buffers()))
    differs = []
    for one, other in zip(got.parameters(), expected.parameters(), strict=True):
        assert torch.equal(one, other)
        assert torch.equal(one.grad, other.grad)
    for one, other in zip(got.parameters(), bare.parameters(), strict=True):
        differs.append(not torch.equal(one, other) or not torch.equal(one.grad, other.grad))
    assert any(differs), "the function did nothing: the test would prove nothing"
    if kind.name != "module_registration":
        assert any(event.changed for event in found.events)


def test_a_communication_hooks_future_is_what_the_gradients_become():
    kind = CATALOGUE["ddp_comm"]
    pytest.importorskip("hookcli.hooks.attach.comm")
    store = torch._C._distributed_c10d.HashStore()
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        model = models.plain()
        wrapped = DistributedDataParallel(model)

        def entry(state, bucket):
            return functions.bucket_half(state, bucket)

        wrapped.register_comm_hook(None, entry)
        wrapped(models.batch()).sum().backward()
    finally:
        dist.destroy_process_group()
    found = run(kind, call("bucket_half"))
    assert found.error is None
    for one, other in zip(found.model.parameters(), model.parameters(), strict=True):
        assert torch.equal(one.grad, other.grad)


@pytest.mark.parametrize(
    "kind", [p for p in KINDS if not p.values[0].replaces], ids=lambda kind: kind.name
)
def test_a_return_where_none_is_allowed_is_found_and_dropped(kind):
    found = run(kind, call("event_thing", "event"), command="grads")
    assert found.error is None
    assert {finding.rule for finding in found.findings} == {"hook_misuse"}
    assert all("the hook must return None" in one.message for one in found.findings)
    assert found.findings[0].place == "hooks.yaml:1: hooks[0]"


def test_legacy_and_full_backward_on_one_module_is_refused():
    hooks = [hook("full_backward", "fc"), hook("backward", "fc", index=1)]
    with pytest.raises(HookcliError) as raised:
        carry_out(models.plain, models.batch(), hooks)
    assert "Cannot use both regular backward hooks and full backward hooks" in raised.value.message
    assert raised.value.place == "hooks.yaml:2: hooks[1]"


class Gives(nn.Module):
    def __init__(self, value):
        super().__init__()
        self.fc, self.value = nn.Linear(4, 4), value

    def forward(self, x):
        self.fc(x)
        return self.value


class Ends(nn.Module):
    def __init__(self, value):
        super().__init__()
        self.odd, self.fc = Gives(value), nn.Linear(4, 4)

    def forward(self, x):
        self.odd(x)
        return self.fc(x)


@pytest.mark.parametrize("value", ["abc", None, (), {"a": 3}, 7, [["text"]]], ids=repr)
def test_a_legacy_hook_where_torch_would_never_return_is_refused(value):
    with pytest.raises(HookcliError) as raised:
        carry_out(Ends(value), models.batch(), [hook("backward", "odd")])
    assert "a legacy backward hook cannot be attached to odd" in raised.value.message


def test_a_hook_that_never_fires_is_found_with_the_reason():
    found = carry_out(Ends(None), models.batch(), [hook("full_backward", "odd")])
    [finding] = found.findings
    assert finding.rule == "hooks_fired"
    assert "only if the output is a tensor or a flat tuple" in finding.message
