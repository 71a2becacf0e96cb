"""How formats show the hooks that a model had when it was loaded."""

from __future__ import annotations

import dataclasses
import json

import pytest

from hookcli.formats.registry import FORMATS
from hookcli.formats.view import View
from hookcli.report.encode import to_json
from hookcli.report.existing_hook import ExistingHook
from hookcli.report.schema import from_json, json_schema
from tests.formats.fabricate import LAYERS, report


def hook(module, kind="forward", function="train.log", **more):
    known = {"tensor": None, "aliases": (), "type": "Linear", "place": "train.py:3",
             "feature": None, **more}  # fmt: skip
    return ExistingHook(kind=kind, module=module, function=function, **known)


BARE = report("inspect", layers=LAYERS)
MANY = tuple(hook(f"layers.{i}.fc") for i in range(60))
MIXED = (
    *MANY,
    hook("", options=("always_call",)),
    hook("fc", "forward_pre", "torch.nn.utils.weight_norm.WeightNorm", tensor="weight",
         feature="weight_norm", place=None),
    hook(None, "global_forward", type=None),
)  # fmt: skip


def having(*hooks, command="inspect"):
    return dataclasses.replace(BARE, command=command, existing_hooks=hooks)


def shown(form, made, **view):
    return FORMATS[form].render(made, View(**view))


@pytest.mark.parametrize("form", ["table", "tree", "markdown"])
def test_without_hooks_a_report_looks_as_before(form):
    assert shown(form, having()) == shown(form, BARE)
    assert "xisting hook" not in shown(form, BARE)


def test_the_same_hook_on_many_modules_is_one_line_with_their_number():
    table = shown("table", having(*MIXED))
    section = [
        text.split("  ") for text in table.splitlines() if "train." in text or "Norm" in text
    ]
    assert len(section) == 4
    assert [cell.strip() for cell in section[0] if cell] == [
        "forward", "layers.*.fc (Linear) ×60", "train.log", "train.py:3",
    ]  # fmt: skip
    assert "forward (always_call)" in table
    assert "forward_pre (weight_norm)" in table
    assert "fc.weight (Linear)" in table
    assert "(root) (Linear)" in table
    assert "every module" in table


def test_the_tree_omits_none():
    lines = [text for text in shown("tree", having(*MIXED)).splitlines() if "existing" in text]
    assert len(lines) == len(MIXED)
    assert lines[0] == "existing hook: forward on layers.0.fc (Linear): train.log  train.py:3"


def test_a_long_table_is_cut_and_says_so():
    table = shown("table", having(*(hook("fc", function=f"f.h{i}") for i in range(30))))
    assert sum("f.h" in text for text in table.splitlines()) == 20
    assert "10 more existing hooks are not shown" in table


def test_only_selects_hooks_too():
    made = having(*MIXED, hook("fc", "tensor", "train.clip", tensor="bias"))
    assert [t for t in shown("tree", made, only="fc").splitlines() if "existing" in t] == [
        "existing hook: forward_pre (weight_norm) on fc.weight (Linear): "
        "torch.nn.utils.weight_norm.WeightNorm",
        "existing hook: tensor on fc.bias (Linear): train.clip  train.py:3",
    ]


@pytest.mark.parametrize("form", ["table", "tree", "markdown"])
def test_hostile_names_are_escaped(form):
    bad = "\x1b[31m\n ::error::\u202e"
    made = having(hook(bad, function=bad, place=f"{bad}:1", type=bad, tensor=bad))
    text = shown(form, made)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "::error::" not in text


@pytest.mark.parametrize("command", ["trace", "grads", "check"])
def test_other_commands_have_them_in_their_json_only(command):
    made = having(hook("fc"), command=command)
    for form in ("table", "tree", "markdown"):
        assert shown(form, made) == shown(form, having(command=command))
    assert json.loads(to_json(made))["existing_hooks"][0]["module"] == "fc"


def test_json_keeps_them_and_an_older_report_stays_without():
    made = having(*MIXED)
    assert from_json(to_json(made), strict=True) == made
    old = json.loads(to_json(made))
    del old["existing_hooks"]
    read = from_json(json.dumps(old), strict=True)
    assert read.existing_hooks is None
    assert "existing_hooks" not in json.loads(to_json(read))
    assert "existing_hooks" not in json_schema()["required"]
    assert json.loads(to_json(having()))["existing_hooks"] == []
