"""The memory of calls and of training in every format, and what makes a run measure it."""

from __future__ import annotations

import json
from dataclasses import replace

import jsonschema
import pytest

from hookcli.formats.registry import FORMATS
from hookcli.formats.view import View
from hookcli.report.encode import to_json
from hookcli.report.memory import CallMemory, Memory, TrainingMemory
from hookcli.report.schema import from_json, json_schema
from tests.conftest import HEAD, run_cli
from tests.formats.fabricate import layer, report

NET = (
    HEAD
    + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 8), nn.Linear(8, 4)

    def forward(self, x):
        return self.b(torch.relu(self.a(x)))
"""
)


def training(what_if=None, total=11_200_000_000, note=None, **more):
    known = {"optimizer": "Adam", "batch": 32, "dtype": "float16", "autocast": None, **more}
    return TrainingMemory(what_if, *known.values(), 1, 2, 3, 4, 5, 6, 7, 8, total, note)


def memory_report(*steps):
    """A loop over one layer, three times: its peaks grow, and it saves 1,000 bytes each time."""
    rows = [
        layer(0, "", "Net", None, memory=CallMemory(24, 9000, 9500)),
        *(
            layer(i, "fc", "Linear", 0, call=i - 1, memory=CallMemory(1000, 2000 * i, 100 * i))
            for i in (1, 2, 3)
        ),
        layer(4, "frozen", "Linear", 0, memory=CallMemory(0, 8000, None)),
        layer(5, "odd", "Linear", 0, memory=CallMemory()),
    ]
    return replace(report("inspect", layers=rows), memory=Memory(3024, 9000, 9500, steps))


def lines(text, name):
    return next(line for line in text.splitlines() if name in line)


def root_line(text):
    return next(line for line in text.splitlines() if line.startswith("Net ")).split()


def test_repeated_calls_show_the_sum_of_what_they_save_and_the_highest_peaks():
    text = FORMATS["table"].render(memory_report(), View())
    row = lines(text, "fc (Linear)")
    assert "×3" in row
    assert row.split()[-6:] == ["3.00", "kB", "6.00", "kB", "300", "B"]
    assert lines(text, "frozen").split()[-4:] == ["–", "8.00", "kB", "–"]
    assert lines(text, "odd").split()[-3:] == ["?", "?", "?"]


def test_hidden_calls_are_in_the_row_that_hides_them():
    text = FORMATS["table"].render(memory_report(), View(depth=0))
    assert root_line(text)[-5:] == ["?", "9.00", "kB", "9.50", "kB"]
    known = memory_report()
    known = replace(known, layers=known.layers[:-1])
    text = FORMATS["table"].render(known, View(depth=0))
    assert root_line(text)[-6:] == ["3.02", "kB", "9.00", "kB", "9.50", "kB"]


@pytest.mark.parametrize("format", ["table", "markdown", "tree"])
def test_the_total_is_in_every_format(format):
    steps = (
        training(),
        training("batch=64,optimizer=sgd,momentum=0.9", 1500, optimizer="SGD", batch=64),
        training("autocast=bfloat16", 1600, autocast="bfloat16"),
        training("batch=9", None, "fake tensors cannot run this", batch=9),
    )
    text = FORMATS[format].render(memory_report(*steps), View())
    assert "11.20 GB" in lines(text, "Adam, batch 32, float16")
    assert "1.50 kB" in lines(text, "SGD, momentum=0.9, batch 64, float16")
    assert "1.60 kB" in lines(text, "autocast bfloat16")
    assert "training with Adam, batch 9, float16: fake tensors cannot run this" in text


def test_rows_are_sorted_by_memory():
    text = FORMATS["table"].render(memory_report(), View(sort="saved", columns=("name", "saved")))
    names = [line.split()[0] for line in text.splitlines() if line.startswith(("fc", "(root)"))]
    assert names == ["fc", "fc", "fc", "(root)"]


def test_the_json_follows_the_schema():
    whole = memory_report(training(), training("batch=9", None, "no"))
    jsonschema.validate(json.loads(to_json(whole)), json_schema())
    assert from_json(to_json(whole), strict=True) == replace(
        whole, layers=tuple(whole.layers), memory=whole.memory
    )


def test_an_old_report_has_no_figures():
    old = report("inspect", layers=[layer(0, "", "Net", None)])
    assert "memory" not in json.loads(to_json(old))
    text = FORMATS["table"].render(old, View(columns=("name", "saved", "peak", "backward_peak")))
    assert lines(text, "(root)").split() == ["(root)", "?", "?", "?"]


@pytest.mark.parametrize(
    "flags",
    [["--memory"], ["--columns", "layer,peak"], ["--sort", "saved"], ["--what-if", "batch=3"]],
)
def test_what_makes_a_run_measure_memory(flags, cli, tmp_path):
    (tmp_path / "net.py").write_text(NET)
    ran = cli("inspect", "net.py", "-i", "2x4", *flags, "-f", "json")
    assert ran.status == 0, ran.err
    relu, first = ran.report["memory"]["saved_bytes"], ran.report["layers"][1]["memory"]
    assert relu == 2 * 8 * 4  # the batch is not counted, and relu and b share a storage
    assert first["peak_bytes"] == 2 * 8 * 4
    assert ran.report["run"]["mode"] == "train"
    steps = ran.report["memory"]["training"]
    assert [step["what_if"] for step in steps] == [None, None, *flags[1:2][: "batch" in flags[-1]]]
    weights = 4 * (4 * 8 + 8 + 8 * 4 + 4)
    assert steps[0]["parameter_bytes"] == steps[0]["gradient_bytes"] == weights


def test_a_configuration_asks_for_the_same(cli, tmp_path):
    (tmp_path / "net.py").write_text(NET)
    (tmp_path / "run.yaml").write_text(
        "model: net.py\ninputs: [2x4]\nrun:\n  what_if: [batch=3, 'optimizer=sgd,momentum=0.9']\n"
    )
    ran = cli("inspect", "-c", "run.yaml", "-f", "json")
    assert [step["batch"] for step in ran.report["memory"]["training"]] == [2, 2, 3, 2]
    (tmp_path / "run.yaml").write_text("model: net.py\nrun:\n  what_if: bacth=3\n")
    ran = cli("inspect", "-c", "run.yaml")
    assert ran.status == 2
    assert "run.yaml:3" in ran.err
    assert "try `batch`" in ran.err


ENDING = (
    HEAD
    + """
import os
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)

    def forward(self, x):
        if len(x) > 4:
            os._exit(9)
        return self.a(x)
"""
)


def test_a_training_step_that_ends_the_process_loses_no_other_figure(tmp_path):
    (tmp_path / "net.py").write_text(ENDING)
    given = ("inspect", tmp_path / "net.py", "-i", "2x4", "-f", "json")
    ended = run_cli(*given, "--what-if", "batch=8")
    assert ended.status == 0, ended.err
    report, plain = json.loads(ended.out), json.loads(run_cli(*given, "--memory").out)
    assert report["layers"] == plain["layers"] and report["memory"] == plain["memory"]
    assert any("ended the process" in text for text in report["warnings"])


def test_a_what_if_without_a_backward_pass_is_a_row_with_a_note(tmp_path):
    frozen = NET.replace(
        "nn.Linear(8, 4)\n", "nn.Linear(8, 4)\n        self.requires_grad_(False)\n"
    )
    (tmp_path / "net.py").write_text(frozen)
    made = run_cli(
        "inspect", tmp_path / "net.py", "-i", "2x4", "-f", "json", "--what-if", "batch=8"
    )
    assert made.status == 0, made.err
    (row,) = json.loads(made.out)["memory"]["training"]
    assert (row["what_if"], row["total_bytes"]) == ("batch=8", None)
    assert row["note"] == "the run has no backward pass"
