"""Brackets in `--input`, why a request needs values, and formats that lack a kind of report."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hookcli.errors import RequestError
from hookcli.formats.format import Format
from hookcli.formats.view import View
from hookcli.spec.inputs import is_nested, parts, rewritten
from hookcli.spec.plan import in_its_mode, plan, why_values
from hookcli.spec.request import DistributedSpec, ModelSpec, RunSpec, SideSpec, Spec
from hookcli.spec.what_if import WhatIf
from tests.formats.fabricate import report


def test_brackets_are_split_at_their_own_commas():
    assert parts("{a: 2x3, 'b': [1, (2,)],}") == [("a", "2x3"), ("b", "[1, (2,)]")]
    assert parts("(2x3,)") == [(None, "2x3")]
    assert parts("[]") == []
    assert parts("['a,b', \"c]\"]") == [(None, "'a,b'"), (None, '"c]"')]
    assert not is_nested("2x3")
    assert not is_nested("[")
    assert rewritten("{a: x, b: (y,)}", str.upper) == "{a: X, b: (Y,)}"
    assert rewritten("[x, (y, z)]", str.upper) == "[X, (Y, Z)]"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("[1,,2]", "an item is empty"),
        ("{a: 1, a: 2}", "key 'a' is given twice"),
        ("{a}", "'a' is not a key with a value"),
        ("{: 1}", "': 1' is not a key with a value"),
        ("{a: }", "'a:' is not a key with a value"),
        ("[1)]", "')' does not match an opening bracket"),
        ("['a]", "a quote is not closed"),
        ("[(1]", "a bracket is not closed"),
        ("[(1 ]", "a bracket is not closed"),
        ("[" * 23 + "]" * 23, "brackets are nested deeper than 20 levels"),
    ],
)
def test_brackets_that_do_not_match_are_told(body, message):
    with pytest.raises(ValueError, match=r"\w") as caught:
        parts(body)
    assert caught.value.args[0] == message


SPEC = Spec("inspect", ModelSpec("net.py"))


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        (SPEC, None),
        (replace(SPEC, command="grads"), "gradients require values"),
        (replace(SPEC, command="check"), "rules check values"),
        (replace(SPEC, run=RunSpec(verify_neutral=True)), "values are compared"),
        (replace(SPEC, side=SideSpec("a", "/folder", weights=False)), "values are compared"),
        (
            replace(SPEC, run=RunSpec(distributed=DistributedSpec(nproc=2))),
            "ranks exchange values",
        ),
        (replace(SPEC, run=RunSpec(distributed=DistributedSpec(nproc=1))), None),
        (replace(SPEC, timings=True), "only real operators can be timed"),
        (replace(SPEC, run=RunSpec(loss="a.py:f")), "the loss is a user-defined function"),
    ],
)
def test_why_a_request_needs_values(spec, why):
    assert why_values(spec) == why


@pytest.mark.parametrize(
    ("mode", "exported", "warned"),
    [("eval", "train", True), ("eval", "eval", False), (None, "train", False),
     ("as-is", "train", False), ("eval", None, False)],
)  # fmt: skip
def test_the_mode_of_an_export_is_kept(mode, exported, warned):
    spec = replace(SPEC, run=RunSpec(mode=mode))
    settings, warnings = in_its_mode(plan(spec), spec, exported)
    assert settings.mode == ("as-is" if exported else "eval")
    assert bool(warnings) == warned


def test_what_needs_backward_is_not_combined_with_no_grad():
    with pytest.raises(RequestError, match="grads runs backward"):
        plan(replace(SPEC, command="grads", run=RunSpec(grad=False)))
    with pytest.raises(RequestError, match="the memory of training requires autograd"):
        plan(replace(SPEC, run=RunSpec(grad=False, what_if=(WhatIf("batch=2", 2),))))


def test_a_format_says_what_it_does_not_support():
    folder = Format("x", "a folder", "nobody", "hookcli", renderer="x:y", writes_folder=True)
    with pytest.raises(LookupError, match="the format x writes a folder"):
        folder.render(report("inspect"), View())
    other = replace(folder, kinds=("diff",))
    for render in (other.render, other.files):
        with pytest.raises(LookupError, match="the format x does not support a report"):
            render(report("inspect"), View())
