"""`model` and `inputs`: what they become, and what is refused."""

# ruff: noqa: E501  # a case is a line

from __future__ import annotations

import pytest

from hookcli.config.load import read_config
from hookcli.spec.inputs import (
    DictSpec,
    FileSpec,
    Fill,
    FunctionSpec,
    InputSpec,
    ListSpec,
    TensorSpec,
    ValueSpec,
)
from hookcli.spec.request import Argument, ModelSpec


def test_a_text_and_a_mapping_name_the_same_model(read, folder):
    assert read("model: model.py:Net").model == ModelSpec(f"{folder}/model.py:Net")
    assert read("model: {source: model.py:Net}").model == ModelSpec(f"{folder}/model.py:Net")


@pytest.mark.parametrize(
    ("source", "absolute"),
    [
        ("model.py", "{}/model.py"),
        ("./model.py:build.Net", "{}/model.py:build.Net"),
        ("package.module:Net", "package.module:Net"),
        ("batch.pt", "{}/batch.pt"),
        ("batch.pt:package/resource.pkl", "{}/batch.pt:package/resource.pkl"),
        ("net.safetensors", "{}/net.safetensors"),
    ],
)
def test_sources_are_those_of_the_command_line(read, folder, source, absolute):
    assert read(f"model: {source}").model.source == absolute.format(folder)


def test_arguments_and_weights(read, folder):
    model = read(
        "model:\n  source: model.py\n  args:\n    depth: 18\n    sizes: [1, 2]\n"
        "  weights: net.safetensors\n"
    ).model
    assert model.args == (
        Argument("depth", 18, "depth=18", "hooks.yaml:4: model.args.depth"),
        Argument("sizes", [1, 2], "sizes=[1, 2]", "hooks.yaml:5: model.args.sizes"),
    )
    assert model.args[0].place == "hooks.yaml:4: model.args.depth"
    assert model.weights == f"{folder}/net.safetensors"
    positional = read("model: {source: model.py, args: [1, a]}").model.args
    assert [(one.name, one.value, one.text) for one in positional] == [
        (None, 1, "1"),
        (None, "a", "a"),
    ]


def test_a_call_s_file_is_absolute_at_any_depth(read, folder):
    config = read(
        "model: {source: model.py, args: {a: {call: 'f.py:C', args: {b: [{call: p.q:D}, "
        "{call: 'make.py:E'}]}}}}"
    )
    assert config.model.args[0].value == {
        "call": f"{folder}/f.py:C",
        "args": {"b": [{"call": "p.q:D"}, {"call": f"{folder}/make.py:E"}]},
    }


@pytest.mark.parametrize(
    ("text", "message", "path", "hint"),
    [
        ("modle.py", "file not found: modle.py", "model", "try `model.py`"),
        ("modle.py:Net", "file not found: modle.py", "model", "try `model.py`"),
        ("zzz/model.py", "file not found: zzz/model.py", "model", "does not exist"),
        (".", ". is a directory", "model", "choose a file in it"),
        (
            "[a]",
            "model must be a string or a mapping {source, args, argv, method, weights}, got [a]",
            "model",
            "model.py:Net",
        ),
        (
            "",
            "model must be a string or a mapping {source, args, argv, method, weights}, got null",
            "model",
            "model.py:Net",
        ),
        ("{args: {a: 1}}", "missing key 'source'", "model", "add `source`"),
        (
            "{source: model.py, kwargs: {}}",
            "unknown key 'kwargs'",
            "model.kwargs",
            "try `args`",
        ),
        (
            "{source: model.py, args: 3}",
            "args must be a mapping of names to values, or a list of values, got 3",
            "model.args",
            "{depth: 18}",
        ),
        (
            "{source: model.py, weights: net.pt}",
            "file not found: net.pt",
            "model.weights",
            "net.safetensors",
        ),
        (
            "{source: model.py, args: {a: {call: C}}}",
            "'C' is not a reference to a function",
            "model.args.a.call",
            "package.module:attr",
        ),
        (
            "{source: model.py, args: {a: {call: 'x.py:C'}}}",
            "file not found: x.py",
            "model.args.a.call",
            "f.py",
        ),
        (
            "{source: model.py, args: {a: {call: p:C, kwargs: {}}}}",
            "unknown key 'kwargs'",
            "model.args.a.kwargs",
            "{call:",
        ),
        (
            "{source: model.py, args: {a: {call: p:C, args: 3}}}",
            "args must be a mapping or a list, got 3",
            "model.args.a.args",
            "{call:",
        ),
        (
            "{source: model.py, args: {a: {call: [1]}}}",
            "call must be a string, got [1]",
            "model.args.a.call",
            "{call:",
        ),
        (r'"a\0.py"', "'a\0.py' is no file's name: embedded null byte", "model", "name a file"),
    ],
)
def test_a_model_that_is_refused(problem, text, message, path, hint):
    said, place, _, advice = problem(f"model: {text}")
    if "null byte" not in message:  # some versions of Python say only that there is no file
        assert said == message
    assert place == f"hooks.yaml:1: {path}"
    assert hint in advice or "null byte" in message


def test_paths_are_relative_to_the_file_that_names_them(folder, tmp_path, monkeypatch):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "c.yaml").write_text(
        "model: ../model.py\nhooks: [{kind: forward, at: a, do: {save: out}}]"
    )
    config = read_config("sub/c.yaml")
    assert config.model.source == f"{tmp_path}/model.py"
    assert config.hooks[0].actions[0].argument == f"{tmp_path}/sub/out"
    assert config.hooks[0].place == "sub/c.yaml:2: hooks[0]"
    assert config.path == f"{tmp_path}/sub/c.yaml"


def test_a_list_is_positional_and_a_mapping_is_by_keyword(read):
    place = "hooks.yaml:1: inputs"
    assert read("inputs: ['2x3', 'value:true']").inputs == (
        InputSpec(None, TensorSpec((2, 3)), "2x3", f"{place}[0]"),
        InputSpec(None, ValueSpec(True), "value:true", f"{place}[1]"),
    )
    assert read("inputs: {ids: '2x16:int64:0..100', n: 'value:3'}").inputs == (
        InputSpec(
            "ids",
            TensorSpec((2, 16), "int64", Fill("range", 0, 100)),
            "2x16:int64:0..100",
            f"{place}.ids",
        ),
        InputSpec("n", ValueSpec(3), "value:3", f"{place}.n"),
    )
    assert [one.name for one in read("inputs: ['2x3', 'y=2x3']").inputs] == [None, "y"]


def test_files_and_functions_of_inputs_come_out_absolute(read, folder):
    (whole,) = read("inputs: batch.pt").inputs
    assert whole.spec == FileSpec(f"{folder}/batch.pt")
    (function,) = read("inputs: ['make.py:batch']").inputs
    assert function.spec == FunctionSpec(f"{folder}/make.py", "batch")
    assert function.text == "make.py:batch"


def test_lists_and_mappings_nest(read, folder):
    (first, second) = read("inputs: [['2x3', 'batch.pt'], {a: {b: ['4']}, c: 'value:none'}]").inputs
    assert first.spec == ListSpec((TensorSpec((2, 3)), FileSpec(f"{folder}/batch.pt")))
    assert second.spec == DictSpec(
        (("a", DictSpec((("b", ListSpec((TensorSpec((4,)),))),))), ("c", ValueSpec(None)))
    )
    assert first.text == "[2x3, batch.pt]"
    assert first.place == "hooks.yaml:1: inputs[0]"


@pytest.mark.parametrize(
    ("text", "message", "path", "hint"),
    [
        (
            "16",
            "inputs must be a list (positional arguments), a mapping (keyword arguments) or a string, got 16",
            "inputs",
            "2x3x64x64",
        ),
        ("[]", "inputs must not be empty", "inputs", "remove the key"),
        (
            "[16]",
            "inputs[0] must be a string such as 2x3x64x64, or a list or mapping of these, got 16",
            "inputs[0]",
            "write `value:16` for a plain value, or put a shape in quotes",
        ),
        (
            "[true]",
            "inputs[0] must be a string such as 2x3x64x64, or a list or mapping of these, got true",
            "inputs[0]",
            "write `value:true`",
        ),
        (
            "[null]",
            "inputs[0] must be a string such as 2x3x64x64, or a list or mapping of these, got null",
            "inputs[0]",
            "write `value:none`",
        ),
        ("['2y3']", "'2y3' is not an input", "inputs[0]", "write a shape"),
        ("{x: '2x3:flot32'}", "unknown dtype 'flot32'", "inputs.x", "try `float32`"),
        ("['none.pt']", "file not found: none.pt", "inputs[0]", "relative"),
        ("['mak.py:batch']", "file not found: mak.py", "inputs[0]", "try `make.py`"),
        ("[['x=2x3']]", "'x=' is not allowed inside an argument", "inputs[0][0]", "remove `x=`"),
        ("{y: 'x=2x3'}", "'x=' is not allowed after the key 'y'", "inputs.y", "remove `x=`"),
        ("['x=2', 'x=3']", "'x' is given twice", "inputs[1]", "remove one"),
        ("{1: '2x3'}", "a key must be a string, got 1", "inputs[1]", "put the key in quotes"),
        (
            "[{a: {b: 3}}]",
            "b must be a string such as 2x3x64x64, or a list or mapping of these, got 3",
            "inputs[0].a.b",
            "value:3",
        ),
    ],
)
def test_inputs_that_are_refused(problem, text, message, path, hint):
    said, place, _, advice = problem(f"inputs: {text}")
    assert said == message
    assert place == f"hooks.yaml:1: {path}"
    assert hint in advice


def test_libraries_come_out_absolute_and_must_be_there(read, problem, folder):
    assert read("libraries: [libmine.so]").libraries == (f"{folder}/libmine.so",)
    assert problem("libraries: [libmin.so]") == (
        "file not found: libmin.so", "hooks.yaml:1: libraries[0]", "libraries: [libmin.so]",
        "try `libmine.so`",
    )  # fmt: skip
