"""`at`: its forms, and what each kind takes."""

# ruff: noqa: E501  # a case is a line

from __future__ import annotations

import jsonschema
import pytest

from hookcli.catalogue.kinds import CATALOGUE
from hookcli.config.sections.at import DEFS
from hookcli.spec.hooks import Match, Selector


@pytest.mark.parametrize(
    ("at", "matches"),
    [
        ('""', (Match(pattern=""),)),
        ("{name: fc}", (Match(name="fc"),)),
        ('{name: ""}', (Match(name=""),)),
        ('{regex: "l.*", depth: 1, leaf: false}', (Match(regex="l.*", depth=1, leaf=False),)),
        ("{type: Conv2d}", (Match(type="Conv2d"),)),
        ("[a, {type: B}, [c]]", (Match(pattern="a"), Match(type="B"), Match(pattern="c"))),
        (
            "{type: B, not: [a, b]}",
            (
                Match(
                    type="B",
                    negated=Selector((Match(pattern="a"), Match(pattern="b")), "[a, b]"),
                ),
            ),
        ),
    ],
)
def test_the_forms_of_at(hook, at, matches):
    assert hook(f"{{kind: forward, at: {at}}}").at.any == matches


@pytest.mark.parametrize(
    ("at", "valid"),
    [
        ("fc", True), ("", True), ({"name": ""}, True), ({}, False), (["a"], True), ([], False),
        ({"depth": 0}, True), ({"depth": -1}, False), ([["a", {"leaf": True}]], True), (1, False),
    ],
)  # fmt: skip
def test_the_schema_says_what_at_may_be(at, valid):
    schema = {"$defs": DEFS, "$ref": "#/$defs/at"}
    assert jsonschema.Draft202012Validator(schema).is_valid(at) is valid


def test_values_operators_and_nodes(hook):
    assert hook('{kind: tensor, at: "fc:output.a[1]"}').at.any == (
        Match(pattern="fc", part="output", path=".a[1]"),
    )
    assert hook('{kind: tensor, at: {type: B, part: "input[0]"}}').at == Selector(
        (Match(type="B", part="input", path="[0]"),), "{type: B, part: 'input[0]'}"
    )
    inside = Selector((Match(pattern="layer1"),), "layer1")
    assert hook("{kind: tensor, at: {op: aten.add, in: layer1, call: 0}}").at.any == (
        Match(op="aten.add", inside=inside, call=0),
    )
    assert hook("{kind: node, at: {node: AddmmBackward0, in: layer1}}").at.any == (
        Match(node="AddmmBackward0", inside=inside),
    )


@pytest.mark.parametrize(
    ("at", "message", "path", "hint"),
    [
        ("1", "at must be a pattern, a mapping of conditions, or a list of these, got 1",
         "at", "write `at:"),
        ("[]", "at must not be empty", "at", "write `at:"),
        ("{}", "at must not be empty", "at", "write `at:"),
        ("{typ: A}", "unknown key 'typ'", "at.typ", "try `type`"),
        ('{pattern: "a.*"}', "unknown key 'pattern'", "at.pattern", "write the pattern as a string"),
        ("{depth: one}", "depth must be an integer of at least 0, got 'one'", "at.depth", "1"),
        ("{leaf: 1}", "leaf must be true or false, got 1", "at.leaf", "without quotes"),
        ('{regex: "("}', "invalid regular expression: missing ), unterminated subpattern at position 0",
         "at.regex", "whole name must match"),
        ('{regex: "(a"}', "invalid regular expression: missing ), unterminated subpattern at position 0",
         "at.regex", "whole name must match"),
        ("{part: outputs, name: a}", "'outputs' is not a part of a module's call", "at.part",
         "try `output`"),
        ("{in: a}", "'in' requires 'op' or 'node'", "at.in", "op: aten.add"),
        ("{call: 0, name: a}", "'call' requires 'op' or 'node'", "at.call", "op: aten.add"),
        ("{op: aten.add, node: B}", "'op' cannot be combined with 'node'", "at", "remove one"),
        ("{op: aten.add, type: B}", "'op' and 'node' can be combined only with 'in' and 'call'", "at",
         "{op: aten.add, in: {type: Block}}"),
        ("{op: add}", "'add' is not the name of an operator", "at.op", "such as `aten.add`"),
        ('{not: "fc:output"}', "'not' can select only modules or parameters", "at.not", "remove the part"),
        ('"fc:outptu"', "the text after the colon must be input or output, got 'outptu'", "at",
         "try `fc:output`"),
        ('["fc:outptu", {type: B}]', "the text after the colon must be input or output, got 'outptu'",
         "at[0]", "try `fc:output`"),
        ("[a, 1]", "at[1] must be a pattern, a mapping of conditions, or a list of these, "
         "got 1", "at[1]", "write `at:"),
    ],
)  # fmt: skip
def test_a_malformed_at_is_refused(refused, at, message, path, hint):
    found = refused(f"{{kind: tensor, at: {at}}}")
    assert found[:2] == (message, path)
    assert hint in found[2]


@pytest.mark.parametrize(
    ("kind", "at", "message"),
    [
        ("forward", '"fc:output"',
         "kind forward cannot be attached to an output of a module's call"),
        ("forward", "{op: aten.add}", "kind forward cannot be attached to an operator"),
        ("forward", "{node: B}", "kind forward cannot be attached to an autograd node"),
        ("tensor", "{node: B}", "kind tensor cannot be attached to an autograd node"),
        ("tensor", "{type: Linear}", "'type' selects modules, but kind tensor selects parameters"),
        ("tensor", "{name: fc.weight, not: {depth: 1}}",
         "'depth' selects modules, but kind tensor selects parameters"),
        ("post_accumulate_grad", '"fc:output"',
         "kind post_accumulate_grad cannot be attached to an output of a module's call"),
        ("accumulate_grad", '"fc:input"',
         "kind accumulate_grad cannot be attached to an input of a module's call"),
        ("multi_grad", "{op: aten.add}", "kind multi_grad cannot be attached to an operator"),
        ("node", '"fc:output"', "kind node cannot be attached to an output of a module's call"),
        ("node_pre", '"fc:input"',
         "kind node_pre cannot be attached to an input of a module's call"),
        ("op", '"fc:output"', "kind op cannot be attached to an output of a module's call"),
        ("saved_tensors", "{op: aten.add}",
         "kind saved_tensors cannot be attached to an operator"),
        ("state_dict_post", '"fc:input"',
         "kind state_dict_post cannot be attached to an input of a module's call"),
    ],
)  # fmt: skip
def test_the_kind_decides_what_at_may_be(refused, kind, at, message):
    found = refused(f"{{kind: {kind}, at: {at}}}")
    assert found[:2] == (message, "at")


def test_the_condition_that_does_not_fit_is_named(refused):
    message, path, _ = refused('{kind: forward, at: [a, "b:output"]}')
    assert (message, path) == (
        "kind forward cannot be attached to an output of a module's call", "at[1]",
    )  # fmt: skip


@pytest.mark.parametrize(
    "kind",
    [
        "forward_pre", "forward", "full_backward_pre", "full_backward", "backward", "tensor",
        "post_accumulate_grad", "multi_grad", "node_pre", "node", "accumulate_grad",
        "state_dict_pre", "state_dict_post", "load_state_dict_pre", "load_state_dict_post",
    ],
)  # fmt: skip
def test_kinds_with_a_target_need_at(refused, kind):
    message, path, hint = refused(f"{{kind: {kind}}}")
    assert (message, path) == (f"kind {kind} requires 'at'", "")
    assert CATALOGUE[kind].example in hint


@pytest.mark.parametrize(
    "kind",
    [
        "global_forward", "engine_callback", "ddp_comm", "optimizer_step_pre",
        "global_optimizer_step_post", "package_extern", "module_registration",
    ],
)  # fmt: skip
def test_kinds_without_a_target_take_no_at(refused, kind):
    message, path, _ = refused(f"{{kind: {kind}, at: fc}}")
    assert message.startswith(f"kind {kind} does not support 'at': it fires ")
    assert path == "at"


@pytest.mark.parametrize("kind", ["op", "saved_tensors"])
def test_kinds_of_the_run_may_have_at(hook, kind):
    assert hook(f"{{kind: {kind}}}").at is None
    assert hook(f"{{kind: {kind}, at: a}}").at.any == (Match(pattern="a"),)
