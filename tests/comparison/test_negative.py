"""What must not be called different, and what is said of it."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

import hookcli
from tests.comparison.test_faults import batch, built


class Split(nn.Module):
    """Query, key and value in three layers, and another name for the last one."""

    def __init__(self, fused=None):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(16, 16) for _ in range(3))
        self.out = nn.Linear(16, 4)
        if fused is not None:
            for i, one in enumerate((self.q, self.k, self.v)):
                one.weight.data.copy_(fused.qkv.weight.chunk(3)[i])
                one.bias.data.copy_(fused.qkv.bias.chunk(3)[i])
            self.out.load_state_dict(fused.head.state_dict())

    def forward(self, x):
        return self.out(torch.softmax(self.q(x) * self.k(x), -1) * self.v(x))


class Fused(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(16, 48)
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        return self.head(torch.softmax(q * k, -1) * v)


class Wrapped(nn.Module):
    def __init__(self, model, scale=1.0):
        super().__init__()
        self.model = model
        self.scale = scale

    def forward(self, x):
        return self.model(x) * self.scale


class Dropping(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.drop, self.b = nn.Linear(16, 16), nn.Dropout(0.5), nn.Linear(16, 4)

    def forward(self, x):
        return self.b(self.drop(self.a(x)))


X = torch.linspace(-1, 1, 64).reshape(4, 16)


def test_a_refactored_model_with_equal_outputs_is_the_same_and_its_names_are_listed():
    torch.manual_seed(0)
    fused = Fused()
    found = hookcli.diff(fused, Split(fused), X)
    assert found.verdict == "same"
    assert found.port is not None
    names = {(row.a.name, row.b.name) for row in found.rows if row.a and row.b}
    assert names == {("", ""), ("qkv", "q"), ("head", "out")}
    assert "3 of 3 calls of A have a counterpart" in str(found).splitlines()[-1]


def test_a_refactored_model_with_another_output_differs():
    torch.manual_seed(0)
    fused = Fused()
    split = Split(fused)
    split.k.bias.data += 0.1
    found = hookcli.diff(fused, split, X)
    assert found.verdict == "different"
    assert found.first.a.name == "qkv"
    assert "qkv (Linear) and q (Linear), k (Linear), v (Linear) get equal" in " ".join(
        str(found).split()
    )


def test_names_below_a_prefix_are_compared_without_it_and_it_is_said():
    model = built("mlp")
    for a, b in ((model, Wrapped(copy.deepcopy(model))), (Wrapped(model), copy.deepcopy(model))):
        found = hookcli.diff(a, b, batch("mlp"))
        assert found.verdict == "same"
        assert "model" in (found.names.prefix_a, found.names.prefix_b)
        side = "A" if found.names.prefix_a else "B"
        assert f"names in {side} begin with 'model.'" in str(found)
        assert found.calls.same == 32
        assert found.calls.only_a + found.calls.only_b == 1


def test_what_a_wrapper_adds_to_the_output_is_a_difference():
    model = built("mlp")
    found = hookcli.diff(model, Wrapped(copy.deepcopy(model), 1.5), batch("mlp"))
    assert found.verdict == "different"
    assert found.first.fault == "model"
    assert found.first.relative == pytest.approx(0.5, rel=0.6)


def test_dropout_in_train_mode_draws_the_same_on_both_sides():
    torch.manual_seed(0)
    model = Dropping()
    found = hookcli.diff(model, copy.deepcopy(model), X, mode="train", grads=True)
    assert found.verdict == "same"
    assert found.calls.same == 4


def test_dropout_that_draws_otherwise_is_found_at_the_dropout():
    torch.manual_seed(0)
    model = Dropping()
    other = copy.deepcopy(model)
    other.drop.p = 0.25
    found = hookcli.diff(model, other, X, mode="train")
    assert (found.first.fault, found.first.a.name) == ("output", "drop")


def test_another_order_of_addition_is_close_and_the_first_such_call_is_told():
    class Add(nn.Module):
        def __init__(self, turned):
            super().__init__()
            self.turned = turned

        def forward(self, x):
            return (x.flip(-1) if self.turned else x).sum(-1)

    x = torch.randn(64, 3000, generator=torch.Generator().manual_seed(0)).exp()
    found = hookcli.diff(Add(False), Add(True), x)
    assert found.verdict == "same"
    assert found.calls.close == 1
    assert found.first is None
    assert found.first_inexact.name == ""
    assert "SAME within tolerance" in str(found)


def test_a_tolerance_by_glob_lets_a_layer_differ():
    model, other = built("mlp"), built("mlp", "epsilon")
    assert hookcli.diff(model, other, batch("mlp")).verdict == "different"
    assert hookcli.diff(model, other, batch("mlp"), tolerances=1e-4).verdict == "same"
    narrow = {"*": 1e-4, "layers.1.norm": 1e-9}
    found = hookcli.diff(model, other, batch("mlp"), tolerances=narrow)
    assert found.verdict == "different"
    assert found.first.a.name == "layers.1.norm"
    assert found.calls.different == 1


def test_a_masked_output_with_infinities_agrees_with_itself_and_not_with_another():
    class Masked(nn.Module):
        def __init__(self, at):
            super().__init__()
            self.fc, self.at = nn.Linear(16, 8), at

        def forward(self, x):
            y = self.fc(x)
            y[:, self.at] = float("-inf")
            return y

    torch.manual_seed(0)
    one = Masked(3)
    two = copy.deepcopy(one)
    two.fc.weight.data *= 1 + 1e-7
    assert hookcli.diff(one, two, X, tolerances=1e-5).verdict == "same"
    two.at = 4
    assert hookcli.diff(one, two, X, tolerances=1e-5).verdict == "different"


def test_integer_outputs_must_be_equal():
    class Arg(nn.Module):
        def __init__(self, sign):
            super().__init__()
            self.sign = sign

        def forward(self, x):
            return (x * self.sign).argmax(-1)

    assert hookcli.diff(Arg(1), Arg(2), X).verdict == "same"
    assert hookcli.diff(Arg(1), Arg(-1), X).verdict == "different"


def test_other_shapes_leaves_and_orders_differ():
    class Two(nn.Module):
        def __init__(self, turned=False, pair=False, wide=4):
            super().__init__()
            self.a, self.b = nn.Linear(16, 4), nn.Linear(16, wide)
            self.turned, self.pair = turned, pair

        def forward(self, x):
            a, b = (self.a(x), self.b(x)) if not self.turned else (self.b(x), self.a(x))[::-1]
            return (a, b) if self.pair else torch.cat([a, b], -1)

    def made(**how):
        torch.manual_seed(0)
        return Two(**how)

    turned = hookcli.diff(made(), made(turned=True), X)
    assert turned.reasons == ("the order of calls",)
    assert (turned.order.a.name, turned.order.b.name) == ("a", "b")
    wide = hookcli.diff(made(), made(wide=5), X)
    assert wide.first.a.name == "b"
    assert "has shape [4, 4] in A and [4, 5] in B" in wide.first.sentence
    paired = hookcli.diff(made(), made(pair=True), X)
    assert paired.verdict == "different"
    assert {one.how for one in paired.output} == {"structure", "shape"}


def test_a_gradient_that_differs_where_forward_agrees_is_told():
    class Flip(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return -grad

    class Net(nn.Module):
        def __init__(self, flip):
            super().__init__()
            self.a, self.b, self.flip = nn.Linear(16, 8), nn.Linear(8, 4), flip

        def forward(self, x):
            y = self.a(x)
            return self.b(Flip.apply(y) if self.flip else y.clone())

    torch.manual_seed(0)
    one = Net(False)
    two = Net(True)
    two.load_state_dict(one.state_dict())
    assert hookcli.diff(one, two, X).verdict == "same"
    found = hookcli.diff(one, two, X, grads=True)
    assert found.verdict == "different"
    assert found.first.fault == "gradient"
    differ = {row.a for row in found.state if row.gradient.status == "different"}
    assert differ == {"a.weight", "a.bias"}


def test_an_unused_parameter_that_differs_is_told():
    class Net(nn.Module):
        def __init__(self, value):
            super().__init__()
            self.fc, self.unused = nn.Linear(16, 4), nn.Parameter(torch.tensor(value))

        def forward(self, x):
            return self.fc(x)

    torch.manual_seed(0)
    one = Net(1.0)
    two = Net(2.0)
    two.fc.load_state_dict(one.fc.state_dict())
    found = hookcli.diff(one, two, X)
    assert found.reasons == ("1 of 3 parameters",)
    assert (found.first.fault, "unused" in found.first.sentence) == ("parameter", True)


def test_both_modules_and_the_batch_are_afterwards_what_they_were():
    class Writes(nn.Module):
        def __init__(self):
            super().__init__()
            self.bn = nn.BatchNorm1d(16)

        def forward(self, x):
            return self.bn(x.mul_(2))

    one, two, x = Writes(), Writes(), X.clone()
    before = copy.deepcopy([one.state_dict(), two.state_dict()])
    found = hookcli.diff(one, two, x, mode="train", grads=True)
    assert found.verdict == "same"
    assert torch.equal(x, X)
    for model, state in zip((one, two), before):
        assert all(torch.equal(model.state_dict()[name], state[name]) for name in state)
        assert all(p.grad is None for p in model.parameters())


def test_a_forward_that_fails_names_its_side():
    with pytest.raises(hookcli.errors.ModelError, match=r"^B raised RuntimeError in forward"):
        hookcli.diff(nn.Linear(16, 4), nn.Linear(15, 4), X)


def test_two_modules_of_one_name_are_told_apart():
    class Late(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(16, 16)

        def forward(self, x):
            x = self.a(x)
            self.a = nn.Identity()
            return self.a(x) + 1

    torch.manual_seed(0)
    model = Late()
    found = hookcli.diff(model, copy.deepcopy(model), X)
    assert found.verdict == "same"
    assert found.calls.same == 3


def test_an_input_can_be_resized_by_the_model_that_is_looked_at():
    class Resizes(nn.Module):
        def forward(self, x):
            kept = x.clone()
            x.resize_(40, 16)
            return kept * x.numel()

    found = hookcli.diff(Resizes(), Resizes(), X)
    assert found.verdict == "same"
    assert found.calls.same == 1


def test_nested_and_missing_outputs_are_compared():
    class Nested(nn.Module):
        def __init__(self, factor):
            super().__init__()
            self.factor = factor

        def forward(self, x):
            return torch.nested.nested_tensor([x[:2] * self.factor, x[:1]], layout=torch.jagged)

    assert hookcli.diff(Nested(1.0), Nested(1.0), X).calls.same == 1
    assert hookcli.diff(Nested(1.0), Nested(1.5), X).verdict == "different"


def test_a_parameter_that_nobody_uses_is_a_difference_of_the_models():
    one, two = nn.Linear(16, 4), nn.Linear(16, 4)
    two.load_state_dict(one.state_dict())
    two.unused = nn.Parameter(torch.ones(3))
    found = hookcli.diff(one, two, X)
    assert found.reasons == ("68 parameters in A and 71 in B",)
    assert hookcli.diff(two, one, X).reasons == ("71 parameters in A and 68 in B",)
    assert (found.calls.same, found.calls.different, found.calls.only_a, found.calls.only_b) == (
        1, 0, 0, 0,
    )  # fmt: skip
    assert (found.calls.close, found.calls.unknown) == (0, 0)
    assert (found.parameters.same, found.parameters.only_a, found.parameters.only_b) == (2, 0, 1)
