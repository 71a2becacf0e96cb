"""The benchmarks' own pieces, on small inputs. No test here looks at a clock."""

from __future__ import annotations

import importlib
import json
import sys

import pytest
import torch
from torch import nn

from benchmarks.judge import judge
from benchmarks.looks import Said, Shown
from benchmarks.modules import cost
from benchmarks.section import Figure, Section, Table
from benchmarks.state import changes, state
from benchmarks.timing import Command, CommandFailedError, Run, alternate, medians, run
from benchmarks.truth import MACS
from benchmarks.write import document
from tests.conftest import SAMPLES

A, B = Command("A", ("a",)), Command("B", ("b",), rounds=1)


def test_commands_take_turns_and_stop_after_their_rounds():
    order = []

    def note(command):
        order.append(command.name)
        return Run(len(order), 0.0)

    runs = alternate((A, B, Command("C", ("c",))), 2, run=note)
    assert order == ["A", "B", "C", "A", "C"]
    assert [one.wall for one in runs["A"]] == [1, 4]
    assert [one.wall for one in runs["B"]] == [2]


def test_each_figure_has_its_own_median():
    found = medians([Run(3, 10, None), Run(1, 30, 5.0), Run(2, 20, 7.0)])
    assert found == Run(2, 20, 6.0, None)


def test_a_script_s_own_time_and_memory_come_back():
    told = (
        "import os, pathlib; pathlib.Path(os.environ['BENCH_TIMES']).write_text('{\"own\": 1.5}')"
    )
    found = run(Command("told", (sys.executable, "-c", told), peak=True))
    assert found.own == 1.5
    assert found.wall > 0
    assert run(A_PASS).own is None


A_PASS = Command("pass", (sys.executable, "-c", "pass"))


def test_a_command_that_fails_is_not_timed():
    with pytest.raises(CommandFailedError, match="broken: status 3: no output"):
        run(Command("broken", (sys.executable, "-c", "raise SystemExit(3)")))


def test_the_cost_of_a_module_leaves_the_first_out():
    found = {"hookcli 1": Run(2.0, 1.0), "hookcli 1001": Run(4.0, 2.0)}
    assert cost("hookcli", 1001, found) == (2.0, 1.0)


def test_the_page_says_what_is_reached_and_escapes_cells():
    figures = (Figure("fast", 0.2, 0.25), Figure("slow", 0.3, 0.25))
    one = Section("Part", "How.", (Table(("a|b", "n"), (("x", "1"),), "Small"),), figures)
    page = document([one], 5, "2 cores.")
    assert "| fast | 0.20 | ≤ 0.25 | yes |" in page
    assert "| slow | 0.30 | ≤ 0.25 | **no** |" in page
    assert "### Small\n\n| a\\|b | n |\n| --- | --: |\n| x | 1 |" in page
    assert page.index("2 cores.") < page.index("## Figures") < page.index("## Part")
    assert page.endswith("\n")


EXPECTED = {
    "parameters": 6,
    "trainable_parameters": 4,
    "calls": [
        ("", "Net", 0, 0, [("[0]", (2, 3))], [("", (2, 1))]),
        ("a", "Linear", 0, 3, [("[0]", (2, 3))], [("", (None, 1))]),
        (None, "Helper", 0, 0, [], [("", ())]),
    ],
}


def test_tools_with_names_are_matched_by_name_and_call():
    calls = [Shown("b", "Linear", 0, [(2, 3)], [(7, 1)]), Shown("", "Net", 0, [(2, 4)], [(2, 1)])]
    verdict = judge(Said(6, 6, calls, 12), EXPECTED, 12, {"b": "a"})
    assert verdict.parameters == "**6**, expected 4"
    assert verdict.calls == "**2** of 3"
    assert verdict.inputs == "**1** of 3"
    assert verdict.outputs == "**2** of 3"
    assert verdict.macs == "right"


def test_tools_without_names_are_matched_by_the_order_of_classes():
    calls = [
        Shown(None, "Net", None, [(2, 3)], [(2, 1)]),
        Shown(None, "Helper", None, [], [()]),
    ]
    verdict = judge(Said(6, 4, calls, None), EXPECTED, 12, {})
    assert (verdict.parameters, verdict.calls, verdict.inputs, verdict.outputs, verdict.macs) == (
        "right", "**2** of 3", "**2** of 3", "**2** of 3", None,
    )  # fmt: skip


def test_a_tool_that_tells_nothing_is_not_wrong():
    assert set(vars(judge(Said(None, None, None, None), EXPECTED, 1, {})).values()) == {None}


def test_every_change_of_a_model_is_seen():
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    before = state(model)
    assert changes(before, state(model)) == {}
    model[0].eval()
    model[0].note = 1
    model[0].weight.grad = torch.ones(2, 2)
    model[1].running_mean.add_(1)
    model[0].register_forward_hook(lambda *_: None)
    torch.rand(1)
    assert changes(before, state(model)) == {
        "training flags": 1, "buffers": 1, "gradients": 1, "hooks": 1,
        "attributes of modules": 1, "torch's generator": 1,
    }  # fmt: skip


def test_every_sample_has_its_mult_adds():
    assert set(MACS) == {path.stem for path in SAMPLES.glob("*.py")}


def test_the_resnet_has_the_parameters_of_resnet50():
    module = importlib.import_module("benchmarks.models.resnet50")
    with torch.device("meta"):
        model = module.build_model()
    assert sum(one.numel() for one in model.parameters()) == 25_557_032


@pytest.mark.slow
def test_one_tool_on_one_sample(tmp_path):
    file = tmp_path / "said.json"
    command = (sys.executable, "-m", "benchmarks.examine", "hookcli.inspect", "vae", str(file))
    run(Command("examine", command))
    said = json.loads(file.read_text())
    assert said["error"] is None
    assert said["changed"] == {}
    assert said["verdict"]["macs"] == "right"
