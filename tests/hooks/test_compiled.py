"""Hooks on compiled modules: those that fire in plain PyTorch, where the code is compiled.

By hand hooks are attached before the first call, and torch.compile is at work; hookcli sets it
aside. Compiled code that calls a wrapper of torch.compile's goes past it, to the module inside.
"""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn.modules import module as M

from tests.hooks.running import finished, hook


def compiled(module):
    return torch.compile(module, backend="eager")


class Block(nn.Module):
    def __init__(self, inner=None):
        super().__init__()
        self.fc, self.act = nn.Linear(4, 4) if inner is None else inner, nn.Tanh()

    def forward(self, x):
        return self.act(self.fc(x))


class Function(nn.Module):
    """Its forward calls a compiled function, or is one, or leaves compiled code for a child."""

    def __init__(self, how):
        super().__init__()
        self.child, self.how = compiled(nn.Linear(4, 4)), how
        self.__dict__["double"] = torch.compile(lambda x: self.child(x) * 2, backend="eager")

    def forward(self, x):
        if self.how == "function":
            return self.double(x)
        return self._left(x) if self.how == "disabled" else self._method(x)

    @torch.compile(backend="eager")
    def _method(self, x):
        return self.child(x) * 2

    @torch.compiler.disable
    def _left(self, x):
        return self.child(x) * 2


def in_place(module):
    module.compile(backend="eager")
    return module


MADE = {
    "child": lambda: nn.Sequential(nn.Linear(4, 4), compiled(Block())),
    "child in place": lambda: nn.Sequential(nn.Linear(4, 4), in_place(Block())),
    "root": lambda: compiled(Block()),
    "nested": lambda: nn.Sequential(compiled(Block(compiled(nn.Linear(4, 4))))),
    "root and child": lambda: compiled(Block(compiled(Block()))),
    "root in place and child": lambda: in_place(Block(compiled(Block()))),
    "three levels": lambda: compiled(nn.Sequential(compiled(nn.Sequential(compiled(Block()))))),
    "function": lambda: Function("function"),
    "method": lambda: Function("method"),
    "disabled": lambda: compiled(nn.Sequential(Function("disabled"))),
}
KINDS = [
    ("forward_pre", "forward"),
    ("forward", "full_backward_pre", "full_backward"),
    ("global_forward", "global_full_backward"),
]


@pytest.fixture(autouse=True)
def _compiler():
    flag = M._global_is_full_backward_hook
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()
    M._global_is_full_backward_hook = flag


pytestmark = [pytest.mark.filterwarnings("ignore::UserWarning")]  # torch's, of global hooks


def batch():
    return torch.linspace(-1, 1, 8).view(2, 4).requires_grad_()


def by_hand(make, hooks):
    model, log, handles = make(), [], []
    names = {id(module): name for name, module in model.named_modules()}
    for kind, at in hooks:
        plain = kind.removeprefix("global_")

        def fire(module, *_, kind=kind):
            log.append((kind, names[id(module)]))

        if plain != kind:
            handles.append(getattr(M, f"register_module_{plain}_hook")(fire))
            continue
        for name, module in model.named_modules():
            if at in {"*", name}:
                handles.append(getattr(module, f"register_{kind}_hook")(fire))
    model(batch()).sum().backward()
    for handle in handles:
        handle.remove()
    torch._dynamo.reset()
    return log


def by_us(make, hooks):
    specs = [
        hook(kind, None if kind.startswith("global") else at, index=i)
        for i, (kind, at) in enumerate(hooks)
    ]
    return finished(make(), batch(), specs, command="grads")


@pytest.mark.parametrize("kinds", KINDS, ids="+".join)
@pytest.mark.parametrize("name", MADE)
def test_hooks_on_every_module_fire_as_by_hand(name, kinds):
    hooks = [(kind, "*") for kind in kinds]
    found = by_us(MADE[name], hooks)
    assert [(e.kind, e.target) for e in found.events] == by_hand(MADE[name], hooks)
    assert [row for row in found.findings if row.rule == "hooks_fired"] == []


@pytest.mark.parametrize("at", ["", "fc", "fc._orig_mod.fc", "act"])
def test_a_backward_hook_below_a_wrapper_brings_the_wrappers_own_back(at):
    make = MADE["root in place and child"]
    hooks = [("forward", "*"), ("full_backward_pre", at)]
    found = by_us(make, hooks)
    assert [(e.kind, e.target) for e in found.events] == by_hand(make, hooks)


@pytest.mark.parametrize(
    ("name", "kind", "at"),
    [("child", "full_backward", "1"), ("root in place and child", "forward", "fc")],
)
def test_one_that_cannot_fire_on_a_wrapper_is_told_why(name, kind, at):
    assert by_hand(MADE[name], [(kind, at)]) == []
    (row,) = by_us(MADE[name], [(kind, at)]).findings
    assert row.rule == "hooks_fired"
    assert "attach it to the module inside, NAME._orig_mod" in row.message
