"""`--method`, and hints for classes without forward and constructors that need a configuration."""

from __future__ import annotations

import shlex

import pytest

from tests.conftest import run_cli

AGENT = """
from torch import nn

class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Linear(4, 1)
        self.actor = nn.Linear(4, 2)

    def get_value(self, x):
        return self.critic(x)

    def act(self, x):
        return self.actor(x), self.get_value(x)
"""
LIT = """
from torch import nn

class Lit(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def training_step(self, batch, batch_idx):
        x, y = batch
        return nn.functional.cross_entropy(self.fc(x), y)
"""
NESTED = """
from __future__ import annotations
from dataclasses import dataclass
from torch import nn

@dataclass
class Block:
    width: int
    bias: bool = True

@dataclass
class Config:
    block: Block
    classes: int

class Net(nn.Module):
    def __init__(self, config: Config, scale: float):
        super().__init__()
        self.fc = nn.Linear(config.block.width, config.classes, bias=config.block.bias)

    def forward(self, x):
        return self.fc(x)
"""


@pytest.fixture
def run(tmp_path):
    for name, text in (("agent.py", AGENT), ("lit.py", LIT), ("nested.py", NESTED)):
        (tmp_path / name).write_text(text)
    return lambda *arguments: run_cli(*arguments, cwd=tmp_path)


@pytest.mark.parametrize("model", ["agent.py", "agent.py:Agent"])
def test_a_method_runs_in_place_of_forward(model, run):
    for tensors in ("fake", "real"):
        report = run(
            "inspect", model, "-i", "2x4", "--method", "act", "--tensors", tensors, "-f", "json"
        ).report
        root = report["layers"][0]
        assert [row["name"] for row in report["layers"]] == ["", "actor", "critic"]
        assert [leaf["shape"] for leaf in root["outputs"]] == [[2, 2], [2, 1]]


def test_a_batch_is_inferred_from_the_method_s_signature(run):
    report = run("grads", "agent.py:Agent", "--method", "get_value", "-f", "json").report
    status = {row["name"]: row["status"] for row in report["parameters"]}
    assert status["critic.weight"] == "ok"
    assert report["inputs"]["origin"] == "inferred"
    note = "get_value ran in place of forward: layers that it does not call were not run"
    assert note in report["warnings"]


def test_a_configuration_names_a_method(run, tmp_path):
    (tmp_path / "c.yaml").write_text("model: {source: agent.py, method: act}\ninputs: [2x4]\n")
    assert len(run("inspect", "-c", "c.yaml", "-f", "json").report["layers"]) == 3
    flag = run("inspect", "-c", "c.yaml", "--method", "get_value", "-f", "json").report
    assert [row["name"] for row in flag["layers"]] == ["", "critic"]
    (tmp_path / "c.yaml").write_text("model: {source: agent.py, method: a.b}\n")
    message, *_ = run("inspect", "-c", "c.yaml").error()
    assert message == "method must be the name of a method, got 'a.b'"


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (
            ("inspect", "agent.py"),
            (
                "Agent has no forward, but get_value, act",
                "agent.py",
                "pass the method to run: `--method act`",
            ),
        ),
        (
            ("inspect", "lit.py"),
            (
                "Lit has no forward, but training_step",
                "lit.py",
                "run `hookcli grads lit.py:Lit --loss training_step`",
            ),
        ),
        (
            ("inspect", "agent.py:Agent", "--method", "atc"),
            ("'atc' not found in Agent", "--method atc", "try `act`"),
        ),
        (
            ("inspect", "agent.py:Agent", "--method", "a-b"),
            (
                "method must be the name of a method, got 'a-b'",
                "--method",
                "pass a name, as in `--method encode`",
            ),
        ),
        (
            ("inspect", "agent.py:Agent", "--method", "actor"),
            ("'actor' not found in Agent", "--method actor", "try `act`"),
        ),
    ],
)
def test_what_has_no_forward_is_named_with_what_to_type(arguments, lines, run):
    assert run(*arguments).error() == lines


def test_the_hint_for_training_step_runs(run, tmp_path):
    *_, hint = run("inspect", "lit.py").error()
    command = shlex.split(hint.removeprefix("run `hookcli ").removesuffix("`"))
    batch = ("-i", "2x4", "--target", "2:int64:0..2")
    assert run(*command, *batch).status == 0


def test_a_run_without_forward_hints_at_a_method(run):
    message, _, hint = run("inspect", "agent.py:Agent", "-i", "2x4").error()
    assert "missing the required" in message
    assert hint == (
        "pass `--loss training_step` if it has that method, or another method that runs with "
        "`--method`"
    )


def test_the_hint_for_a_configuration_can_be_typed(run):
    message, _, hint = run("inspect", "nested.py").error()
    assert message == "Net requires arguments config, scale"
    assert hint == (
        'pass `--arg \'config={call: "nested.py:Config", args: {block: '
        '{call: "nested.py:Block", args: {width: …}}, classes: …}}\' --arg scale=…`'
    )
    typed = hint.removeprefix("pass `").removesuffix("`")
    typed = typed.replace("width: …", "width: 8").replace("…", "3")
    report = run("inspect", "nested.py", "-i", "2x8", *shlex.split(typed), "-f", "json").report
    assert report["layers"][0]["outputs"][0]["shape"] == [2, 3]


def test_a_report_with_a_byte_order_mark_is_read(run, tmp_path):
    run("inspect", "agent.py", "-i", "2x4", "--method", "act", "-f", "json=plain.json")
    marked = tmp_path / "marked.json"
    marked.write_bytes(b"\xef\xbb\xbf" + (tmp_path / "plain.json").read_bytes())
    plain = run("render", "plain.json")
    assert (plain.status, run("render", "marked.json").out) == (0, plain.out)


def test_the_root_is_not_said_to_be_uncalled_where_another_method_runs(run):
    out = run("inspect", "agent.py:Agent", "-i", "2x4", "--method", "get_value").out
    assert "never called: actor" in out


def test_what_another_method_does_not_call_is_no_fault(run):
    report = run("check", "agent.py:Agent", "--method", "get_value", "-f", "json").report
    failed = [row["rule"] for row in report["checks"] if row["status"] == "fail"]
    assert not {"grad_exists", "uncalled_modules"}.intersection(failed)
    assert report["run"]["method"] == "get_value"
    (skipped,) = [row for row in report["checks"] if row["rule"] == "uncalled_modules"]
    assert skipped["status"] == "skip"
    assert "get_value ran in place of forward" in skipped["message"]
