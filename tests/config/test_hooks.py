"""`hooks`: kinds, when, options, and hooks that exclude each other."""

# a case is a line

from __future__ import annotations

import pytest

from hookcli.catalogue.kinds import CATALOGUE
from hookcli.spec.hooks import ActionSpec, HookSpec, Match, Selector


def test_a_hook_as_data(hook):
    assert hook(
        "{kind: forward, at: fc, calls: [0, 2], steps: 1, every: 3, do: stats}"
    ) == HookSpec(
        index=0,
        kind="forward",
        at=Selector((Match(pattern="fc"),), "fc"),
        calls=(0, 2),
        steps=(1,),
        every=3,
        options={},
        actions=(ActionSpec("stats", None, "hooks.yaml:2: hooks[0].do"),),
        place="hooks.yaml:2: hooks[0]",
    )


def test_a_list_of_kinds_is_several_hooks_of_one_index(read):
    hooks = read(
        "hooks:\n  - {kind: [forward_pre, forward], at: a}\n  - {kind: forward, at: b}\n"
    ).hooks
    assert [(one.index, one.kind, one.place) for one in hooks] == [
        (0, "forward_pre", "hooks.yaml:2: hooks[0]"),
        (0, "forward", "hooks.yaml:2: hooks[0]"),
        (1, "forward", "hooks.yaml:3: hooks[1]"),
    ]


def test_a_hook_without_do_records(hook):
    assert [one.name for one in hook("{kind: forward, at: fc}").actions] == ["record"]


@pytest.mark.parametrize("kind", CATALOGUE)
def test_every_kind_is_known(kind, read):
    assert read(f"hooks: [{CATALOGUE[kind].example}]").hooks[0].kind == kind


@pytest.mark.parametrize(
    ("kind", "hint"),
    [
        ("fowrard", "try `forward`"),
        ("register_forward_hook", "try `forward`"),
        ("register_module_full_backward_hook", "try `full_backward`"),
        ("Forward", "try `forward`"),
        ("zzz", "run `hookcli list hooks`"),
    ],
)
def test_an_unknown_kind_is_answered_with_a_near_one(refused, kind, hint):
    assert refused(f"{{kind: {kind}, at: fc}}") == (
        f"unknown kind '{kind}'",
        "kind",
        hint,
    )


def test_a_kind_stands_once(refused):
    assert refused("{kind: [forward, forward], at: fc}")[0] == "'forward' is given twice"


def test_options_are_those_of_the_kind(hook, refused):
    assert hook("{kind: forward, at: a, options: {prepend: true}}").options == {"prepend": True}
    assert hook("{kind: multi_grad, at: a, options: {mode: any}}").options == {"mode": "any"}
    assert refused("{kind: forward_pre, at: a, options: {always_call: true}}") == (
        "kind forward_pre does not support option 'always_call'", "options.always_call",
        "choose from prepend, with_kwargs",
    )  # fmt: skip
    assert refused("{kind: [forward, node], at: a, options: {prepend: true}}") == (
        "kind node does not support option 'prepend'", "options.prepend", "remove `options`",
    )  # fmt: skip
    assert refused("{kind: forward, at: a, options: {prependd: true}}")[2] == "try `prepend`"
    assert refused("{kind: forward, at: a, options: {prepend: 1}}")[0] == (
        "prepend must be true or false, got 1"
    )


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("calls: -1", "calls must be an integer of at least 0, got -1"),
        ("calls: []", "calls must not be empty"),
        ("calls: [0, true]", "calls[1] must be an integer of at least 0, got true"),
        ("steps: x", "steps must be an integer of at least 0, got 'x'"),
        ("every: 0", "every must be an integer of at least 1, got 0"),
        ("action: stats", "unknown key 'action'"),
    ],
)
def test_when_it_acts(refused, key, message):
    assert refused(f"{{kind: forward, at: a, {key}}}")[0] == message


@pytest.mark.parametrize(
    "kind",
    [
        "post_accumulate_grad, at: a", "accumulate_grad, at: a", "multi_grad, at: a",
        "engine_callback", "optimizer_step_pre", "state_dict_post, at: a", "module_registration",
        "ddp_comm", "package_extern", "tensor, at: fc.weight",
    ],
)  # fmt: skip
def test_calls_are_refused_where_nothing_fires_in_a_call(refused, kind):
    message, path, hint = refused(f"{{kind: {kind}, calls: 0}}")
    assert message.endswith("does not fire in a module's call")
    assert (path, hint) == ("calls", "use `steps` or `every`, or remove it")


@pytest.mark.parametrize(
    "kind",
    [
        "forward, at: a", "global_forward", "full_backward, at: a", 'tensor, at: "a:output"',
        "tensor, at: {op: aten.add}", "node, at: a", "node_pre, at: a", "op", "saved_tensors",
    ],
)  # fmt: skip
def test_calls_count_those_of_modules(hook, kind):
    assert hook(f"{{kind: {kind}, calls: 0}}").calls == (0,)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (
            "{kind: ddp_comm}",
            "{kind: ddp_comm, do: stats}",
            "a model can have only one communication hook",
        ),
        (
            "{kind: backward, at: fc}",
            "{kind: full_backward, at: fc}",
            "legacy and full backward hooks",
        ),
        (
            "{kind: full_backward, at: [a, b]}",
            "{kind: backward, at: [a, b]}",
            "legacy and full backward hooks",
        ),
        (
            "{kind: global_backward}",
            "{kind: global_full_backward}",
            "legacy and full backward hooks",
        ),
        (
            "{kind: saved_tensors, at: fc}",
            "{kind: saved_tensors, at: fc}",
            "only one pair of saved",
        ),
        (
            "{kind: saved_tensors}",
            "{kind: saved_tensors}",
            "only one pair of saved_tensors hooks can be active",
        ),
    ],
)
def test_hooks_that_exclude_each_other_are_refused_with_both_lines(problem, first, second, message):
    said, place, line, _ = problem(f"hooks:\n  - {first}\n  - {second}\n")
    assert message in said
    assert said.endswith("(other hook: hooks.yaml:2: hooks[0])")
    assert place == "hooks.yaml:3: hooks[1].kind"
    assert line == f"- {second}"


def test_legacy_and_full_backward_in_one_list_of_kinds_is_refused(problem):
    assert (
        "legacy and full backward hooks"
        in problem("hooks: [{kind: [backward, full_backward], at: a}]")[0]
    )


@pytest.mark.parametrize(
    "pair",
    [
        "{kind: backward, at: a}, {kind: full_backward, at: b}",
        "{kind: backward, at: a}, {kind: full_backward_pre, at: a}",
        "{kind: forward, at: a}, {kind: forward, at: a}",
        "{kind: saved_tensors, at: a}, {kind: saved_tensors, at: b}",
    ],
)
def test_hooks_that_may_stand_together(read, pair):
    assert len(read(f"hooks: [{pair}]").hooks) == 2
