"""Flags, and flags over a configuration: what the worker is asked for."""

from __future__ import annotations

import pytest

from hookcli.spec.request import Argument, ModelSpec, RunSpec
from hookcli.worker.interpreter.choice import choose
from tests.conftest import HEAD

NET = HEAD + (
    "class Net(nn.Module):\n    def __init__(self, width: int = 4):\n"
    "        super().__init__()\n        self.fc = nn.Linear(width, 3)\n"
    "    def forward(self, x): return self.fc(x)\n"
    "def batch(): return torch.ones(2, 4)\n"
)
CONFIG = """\
model: {source: net.py:Net, args: {width: 5}}
inputs: ["7x5"]
run: {mode: eval, seed: 3, loss: mean, steps: 2, batch_size: 7, timeout: 60, dtype: float64}
hooks:
  - {kind: forward, at: fc, do: {scale: 0.5}}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    (tmp_path / "net.py").write_text(NET)
    (tmp_path / "c.yaml").write_text(CONFIG)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_without_flags_a_command_asks_for_the_defaults(asked):
    spec = asked("inspect", "net.py")
    assert spec.model == ModelSpec("net.py")
    assert spec.run == RunSpec(mode=spec.run.mode, python=choose(None))
    assert (spec.command, spec.inputs, spec.stream, spec.timings) == ("inspect", (), None, False)


@pytest.mark.parametrize("command", ["inspect", "grads", "trace"])
def test_the_flags_that_all_share_reach_the_worker(command, asked):
    spec = asked(
        command, "net.py:Net", "--arg", "width=5", "--arg", "3", "-i", "2x5", "-i", "x=value:1",
        "--batch-size", "3", "--device", "cuda:1", "--dtype", "half", "--mode", "as-is",
        "--seed", "9", "--timeout", "1.5", "--max-memory", "2",
    )  # fmt: skip
    assert spec.command == command
    assert spec.model.source == "net.py:Net"
    assert spec.model.args == (Argument("width", 5, "width=5"), Argument(None, 3, "3"))
    assert [one.text for one in spec.inputs] == ["2x5", "x=value:1"]
    run = spec.run
    assert (run.batch_size, run.device, run.dtype, run.mode) == (3, "cuda:1", "float16", "as-is")
    assert (run.seed, run.timeout, run.max_memory, run.grad) == (9, 1.5, 2_000_000_000, True)


@pytest.mark.parametrize("command", ["grads", "trace"])
def test_the_flags_of_a_backward_pass_reach_the_worker(command, asked):
    run = asked(
        command, "net.py", "--loss", "sum", "--steps", "2", "--flops", "--verify-neutral"
    ).run
    assert (run.loss, run.steps, run.flops, run.verify_neutral) == ("sum", 2, True, True)


def test_what_only_some_commands_have_is_unknown_to_the_others(refused):
    for command, flag in (("grads", "--tensors=real"), ("grads", "--kinds=all"),
                          ("grads", "--stream=e"), ("inspect", "--flops")):  # fmt: skip
        message, _, _ = refused(command, "net.py", flag)
        assert "unknown option" in message


def test_a_configuration_is_enough(asked):
    spec = asked("grads", "-c", "c.yaml")
    assert spec.model.source.endswith("net.py:Net")
    assert [(a.name, a.value) for a in spec.model.args] == [("width", 5)]
    run = spec.run
    assert (run.mode, run.seed, run.loss, run.steps) == ("eval", 3, "mean", 2)
    assert (run.batch_size, run.timeout, run.dtype) == (7, 60, "float64")
    assert spec.hooks[0].kind == "forward"


def test_flags_override_the_file_one_by_one(asked):
    run = asked("grads", "-c", "c.yaml", "--mode", "train", "--seed", "0", "--steps", "1").run
    assert (run.mode, run.seed, run.steps) == ("train", 0, 1)
    assert (run.loss, run.batch_size) == ("mean", 7)


def test_a_flag_that_says_the_default_overrides_the_file_too(asked):
    run = asked("trace", "-c", "c.yaml", "--loss", "probe", "--timeout", "600").run
    assert (run.loss, run.timeout) == ("probe", 600)


def test_inspect_takes_a_configuration_too(asked):
    spec = asked("inspect", "-c", "c.yaml")
    assert (spec.command, spec.run.seed) == ("inspect", 3)


@pytest.mark.parametrize("command", ["inspect", "grads", "trace"])
def test_neither_model_nor_configuration_is_a_missing_model(command, refused):
    assert refused(command, "--seed", "1") == (
        "missing MODEL",
        f"hookcli {command} --seed 1",
        f"run `hookcli {command} --seed 1 net.py`",
    )


def test_a_configuration_without_a_model_needs_one_on_the_command_line(folder, asked, refused):
    (folder / "c.yaml").write_text("run: {seed: 4}\n")
    assert asked("inspect", "net.py", "-c", "c.yaml").run.seed == 4
    message, _, hint = refused("inspect", "-c", "c.yaml")
    assert message == "missing MODEL"
    assert "model" in hint.lower()


def test_a_configuration_that_is_not_there_is_refused(refused):
    message, place, _ = refused("grads", "-c", "no.yaml")
    assert "no.yaml" in message
    assert "no.yaml" in place


def test_all_problems_of_a_configuration_are_said_at_once(folder, line):
    (folder / "c.yaml").write_text(
        "model: net.py\nrun: {sede: 3}\nhooks:\n  - {kind: forwrad, at: fc, do: record}\n"
    )
    status, out, err = line("trace", "-c", "c.yaml")
    assert (status, out) == (2, "")
    lines = err.splitlines()
    assert len(lines) == 6
    assert [text.split()[0] for text in lines] == ["error:", "-->", "hint:"] * 2
    assert "c.yaml:2" in lines[1]
    assert "c.yaml:4" in lines[4]


def test_a_trace_hooks_the_kinds_asked_for(asked):
    spec = asked("trace", "net.py", "--kinds", "forward, tensor")
    assert {hook.kind for hook in spec.hooks} == {"forward", "tensor"}


def test_an_unknown_kind_is_refused_with_the_near_name(refused):
    message, place, hint = refused("trace", "net.py", "--kinds", "forward,ful_backward")
    assert message == "unknown kind 'ful_backward'"
    assert place == "--kinds forward,ful_backward"
    assert hint == "try `full_backward`"
    assert "hookcli list hooks" in refused("trace", "net.py", "--kinds", "xyzzy")[2]
    assert refused("trace", "net.py", "--kinds", ",")[0] == "--kinds must not be empty"


def test_gradients_without_autograd_are_refused(refused):
    message, place, hint = refused("grads", "net.py", "--no-grad")
    assert message == "grads requires autograd, which --no-grad disables"
    assert place == "--no-grad"
    assert "hookcli inspect" in hint


def test_a_timeline_asks_for_timings_and_real_tensors(asked):
    spec = asked("trace", "net.py", "-f", "perfetto=t.json", "-f", "json=r.json")
    assert spec.timings
    assert spec.run.tensors == "real"
    assert asked("grads", "net.py", "-f", "perfetto").timings
    assert not asked("trace", "net.py", "-f", "json").timings


def test_a_timeline_leaves_tensors_as_they_were_asked_for(folder, asked):
    assert asked("trace", "net.py", "-f", "perfetto", "--tensors", "fake").run.tensors == "fake"
    (folder / "c.yaml").write_text("model: net.py\nrun: {tensors: fake}\n")
    assert asked("trace", "-c", "c.yaml", "-f", "perfetto").run.tensors == "fake"


def test_inspect_has_no_timeline(refused):
    message, place, hint = refused("inspect", "net.py", "-f", "perfetto=t.json")
    assert "inspect does not support format 'perfetto'" in message
    assert place == "-f perfetto"
    assert hint == "run `hookcli trace net.py -f perfetto=trace.json`"


@pytest.mark.parametrize("command", ["grads", "trace"])
def test_columns_are_the_command_s_own(command, refused):
    message, _, hint = refused(command, "net.py", "--columns", "macs")
    assert message == "unknown column 'macs'"
    assert hint
