"""--data-only refuses every reference to code in a configuration, with its line, all at once."""

from __future__ import annotations

import pickle

import pytest
import torch
from torch import nn

from hookcli.config.load import read_config
from hookcli.config.parse.code_refs import Code
from hookcli.errors import ProblemsError, RequestError

ALL = """\
extends: base.yaml
model:
  source: net.py:Net
  args: {depth: [{call: "package.module:attr", args: {x: {call: "net.py:make"}}}]}
inputs: {x: "net.py:batch", y: [{z: "net.py:batch"}], w: 2x3}
run: {loss: "net.py:loss"}
hooks:
  - {kind: [forward, forward_pre], at: fc, do: {call: "net.py:hook"}}
  - {kind: forward, at: fc, do: [stats, {call: {fn: "package.module:f", signature: event}}]}
  - {kind: node, at: fc, do: {call: torch.ops.mine.clip}}
  - {kind: saved_tensors, do: {call: {pack: "net.py:p", unpack: "net.py:u"}}}
"""
BASE = "libraries: [lib.so]\nhooks:\n  - {kind: forward, at: fc, do: {call: net.py:first}}\n"
HARMLESS = """\
model: {source: m.pt, weights: w.safetensors}
inputs: ["2x3", batch.pt]
run: {loss: "output:loss", optimizer: {name: Adam, lr: 1e-3}}
hooks:
  - {kind: forward, at: fc, do: [stats, {replace: "w.safetensors#fc"}, {save: taps/}]}
  - {kind: ddp_comm, do: {comm: fp16_compress}}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    for name in ("lib.so", "w.safetensors", "batch.pt"):
        (tmp_path / name).write_text("x")
    (tmp_path / "net.py").write_text("x = 1\n")
    (tmp_path / "base.yaml").write_text(BASE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(text, folder, judge=lambda _: "a Python model"):
    (folder / "c.yaml").write_text(text)
    with pytest.raises(RequestError) as caught:
        read_config("c.yaml", code=judge)
    error = caught.value
    return error.problems if isinstance(error, ProblemsError) else (error,)


def test_each_is_told_with_its_line_and_what_it_is(folder):
    told = [
        (one.place.partition("  |")[0].partition(": ")[0], one.message.partition(", and ")[2])
        for one in refused(ALL, folder)
    ]
    assert told == [
        ("c.yaml:3", "net.py:Net names a Python model"),
        ("c.yaml:4", "package.module:attr names a function"),
        ("c.yaml:4", "net.py:make names a function"),
        ("c.yaml:5", "net.py:batch names a function"),
        ("c.yaml:5", "net.py:batch names a function"),
        ("c.yaml:6", "net.py:loss names a function"),
        ("c.yaml:8", "net.py:hook names a function"),
        ("c.yaml:9", "package.module:f names a function"),
        ("c.yaml:10", "torch.ops.mine.clip names a function"),
        ("c.yaml:11", "net.py:p names a function"),
        ("c.yaml:11", "net.py:u names a function"),
        ("base.yaml:1", "lib.so names a library"),
        ("base.yaml:3", "net.py:first names a function"),
    ]


def test_it_is_said_beside_what_else_is_wrong(folder):
    messages = [one.message for one in refused(ALL + "fail_on: maybe\n", folder)]
    assert any("fail_on" in message for message in messages)
    assert len(messages) == 14


def test_data_is_let_through(folder):
    (folder / "c.yaml").write_text(HARMLESS)
    torch.save(nn.Linear(2, 2), folder / "m.pt")
    config = read_config("c.yaml", code=lambda _: None)
    assert config == read_config("c.yaml")


def test_without_the_flag_code_is_plain_text(folder):
    (folder / "c.yaml").write_text(ALL)
    config = read_config("c.yaml")
    function = config.hooks[1].actions[0].argument.function
    assert isinstance(function, Code)
    assert function == str(folder / "net.py") + ":hook"
    assert type(pickle.loads(pickle.dumps(function))) is str


def test_trust_is_not_for_a_configuration_to_say(folder):
    (message,) = refused("model: {source: net.py, trust: true}\n", folder, lambda _: None)
    assert message.message == "unknown key 'trust'"
    assert "--trust" in message.hint
