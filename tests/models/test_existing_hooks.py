"""The hooks that are on a model, against torch's own dictionaries and hooks registered by hand."""

from __future__ import annotations

import copy
import functools
import io
import warnings

import pytest
import torch
import torch.distributed as distributed
from hypothesis import given, settings, strategies as st
from torch import nn
from torch.autograd.graph import register_multi_grad_hook, saved_tensors_hooks
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook
from torch.nn.modules import module as torch_module
from torch.nn.utils import parametrizations, parametrize, prune, spectral_norm, weight_norm
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

import hookcli
from hookcli.catalogue.kinds import CATALOGUE
from hookcli.models.existing_hooks.find import existing_hooks, find_hooks

HERE = "tests.models.test_existing_hooks"


def log(*args):
    return None


LOG_LINE = log.__code__.co_firstlineno
PLACE = f"tests/models/test_existing_hooks.py:{LOG_LINE}"


def net():
    return nn.Sequential(nn.Linear(4, 3), nn.Sequential(nn.Linear(3, 3), nn.ReLU()))


def kinds(model, **more):
    return [(hook.kind, hook.module, hook.tensor) for hook in hookcli.list_hooks(model, **more)]


# How each kind is registered by hand: a function of a model that returns the handle.
REGISTER = {
    "forward_pre": lambda m: m[0].register_forward_pre_hook(log),
    "forward": lambda m: m[0].register_forward_hook(log),
    "full_backward_pre": lambda m: m[0].register_full_backward_pre_hook(log),
    "full_backward": lambda m: m[0].register_full_backward_hook(log),
    "backward": lambda m: m[0].register_backward_hook(log),
    "state_dict_pre": lambda m: m[0].register_state_dict_pre_hook(log),
    "state_dict_post": lambda m: m[0].register_state_dict_post_hook(log),
    "load_state_dict_pre": lambda m: m[0].register_load_state_dict_pre_hook(log),
    "load_state_dict_post": lambda m: m[0].register_load_state_dict_post_hook(log),
    "tensor": lambda m: m[0].weight.register_hook(log),
    "post_accumulate_grad": lambda m: m[0].weight.register_post_accumulate_grad_hook(log),
    "multi_grad": lambda m: register_multi_grad_hook([m[0].weight], log),
    "global_forward_pre": lambda _: torch_module.register_module_forward_pre_hook(log),
    "global_forward": lambda _: torch_module.register_module_forward_hook(log),
    "global_full_backward_pre": lambda _: torch_module.register_module_full_backward_pre_hook(log),
    "global_full_backward": lambda _: torch_module.register_module_full_backward_hook(log),
    "global_backward": lambda _: torch_module.register_module_backward_hook(log),
    "parameter_registration": lambda _: torch_module.register_module_parameter_registration_hook(
        log
    ),
    "buffer_registration": lambda _: torch_module.register_module_buffer_registration_hook(log),
    "module_registration": lambda _: torch_module.register_module_module_registration_hook(log),
    "global_optimizer_step_pre": lambda _: register_optimizer_step_pre_hook(log),
    "global_optimizer_step_post": lambda _: register_optimizer_step_post_hook(log),
}
ON_OPTIMIZERS = {"optimizer_step_pre", "optimizer_step_post"}
# Torch does not list the hooks of a node, of the engine and of packages; operators have modes; a
# CUDA graph is no part of a model.
NOT_LISTED = {
    "node_pre", "node", "accumulate_grad", "engine_callback", "op",
    "package_extern", "package_intern", "package_mock",
    *(name for name, kind in CATALOGUE.items() if kind.needs_gpu),
}  # fmt: skip
ELSEWHERE = {"saved_tensors", "ddp_comm"}  # have tests of their own


@pytest.fixture(autouse=True)
def torch_as_before():
    """A legacy hook leaves a flag behind, which forbids the other kind."""
    yield
    torch_module._global_is_full_backward_hook = None


def test_each_kind_is_registered_here_or_cannot_be_listed():
    assert {*REGISTER, *ON_OPTIMIZERS, *NOT_LISTED, *ELSEWHERE} == {*CATALOGUE}


@pytest.mark.parametrize("kind", REGISTER)
def test_a_hook_registered_by_hand_is_listed_with_its_kind_function_and_place(kind):
    model = net()
    with REGISTER[kind](model):
        [hook] = hookcli.list_hooks(model)
    assert (hook.kind, hook.function, hook.place) == (kind, f"{HERE}.log", PLACE)
    assert hook.feature is None
    if CATALOGUE[kind].registry.startswith("_global"):
        assert hook.module is None
        assert hook.target == ""
    else:
        assert hook.module == "0"
        on_tensor = CATALOGUE[kind].target in {"tensor", "parameter"}
        assert hook.target == ("0.weight" if on_tensor else "0")
        assert hook.type == "Linear"
    assert hookcli.list_hooks(model) == []


def test_hooks_of_an_optimizer_are_listed_if_it_is_given():
    model = net()
    optimizer = torch.optim.SGD(model.parameters())
    optimizer.register_step_pre_hook(log)
    optimizer.register_step_post_hook(log)
    assert kinds(model) == []
    assert {kind for kind, _, _ in kinds(model, optimizer=optimizer)} == ON_OPTIMIZERS
    assert {hook.type for hook in hookcli.list_hooks(model, optimizer=[optimizer])} == {"SGD"}


def test_saved_tensors_hooks_are_listed_while_they_are_on():
    with saved_tensors_hooks(lambda t: t, lambda t: t):
        assert kinds(net()) == [("saved_tensors", None, None)]
    assert kinds(net()) == []


def test_options_and_the_order_of_calls_are_those_of_torch():
    model, called = net(), []

    def second(module, args, output):
        called.append("second")

    def third(module, args, kwargs, output):
        called.append("third")

    def first(module, args, output):
        called.append("first")

    model.register_forward_hook(second)
    model.register_forward_hook(third, with_kwargs=True, always_call=True)
    model.register_forward_hook(first, prepend=True)
    model(torch.ones(2, 4))
    rows = hookcli.list_hooks(model)
    assert [row.function.rpartition(".")[2] for row in rows] == called
    assert [row.options for row in rows] == [(), (), ("with_kwargs", "always_call")]


class Recorder:
    def __call__(self, module, args, output):
        return None

    def method(self, module, args, output):
        return None


def average(state, bucket):
    return fp16_compress_hook(state, bucket)


def decorated(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)

    return wrapper


def line(function):
    return f"tests/models/test_existing_hooks.py:{function.__code__.co_firstlineno}"


nameless = lambda *args: None  # noqa: E731

FUNCTIONS = {
    "lambda": (nameless, f"{HERE}.<lambda>", line(nameless)),
    "object": (Recorder(), f"{HERE}.Recorder", line(Recorder.__call__)),
    "method": (Recorder().method, f"{HERE}.Recorder.method", line(Recorder.method)),
    "partial": (functools.partial(log, 1), f"{HERE}.log", PLACE),
    "partial of a method": (
        functools.partial(Recorder().method, 1),
        f"{HERE}.Recorder.method",
        line(Recorder.method),
    ),
    "wrapped": (decorated(log), f"{HERE}.log", PLACE),
    "builtin": (print, "print", None),
    "method of a builtin": ([].append, "list.append", None),
    "class": (Recorder, f"{HERE}.Recorder", line(Recorder.__call__)),
    "module": (nn.Identity(), "torch.nn.modules.linear.Identity", None),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_any_callable_has_the_name_and_the_place_of_what_is_called(name):
    hook, function, place = FUNCTIONS[name]
    model = net()
    model.register_forward_hook(hook)
    [row] = hookcli.list_hooks(model)
    assert (row.function, row.place) == (function, place)


def test_nothing_of_a_hostile_hook_is_run():
    ran = []

    class Meta(type):
        def __eq__(cls, other):
            ran.append("eq")

        def __hash__(cls):
            return 1

        def __getattribute__(cls, name):
            ran.append(name)
            return super().__getattribute__(name)

    class Hostile(metaclass=Meta):
        def __call__(self, *args):
            ran.append("call")

        def __getattribute__(self, name):
            ran.append(name)
            raise ValueError(name)

        def __repr__(self):
            ran.append("repr")
            raise ValueError

        def __bool__(self):
            ran.append("bool")
            raise ValueError

        def __eq__(self, other):
            ran.append("eq")
            raise ValueError

        __hash__ = None

    class Logged(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            ran.append(func)
            return super().__torch_function__(func, types, args, kwargs)

    model = net()
    model._forward_hooks[7] = object.__new__(Hostile)
    model[0].weight = nn.Parameter(torch.ones(3, 4).as_subclass(Logged))
    vars(model)["_comm_hooks"] = vars(model)["_hf_hook"] = object.__new__(Hostile)
    ran.clear()
    rows = hookcli.list_hooks(model)
    assert ran == []
    assert {row.function for row in rows} == {f"{__name__}.{Hostile.__qualname__}"}


def test_a_name_that_python_accepts_is_kept_as_it_is():
    def hook(*args):
        return None

    hook.__qualname__ = "\x1b[31m::error::\n\u202e"
    model = net()
    model.add_module("\x1b[2J\n", nn.Linear(1, 1))
    dict(model.named_children())["\x1b[2J\n"].register_forward_hook(hook)
    [row] = hookcli.list_hooks(model)
    assert row.function.endswith("\x1b[31m::error::\n\u202e")
    assert row.module == "\x1b[2J\n"


def test_features_of_torch_are_named():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        old = weight_norm(nn.Linear(2, 2))
    model = nn.Sequential(
        old,
        spectral_norm(nn.Linear(2, 2)),
        parametrizations.orthogonal(nn.Linear(2, 2)),
        nn.LazyLinear(2),
        prune.l1_unstructured(nn.Linear(2, 2), "bias", 0.5),
    )
    found = [(row.module, row.kind, row.feature, row.tensor) for row in hookcli.list_hooks(model)]
    assert found == [
        ("0", "forward_pre", "weight_norm", "weight"),
        ("1", "forward_pre", "spectral_norm", "weight"),
        ("1", "state_dict_post", "spectral_norm", "weight"),
        ("1", "load_state_dict_pre", "spectral_norm", "weight"),
        ("2", "parametrization", "parametrize", "weight"),
        ("3", "forward_pre", "lazy", None),
        ("3", "load_state_dict_pre", "lazy", None),
        ("4", "forward_pre", "prune", "bias"),
    ]


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).transpose(-1, -2)


class Half(nn.Module):
    def forward(self, x):
        return x / 2


def test_parametrizations_are_listed_in_the_order_of_their_use_with_their_classes():
    linear = nn.Linear(3, 3)
    parametrize.register_parametrization(linear, "weight", Symmetric())
    parametrize.register_parametrization(linear, "weight", Half())
    model = nn.Sequential(linear)
    rows = hookcli.list_hooks(model)
    used = [f"{HERE}.{type(child).__name__}" for child in linear.parametrizations.weight]
    assert [row.function for row in rows] == used == [f"{HERE}.Symmetric", f"{HERE}.Half"]
    assert [row.target for row in rows] == ["0.weight", "0.weight"]
    assert all(row.place.startswith("tests/models/test_existing_hooks.py:") for row in rows)


def test_a_hook_of_accelerates_pattern_is_a_patched_forward():
    class AlignHook:
        def pre_forward(self, module, *args, **kwargs):
            return args, kwargs

    AlignHook.__module__ = "accelerate.hooks"
    model = net()
    child = model[0]
    child._hf_hook, child._old_forward = AlignHook(), child.forward
    child.forward = functools.partial(log, child)
    other = model[1][0]
    other._old_forward = other.forward
    other.forward = functools.partial(log, other)
    rows = hookcli.list_hooks(model)
    assert [(row.kind, row.module, row.feature) for row in rows] == [
        ("patched_forward", "0", "accelerate"),
        ("patched_forward", "1.0", "accelerate"),
    ]
    assert [row.function.rpartition(".")[2] for row in rows] == ["AlignHook", "log"]


def test_a_model_that_chooses_its_own_forward_has_no_hook():
    class Chooses(nn.Module):
        def __init__(self):
            super().__init__()
            self.forward = self.one

        def one(self, x):
            return x

    assert hookcli.list_hooks(Chooses()) == []


def test_a_communication_hook_of_ddp_is_listed():
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    try:
        model = nn.parallel.DistributedDataParallel(net())
        model.register_comm_hook(None, average)
        [row] = hookcli.list_hooks(model)
    finally:
        distributed.destroy_process_group()
    assert (row.kind, row.module, row.feature) == ("ddp_comm", "", "ddp")
    assert (row.function, row.place) == (f"{HERE}.average", line(average))


def test_a_wrapper_of_torch_compile_is_no_hook_and_the_names_below_it_are_those_of_layers():
    model = net()
    model[0].register_forward_hook(log)
    assert kinds(torch.compile(model)) == [("forward", "_orig_mod.0", None)]


def test_a_shared_module_or_tensor_is_listed_once_under_its_first_name():
    shared = nn.Linear(3, 3)
    other = nn.Linear(3, 3)
    other.weight = shared.weight
    model = nn.Sequential(shared, shared, other)
    shared.register_forward_hook(log)
    shared.weight.register_hook(log)
    on_module, on_tensor = hookcli.list_hooks(model)
    assert (on_module.module, on_module.aliases) == ("0", ("1",))
    assert (on_tensor.target, on_tensor.aliases) == ("0.weight", ("1.weight", "2.weight"))


def test_scripted_hooks_survive_in_the_file_and_are_listed():
    class Scaled(nn.Module):
        def forward(self, x):
            return x * 2

    def double(self, input: tuple[torch.Tensor], output: torch.Tensor):
        return output * 2

    model = Scaled()
    model.register_forward_hook(double)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        file = io.BytesIO()
        torch.jit.save(torch.jit.script(model), file)
        file.seek(0)
        loaded = torch.jit.load(file)
    [row] = hookcli.list_hooks(loaded)
    assert (row.kind, row.module, row.type, row.feature) == ("forward", "", "Scaled", "torchscript")
    assert row.function.endswith("double")


def test_hookclis_own_hooks_are_never_listed():
    model = net()
    model[0].register_forward_hook(log)
    with hookcli.attach(model, command="grads") as recording:
        assert kinds(model) == [("forward", "0", None)]
        model(torch.ones(1, 4)).sum().backward()
        assert kinds(model) == [("forward", "0", None)]
    assert [hook.kind for hook in recording.report().existing_hooks] == ["forward"]


def test_a_run_reports_the_hooks_that_were_there_before_it():
    model = net()

    def adds(module, args):
        module.register_forward_hook(log)

    model.register_forward_pre_hook(adds)
    report = hookcli.inspect(model, torch.ones(2, 4))
    assert [hook.kind for hook in report.existing_hooks] == ["forward_pre"]
    assert kinds(model) == [("forward_pre", "", None)]


_ON_MODULE = [kind for kind in REGISTER if CATALOGUE[kind].target == "module"]
_LEAVES = 4


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, _LEAVES - 1), st.sampled_from(_ON_MODULE), st.booleans()),
        max_size=12,
    )
)
def test_what_is_listed_is_what_torch_keeps(chosen):
    """Registered by hand in any order, some removed again by their handles."""
    model = nn.Sequential(*(nn.Linear(1, 1) for _ in range(_LEAVES)))
    expected: list[tuple[int, str]] = []
    for at, kind, stays in chosen:
        try:
            handle = REGISTER[kind](nn.ModuleList([model[at]]))
        except RuntimeError:  # torch refuses full and legacy backward hooks together
            continue
        if stays:
            expected.append((at, kind))
        else:
            handle.remove()
    listed = sorted((int(hook.module), hook.kind) for hook in hookcli.list_hooks(model))
    assert listed == sorted(expected)
    assert len(hookcli.list_hooks(copy.deepcopy(model))) == len(expected)


def test_a_model_without_hooks_is_looked_at_once_module_by_module():
    """No second pass over the tensors, and no row is made."""
    model = nn.ModuleList([nn.Linear(1, 1) for _ in range(50)])
    looked = []

    class Counted(dict):
        def items(self):
            looked.append(self)
            return super().items()

    for child in model:
        child._parameters = Counted(child._parameters)
    assert find_hooks(model) == []
    assert existing_hooks(model) == ()
    assert len(looked) == 100
