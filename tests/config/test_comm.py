"""`comm`: communication hooks and their states."""

# a case is a line

from __future__ import annotations

import pytest

from hookcli.config.sections.comm import STATES, WRAPPERS
from hookcli.spec.hooks import FunctionRef, StateRef


def test_a_communication_hook_averages_with_allreduce_by_default(hook):
    assert [(one.name, one.argument) for one in hook("{kind: ddp_comm, do: stats}").actions] == [
        ("comm", {"name": "allreduce"}), ("stats", None),
    ]  # fmt: skip
    assert [one.name for one in hook("{kind: ddp_comm}").actions] == ["comm", "record"]
    assert [one.name for one in hook("{kind: ddp_comm, do: {call: a:b}}").actions] == ["call"]
    looks = hook("{kind: ddp_comm, do: {call: {fn: a:b, signature: event}}}")
    assert [one.name for one in looks.actions] == ["comm", "call"]


@pytest.mark.parametrize("name", STATES)
def test_communication_hooks(argument, name):
    if name == "post_local_sgd":
        action = "{comm: {name: post_local_sgd, start_localSGD_iter: 100}}"
        assert argument(action, "ddp_comm") == {"name": name, "start_localSGD_iter": 100}
    elif name in WRAPPERS:
        action = f"{{comm: {{name: {name}, around: fp16_compress}}}}"
        around = {"name": "fp16_compress"}
        assert argument(action, "ddp_comm") == {"name": name, "around": around}
    else:
        assert argument(f"{{comm: {name}}}", "ddp_comm") == {"name": name}


def test_a_wrapper_stands_around_a_function_of_the_user_s(argument):
    action = "{comm: {name: fp16_compress_wrapper, around: {call: a:b}}}"
    found = argument(action, "ddp_comm")
    assert found == {"name": "fp16_compress_wrapper", "around": FunctionRef("a:b")}


def test_a_hook_of_the_user_s_has_a_state_that_is_made_anew(argument):
    action = "{call: {fn: a:b, state: {call: a:State, args: {rank: 2}}}}"
    assert argument(action, "ddp_comm") == FunctionRef(
        "a:b", state=StateRef("a:State", {"rank": 2})
    )
    assert argument("{call: {fn: a:b, state: a:S}}", "ddp_comm").state == StateRef("a:S")


def test_the_states_are_torch_s_own():
    from inspect import signature

    from torch.distributed.algorithms.ddp_comm_hooks import post_localSGD_hook, powerSGD_hook

    own = {
        "power_sgd": powerSGD_hook.PowerSGDState, "batched_power_sgd": powerSGD_hook.PowerSGDState,
        "post_local_sgd": post_localSGD_hook.PostLocalSGDState,
    }  # fmt: skip
    for name, state in own.items():
        assert set(STATES[name]) == set(signature(state).parameters) - {"process_group", "subgroup"}


@pytest.mark.parametrize(
    ("action", "message", "hint"),
    [
        ("{comm: fp16_hook}", "unknown communication hook 'fp16_hook'", "fp16_compress, bf16"),
        ("{comm: powerSGD_hook}", "unknown communication hook 'powerSGD_hook'", "`power_sgd`"),
        ("{comm: {random_seed: 1}}", "missing key 'name'", "power_sgd"),
        ("{comm: {name: noop, random_seed: 1}}", "unknown key 'random_seed'", "name"),
        ("{comm: post_local_sgd}", "post_local_sgd requires 'start_localSGD_iter'", "{name:"),
        ("{comm: 1}", "comm must be the name of a communication hook, or {name: power_sgd, …}, "
         "got 1", "fp16_compress"),
        ("{comm: fp16_compress_wrapper}", "fp16_compress_wrapper requires 'around'",
         "around: power_sgd"),
        ("{comm: {name: fp16_compress_wrapper}}", "fp16_compress_wrapper requires "
         "'around'", "around: power_sgd"),
        ("{comm: {name: fp16_compress_wrapper, around: noop, random_seed: 1}}",
         "unknown key 'random_seed'", "choose from name, around"),
        ("{comm: {name: fp16_compress_wrapper, around: powerSDG}}",
         "unknown communication hook 'powerSDG'", "`power_sgd`"),
        ("[{comm: noop}, {call: a:b}]", "two actions average the bucket", "remove one"),
    ],
)  # fmt: skip
def test_a_malformed_communication_hook_is_refused(problems, action, message, hint):
    ((said, _, _, advice),) = problems(f"hooks:\n  - {{kind: ddp_comm, do: {action}}}\n")
    assert said == message
    assert hint in advice
