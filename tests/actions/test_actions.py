"""Each action changes what the same hook by hand changes, and nothing else."""

from __future__ import annotations

import dataclasses
import math
from collections import OrderedDict, defaultdict, deque, namedtuple
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn
from transformers.utils import ModelOutput

from hookcli.actions.observe import NotFiniteError
from hookcli.errors import RequestError
from hookcli.spec.hooks import FunctionRef
from tests.hooks import models
from tests.hooks.running import FUNCTIONS, call, carry_out, finished, hook


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2))


def hand_grads(model, x, attach):
    """Gradients of all parameters in plain PyTorch, under the loss `sum`."""
    handle = attach(model)
    model(x).sum().backward()
    handle.remove()
    return [None if p.grad is None else p.grad.clone() for p in model.parameters()]


def same(got, wanted):
    assert len(got) == len(wanted)
    for one, other in zip(got, wanted, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            assert torch.equal(one, other)


def clipped(most):
    return lambda t: t * torch.clamp(most / (torch.linalg.vector_norm(t) + 1e-6), max=1.0)


def noise(deviation):
    def noisy(tensor):
        drawn = torch.randn(tensor.shape, generator=torch.Generator().manual_seed(0))
        return tensor + drawn * deviation

    return noisy


CHANGES = {
    "scale": (("scale", 0.25), lambda t: t * 0.25),
    "negate": ("negate", lambda t: -t),
    "zero": ("zero", torch.zeros_like),
    "clamp": (("clamp", (-0.1, 0.2)), lambda t: t.clamp(-0.1, 0.2)),
    "clip_norm": (("clip_norm", 0.3), clipped(0.3)),
    "clip_norm above": (("clip_norm", 1e6), clipped(1e6)),
    "add_noise": (("add_noise", 0.1), noise(0.1)),
}
PLACES = {
    "a parameter": ("tensor", "0.weight", lambda m, f: m[0].weight.register_hook(f)),
    "a layer's arguments": (
        "forward_pre",
        "2",
        lambda m, f: m[2].register_forward_pre_hook(lambda m, args: tuple(map(f, args))),
    ),
    "an output": ("forward", "0", lambda m, f: m[0].register_forward_hook(lambda m, a, o: f(o))),
    "grad_output": (
        "full_backward_pre",
        "2",
        lambda m, f: m[2].register_full_backward_pre_hook(lambda m, g: tuple(map(f, g))),
    ),
    "grad_input": (
        "full_backward",
        "2",
        lambda m, f: m[2].register_full_backward_hook(lambda m, i, o: tuple(map(f, i))),
    ),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_the_one_by_hand(change, place):
    action, function = CHANGES[change]
    kind, at, attach = PLACES[place]
    seen = []

    def by_hand(tensor):
        new = function(tensor)
        seen.append((new.detach() - tensor.detach()).double().norm().item())
        return new

    expected = hand_grads(net(), models.batch(), lambda m: attach(m, by_hand))
    model = net()
    found = finished(model, models.batch(), [hook(kind, at, action)], command="grads")
    same([p.grad for p in model.parameters()], expected)
    assert [event.changed for event in found.events] == pytest.approx(seen, rel=1e-5)
    assert found.findings == []


def test_clip_norm_is_clip_grad_norm_of_one_parameter():
    expected = net()
    expected(models.batch()).sum().backward()
    torch.nn.utils.clip_grad_norm_([expected[0].weight], 0.3)
    model = net()
    finished(model, models.batch(), [hook("tensor", "0.weight", ("clip_norm", 0.3))])
    assert torch.allclose(model[0].weight.grad, expected[0].weight.grad)


@pytest.mark.parametrize("kind", ["node", "node_pre"])
def test_a_nodes_gradients_change_as_by_hand(kind):
    def attach(model):
        def after(module, args, output):
            if kind == "node":
                output.grad_fn.register_hook(lambda i, o: tuple(g and g * 0.5 for g in i))
            else:
                output.grad_fn.register_prehook(lambda o: (o[0] * 0.5,))

        return model[1].register_forward_hook(after)

    expected = hand_grads(net(), models.batch(), attach) if kind == "node_pre" else None
    model = net()
    finished(model, models.batch(), [hook(kind, "1", ("scale", 0.5))])
    if expected is None:  # tanh has one input: half of what goes in is half of what goes out
        halved = net()
        finished(halved, models.batch(), [hook("node_pre", "1", ("scale", 0.5))])
        expected = [p.grad for p in halved.parameters()]
    same([p.grad for p in model.parameters()], expected)


Pair = namedtuple("Pair", "first second")


@dataclasses.dataclass(frozen=True)
class Held:
    value: torch.Tensor
    text: str = "a"


@dataclasses.dataclass
class Found(ModelOutput):
    logits: torch.Tensor = None
    state: tuple = None


STRUCTURES = {
    "tuple": lambda t: (t, 1, (t + 1,)),
    "list": lambda t: [t, [t + 1], None],
    "dict": lambda t: {"a": t, 1: {"b": t + 1}, "c": "text"},
    "ordered dict": lambda t: OrderedDict(b=t, a=t + 1),
    "defaultdict": lambda t: defaultdict(list, a=t),
    "deque": lambda t: deque([t, t + 1], maxlen=5),
    "named tuple": lambda t: Pair(t, {"x": t + 1}),
    "dataclass": lambda t: Held(t),
    "model output": lambda t: Found(logits=t, state=(t + 1, t + 2)),
    "return type": lambda t: t.max(dim=1),
    "integers and booleans": lambda t: (t, torch.arange(3), t > 0),
    "nothing": lambda t: (None, 3, "x"),
}


class Makes(nn.Module):
    def __init__(self, make):
        super().__init__()
        self.make = make

    def forward(self, x):
        return self.make(x)


class Keeps(nn.Module):
    """Keeps what its child gave."""

    def __init__(self, make):
        super().__init__()
        self.child = Makes(make)

    def forward(self, x):
        self.__dict__["given"] = self.child(x)
        return x


def halved(value):
    """By hand: the same structure with floating tensors halved."""
    if isinstance(value, torch.Tensor):
        return value * 0.5 if value.is_floating_point() or value.is_complex() else value
    if isinstance(value, Pair):
        return Pair(*map(halved, value))
    if isinstance(value, Held):
        return Held(halved(value.value), value.text)
    if isinstance(value, torch.return_types.max):
        return torch.return_types.max(list(map(halved, value)))
    if isinstance(value, (tuple, list)):
        return type(value)(map(halved, value))
    if isinstance(value, deque):
        return deque(map(halved, value), value.maxlen)
    if isinstance(value, dict):
        new = value.copy()
        for key, one in value.items():
            new[key] = halved(one)
        return new
    return value


def alike(one, other):
    assert type(one) is type(other)
    if isinstance(one, torch.Tensor):
        assert one.dtype == other.dtype
        assert one.layout == other.layout
        assert torch.equal(one.to_dense(), other.to_dense())
    elif isinstance(one, Held):
        alike(vars(one), vars(other))
    elif isinstance(one, dict):
        assert list(one) == list(other)
        for key in one:
            alike(one[key], other[key])
    elif isinstance(one, (tuple, list, deque)):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            alike(a, b)
    else:
        assert one == other


@pytest.mark.parametrize("name", STRUCTURES)
def test_structure_stays(name):
    model = Keeps(STRUCTURES[name])
    finished(model, models.batch(), [hook("forward", "child", ("scale", 0.5))])
    alike(model.given, halved(STRUCTURES[name](models.batch())))


def test_what_stands_on_attributes_is_left_and_told():
    model = Keeps(lambda t: SimpleNamespace(value=t))
    found = finished(model, models.batch(), [hook("forward", "child", ("scale", 0.5))])
    assert torch.equal(model.given.value, models.batch())
    [finding] = found.findings
    assert (finding.rule, finding.severity) == ("hook_misuse", "warning")
    assert "attributes of an object" in finding.message


FLOATING = [torch.float64, torch.float16, torch.bfloat16, torch.complex64, torch.complex128]
OTHERS = [torch.int64, torch.int8, torch.uint8, torch.bool]


@pytest.mark.parametrize("dtype", [*FLOATING, *OTHERS], ids=str)
@pytest.mark.parametrize("change", CHANGES)
def test_dtypes_stay_and_integers_are_left_alone(change, dtype):
    if change == "clamp" and dtype.is_complex:
        pytest.skip("torch has no order for them")
    model = Keeps(lambda t: (t * 40).to(dtype))
    action, function = CHANGES[change]
    found = finished(model, models.batch(), [hook("forward", "child", action)])
    before = (models.batch() * 40).to(dtype)
    assert model.given.dtype == dtype
    if dtype in OTHERS:
        assert torch.equal(model.given, before)
        assert found.events[0].changed == 0.0
        return
    if change == "add_noise":
        real = dtype if dtype.itemsize > 2 else torch.float32
        drawn = torch.randn(2, 4, generator=torch.Generator().manual_seed(0), dtype=real)
        expected = before + (drawn * 0.1).to(dtype)
    else:
        expected = function(before)
    assert torch.allclose(model.given, expected.to(dtype), rtol=1e-2)
    wide = torch.complex128 if dtype.is_complex else torch.float64
    size = (model.given.to(wide) - before.to(wide)).norm().item()
    assert found.events[0].changed == pytest.approx(size)


def test_a_half_whose_norm_overflows_is_clipped_all_the_same():
    model = Keeps(lambda t: torch.full((100,), 60000.0, dtype=torch.float16))
    finished(model, models.batch(), [hook("forward", "child", ("clip_norm", 10.0))])
    assert torch.allclose(model.given, torch.ones(100, dtype=torch.float16), rtol=1e-2)


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.table = nn.Embedding(10, 4, sparse=True)

    def forward(self, ids):
        return self.table(ids)


@pytest.mark.parametrize("change", sorted({*CHANGES} - {"add_noise"}))
def test_sparse_gradients_stay_sparse_and_change_as_dense_ones(change):
    action, function = CHANGES[change]
    model, ids = Words(), torch.tensor([[1, 2, 2], [7, 1, 2]])
    found = finished(model, ids, [hook("tensor", "table.weight", action)])
    assert model.table.weight.grad.layout == torch.sparse_coo
    dense = torch.zeros(10, 4)
    dense[1], dense[2], dense[7] = 2.0, 3.0, 1.0
    assert torch.allclose(model.table.weight.grad.to_dense(), function(dense))
    assert found.events[0].changed == pytest.approx((function(dense) - dense).norm().item(), 1e-5)


def test_noise_in_a_sparse_gradient_stands_where_values_are_stored():
    model, ids = Words(), torch.tensor([[1, 2, 2]])
    finished(model, ids, [hook("tensor", "table.weight", ("add_noise", 0.5))])
    grad = model.table.weight.grad.coalesce()
    assert grad.indices().tolist() == [[1, 2]]
    drawn = torch.randn(2, 4, generator=torch.Generator().manual_seed(0)) * 0.5
    assert torch.equal(grad.values(), torch.tensor([[1.0] * 4, [2.0] * 4]) + drawn)


def test_noise_leaves_the_models_own_draws_as_they_are():
    def dropped():
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(4, 3), nn.Dropout(), nn.Linear(3, 2))

    bare, noisy = dropped(), dropped()
    finished(bare, models.batch(), [hook("forward", "1")])
    after_bare = torch.rand(3)
    finished(noisy, models.batch(), [hook("forward", "2", ("add_noise", 1.0))])
    assert torch.equal(after_bare, torch.rand(3))


def test_replace_puts_saved_tensors_in_their_places(tmp_path):
    saved = {"a": torch.ones(3, 4), "b": torch.full((3, 4), 2.0)}
    save_file(saved, tmp_path / "two.safetensors")
    model = net()
    path = f"{tmp_path / 'two.safetensors'}#b"
    found = finished(model, models.batch(), [hook("tensor", "0.weight", ("replace", path))])
    assert torch.equal(model[0].weight.grad, saved["b"])
    before = hand_grads(net(), models.batch(), lambda m: m.register_forward_hook(lambda *_: None))
    assert found.events[0].changed == pytest.approx((before[0] - saved["b"]).norm().item())


def test_replace_refuses_a_file_without_the_tensor_or_with_another_shape(tmp_path):
    path = tmp_path / "two.safetensors"
    save_file({"weight": torch.ones(3, 4), "small": torch.ones(3)}, path)
    torch.save(torch.ones(3, 4), tmp_path / "one.pt")

    def said(name, at="0.weight", kind="tensor"):
        with pytest.raises(RequestError) as caught:
            finished(net(), models.batch(), [hook(kind, at, ("replace", str(tmp_path / name)))])
        return str(caught.value), caught.value.hint

    message, hint = said("two.safetensors#weigth")
    assert message == f"tensor 'weigth' not found in {path}"
    assert "weight" in hint
    message, hint = said("one.pt#weight")
    assert message.endswith("one.pt")
    assert hint == "check the name after the #"
    message, _ = said("two.safetensors#small")
    assert message == "0.weight has shape [3, 4], but the file has shape [3]"
    message, _ = said("one.pt", "0", "forward")
    assert message == "0 has shape [2, 3], but the file has shape [3, 4]"
    message, _ = said("one.pt#", "0.*")  # one tensor for a weight, and then for a bias
    assert message == "0.bias has shape [3], but the file has shape [3, 4]"


def test_a_saved_tensor_is_replaced_when_it_is_packed_only(tmp_path):
    class Square(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.tensor([2.0, 3.0]))

        def forward(self, x):
            return self.weight.square()

    torch.save(torch.tensor([5.0, 7.0]), tmp_path / "x.pt")
    model = Square()
    hooks = [hook("saved_tensors", None, ("replace", str(tmp_path / "x.pt")))]
    found = finished(model, torch.ones(1), hooks)
    assert [event.node for event in found.events] == ["pack", "unpack"]
    assert model.weight.grad.tolist() == [10.0, 14.0]  # twice what was saved


def test_noise_of_several_tensors_is_one_sequence():
    class Two(nn.Module):
        def forward(self, x):
            return x * 1.0, x * 2.0

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.two, self.got = Two(), None

        def forward(self, x):
            self.got = self.two(x)
            return self.got

    model = Outer()
    finished(model, torch.zeros(2, 3), [hook("forward", "two", ("add_noise", 1.0))], grad=False)
    drawn = torch.Generator().manual_seed(0)
    same(model.got, tuple(torch.randn(2, 3, generator=drawn) for _ in range(2)))


def test_print_names_the_node_and_a_value_without_tensors(capsys):
    class Text(nn.Module):
        def forward(self, x):
            return "text"

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.text, self.fc = Text(), nn.Linear(4, 2)

        def forward(self, x):
            self.text(x)
            return self.fc(x).sum()

    hooks = [hook("forward", "text", "print"), hook("node", "fc", "print", index=1)]
    finished(Outer(), models.batch(), hooks)
    first, *others = capsys.readouterr().err.splitlines()
    assert first == "[0] forward forward text"
    assert others[0].startswith("[1] backward node fc AddmmBackward0 ")
    meta = torch.empty(2, 3, device="meta")
    finished(nn.Identity(), meta, [hook("forward", "", "print")], grad=False)
    assert capsys.readouterr().err == "[0] forward forward (root) float32[2, 3]\n"


def test_a_value_without_tensors_is_not_saved(tmp_path):
    class Text(nn.Module):
        def forward(self, x):
            return "text"

    hooks = [hook("forward", "*", ("save", str(tmp_path / "taps")))]
    carry_out(Text(), models.batch(), hooks)
    assert list((tmp_path / "taps").iterdir()) == []


def test_actions_run_in_order_and_each_sees_what_the_last_made():
    model = net()
    actions = [("scale", 0.0), call("event_plus_one", "event"), "stats", ("scale", 3.0)]
    found = finished(model, models.batch(), [hook("tensor", "0.weight", *actions)])
    assert torch.equal(model[0].weight.grad, torch.full((3, 4), 3.0))
    [event] = found.events
    assert event.stats[0]["mean"] == 1.0


def test_changed_is_the_norm_over_all_tensors_and_none_where_a_hook_only_looks():
    model = Keeps(lambda t: {"a": t, "b": [t * 2], "n": torch.arange(3)})
    hooks = [hook("forward", "child", "zero"), hook("forward", "child", "stats", index=1)]
    first, second = finished(model, models.batch(), hooks).events
    size = models.batch().norm().item()
    assert first.changed == pytest.approx(math.hypot(size, 2 * size))
    assert second.changed is None
    assert second.stats[0]["norm"] == 0.0


# Saving


def test_saved_files_sort_in_the_order_of_firing_and_hold_what_fired(tmp_path):
    folder = tmp_path / "deep" / "er"
    model = net()
    hooks = [
        hook("forward", "*", ("save", str(folder))),
        hook("tensor", "*", ("save", str(folder)), index=1),
    ]
    found = finished(model, models.batch(), hooks)
    files = sorted(folder.iterdir())
    assert [file.name for file in files] == [
        "0000000-forward-forward-0-call0.safetensors",
        "0000001-forward-forward-1-call0.safetensors",
        "0000002-forward-forward-2-call0.safetensors",
        "0000003-forward-forward-model-call0.safetensors",
        "0000004-backward-tensor-2.bias.safetensors",
        "0000005-backward-tensor-2.weight.safetensors",
        "0000006-backward-tensor-0.bias.safetensors",
        "0000007-backward-tensor-0.weight.safetensors",
    ]
    assert len(files) == len(found.events)
    again = net()
    for i in range(3):
        assert torch.equal(load_file(files[i])["value"], again[: i + 1](models.batch()))
    for file in files[4:]:
        name = file.name.split("-")[3].removesuffix(".safetensors")
        assert torch.equal(load_file(file)["value"], model.get_parameter(name).grad)


def test_a_saved_structure_has_a_name_for_each_tensor_whatever_its_layout(tmp_path):
    def make(t):
        wide = t.to(torch.bfloat16)
        return {"a": t.t(), "b": [t.expand(3, 2, 4), wide], "s": t.to_sparse(), "i": t > 0}

    finished(Keeps(make), models.batch(), [hook("forward", "child", ("save", str(tmp_path)))])
    [file] = tmp_path.iterdir()
    got, made = load_file(file), make(models.batch())
    assert set(got) == {"a", "b[0]", "b[1]", "s", "i"}
    for name, tensor in zip(("a", "s", "i"), (made["a"], made["s"], made["i"]), strict=True):
        assert torch.equal(got[name], tensor.to_dense())
    assert torch.equal(got["b[0]"], made["b"][0])
    assert torch.equal(got["b[1]"], made["b"][1])


def test_what_was_saved_can_be_put_back(tmp_path):
    finished(net(), models.batch(), [hook("forward", "0", ("save", str(tmp_path)))])
    [file] = tmp_path.iterdir()
    found = finished(net(), models.batch(), [hook("forward", "0", ("replace", str(file)))])
    assert found.events[0].changed == 0.0


# assert_finite


class Breaks(nn.Module):
    def __init__(self, value):
        super().__init__()
        self.value = value

    def forward(self, x):
        return [x, {"bad": torch.where(x > 0.9, self.value, x)}]


class Three(nn.Module):
    def __init__(self, value):
        super().__init__()
        self.ok, self.breaks = nn.Linear(4, 4), Breaks(value)
        self.after = nn.Identity()

    def forward(self, x):
        h = self.ok(x)
        return self.after(self.breaks(x)[1]["bad"] + h)


@pytest.mark.parametrize(("value", "count"), [(math.nan, "1 NaN and 0 Inf"), (-math.inf, "0 NaN")])
def test_assert_finite_ends_the_run_at_the_first_place_and_names_it(value, count):
    found = carry_out(
        Three(value), models.batch(), [hook("forward", "*", "record", "assert_finite")]
    )
    assert isinstance(found.error, NotFiniteError)
    assert "breaks[1].bad contains " + count in str(found.error)
    assert "forward, call 0, step 0 (hooks.yaml:1: hooks[0])" in str(found.error)
    assert found.failure.call.name == "breaks"
    assert [event.target for event in found.events] == ["ok"]


def test_assert_finite_names_the_first_gradient_in_backward():
    class Root(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x):
            return self.b(torch.sqrt(self.a(x) * 0.0))  # whose derivative at 0 is infinite

    hooks = [hook("tensor", "*:output", "assert_finite")]
    found = carry_out(Root(), models.batch(), hooks)
    assert isinstance(found.error, NotFiniteError)
    assert str(found.error).startswith("a:output contains 8 NaN")
    assert found.failure.phase == "backward"


# Misuse


def misuse(kind, at, name, signature="native", model=None):
    model = model or net()
    found = carry_out(
        model, models.batch(), [hook(kind, at, call(name, signature))], command="grads"
    )
    return model, found, [f.message for f in found.findings]


@pytest.mark.parametrize("name", ["tensor_double", "tensor_short", "tensor_number"])
def test_a_return_that_torch_would_refuse_is_told_and_not_used(name):
    with pytest.raises((RuntimeError, TypeError)):
        from tests.hooks import functions

        hand_grads(
            net(), models.batch(), lambda m: m[0].weight.register_hook(getattr(functions, name))
        )
    model, found, messages = misuse("tensor", "0.weight", name)
    assert found.error is None
    assert len(messages) == 1
    assert "it was not used" in messages[0]
    reference = net()
    finished(reference, models.batch(), [hook("tensor", "0.weight")])
    same([p.grad for p in model.parameters()], [p.grad for p in reference.parameters()])


@pytest.mark.parametrize(
    ("name", "what"), [("forward_false", "bool"), ("forward_handle", "RemovableHandle")]
)
def test_a_forward_hook_that_returns_no_tensor_is_told_and_breaks_the_run_as_by_hand(name, what):
    _, found, [message] = misuse("forward", "0", name)
    assert f"the hook returned {what} instead of a tensor" in message
    assert isinstance(found.error, TypeError)
    assert f"must be Tensor, not {what}" in str(found.error)


@pytest.mark.parametrize("name", ["tensor_edit", "tensor_edit_data"])
def test_a_gradient_edited_in_place_is_told(name):
    model, found, [message] = misuse("tensor", "0.weight", name)
    assert "changed its argument in place" in message
    assert "other gradients that share it may have changed too" in message
    reference = net()
    finished(reference, models.batch(), [hook("tensor", "0.weight")])
    grad = reference[0].weight.grad
    assert torch.allclose(model[0].weight.grad, 10 * grad)  # torch takes it, and so does the run
    assert found.events[0].changed == pytest.approx(9 * grad.norm().item())


def test_an_edit_of_one_terms_gradient_changes_its_siblings_and_is_told():
    class Sum(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.c, self.d = nn.Linear(4, 2), nn.Linear(4, 2)

        def forward(self, x):
            return (self.c(x) + self.d(x)).sin()  # of a sum alone the gradient is expanded

    def by_hand(model):
        def edit(grad):
            grad.mul_(10)

        return model.d.register_forward_hook(lambda m, a, o: o.register_hook(edit) and None)

    expected = hand_grads(Sum(), models.batch(), by_hand)
    assert expected[0].norm() == pytest.approx(expected[2].norm().item())  # c's changed with d's
    model, _, [message] = misuse("tensor", "d:output", "tensor_edit", model=Sum())
    same([p.grad for p in model.parameters()], expected)
    assert "other gradients that share it" in message


@pytest.mark.parametrize(
    ("kind", "at", "name", "where"),
    [
        ("forward", "0", "forward_edit", " (output)"),
        ("forward_pre", "2", "forward_pre_edit", " (args[0])"),
    ],
)
def test_an_argument_edited_in_place_is_told_with_its_place(kind, at, name, where):
    _, _, messages = misuse(kind, at, name)
    assert messages == [
        f"the hook changed its argument{where} in place instead of returning a new value"
    ]


@pytest.mark.parametrize(
    ("kind", "at", "name"),
    [
        ("post_accumulate_grad", "0.weight", "post_return"),
        ("load_state_dict_post", "0", "load_post_return"),
        ("state_dict_post", "0", "state_post_return"),
    ],
)
def test_a_return_where_none_is_allowed_is_told_and_dropped(kind, at, name):
    _, found, [message] = misuse(kind, at, name)
    assert "the hook must return None" in message
    assert found.error is None


def test_a_change_of_grad_in_post_accumulate_grad_is_no_misuse_and_is_measured():
    whole = net()
    finished(whole, models.batch(), [hook("post_accumulate_grad", "0.weight")])
    grad = whole[0].weight.grad
    for name in ("post_half_in_place", "post_half_anew"):
        model, found, messages = misuse("post_accumulate_grad", "0.weight", name)
        assert messages == []
        assert torch.equal(model[0].weight.grad, grad * 0.5)
        assert found.events[0].changed == pytest.approx(0.5 * grad.norm().item())
    model, found, messages = misuse("post_accumulate_grad", "0.weight", "post_drop")
    assert model[0].weight.grad is None
    assert found.events[0].values == ()
    assert found.events[0].changed is None


def test_entries_of_a_state_dict_change_in_place_and_are_measured():
    for kind, name in (
        ("state_dict_post", "state_post_edit"),
        ("load_state_dict_pre", "load_pre_edit"),
    ):
        model, found, messages = misuse(kind, "2", name)
        assert messages == []
        assert model[2].bias.tolist() == [7.0, 7.0]
        assert found.events[0].changed == pytest.approx((net()[2].bias - 7).norm().item())


def test_actions_on_entries_of_a_state_dict_come_before_functions_in_their_order():
    model = net()
    actions = ["zero", call("state_post_add_one"), ("scale", 3.0)]
    finished(model, models.batch(), [hook("state_dict_post", "2", *actions)])
    assert model[2].bias.tolist() == [3.0, 3.0]


def test_step_takes_other_arguments_from_a_hook_as_by_hand():
    _, found, messages = misuse("optimizer_step_pre", None, "step_pre_arguments")
    assert (messages, found.error) == ([], None)
    _, found, [message] = misuse("optimizer_step_pre", None, "event_half_all", "event")
    assert "the hook must return None" in message


def test_gradients_edited_before_a_step_are_used_by_it_and_are_no_misuse():
    model, found, messages = misuse("optimizer_step_pre", None, "step_pre_scale")
    assert messages == []
    same([p.data for p in model.parameters()], [p.data for p in net().parameters()])
    assert found.events[0].changed > 0


def pair(pack, unpack):
    refs = {"pack": pack, "unpack": unpack}
    return ("call", {key: FunctionRef(f"{FUNCTIONS}:{name}") for key, name in refs.items()})


@pytest.mark.parametrize("name", models.MODELS)
def test_pack_and_unpack_are_told_apart_in_every_phase(name):
    plain, packed = models.build(name), models.build(name)
    finished(plain, models.batch(), [hook("forward", "*")], command="grads")
    found = finished(
        packed, models.batch(), [hook("saved_tensors", None, pair("pack_name", "unpack_name"))]
    )
    same([p.grad for p in packed.parameters()], [p.grad for p in plain.parameters()])
    assert {event.node for event in found.events} == {"pack", "unpack"}


def test_a_saved_tensor_is_changed_once():
    def by_hand(model):
        saved = torch.autograd.graph.saved_tensors_hooks(lambda t: t * 0.5, lambda t: t)
        saved.__enter__()
        return SimpleNamespace(remove=lambda: saved.__exit__(None, None, None))

    expected = hand_grads(net(), models.batch(), by_hand)
    model = net()
    finished(model, models.batch(), [hook("saved_tensors", None, ("scale", 0.5))])
    same([p.grad for p in model.parameters()], expected)


def test_operators_hooks_see_none_of_what_other_hooks_do_to_look(tmp_path):
    bare = finished(net(), models.batch(), [hook("op")], command="grads").events
    looking = [
        hook("forward", "*", "stats", ("save", str(tmp_path)), call("nothing"), index=1),
        hook("tensor", "*:output", "stats", "assert_finite", call("nothing"), index=2),
        hook("node", "*:input", "stats", index=3),
        hook("post_accumulate_grad", "*", "stats", call("nothing"), index=4),
    ]
    found = finished(net(), models.batch(), [hook("op"), *looking], command="grads").events
    assert [e.node for e in found if e.kind == "op"] == [e.node for e in bare]


# Which firings count


class Four(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.other = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        for _ in range(4):
            x = self.fc(x)
        return self.other(x)


@pytest.mark.parametrize("kind", ["forward_pre", "forward", "full_backward", "tensor"])
def test_calls_are_those_of_a_module(kind):
    at = "*:output" if kind == "tensor" else "*"
    found = finished(Four(), models.batch(), [hook(kind, at, calls=(1, 3))]).events
    calls = [1, 3] if kind.startswith("forward") else [3, 1]
    assert [(e.target.partition(":")[0], e.call) for e in found] == [("fc", n) for n in calls]


def test_steps_count_from_0_and_calls_begin_anew_in_each():
    found = finished(
        Four(), models.batch(), [hook("forward", "fc", steps=(0, 2), calls=(0,))], steps=4
    )
    assert [(e.step, e.call) for e in found.events] == [(0, 0), (2, 0)]


def test_every_counts_each_targets_firings_over_the_whole_run():
    found = finished(Four(), models.batch(), [hook("forward", "*", every=3)], steps=2).events
    assert [(e.step, e.target, e.call) for e in found] == [
        (0, "fc", 0), (0, "fc", 3), (0, "other", 0), (0, "", 0), (1, "fc", 2),
    ]  # fmt: skip


def test_every_counts_what_calls_and_steps_let_through():
    found = finished(
        Four(), models.batch(), [hook("forward", "fc", every=2, calls=(1, 2, 3))], steps=2
    ).events
    assert [(e.step, e.call) for e in found] == [(0, 1), (0, 3), (1, 2)]


def test_a_hook_that_no_firing_passes_is_found():
    found = finished(Four(), models.batch(), [hook("forward", "fc", calls=(9,))])
    [finding] = found.findings
    assert finding.rule == "hooks_fired"
    assert "no firing matches" in finding.message
