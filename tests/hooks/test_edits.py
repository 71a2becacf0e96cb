"""Edits in place: found for every argument of every kind, however they are made, and by whom."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from hookcli.spec.hooks import FunctionRef, Match, Selector
from tests.hooks import models
from tests.hooks.running import carry_out, hook

# How a tensor is edited. A tensor of autograd's is edited as hooks do it: without grad.
EDITS = {
    "in_place": "t.mul_(0.5)",
    "to_the_same_values": "t.mul_(1)",
    "a_view": "t.view(-1)[:1].fill_(7)",
    "an_index": "t[..., 0] = 7",
    "data": "t.data.mul_(0.5)",
    "other_data": "t.data = t.data + 1",
    "detached": "t.detach().add_(1)",
    "out": "torch.add(t.detach(), 1, out=t.detach())",
    "an_array": "t.detach().numpy()[...] = 7",
    "an_array_to_nan": "t.detach().numpy()[...] = float('nan')",
}
# kind, at, the argument by name, and what is written for it in a function of *given
ARGUMENTS = [
    ("full_backward", "act", "grad_input[0]", "given[1][0]"),
    ("full_backward", "act", "grad_output[0]", "given[2][0]"),
    ("full_backward_pre", "act", "grad_output[0]", "given[1][0]"),
    ("backward", "act", "grad_input[0]", "given[1][0]"),
    ("backward", "act", "grad_output[0]", "given[2][0]"),
    ("global_full_backward", None, "grad_output[0]", "given[2][0]"),
    ("global_full_backward_pre", None, "grad_output[0]", "given[1][0]"),
    ("global_backward", None, "grad_output[0]", "given[2][0]"),
    ("global_forward", None, "output", "given[2]"),
    ("global_forward_pre", None, "args[0]", "given[1][0]"),
    ("forward", "act", "args[0]", "given[1][0]"),
    ("forward", "act", "output", "given[2]"),
    ("forward_pre", "act", "args[0]", "given[1][0]"),
    ("tensor", "act:output", "", "given[0]"),
    ("tensor", "fc.weight", "", "given[0]"),
    ("multi_grad", "fc.*", "grads[0]", "given[0][0]"),
    ("node_pre", "act", "grad_outputs[0]", "given[0][0]"),
    ("node", "act", "grad_inputs[0]", "given[0][0]"),
    ("node", "act", "grad_outputs[0]", "given[1][0]"),
    ("accumulate_grad", "fc.weight", "grad_outputs[0]", "given[1][0]"),
    ("saved_tensors", "act", "", "given[0]"),
    ("op", "aten.tanh", "args[0]", "given[1][0]"),
    ("op", "aten.tanh", "output", "given[3]"),
    ("state_dict_post", "fc", 'state_dict["fc.weight"]', "given[1]['fc.weight']"),
    ("state_dict_post", "head", 'state_dict["fc.weight"]', "given[1]['fc.weight']"),
    ("load_state_dict_pre", "fc", 'state_dict["fc.weight"]', "given[1]['fc.weight']"),
]  # fmt: skip
# Of another module's entries in a state dict, which is that of the whole model, the count tells.
UNCOUNTED = {"data", "other_data", "an_array", "an_array_to_nan"}
# In a dispatch mode torch does not count changes: an edit to the same values leaves no trace.
UNSEEN = {"op": {"to_the_same_values"}}


def name_of(value):
    return "_".join(part for part in str(value).replace(":", " ").replace(".", " ").split())


ids = [f"{kind}-{name_of(at)}-{argument or 'value'}" for kind, at, argument, _ in ARGUMENTS]


def hook_with(tmp_path, kind, at, body, *, index=0, **more):
    """A hook that calls a function of *given with this body, for Tanh alone of all modules."""
    path = tmp_path / f"mine{index}.py"
    guard = "if type(given[0]).__name__ != 'Tanh': return None" if kind.startswith("global") else ""
    path.write_text(
        "import torch\n\n\ndef function(*given):\n"
        f"    {guard or 'pass'}\n    with torch.no_grad():\n        {body}\n\n\n"
        "def unpack(packed):\n    return packed\n"
    )
    action = ("call", FunctionRef(f"{path}:function", "native"))
    if kind == "saved_tensors":
        pair = {"pack": action[1], "unpack": FunctionRef(f"{path}:unpack", "native")}
        action = ("call", pair)
    if kind == "op":
        at = Selector((Match("", op=at),), at) if at is not None else None
    return hook(kind, at, action, index=index, **more)


def told(found):
    return [one for one in found.findings if "in place instead" in one.message]


def leaves_a_trace(kind, at, name):
    return not (at == "head" and name in UNCOUNTED) and name not in UNSEEN.get(kind, ())


EDITED = [
    (given, name) for given in ARGUMENTS for name in EDITS if leaves_a_trace(*given[:2], name)
]


@pytest.mark.parametrize(("given", "edit"), EDITED)
def test_an_edit_is_found_however_it_is_made(given, edit, tmp_path):
    kind, at, argument, written = given
    one = hook_with(tmp_path, kind, at, f"t = {written}; {EDITS[edit]}")
    findings = told(carry_out(models.plain, models.batch(), [one]))
    where = f" ({argument})" if argument else ""
    assert findings
    for finding in findings:
        said = f"the hook changed its argument{where} in place instead of returning"
        assert finding.message.startswith(said)
        assert finding.place == "hooks.yaml:1: hooks[0]"
        assert finding.severity == "error"
    if at is not None and kind not in {"op", "multi_grad"}:
        assert {finding.target for finding in findings} == {at}


@pytest.mark.parametrize(("kind", "at", "argument", "written"), ARGUMENTS, ids=ids)
def test_a_look_is_none(kind, at, argument, written, tmp_path):
    one = hook_with(tmp_path, kind, at, f"t = {written}; float(t.sum()); t.clone().mul_(2); t * 2")
    found = carry_out(models.plain, models.batch(), [one])
    assert found.error is None
    assert told(found) == []


RETURNS = [
    ("full_backward", "act", "return tuple(g * 2 for g in given[1])"),
    ("full_backward_pre", "act", "return tuple(g * 2 for g in given[1])"),
    ("backward", "act", "return tuple(g * 2 for g in given[1])"),
    ("forward", "act", "return given[2] * 2"),
    ("forward", "act", "new = given[2].clone(); new.mul_(2); return new"),
    ("forward_pre", "act", "return (given[1][0] * 2,)"),
    ("tensor", "act:output", "return given[0] * 2"),
    ("node", "act", "return tuple(g * 2 for g in given[0])"),
    ("node_pre", "act", "return tuple(g * 2 for g in given[0])"),
    ("saved_tensors", "act", "return given[0] * 2"),
    ("op", "aten.tanh", "return given[3] * 2"),
    ("state_dict_post", "fc", "given[1]['fc.weight'] = given[1]['fc.weight'] * 2"),
    ("load_state_dict_pre", "fc", "given[1]['fc.weight'] = given[1]['fc.weight'] * 2"),
    ("post_accumulate_grad", "fc.weight", "given[0].grad.mul_(2)"),
    ("post_accumulate_grad", "fc.weight", "given[0].mul_(2)"),
    ("optimizer_step_pre", None, "[p.grad.mul_(2) for g in given[0].param_groups "
     "for p in g['params']]"),
    ("optimizer_step_post", None, "[p.mul_(2) for g in given[0].param_groups "
     "for p in g['params']]"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "at", "body"), RETURNS)
def test_a_replacement_is_no_edit(kind, at, body, tmp_path):
    found = carry_out(models.plain, models.batch(), [hook_with(tmp_path, kind, at, body)])
    assert told(found) == []


@pytest.mark.parametrize("name", models.MODELS)
def test_what_models_and_operators_edit_themselves_is_not_the_hooks(name, tmp_path):
    hooks = [
        hook_with(tmp_path, kind, None if kind == "op" else "*", "return None", index=i)
        for i, kind in enumerate(["forward", "forward_pre", "op", "node", "node_pre"])
    ]
    found = carry_out(lambda: models.build(name), models.batch(), hooks)
    assert found.error is None
    assert told(found) == []


def test_of_two_hooks_the_one_that_edits_is_named(tmp_path):
    looks = hook_with(tmp_path, "full_backward", "act", "float(given[2][0].sum())", index=0)
    edits = hook_with(tmp_path, "full_backward", "act", "given[2][0].mul_(0)", index=1)
    other = hook_with(tmp_path, "full_backward", "act", "float(given[1][0].sum())", index=2)
    found = carry_out(models.plain, models.batch(), [looks, edits, other])
    assert [one.place for one in told(found)] == ["hooks.yaml:2: hooks[1]"]


class Sum(nn.Module):
    """Two branches whose outputs are added: the gradient of the sum goes to both."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.c, self.d = nn.Linear(4, 2), nn.Linear(4, 2)

    def forward(self, x):
        return (self.c(x) + self.d(x)).sin()


@pytest.mark.filterwarnings("ignore:Full backward hook is firing:UserWarning")  # torch's own
def test_an_edit_of_grad_output_that_spoils_another_layer_is_told(tmp_path):
    bare, by_hand = Sum(), Sum()
    by_hand.d.register_full_backward_hook(lambda m, i, o: (o[0].mul_(0), None)[1])
    for one in (bare, by_hand):
        one(models.batch()).sum().backward()
    model = Sum()
    found = carry_out(
        model, models.batch(), [hook_with(tmp_path, "full_backward", "d", "given[2][0].mul_(0)")]
    )
    assert torch.equal(model.c.weight.grad, by_hand.c.weight.grad)
    assert not torch.equal(model.c.weight.grad, bare.c.weight.grad)  # c's, by a hook on d
    (finding,) = told(found)
    assert (finding.target, finding.place) == ("d", "hooks.yaml:1: hooks[0]")
    assert "(grad_output[0])" in finding.message
    assert "other gradients that share it may have changed too" in finding.message


class Nested(nn.Module):
    """A child that takes a dictionary by keyword and gives a list of tensors in one."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.child = Inner()

    def forward(self, x):
        found = self.child(state={"h": [self.fc(x)]})
        return found["out"][0] + found["more"]


class Inner(nn.Module):
    def forward(self, *, state):
        h = state["h"][0]
        return {"out": [h.sin(), h.cos()], "more": h * 2}


INSIDE = [
    ("given[3]['out'][0].add_(1)", "output.out[0]"),
    ("given[3]['more'].data.add_(1)", "output.more"),
    ("given[2]['state']['h'][0].add_(1)", "kwargs.state.h[0]"),
    ("given[3]['more'] = given[3]['more'] * 2", "output.more"),
    ("given[3]['out'][1] = given[3]['out'][1] * 2", "output.out[1]"),
]


@pytest.mark.parametrize(("body", "where"), INSIDE)
def test_an_edit_inside_containers_is_told_by_its_path(body, where, tmp_path):
    one = hook_with(tmp_path, "forward", "child", body, options={"with_kwargs": True})
    (finding,) = told(carry_out(Nested(), models.batch(), [one]))
    assert f"({where})" in finding.message


def test_a_container_that_is_changed_and_given_back_is_a_return(tmp_path):
    body = "given[3]['more'] = given[3]['more'] * 2; return given[3]"
    one = hook_with(tmp_path, "forward", "child", body, options={"with_kwargs": True})
    assert told(carry_out(Nested(), models.batch(), [one])) == []
