"""Flags over the file over the defaults, and `--kinds`."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from hookcli.catalogue.kinds import CATALOGUE, LIST_HINT
from hookcli.config.config import Config
from hookcli.config.kinds_flag import all_kinds, observers
from hookcli.config.merge import Flags, spec_of
from hookcli.config.presets import preset_hooks
from hookcli.errors import RequestError
from hookcli.spec.inputs import parse_inputs
from hookcli.spec.request import Argument, ModelSpec, RunSpec
from tests.conftest import ROOT

MODEL = Flags(model="model.py:Net")


def argument(name, value):
    return Argument(name, value, f"{name}={value}")


def test_flags_alone():
    spec = spec_of("inspect", None, MODEL)
    assert spec.command == "inspect"
    assert spec.model == ModelSpec("model.py:Net")
    assert spec.run == RunSpec()
    assert (spec.inputs, spec.hooks, spec.libraries, spec.stream) == ((), (), (), None)


def test_a_flag_wins_over_the_file_and_the_file_over_the_default(read):
    config = read("run: {seed: 3, steps: 2, mode: eval, no_grad: true, max_memory: 2, timeout: 5}")
    given = {
        "seed": 4, "mode": "train", "grad": True, "max_memory": 1_500_000_000, "flops": True,
        "tensors": "real", "loss": "sum", "batch_size": 8, "device": "cuda", "dtype": "float16",
        "verify_neutral": True, "steps": None,
    }  # fmt: skip
    flags = Flags(model="m.py", run=given, stream="e.jsonl")
    spec = spec_of("trace", config, flags)
    assert spec.run == RunSpec(
        seed=4, steps=2, mode="train", grad=True, max_memory=1_500_000_000, timeout=5.0, flops=True,
        tensors="real", loss="sum", batch_size=8, device="cuda", dtype="float16",
        verify_neutral=True,
    )  # fmt: skip
    assert spec.stream == "e.jsonl"
    assert spec_of("trace", config, Flags(model="m.py")).run == RunSpec(
        seed=3, steps=2, mode="eval", grad=False, max_memory=2_000_000_000, timeout=5.0
    )


def test_a_flag_may_be_zero_or_false(read):
    config = read("run: {seed: 3, flops: true, no_grad: true}")
    given = {"seed": 0, "flops": False, "grad": True}
    run = spec_of("trace", config, Flags(model="m.py", run=given)).run
    assert (run.seed, run.flops, run.grad) == (0, False, True)


def test_inputs_of_the_command_line_replace_the_file_s(read):
    config = read("inputs: ['2x3', '4']")
    given = parse_inputs(("5",))
    assert spec_of("inspect", config, Flags(model="m.py", inputs=given)).inputs == given
    for none in (None, ()):
        spec = spec_of("inspect", config, Flags(model="m.py", inputs=none))
        assert [one.text for one in spec.inputs] == ["2x3", "4"]


def test_arguments_are_replaced_by_name(read):
    config = read("model: {source: model.py, args: {depth: 18, width: 4}}")
    spec = spec_of("inspect", config, Flags(args=(argument("depth", 34), argument("n", 1))))
    assert [(one.name, one.value) for one in spec.model.args] == [
        ("width", 4), ("depth", 34), ("n", 1),
    ]  # fmt: skip
    config = read("model: {source: model.py, args: [1, 2]}")
    spec = spec_of("inspect", config, Flags(args=(Argument(None, 3, "3"),)))
    assert [one.value for one in spec.model.args] == [3]


def test_arguments_and_weights_of_the_file_go_with_its_model(read, folder):
    config = read("model: {source: model.py, args: {depth: 18}, weights: net.safetensors}")
    same = spec_of("inspect", config, Flags(model="model.py"))
    assert same.model == replace(config.model, source="model.py")
    other = spec_of("inspect", config, Flags(model="f.py"))
    assert other.model == ModelSpec("f.py")
    weights = spec_of("inspect", config, Flags(weights="w.pt"))
    assert weights.model.weights == "w.pt"


def test_a_model_must_be_named(read):
    with pytest.raises(RequestError) as caught:
        spec_of("grads", None, Flags())
    assert (caught.value.message, caught.value.place) == ("missing MODEL", "hookcli grads")
    with pytest.raises(RequestError):
        spec_of("grads", read("preset: none"), Flags())


# hooks


@pytest.mark.parametrize("command", ["inspect", "grads", "trace"])
def test_without_hooks_the_command_s_preset(command):
    assert spec_of(command, None, MODEL).hooks == preset_hooks(command)
    assert spec_of(command, Config(), MODEL).hooks == preset_hooks(command)


def test_with_hooks_no_preset(read):
    config = read("hooks: [{kind: forward, at: a}]")
    assert spec_of("trace", config, MODEL).hooks == config.hooks


def test_an_empty_list_is_no_hooks(read):
    assert spec_of("trace", read("hooks: []"), MODEL).hooks == preset_hooks("trace")


def test_the_file_s_preset_decides(read):
    assert spec_of("trace", read("preset: none"), MODEL).hooks == ()
    assert spec_of("inspect", read("preset: grads"), MODEL).hooks == preset_hooks("grads")


def test_the_preset_s_hooks_come_after_the_file_s_and_count_on(read):
    config = read("preset: trace\nhooks: [{kind: [forward, node], at: a}, {kind: op}]")
    hooks = spec_of("grads", config, MODEL).hooks
    assert [(one.index, one.kind, one.place.partition(":")[0]) for one in hooks] == [
        (0, "forward", "hooks.yaml"), (0, "node", "hooks.yaml"), (1, "op", "hooks.yaml"),
        (2, "forward_pre", "preset trace"), (2, "forward", "preset trace"),
        (3, "tensor", "preset trace"), (4, "post_accumulate_grad", "preset trace"),
    ]  # fmt: skip


def test_fake_tensors_and_an_action_that_needs_values_are_refused(read):
    config = read("run: {tensors: fake}\nhooks:\n- {kind: forward, at: a, do: stats}")
    with pytest.raises(RequestError) as caught:
        spec_of("trace", config, MODEL)
    assert caught.value.message == "stats requires values, which fake tensors do not have"
    assert caught.value.place == "hooks.yaml:3: hooks[0].do"
    flags = Flags(model="m.py", run={"tensors": "auto"})
    assert spec_of("trace", config, flags).run.tensors == "auto"


# --kinds


def kinds(text, command="trace", config=None):
    return spec_of(command, config, Flags(model="m.py", kinds=text)).hooks


def test_kinds_observe_in_place_of_the_preset():
    found = kinds("forward, tensor,post_accumulate_grad,engine_callback,node")
    assert [(one.index, one.kind, one.at and one.at.text) for one in found] == [
        (0, "forward", "*"), (1, "tensor", "*:output"), (2, "post_accumulate_grad", "*"),
        (3, "engine_callback", None), (4, "node", "*"),
    ]  # fmt: skip
    assert all([a.name for a in one.actions] == ["record"] for one in found)
    assert {one.place for one in found} == {
        "--kinds forward, tensor,post_accumulate_grad,engine_callback,node"
    }


def test_kinds_come_after_the_file_s_hooks(read):
    config = read("preset: grads\nhooks: [{kind: op}]")
    assert [(one.index, one.kind) for one in kinds("node", config=config)] == [
        (0, "op"),
        (1, "node"),
    ]


def test_a_kind_named_twice_observes_once():
    assert len(kinds("op,op")) == 1


def test_ddp_comm_averages():
    assert [one.name for one in kinds("ddp_comm")[0].actions] == ["comm", "record"]


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("fowrard", "unknown kind 'fowrard'", "try `forward`"),
        ("forward,zzz", "unknown kind 'zzz'", LIST_HINT),
        ("", "--kinds must not be empty", LIST_HINT),
        (" , ", "--kinds must not be empty", LIST_HINT),
        ("al", "unknown kind 'al'", "try `all`"),
    ],
)
def test_kinds_that_are_refused(text, message, hint):
    with pytest.raises(RequestError) as caught:
        kinds(text)
    assert (caught.value.message, caught.value.hint) == (message, hint)
    assert caught.value.place == f"--kinds {text}"


def test_kinds_that_exclude_each_other_are_refused(read):
    with pytest.raises(RequestError) as caught:
        kinds("backward,full_backward")
    assert "legacy and full backward hooks" in caught.value.message
    config = read("hooks: [{kind: ddp_comm}]")
    with pytest.raises(RequestError) as caught:
        kinds("ddp_comm", config=config)
    assert "(other hook: hooks.yaml:1: hooks[0])" in caught.value.message


def test_all_are_those_that_change_nothing():
    assert [one.kind for one in kinds("all")] == list(all_kinds())
    phases = {"forward", "loss", "backward"}
    for name in all_kinds():
        assert set(CATALOGUE[name].phases) & phases
        assert "full_backward" not in name
        assert name not in {"backward", "global_backward", "saved_tensors", "ddp_comm"}
    for name in set(CATALOGUE) - set(all_kinds()):
        elsewhere = not set(CATALOGUE[name].phases) & phases
        apart = elsewhere or CATALOGUE[name].needs_gpu  # an older torch refuses those of a GPU
        assert apart or "backward" in name or name in {"saved_tensors", "ddp_comm"}


@pytest.mark.parametrize("kind", CATALOGUE)
def test_each_kind_can_be_observed_alone(kind):
    assert observers(kind)[-1].kind == kind


# what it costs


@pytest.mark.parametrize(
    ("command", "absent"),
    [("inspect", {"yaml", "pydantic", "torch"}), ("trace", {"pydantic", "torch"})],
)
def test_a_request_imports_little(command, absent):
    code = (
        "import sys; from hookcli.config.merge import Flags, spec_of; "
        f"spec_of({command!r}, None, Flags(model='m.py')); "
        f"print(sorted(set(sys.modules) & {absent!r}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.strip() == "[]", done.stderr
