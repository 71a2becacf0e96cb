"""The presets, and the configurations that `hookcli init` writes of them."""

from __future__ import annotations

import re

import pytest

from hookcli.config.load import read_text
from hookcli.config.merge import Flags, spec_of
from hookcli.config.presets import PRESETS, preset_hooks
from hookcli.config.template import initial_text
from hookcli.errors import RequestError
from hookcli.spec.hooks import ActionSpec, HookSpec
from hookcli.spec.selectors import selector_of


def hook(index, kind, at, action, name, argument=None):
    place = f"preset {name}"
    return HookSpec(
        index, kind, selector_of(at), actions=(ActionSpec(action, argument, place),), place=place
    )


def test_the_presets():
    assert preset_hooks("trace") == (
        hook(0, "forward_pre", "*", "record", "trace"),
        hook(0, "forward", "*", "record", "trace"),
        hook(1, "tensor", "*:output", "record", "trace"),
        hook(2, "post_accumulate_grad", "*", "record", "trace"),
    )
    assert preset_hooks("grads") == (
        hook(0, "tensor", "*:output", "stats", "grads", "norm"),
        hook(1, "node", "*:input", "stats", "grads", "norm"),
    )
    assert preset_hooks("inspect") == ()
    assert preset_hooks("none") == ()


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_configurations(name):
    assert len(read_text(PRESETS[name], "preset").hooks) == len(preset_hooks(name))


def test_a_text_that_is_refused_names_what_it_was_called():
    with pytest.raises(RequestError) as caught:
        read_text("hooks: [", "the text")
    assert caught.value.place.startswith("the text:1")


def without_places(hooks):
    return [
        (h.index, h.kind, h.at, h.options, [(a.name, a.argument) for a in h.actions]) for h in hooks
    ]


@pytest.mark.parametrize("name", PRESETS)
def test_the_initial_text_reads_back_as_the_preset(name, read, folder):
    config = read(initial_text("model.py:Net", name))
    assert config.model.source == f"{folder}/model.py:Net"
    assert config.preset == "none"
    assert without_places(config.hooks) == without_places(preset_hooks(name))
    command = name if name != "none" else "inspect"
    spec = spec_of(command, config, Flags())
    assert without_places(spec.hooks) == without_places(preset_hooks(name))


@pytest.mark.parametrize("name", PRESETS)
def test_each_line_that_is_commented_out_may_be_taken_in(name, read, folder):
    text = initial_text("model.py:Net", name)
    text = text.replace("hooks: []", "hooks:")
    text = re.sub(r"^(\s*)# (\S.*: .*|run:|checks:|  .*|  +- .*|- .*)$", r"\1\2", text, flags=re.M)
    lines = [
        line
        for line in text.splitlines()
        if not line.startswith(("extends", "Paths", "A configuration"))
    ]
    kept = "\n".join(lines)
    for first in ("model", "inputs"):  # two ways to say one thing: keep the last
        while len(re.findall(rf"^{first}:", kept, re.M)) > 1:
            kept = re.sub(rf"^{first}:.*\n", "", kept, count=1, flags=re.M)
    for prose in ("  More hooks.", "The batch.", "How to run the model."):
        kept = re.sub(rf"^{re.escape(prose)}.*\n", "", kept, flags=re.M)
    config = read(kept)
    assert len({hook.kind for hook in config.hooks}) >= 9
    assert config.run["mode"] == "train"
    assert config.inputs[0].name == "input_ids"
    assert [check.rule for check in config.checks] == ["finite", "output_shape"]
    assert config.fail_on == "error"


@pytest.mark.parametrize("source", ["a b.py:Net", "- x: #.py", "*.py", "yes.py", "é\n.py", "'.py"])
def test_any_source_is_quoted(source, read, folder):
    path = source.partition(":Net")[0]
    (folder / path).touch()
    assert read(initial_text(source, "none")).model.source == f"{folder}/{source}"
