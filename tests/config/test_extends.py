"""`extends`: what is merged how, and places that stay true."""

from __future__ import annotations

import pytest

from hookcli.config.load import read_config
from hookcli.errors import ProblemsError, RequestError


@pytest.fixture
def files(folder):
    """Write several configurations and read the first."""

    def reads(**texts):
        for name, text in texts.items():
            path = folder / f"{name.replace('__', '/')}.yaml"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        return read_config(f"{next(iter(texts)).replace('__', '/')}.yaml")

    return reads


@pytest.fixture
def places(files):
    """Where the problems of several configurations are, with what is said."""

    def found(**texts):
        with pytest.raises(RequestError) as caught:
            files(**texts)
        error = caught.value
        several = error.problems if isinstance(error, ProblemsError) else (error,)
        return [(one.place.partition("  |  ")[0], one.message) for one in several]

    return found


def test_mappings_merge_key_by_key(files):
    config = files(
        own="extends: base.yaml\nrun: {seed: 1, optimizer: {lr: 0.5}}\n",
        base="preset: trace\nrun: {seed: 0, steps: 2, optimizer: {name: Adam, lr: 0.1, eps: 1}}\n",
    )
    assert config.preset == "trace"
    assert config.run["seed"] == 1
    assert config.run["steps"] == 2
    assert config.run["optimizer"].name == "Adam"
    assert config.run["optimizer"].options == {"lr": 0.5, "eps": 1}


def test_hooks_checks_and_libraries_are_the_base_s_then_the_file_s_own(files, folder):
    (folder / "two.so").touch()
    config = files(
        own="extends: base.yaml\nhooks:\n- {kind: forward, at: own}\n"
        "checks: [{rule: hooks_fired}]\n"
        "libraries: [two.so]\n",
        base="hooks:\n- {kind: [forward_pre, forward], at: base}\nchecks: [{rule: finite}]\n"
        "libraries: [libmine.so]\n",
    )
    assert [(one.index, one.at.text, one.place) for one in config.hooks] == [
        (0, "base", "base.yaml:2: hooks[0]"),
        (0, "base", "base.yaml:2: hooks[0]"),
        (1, "own", "own.yaml:3: hooks[0]"),
    ]
    assert [one.rule for one in config.checks] == ["finite", "hooks_fired"]
    assert config.libraries == (f"{folder}/libmine.so", f"{folder}/two.so")


def test_other_lists_are_the_file_s_own(files):
    config = files(own="extends: base.yaml\ninputs: ['3']\n", base="inputs: ['1', '2']\n")
    assert [one.text for one in config.inputs] == ["3"]
    config = files(own="extends: base.yaml\ninputs: {b: '3'}\n", base="inputs: {a: '1', b: '2'}\n")
    assert [(one.name, one.text) for one in config.inputs] == [("a", "1"), ("b", "3")]


def test_a_model_s_text_stands_for_its_source(files, folder):
    config = files(
        own="extends: base.yaml\nmodel: {args: {depth: 1}}\n", base="model: model.py:Net"
    )
    assert config.model.source == f"{folder}/model.py:Net"
    assert config.model.args[0].value == 1
    config = files(
        own="extends: base.yaml\nmodel: f.py\n", base="model: {source: model.py, args: {depth: 1}}"
    )
    assert (config.model.source, config.model.args) == (f"{folder}/f.py", ())


def test_a_base_s_paths_are_relative_to_it(files, folder):
    (folder / "sub").mkdir()
    (folder / "sub" / "w.pt").touch()
    config = files(
        own="extends: sub/base.yaml\nmodel: {source: model.py}\n",
        sub__base="extends: ../root.yaml\nmodel: {source: w.pt, weights: w.pt}\n",
        root="hooks: [{kind: forward, at: a, do: {replace: mask.safetensors}}]\n",
    )
    assert config.model.source == f"{folder}/model.py"
    assert config.model.weights == f"{folder}/sub/w.pt"
    assert config.hooks[0].actions[0].argument == f"{folder}/mask.safetensors"
    assert config.hooks[0].place == "root.yaml:1: hooks[0]"


def test_a_problem_in_a_base_names_the_base_s_line(places):
    assert places(
        own="extends: sub/base.yaml\nrun: {sed: 0}\n",
        sub__base="# the base\nhooks:\n  - {kind: fowrard, at: a}\nrun: {mode: trian}\n",
    ) == [
        ("own.yaml:2: run.sed", "unknown key 'sed'"),
        ("sub/base.yaml:3: hooks[0].kind", "unknown kind 'fowrard'"),
        (
            "sub/base.yaml:4: run.mode",
            "mode must be one of train, eval, as-is, got 'trian'",
        ),
    ]


def test_a_conflict_over_two_files_names_both(places):
    ((place, message),) = places(
        own="extends: base.yaml\nhooks: [{kind: ddp_comm}]\n", base="hooks: [{kind: ddp_comm}]\n"
    )
    assert place == "own.yaml:2: hooks[0].kind"
    assert message.endswith("(other hook: base.yaml:1: hooks[0])")


@pytest.mark.parametrize(
    ("texts", "place", "message"),
    [
        ({"a": "extends: a.yaml"}, "a.yaml:1: extends", "a.yaml → a.yaml"),
        (
            {"a": "preset: none\nextends: b.yaml", "b": "extends: c.yaml", "c": "extends: a.yaml"},
            "c.yaml:1: extends", "a.yaml → b.yaml → c.yaml → a.yaml",
        ),
        (
            {"a": "extends: b.yaml", "b": "extends: ./sub/../b.yaml", "sub__x": "a: 1"},
            "b.yaml:1: extends", "b.yaml → b.yaml",
        ),
    ],
)  # fmt: skip
def test_a_cycle_is_refused(places, texts, place, message):
    assert places(**texts) == [(place, f"circular extends: {message}")]


def test_a_chain_has_an_end(files, places):
    chain = {f"f{i}": f"extends: f{i + 1}.yaml" for i in range(20)}
    assert places(**chain, f20="preset: none") == [
        ("f15.yaml:1: extends", "more than 16 files in a chain of extends")
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("extends: nope.yaml", "file not found: nope.yaml"),
        ("extends: [base.yaml]", "extends must be the name of a file, got [base.yaml]"),
        ("extends:", "extends must be the name of a file, got null"),
        ("extends: .", ". is a directory"),
    ],
)
def test_what_can_be_extended(places, text, message):
    assert places(own=f"{text}\npreset: none\n") == [("own.yaml:1: extends", message)]


def test_a_broken_base_does_not_hide_the_file_s_own_problems(places):
    assert places(own="extends: base.yaml\npreset: tarce\n", base="a: 'open\n") == [
        (
            "own.yaml:2: preset",
            "preset must be one of trace, grads, inspect, none, got 'tarce'",
        ),
        (
            "base.yaml:2",
            "invalid YAML while scanning a quoted scalar: found unexpected end of stream",
        ),
    ]


def test_a_wrong_type_in_a_base_is_said(places):
    assert places(own="extends: base.yaml\nhooks: []\n", base="hooks: {a: 1}\n") == [
        ("base.yaml:1: hooks", "hooks must be a list of hooks, got {a: 1}")
    ]
