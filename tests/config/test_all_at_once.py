"""Every problem of a configuration is said, in its order, each in three lines."""

from __future__ import annotations

import pickle

import pytest
import yaml
from hypothesis import given, settings, strategies as st

from hookcli.config.load import read_config, read_text
from hookcli.console import Console
from hookcli.errors import ProblemsError, RequestError
from tests.config.examples import SECTION_8, STRUCTURAL, VALID

MANY = """\
modle: model.py
run:
  mode: trian
  sede: 0
  seed: -1
hooks:
  - kind: fowrard
    at: "conv:outptu"
    do: [clmp, {scale: x}]
  - {kind: post_accumulate_grad, at: "*", do: {scale: 2}, options: {prepend: true}}
  - kind: forward
    at:
      - fc
      - {regex: "("}
    options:
      prepend: 1
      modes: all
    do:
      - {call: "nope.py:f"}
      - {replace: none.pt}
  - {at: fc}
  - {kind: ddp_comm}
  - {kind: ddp_comm}
checks:
  - {severity: fatal}
preset: tarce
run: {}
"""


def test_all_problems_are_said_at_once_in_the_file_s_order(problems):
    rows = problems(MANY)
    assert [place for _, place, _, _ in rows] == [
        "hooks.yaml:1: modle",
        "hooks.yaml:3: run.mode",
        "hooks.yaml:4: run.sede",
        "hooks.yaml:5: run.seed",
        "hooks.yaml:7: hooks[0].kind",
        "hooks.yaml:8: hooks[0].at",
        "hooks.yaml:9: hooks[0].do[0]",
        "hooks.yaml:9: hooks[0].do[1].scale",
        "hooks.yaml:10: hooks[1].do",
        "hooks.yaml:10: hooks[1].options.prepend",
        "hooks.yaml:14: hooks[2].at[1].regex",
        "hooks.yaml:16: hooks[2].options.prepend",
        "hooks.yaml:17: hooks[2].options.modes",
        "hooks.yaml:19: hooks[2].do[0].call",
        "hooks.yaml:20: hooks[2].do[1].replace",
        "hooks.yaml:21: hooks[3]",
        "hooks.yaml:23: hooks[5].kind",
        "hooks.yaml:25: checks[0]",
        "hooks.yaml:25: checks[0].severity",
        "hooks.yaml:26: preset",
        "hooks.yaml:27: run",
    ]
    assert rows[3] == (
        "seed must be an integer of at least 0, got -1",
        "hooks.yaml:5: run.seed", "seed: -1", "write an integer such as 1",
    )  # fmt: skip


def test_each_is_three_lines_on_stderr(read, capsys):
    with pytest.raises(ProblemsError) as caught:
        read("preset: tarce\nfail_on: x\n")
    Console(color="never").error(caught.value)
    assert capsys.readouterr().err.splitlines() == [
        "error: preset must be one of trace, grads, inspect, none, got 'tarce'",
        "  --> hooks.yaml:1: preset  |  preset: tarce",
        "hint: try `trace`",
        "error: fail_on must be one of error, warning, never, got 'x'",
        "  --> hooks.yaml:2: fail_on  |  fail_on: x",
        "hint: choose from error, warning, never",
    ]


def test_one_problem_is_no_list(read):
    with pytest.raises(RequestError) as caught:
        read("preset: tarce")
    assert not isinstance(caught.value, ProblemsError)


def test_problems_go_through_a_pipe(read):
    with pytest.raises(ProblemsError) as caught:
        read(MANY)
    again = pickle.loads(pickle.dumps(caught.value))
    assert [one.place for one in again.problems] == [one.place for one in caught.value.problems]


def test_a_configuration_goes_through_a_pipe(read):
    config = read(SECTION_8)
    assert pickle.loads(pickle.dumps(config)) == config


def test_the_path_is_as_it_was_typed(folder):
    (folder / "hooks.yaml").write_text("preset: tarce")
    for path in ("hooks.yaml", "./hooks.yaml", str(folder / "hooks.yaml")):
        with pytest.raises(RequestError) as caught:
            read_config(path)
        assert caught.value.place.startswith(f"{path}:1: preset")


def refused_or_read(text):
    try:
        read_text(text, "fuzz")
    except RequestError as error:
        assert error.hint
        assert error.place.startswith("fuzz:")


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from([*VALID.values(), *STRUCTURAL.values(), MANY]),
    st.lists(
        st.tuples(
            st.integers(0, 700),
            st.integers(0, 12),
            st.sampled_from(
                [*"[]{}:,-#&*!|>'\"%@`\t\n\0 \\", "\ud800", "\u2028", "é", "<<", "1e9"]
            ),
        ),
        max_size=4,
    ),
)
def test_a_broken_text_is_refused_and_never_worse(text, edits):
    for at, cut, put in edits:
        text = text[:at] + put + text[at + cut :]
    refused_or_read(text.encode("utf-8", "replace").decode())


DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    | st.sampled_from(["forward", "fc:output", "stats", "f.py:h", "2x3", "op", "ddp_comm"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["model", "inputs", "run", "hooks", "kind", "at", "do", "options", "call", "fn",
             "scale", "clamp", "comm", "name", "optimizer", "backward", "gradient", "checks",
             "rule", "op", "in", "not", "part", "regex", "args", "source", "pack",
             "distributed", "extends"]
        ) | st.text(max_size=3),
        inner, max_size=4,
    ),
    max_leaves=20,
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(DATA, st.sampled_from([None, "hooks", "model", "inputs", "run"]))
def test_any_data_is_refused_or_read(value, key):
    for data in (value, {key: value}, {key: [value]}):
        refused_or_read(yaml.safe_dump(data))
