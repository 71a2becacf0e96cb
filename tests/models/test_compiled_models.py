"""Compiled models are unwrapped when they are loaded: the report is that of the plain model."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from hookcli.models.converted.compiled import unwrap
from hookcli.models.files.weights import load_weights


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return self.fc(x).relu()


def compiled(module):
    return torch.compile(module, backend="eager")


def in_place(module):
    module.compile(backend="eager")
    return module


MADE = {
    "root": lambda: compiled(nn.Sequential(Block(), nn.Linear(4, 2))),
    "child": lambda: nn.Sequential(compiled(Block()), nn.Linear(4, 2)),
    "nested": lambda: compiled(nn.Sequential(compiled(Block()), compiled(nn.Linear(4, 2)))),
    "in place": lambda: in_place(nn.Sequential(in_place(Block()), nn.Linear(4, 2))),
}


@pytest.mark.parametrize("how", MADE)
def test_names_and_values_are_those_of_the_plain_model(how):
    plain = nn.Sequential(Block(), nn.Linear(4, 2))
    root, changed = unwrap(MADE[how]())
    assert changed
    assert [n for n, _ in root.named_modules()] == [n for n, _ in plain.named_modules()]
    root.load_state_dict(plain.state_dict())
    x = torch.randn(3, 4)
    assert torch.equal(root(x), plain(x))
    assert all(module._compiled_call_impl is None for module in root.modules())


def test_a_model_without_compiled_parts_is_left_alone():
    plain = nn.Sequential(Block())
    assert unwrap(plain) == (plain, False)


def test_code_that_uses_the_module_inside_a_wrapper_still_finds_it():
    root, _ = unwrap(nn.Sequential(compiled(Block())))
    assert root[0]._orig_mod is root[0]
    assert list(root.state_dict()) == ["0.fc.weight", "0.fc.bias"]


def test_a_wrapper_with_hooks_of_its_own_is_kept():
    wrapper = compiled(Block())
    wrapper.register_forward_hook(lambda *_: None)
    root, _ = unwrap(nn.Sequential(wrapper))
    assert root[0] is wrapper


def test_a_shared_wrapper_becomes_one_module_with_two_names():
    wrapper = compiled(Block())
    root, _ = unwrap(nn.Sequential(wrapper, wrapper))
    assert root[0] is root[1]
    assert type(root[0]) is Block


@pytest.mark.parametrize("how", ["root", "child", "nested"])
def test_weights_of_a_compiled_model_fit_the_plain_one(how):
    state = MADE[how]().state_dict()
    assert any("_orig_mod" in name for name in state)
    plain = nn.Sequential(Block(), nn.Linear(4, 2))
    load_weights(plain, [state], "w.pt")
    for name, tensor in state.items():
        assert torch.equal(plain.state_dict()[name.replace("_orig_mod.", "")], tensor)
