"""`do`: actions and their arguments."""

# ruff: noqa: E501  # a case is a line

from __future__ import annotations

import pytest

from hookcli.spec.hooks import FunctionRef


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ("record", None),
        ("{scale: 0.5}", 0.5),
        ("{scale: -2}", -2),
        ("{scale: .nan}", pytest.approx(float("nan"), nan_ok=True)),
        ("{add_noise: 1e-3}", 1e-3),
        ("{clamp: [-1, 1]}", (-1, 1)),
        ("{clamp: [-.inf, 1]}", (float("-inf"), 1)),
        ("{clip_norm: 1}", 1),
        ("save", None),
    ],
)
def test_arguments(argument, action, expected):
    assert argument(action) == expected


def test_paths_and_functions_come_out_absolute(argument, folder):
    assert argument("{save: taps/}") == f"{folder}/taps"
    assert argument("{replace: mask.safetensors}") == f"{folder}/mask.safetensors"
    assert argument('{replace: "mask.safetensors#m"}') == f"{folder}/mask.safetensors#m"
    assert argument('{call: "f.py:h.g"}') == FunctionRef(f"{folder}/f.py:h.g")
    assert argument("{call: a.b:c}") == FunctionRef("a.b:c")
    assert argument("{call: torch.ops.mine.clip}") == FunctionRef("torch.ops.mine.clip")
    assert argument('{call: {fn: "f.py:h", signature: event}}') == FunctionRef(
        f"{folder}/f.py:h", "event"
    )
    pair = '{call: {pack: "f.py:p", unpack: a:u}}'
    assert argument(pair, "saved_tensors") == {
        "pack": FunctionRef(f"{folder}/f.py:p"), "unpack": FunctionRef("a:u"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("action", "message", "path"),
    [
        ("clmp", "unknown action 'clmp'", "do"),
        ("{clmp: 1}", "unknown action 'clmp'", "do"),
        ("[stats, 1]", "do[1] must be an action: its name, or {name: argument}, got 1", "do[1]"),
        ("[]", "do must not be empty", "do"),
        ("", "do must be an action: its name, or {name: argument}, got null", "do"),
        ("{stats: 1}", "stats must be one of norm, histogram, got 1", "do.stats"),
        ("{stats: norms}", "stats must be one of norm, histogram, got 'norms'", "do.stats"),
        ("{record: }", "record does not accept an argument", "do.record"),
        ("scale", "scale requires a number", "do"),
        ("{scale: '1'}", "scale must be a number, got '1'", "do.scale"),
        ("{scale: true}", "scale must be a number, got true", "do.scale"),
        ("{add_noise: 0}", "add_noise must be a number greater than 0, got 0", "do.add_noise"),
        ("{clip_norm: .inf}", "clip_norm must be a number greater than 0, got .inf", "do.clip_norm"),
        ("{clamp: 1}", "clamp must be [low, high], two numbers with low <= high, got 1",
         "do.clamp"),
        ("{clamp: [1, -1]}",
         "clamp must be [low, high], two numbers with low <= high, got [1, -1]", "do.clamp"),
        ("{clamp: [.nan, 1]}",
         "clamp must be [low, high], two numbers with low <= high, got [.nan, 1]", "do.clamp"),
        ("{scale: 1, clip_norm: 1}", "an action must be a mapping with one key, got 2 keys", "do"),
        ("{save: 1}", "save must be a directory, got 1", "do.save"),
        ("{replace: none.pt}", "file not found: none.pt", "do.replace"),
        ("{replace: f.py}", "f.py is not a file of tensors", "do.replace"),
        ("{replace: 'mask.safetensors#'}", "missing name of the tensor after #", "do.replace"),
        ("{call: halve}", "'halve' is not a reference to a function", "do.call"),
        ("{call: 'my_hoks.py:halve'}", "file not found: my_hoks.py", "do.call"),
        ("{call: {fn: 'f.py:h', sig: event}}", "unknown key 'sig'", "do.call.sig"),
        ("{call: {signature: event}}", "missing key 'fn'", "do.call"),
        ("{call: {pack: a:p, unpack: a:u}}", "kind forward requires one function, got a pair", "do"),
        ("{comm: noop}", "kind forward does not support comm: it has no buckets to average", "do"),
    ],
)  # fmt: skip
def test_a_malformed_action_is_refused(refused, action, message, path):
    assert refused(f"{{kind: forward, at: fc, do: {action}}}")[:2] == (message, path)


def test_near_files_are_suggested(refused):
    assert refused("{kind: forward, at: a, do: {call: 'my_hoks.py:h'}}")[2] == ("try `my_hooks.py`")


@pytest.mark.parametrize(
    ("kind", "action"),
    [
        ("post_accumulate_grad, at: a", "{scale: 2}"),
        ("multi_grad, at: a", "zero"),
        ("optimizer_step_post", "negate"),
        ("state_dict_pre, at: a", "{clamp: [0, 1]}"),
        ("engine_callback", "{replace: mask.safetensors}"),
        ('node, at: "fc:input"', "{clip_norm: 1}"),
    ],
)
def test_a_new_value_where_none_is_taken_is_refused_with_both_lines(problem, kind, action):
    message, _, line, _ = problem(
        f"hooks:\n  - kind: {kind.replace(', at', f'{chr(10)}    at')}\n    do: {action}\n"
    )
    assert "changes the value, which kind " in message
    assert "(line 2) does not support" in message
    assert line == f"do: {action}"


@pytest.mark.parametrize("kind", ["post_accumulate_grad, at: a", "engine_callback"])
def test_a_function_may_look_where_no_value_is_taken(hook, kind):
    assert hook(f"{{kind: {kind}, do: {{call: 'f.py:h'}}}}").actions[0].name == "call"


def test_saved_tensors_calls_a_pair(refused):
    assert refused("{kind: saved_tensors, do: {call: a:b}}")[0] == (
        "kind saved_tensors requires a pair of functions"
    )
    assert refused("{kind: saved_tensors, do: {call: {pack: a:b}}}")[0] == "missing key 'unpack'"
