"""Actions on a part of a tensor, held against hooks by hand in plain PyTorch."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from hookcli.actions.part import on_part
from hookcli.catalogue.actions import CATALOGUE
from hookcli.config.load import read_config
from hookcli.errors import RequestError
from hookcli.spec.hooks import ActionSpec, HookSpec
from hookcli.spec.part import TensorPart, parse_heads, parse_index
from hookcli.spec.selectors import selector_of
from tests.hooks import models
from tests.hooks.running import carry_out, finished, hook

COLUMN = TensorPart(index="[:, 1]")


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2))


def on_output(action, argument, part, kind="forward", at="0"):
    actions = (ActionSpec(action, argument, "hooks.yaml:1", part),)
    return HookSpec(0, kind, selector_of(at), actions=actions, place="hooks.yaml:1")


def by_hand(change):
    """The gradients of all parameters, with a hook by hand that changes column 1."""
    model = net()

    def change_column(module, args, output):
        new = output.clone()
        new[:, 1] = change(output)[:, 1]
        return new

    model[0].register_forward_hook(change_column)
    model(models.batch()).sum().backward()
    return [parameter.grad for parameter in model.parameters()]


def noisy(output):
    generator = torch.Generator().manual_seed(0)
    return output + 0.5 * torch.randn(output.shape, generator=generator)


SAVED = torch.arange(6.0).reshape(2, 3)
CHANGES = {
    "zero": (None, torch.zeros_like),
    "scale": (3.0, lambda output: output * 3),
    "negate": (None, torch.neg),
    "add_noise": (0.5, noisy),
    "clamp": ((-0.1, 0.1), lambda output: output.clamp(-0.1, 0.1)),
    "replace": ("saved.pt", lambda output: SAVED),
}


def test_these_actions_and_no_other_have_parts():
    assert {action.name for action in CATALOGUE.values() if action.parts} == {*CHANGES}


@pytest.mark.parametrize("action", CHANGES)
def test_the_part_alone_changes_and_gradients_flow_as_by_hand(action, tmp_path):
    argument, change = CHANGES[action]
    if action == "replace":
        argument = str(tmp_path / argument)
        torch.save(SAVED, argument)
    model = net()
    needs_backward = hook("tensor", "0.weight", index=1)
    finished(model, models.batch(), [on_output(action, argument, COLUMN), needs_backward])
    for parameter, expected in zip(model.parameters(), by_hand(change), strict=True):
        assert torch.equal(parameter.grad, expected)


def test_integers_and_what_the_action_keeps_are_left_alone():
    class Pair(nn.Module):
        def forward(self, x):
            return {"x": x * 1, "index": torch.arange(6).reshape(2, 3)}

    seen = []
    model = nn.Sequential(Pair())
    model.register_forward_hook(lambda module, args, output: seen.append(output))
    finished(model, torch.ones(2, 3), [on_output("zero", None, COLUMN)])
    assert torch.equal(seen[0]["x"], torch.tensor([[1.0, 0, 1], [1, 0, 1]]))
    assert torch.equal(seen[0]["index"], torch.arange(6).reshape(2, 3))


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("[:, 3]", (slice(None), 3)),
        (":, -1", (slice(None), -1)),
        ("..., 0:4", (..., slice(0, 4))),
        ("[1::2, [0, 2]]", (slice(1, None, 2), [0, 2])),
        ("[[0, 2]]", ([0, 2],)),
        ("[0, 2], 1", ([0, 2], 1)),
        ("5", (5,)),
    ],
)
def test_an_index_is_that_of_python(text, index):
    assert parse_index(text) == index
    tensor = torch.arange(6 * 8).reshape(6, 8)
    written = text if text.startswith("[") and text != "[0, 2], 1" else f"[{text}]"
    assert torch.equal(tensor[index], eval(f"tensor{written}"))


@pytest.mark.parametrize(
    "text",
    ["", "[]", "[a]", "[:, ]", "::-1", "1:2:3:4", "..., ...", "[0", "[[1, a]]", "None", "1.5"],
)
def test_what_is_not_an_index_is_refused(text):
    with pytest.raises(ValueError, match="not an index"):
        parse_index(text)


def test_heads_are_equal_parts_of_the_last_axis():
    part = parse_heads("0, 2 of 4")
    tensor = torch.arange(24.0).reshape(3, 8)
    assert torch.equal(tensor[part.indices((3, 8))], tensor.reshape(3, 4, 2)[:, [0, 2]].flatten(1))
    assert str(part) == "heads 0, 2 of 4"
    for text in ("4 of 4", "2", "-1 of 4", "1 of 0", "a of 4", "1 of"):
        with pytest.raises(ValueError, match="not heads"):
            parse_heads(text)


@pytest.mark.parametrize(
    ("part", "why"),
    [
        (TensorPart(index="[:, 7]"), "index 7 is out of bounds"),
        (TensorPart(index="[0, 0, 0]"), "too many indices"),
        (TensorPart(heads=(1,), count=2), "its last axis of 3 cannot be divided by 2"),
    ],
)
def test_a_part_that_a_tensor_does_not_have_is_an_error(part, why):
    with pytest.raises(RequestError, match=why) as caught:
        carry_out(net(), models.batch(), [on_output("zero", None, part)])
    assert caught.value.message.startswith(f"0 of shape [2, 3] has no {part}: ")
    assert caught.value.place == "hooks.yaml:1"


def test_a_sparse_tensor_has_no_parts():
    from types import SimpleNamespace

    sparse = torch.eye(3).to_sparse()
    tools = SimpleNamespace(place="hooks.yaml:1")
    changed = on_part(lambda event: event.value * 0, COLUMN, tools)
    with pytest.raises(RequestError, match="it is not a dense tensor"):
        changed(SimpleNamespace(value=sparse, target="x"))


CONFIG = "hooks:\n- kind: forward\n  at: fc\n  do:\n  - {}\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{zero: {index: "[:, 3]"}}', ("zero", None, TensorPart(index="[:, 3]"))),
        ("{zero: {heads: 2 of 8}}", ("zero", None, TensorPart(heads=(2,), count=8))),
        (
            '{scale: {value: 0.5, index: "..., 0"}}',
            ("scale", 0.5, TensorPart(index="..., 0")),
        ),
        (
            "{clamp: {value: [-1, 1], heads: '0, 1 of 2'}}",
            ("clamp", (-1, 1), TensorPart(heads=(0, 1), count=2)),
        ),
        ("zero", ("zero", None, None)),
    ],
)
def test_a_configuration_names_a_part(text, expected, tmp_path):
    file = tmp_path / "c.yaml"
    file.write_text(CONFIG.format(text))
    [hook] = read_config(str(file)).hooks
    [action] = hook.actions
    assert (action.name, action.argument, action.part) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{zero: {}}", "zero on a part requires either index or heads"),
        ("{zero: {index: '0', heads: 1 of 2}}", "zero on a part requires either index or heads"),
        ("{zero: {index: x}}", "index must be an index as in Python, got 'x'"),
        ("{zero: {heads: 8 of 8}}", "heads must be numbers of a count, got '8 of 8'"),
        ("{scale: {index: '0'}}", "missing key 'value'"),
        ("{zero: {value: 1, index: '0'}}", "unknown key 'value'"),
        ("{zero: 1}", "zero does not accept an argument"),
    ],
)
def test_a_wrong_part_is_refused_with_its_line(text, message, tmp_path):
    file = tmp_path / "c.yaml"
    file.write_text(CONFIG.format(text))
    with pytest.raises(RequestError) as caught:
        read_config(str(file))
    assert caught.value.message.startswith(message)
    assert "c.yaml:5" in caught.value.place
