"""What the formats show of a training: figures, rows, findings, and no harm by names."""

from __future__ import annotations

import dataclasses
import json
import re
import xml.etree.ElementTree as ET

import pytest

from hookcli.cli.targets.folders import add_files
from hookcli.errors import RequestError
from hookcli.formats.check.merged import merged
from hookcli.formats.names import columns_of, sorts_of
from hookcli.formats.registry import FORMATS, formats_of
from hookcli.formats.training import facts
from hookcli.formats.training.facts import title
from hookcli.formats.training.summary import render as summary
from hookcli.formats.view import View
from hookcli.report.distributed import MeshPlace
from hookcli.report.encode import training_to_json
from hookcli.report.steps import OptimizerInfo
from hookcli.report.training import ScriptInfo, Tracking
from tests.conftest import run_cli
from tests.formats.checks import Runner
from tests.formats.fabricate import event
from tests.formats.training_reports import (
    CNN,
    EMPTY,
    GAN,
    SMALL,
    exploding,
    hostile,
    record,
    step_row,
    training,
)

TEXTS = [name for name, row in formats_of("run").items() if not row.writes_folder]


def draw(report, form="table", **view):
    return FORMATS[form].render(report, View(**view))


def rows_below(text, title):
    """The rows of the table whose first column has this title, as lists of words."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.split()[:1] == [title])
    end = next((i for i in range(start, len(lines)) if not lines[i]), len(lines))
    return [line.split() for line in lines[start + 2 : end]]


def test_every_format_supports_a_training():
    assert set(FORMATS) == set(formats_of("run"))


def test_a_check_of_a_training_shows_findings_where_a_person_reads_and_else_the_records():
    view = View(only_findings=True)
    for form in ("table", "tree", "markdown"):
        assert FORMATS[form].render(GAN, view) == FORMATS[form].render(merged(GAN), View())
    assert FORMATS["table"].render(GAN, view).splitlines()[-1].startswith(("PASSED: ", "FAILED: "))
    for form in ("json", "html", "svg", "junit"):
        assert FORMATS[form].render(GAN, view) == FORMATS[form].render(GAN, View())


def test_a_step_that_was_interrupted_is_not_counted_in_detail():
    (record,) = CNN.records
    interrupted = dataclasses.replace(
        record, training=dataclasses.replace(record.training, total=1, sampled=(0, 1))
    )
    first = summary(dataclasses.replace(CNN, records=(interrupted,)), View(width=200)).splitlines()[
        0
    ]
    assert "1 of 1 step in detail" in first


def test_the_summary_of_a_training_without_a_problem():
    assert summary(CNN, View(width=200)).splitlines() == [
        "hookcli run train.py --epochs 1: completed, 13 of 938 steps in detail (0-2,every:100)",
        "no problem found in 13 of 938 steps; 2 rules looked at values, gradients",
        "Net (Adadelta): 938 steps, loss 2.3 → 0.04807, gradient norm 0.08359 to 4, lr 0.01, "
        "update ratio 0.001",
    ]


@pytest.mark.parametrize(
    ("examined", "sampled", "line"),
    [
        (("loss_falls",), (0, 1), "no problem found in all 4 steps; 1 rule looked at losses"),
        (
            ("finite", "loss_falls", "loss_spikes"), (0, 1),
            "no problem found; 2 rules looked at losses in all 4 steps, and 1 at values in 2 of 4 "
            "steps",
        ),
        (
            ("finite", "loss_falls"), (0, 1, 2, 3),
            "no problem found in all 4 steps; 2 rules looked at values, losses",
        ),
    ],
)  # fmt: skip
def test_the_verdict_tells_in_which_steps_it_looked(examined, sampled, line):
    whole = record(total=4)
    steps = dataclasses.replace(whole.training, sampled=sampled)
    good = training(dataclasses.replace(whole, training=steps), diagnoses=(), examined=examined)
    for text in (summary(good, View(width=200)), FORMATS["table"].render(good, View(width=200))):
        assert line in text.splitlines()
    only = FORMATS["table"].render(good, View(width=200, only_findings=True))
    assert line in only.splitlines()
    assert line.removeprefix("no") in FORMATS["html"].render(good, View())


def test_the_summary_tells_the_problem_first_and_how_to_see_it_again():
    assert summary(exploding(), View(width=90)).splitlines() == [
        "hookcli run train.py: stopped by --stop-on nonfinite, 8 of 413 steps in detail",
        "  (0-2,every:100)",
        "error: the loss became NaN at step 412: it was made in fc2 (Linear)",
        "  --> train.py:21",
        "  try: lower the learning rate, or clip gradients",
        "Net (Adadelta): 413 steps, loss 2.3 → nan, gradient norm 0.1856 to 4 (not finite in 3",
        "  steps), lr 0.01, update ratio 0.001, 2 steps skipped, scale 65536",
        "  non-finite in 2 of 8 parameters: fc2.weight, fc2.bias",
        "first non-finite: the loss of step 412",
        "  inputs: float32 [64, 10] -0.5 to 3.1 with 2 Inf",
        "  batch: hookcli-batch.pt",
    ]  # fmt: skip


@pytest.mark.parametrize(("script", "words"), [
    (ScriptInfo("t.py", (), False, "exit", 3), "t.py: exit status 3,"),
    (ScriptInfo("t.py", (), False, "exception", 1, "ValueError: no", "t.py:3"),
     "t.py: ended with ValueError: no,"),
    (ScriptInfo("t.py", (), False, "interrupted", 130), "t.py: interrupted,"),
    (ScriptInfo("p.train", ("a b",), True, "max_steps", 0),
     "-m p.train a b: ended by --max-steps 5,"),
])  # fmt: skip
def test_the_summary_tells_how_the_script_ended(script, words):
    tracking = Tracking("grads", "all", 5, None, False)
    report = dataclasses.replace(EMPTY, script=script, tracking=tracking)
    first = summary(report, View(width=200)).splitlines()[0]
    assert first == f"hookcli run {words} no training was seen"


def test_the_first_value_that_is_not_finite_is_told_without_a_verdict_too():
    text = summary(dataclasses.replace(exploding(), diagnoses=None), View(width=120))
    assert text.splitlines()[-4:] == [
        "first non-finite: the loss of step 412, made in forward by aten.log in layer 'fc2' at "
        "train.py:21",
        "  inputs: float32 [64, 10] -0.5 to 3.1 with 2 Inf",
        "  reason: the logarithm of a negative number is NaN",
        "  batch: hookcli-batch.pt",
    ]


def test_a_command_to_copy_is_on_one_line():
    note = "run `hookcli grads train.py:Net -i batch.pt --weights weights.pt` to repeat the step"
    report = dataclasses.replace(CNN, warnings=(note,))
    for text in (summary(report, View(width=60)), draw(report, width=60)):
        assert f"note: {note}" in text.splitlines()


def test_frozen_parameters_are_told():
    layers = (("first.weight", (4, 4), "Linear"), ("last.weight", (4, 4), "Linear"))
    frozen = record(parameters=layers, statuses={"first.weight": "frozen"})
    text = summary(training(frozen), View(width=200))
    assert "  frozen: 1 of 2 parameters: first.weight" in text
    assert "frozen" not in summary(training(record(parameters=layers)), View(width=200))


def test_the_summary_of_two_records_names_each_with_its_own_figures():
    text = summary(GAN, View(width=200))
    assert "netG (Generator, Adam): 300 steps, loss 2.3 → 0.1442" in text
    assert "  no gradient in 1 of 4 parameters: aux.weight" in text
    assert "netD (Discriminator, Adam): 300 steps" in text
    assert "in DistributedDataParallel" in text
    assert "note: netG (Adam): trainable, but in no optimizer: aux.weight" in text
    assert "called, but trained by no optimizer: inception (Inception3, 30 calls)" in text


def test_a_long_summary_stays_short():
    many = training(*(record(f"net{i}", total=3) for i in range(20)),
                    warnings=tuple(f"note {i}" for i in range(30)))  # fmt: skip
    lines = summary(many, View(width=300)).splitlines()
    assert len(lines) <= 15
    assert "14 more records: `-f table` shows all" in lines
    assert lines[-1] == "note: 26 more notes: `-f table` shows all"


@pytest.mark.parametrize(("name", "more", "words"), [
    ("Net (Adadelta)", {"root": "Net"}, "Net (Adadelta)"),
    ("netG (Adadelta)", {"root": "netG", "kind": "Generator"}, "netG (Generator, Adadelta)"),
    ("m (Adadelta) #2", {"root": "m", "kind": "Layer"}, "m #2 (Layer, Adadelta)"),
    ("m #2", {"root": "m", "kind": "Layer", "optimizer": None}, "m #2 (Layer, no optimizer)"),
    ("model", {"optimizer": None}, "model (Net, no optimizer)"),
    ("Net", {"optimizer": OptimizerInfo("SGD", 1, 0, 1, {})}, "Net (SGD)"),
])  # fmt: skip
def test_the_title_of_a_record_has_its_type_and_its_optimizer(name, more, words):
    assert title(record(name, total=1, **more)) == words


def test_steps_of_accumulation_of_backward_passes_and_of_many_optimizers():
    steps = tuple(step_row(i, sampled=False, backwards=4, loss=None) for i in range(3))
    merged = OptimizerInfo("SGD", 9, 2, 1, {}, merged=9)
    text = summary(
        training(
            record("a", total=3, steps=steps, optimizer=merged),
            record("b", total=1, unit="backward", optimizer=None),
        ),
        View(width=300),
    )
    assert "a (Net, SGD): 3 steps of 9 optimizers, 4 backward passes each, gradient norm" in text
    assert "b (Net, no optimizer): 1 backward pass, loss 2.3, gradient norm 4" in text
    assert "a: the optimizer also has 2 tensors that the root does not have" in text


def test_the_table_shows_sampled_steps_the_last_and_bad_ones():
    rows = rows_below(draw(exploding()), "Step")
    assert [row[0] for row in rows] == ["0", "1", "2", "5", "9", *"100 200 300 400 412".split()]
    assert [row[-1] == "skipped" for row in rows] == [False] * 3 + [True] * 2 + [False] * 5
    assert rows[0][:2] == ["0", "2.3"]
    assert rows[-1][:3] == ["412", "nan", "nan"]
    assert "10 of 413 steps are shown" in draw(exploding())


def test_the_bar_of_a_loss_is_its_part_of_the_largest():
    steps = tuple(step_row(i, sampled=True, loss=loss) for i, loss in enumerate((4.0, 2.0, 1.0, 0)))
    text = draw(training(record(total=4, steps=steps)), columns=("step", "loss_bar"))
    assert [len(row[1]) for row in rows_below(text, "Step")] == [20, 10, 5, 1]
    assert "0..4" in text


def test_a_hundred_thousand_steps_are_thinned_to_a_screen():
    steps = tuple(step_row(i, sampled=i % 100 == 0) for i in range(20_000))
    rows = rows_below(draw(training(record(total=20_000, steps=steps))), "Step")
    assert len(rows) == 16
    assert (rows[0][0], rows[-1][0]) == ("0", "19,999")


def test_the_parameters_are_those_of_grads_with_the_update_ratio():
    text = draw(CNN, width=200)
    (weight,) = [row for row in rows_below(text, "Parameter") if row[0] == "conv1.weight"]
    assert weight[1:5] == ["[32,", "1,", "3,", "3]"]
    for norm in (1.0, 1 / 201, 1 / 601, 1 / 938):
        assert f"{norm:.4g}" in weight, norm
    assert "Update ratio" in text
    assert "ok" in weight


def test_columns_choose_the_tables():
    steps = draw(CNN, columns=("step", "grad_norm"))
    assert rows_below(steps, "Step")[1] == ["1", f"{4 / 1.05:.4g}"]
    assert "Parameter" not in steps
    assert "Layer (type)" not in steps
    parameters = draw(CNN, columns=("name", "update"))
    assert rows_below(parameters, "Parameter")[0] == ["conv1.weight", "0.001"]
    assert "Grad norm" not in parameters
    assert rows_below(draw(CNN, columns=("layer", "output")), "Layer")[0] == ["Net", "0.5"]


def test_placements_are_a_column_of_parameters():
    first, *others = CNN.records[0].parameters
    mesh = MeshPlace(("tp",), (2,), (0,), "0-1")
    split = dataclasses.replace(first, placements=("Shard(0)",), mesh=mesh)
    record = dataclasses.replace(CNN.records[0], parameters=(split, *others))
    text = draw(dataclasses.replace(CNN, records=(record,)), columns=("name", "placements"))
    rows = rows_below(text, "Parameter")
    assert rows[0] == ["conv1.weight", "Shard(0)", "over", "tp", "2"]
    assert rows[1] == ["conv1.bias", "–"]


def test_sort_orders_the_steps_or_the_parameters():
    rows = rows_below(draw(CNN, sort="-loss"), "Step")
    assert [row[0] for row in rows[:3]] == ["937", "936", "935"]
    names = rows_below(draw(CNN, sort="-name"), "Parameter")
    assert [row[0] for row in names[:2]] == ["fc2.weight", "fc2.bias"]
    with pytest.raises(RequestError, match="a report of run cannot be sorted by 'macs'"):
        draw(CNN, sort="macs")


def test_an_unknown_column_is_refused():
    with pytest.raises(RequestError, match="unknown column 'macs' of run"):
        draw(CNN, columns=("macs",))
    assert draw(SMALL, columns=("kind",))  # one of its records is a trace


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_every_column_and_sort_is_drawn(form):
    few = training(record(total=9))
    for column in columns_of("run"):
        assert len(draw(few, form, columns=(column,)).splitlines()) > 8, column
    for sort in sorts_of("run"):
        assert draw(few, form, sort=sort) and draw(few, form, sort=f"-{sort}")
    assert draw(SMALL, form, columns=tuple(columns_of("run")), width=400)


def test_only_selects_a_record_or_the_parameters_of_all():
    text = draw(GAN, only="netD*")
    assert "netD (Discriminator" in text
    assert "netG (Generator" not in text
    text = draw(GAN, only="main.0.*")
    assert re.findall(r"^main\S+", text, re.M) == ["main.0.weight", "main.0.weight"]
    assert "no name matches --only nothing" in draw(GAN, only="nothing")


def test_the_tree_has_every_step_and_every_parameter():
    lines = draw(CNN, "tree").splitlines()
    numbers = [line.split()[0] for line in lines if re.match(r" *\d+ ", line)]
    assert numbers == [str(i) for i in range(938)]
    assert sum("[" in line and "─" in line for line in lines) == 8


def test_the_preset_chooses_the_table_below_the_steps():
    text = draw(SMALL)
    trace = text.split("netD (Net, no optimizer)")[1].split("teacher (Net")[0]
    assert re.search(r"forward +forward +conv1 ", trace)
    inspect = text.split("teacher (Net")[1]
    assert re.search(r"├─ conv1 \(Conv2d\) +\[64, 1, 28, 28\]", inspect)


def test_a_training_is_markdown_with_a_heading_for_each_record():
    text = draw(GAN, "markdown")
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "### train.py --epochs 1",
        "#### netG (Generator, Adam)",
        "#### netD (Discriminator, Adam)",
    ]
    assert "- **warning**: aux.weight did not change in 938 steps" in text
    assert re.search(r"\|\s+299 \|\s+0.1442 \|", text)


def test_junit_has_the_checks_of_all_records_and_the_script():
    tree = ET.fromstring(draw(GAN, "junit", fail_on="warning").encode())
    cases = {(s.get("name"), c.get("name")): c for s in tree for c in s}
    assert list(cases) == [
        ("run", "train.py"),
        ("parameter_never_changes", "netG (Adam): aux.weight"),
        ("lr_zero", "netG (Adam)"),
        ("lr_zero", "netD (Adam)"),
    ]
    assert [case.find("failure") is not None for case in cases.values()] == [0, 1, 0, 0]
    raised = dataclasses.replace(
        GAN, script=ScriptInfo("t.py", (), False, "exception", 1, "ValueError: no way", "t.py:3")
    )
    error = ET.fromstring(draw(raised, "junit").encode())[0][0].find("error")
    assert (error.get("type"), error.text) == (
        "ValueError",
        "ValueError in t.py, at t.py:3: no way",
    )


def test_only_selects_findings_with_or_without_the_name_of_their_record():
    for only in ("aux.*", "netG (Adam): aux.*"):
        (case,) = ET.fromstring(draw(GAN, "junit", only=only).encode())[1]
        assert case.get("name") == "netG (Adam): aux.weight"
    assert "netG" not in draw(GAN, "junit", only="netD*")


def test_sarif_has_a_result_for_each_finding():
    (run,) = json.loads(draw(GAN, "sarif", fail_on="warning"))["runs"]
    (result,) = run["results"]
    assert result["ruleId"] == "parameter_never_changes"
    (place,) = result["locations"]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "train.py"
    assert place["physicalLocation"]["region"] == {"startLine": 12}
    assert run["invocations"][0]["executionSuccessful"] is True


def test_github_has_annotations_and_the_verdict_last():
    runner = Runner().read(draw(GAN, "github", fail_on="warning"))
    (annotation,) = runner.annotations
    assert annotation[0] == "warning"
    assert annotation[1]["file"] == "train.py"
    assert runner.text[-2].startswith("FAILED: 1 warned, 2 passed")


def test_the_step_summary_has_the_findings_and_a_line_for_each_record(tmp_path):
    file, out = tmp_path / "run.json", tmp_path / "summary.md"
    file.write_text(training_to_json(GAN))
    assert run_cli("render", file, "-f", "github", GITHUB_STEP_SUMMARY=str(out)).status == 0
    text = out.read_text()
    assert text.startswith("### train.py: PASSED: 1 warned, 2 passed")
    assert "- **netG (Generator, Adam)**: 300 steps, loss 2.3 → 0.1442" in text
    assert "  - no gradient in 1 of 4 parameters: aux.weight" in text


def slices(text):
    trace = json.loads(text)
    return trace["otherData"], [e for e in trace["traceEvents"] if e["ph"] in "BEiC"]


def test_a_timeline_without_times_has_steps_of_a_millisecond():
    events = tuple(event(i, "backward", "tensor", "fc1:output", 0, step=1) for i in range(3))
    other, found = slices(draw(training(record(total=2, events=events)), "perfetto"))
    assert other["times"] == "not measured: each step lasts 1 ms, its hooks are evenly distributed"
    begun = {e["name"]: e["ts"] for e in found if e["ph"] == "B"}
    assert begun == {"step 0": 0.0, "step 1": 1000.0}
    assert [e["ts"] for e in found if e["ph"] == "i"] == [1250.0, 1500.0, 1750.0]
    counters = {(e["ts"], e["name"]): e["args"]["value"] for e in found if e["ph"] == "C"}
    assert counters[0.0, "loss"] == 2.3
    assert counters[1000.0, "gradient norm"] == 4 / 1.05


def test_a_timeline_has_the_times_of_the_report():
    timings = {"unit": "us", "steps": [[0, 10.0, 25.0], [1, 30.0, 31.0]], "events": [[7, 12.5, 0]]}
    events = (event(7, "forward", "forward", "fc1", 0, step=0),)
    timed = dataclasses.replace(record(total=2, events=events), timings=timings)
    other, found = slices(draw(training(timed), "perfetto"))
    assert other["times"].startswith("those of steps are measured")
    assert [(e["ts"], e["ph"]) for e in found if e["ph"] in "BEi"] == [
        (10.0, "B"), (12.5, "i"), (25.0, "E"), (30.0, "B"), (31.0, "E"),
    ]  # fmt: skip
    broken = dataclasses.replace(timed, timings={"steps": [[0, "now", 1]]})
    with pytest.raises(RequestError, match="cannot read the timings"):
        draw(training(broken), "perfetto")


def test_tensorboard_has_the_figures_of_each_record_by_step(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    def read(report, folder):
        add_files(folder, FORMATS["tensorboard"].files(report, View()))
        return EventAccumulator(str(folder), size_guidance={"scalars": 0}).Reload()

    events = read(CNN, tmp_path / "cnn")
    losses = [(event.step, event.value) for event in events.Scalars("loss")]
    assert losses == [(i, pytest.approx(2.3 / (1 + 0.05 * i))) for i in range(938)]
    norms = [(e.step, e.value) for e in events.Scalars("gradient_norm/conv1.weight")]
    assert norms == [(i, pytest.approx(1 / (i + 1))) for i in (0, 1, 2, *range(100, 901, 100), 937)]
    tags = read(GAN, tmp_path / "gan").Tags()["scalars"]
    assert {"loss/netG (Adam)", "loss/netD (Adam)", "learning_rate/netD (Adam)"} <= set(tags)
    assert {
        "gradient_norm/netG (Adam)/main.0.weight",
        "update_ratio/netD (Adam)/main.2.weight",
    } <= set(tags)
    assert read(exploding(20), tmp_path / "nan").Scalars("loss")[-1].value != 0


@pytest.mark.parametrize("form", ["summary", *TEXTS])
@pytest.mark.parametrize("name", ["\x1b[31m\u202e\ud800", "a\n::error::x", "<b>@x|[y](z)`"])
def test_no_name_does_harm(form, name):
    report = hostile(name)
    text = summary(report, View(width=40)) if form == "summary" else draw(report, form, width=40)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)
    text.encode()
    if form == "github":
        assert not [kind for kind, *_ in Runner().read(text).annotations if kind == "x"]
    if form != "github":
        assert not re.search(r"^::", text, re.M)
    if form == "markdown":
        assert "<b>" not in text
        assert not re.search(r"(?<!\\)\]\(z\)", text)


@pytest.mark.parametrize("width", [80, 200])
@pytest.mark.parametrize("report", [CNN, EMPTY, GAN, exploding()], ids=["cnn", "no", "gan", "nan"])
def test_a_table_fits_its_width(report, width):
    assert max(map(len, draw(report, width=width).splitlines())) <= width
    assert max(map(len, summary(report, View(width=width)).splitlines())) <= width


def test_colour_changes_no_character_and_ascii_has_none_beyond():
    for report in (CNN, GAN, exploding()):
        for form in ("table", "tree"):
            painted = draw(report, form, color=True)
            assert "\x1b[" in painted
            assert re.sub(r"\x1b\[[\d;]*m", "", painted) == draw(report, form)
        assert draw(report, unicode=False).isascii()
        assert summary(report, View(unicode=False)).isascii()
        colored = summary(report, View(color=True))
        assert re.sub(r"\x1b\[[\d;]*m", "", colored) == summary(report, View())


@pytest.mark.parametrize("form", ["table", "json"])
def test_render_shows_a_saved_training(tmp_path, form):
    file = tmp_path / "run.json"
    file.write_text(training_to_json(GAN))
    done = run_cli("render", file, "-f", form, COLUMNS="100")
    assert done.status == 0, done.err
    view = View(width=100, fail_on="never", exit_status=0)
    assert done.out == FORMATS[form].render(GAN, view)


def test_render_refuses_what_a_training_does_not_have(tmp_path):
    file = tmp_path / "run.json"
    file.write_text(training_to_json(GAN))
    done = run_cli("render", file, "--columns", "macs")
    assert done.status == 2
    assert "unknown column 'macs' of run" in done.err


SCRIPT = """
import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(3, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    loss = model(torch.ones(4, 3)).square().mean()
    loss.backward()
    print(f"{loss.item():.4g} {model[0].weight.grad.norm().item():.4g}")
    optimizer.step()
"""


def test_a_script_s_own_losses_and_norms_are_in_its_report_and_on_its_timeline(tmp_path):
    (tmp_path / "train.py").write_text(SCRIPT)
    done = run_cli("run", "-f", "json=r.json", "-f", "perfetto=t.json", "train.py", cwd=tmp_path)
    assert done.status == 0, done.err
    printed = [line.split() for line in done.out.splitlines()]
    assert "model (Sequential, SGD): 3 steps" in done.err
    shown = run_cli("render", "r.json", cwd=tmp_path, COLUMNS="160").out
    assert [row[1] for row in rows_below(shown, "Step")] == [loss for loss, _ in printed]
    (weight,) = [row for row in rows_below(shown, "Parameter") if row[0] == "0.weight"]
    assert weight[3:6] == [norm for _, norm in printed]
    other, found = slices((tmp_path / "t.json").read_text())
    assert other["times"].startswith("those of steps are measured")
    begins = [e["ts"] for e in found if e["ph"] == "B"]
    assert begins == sorted(begins) and len(set(begins)) == 3


def test_check_judges_a_saved_training(tmp_path):
    steps = tuple(step_row(i, sampled=i < 3, loss="nan" if i == 4 else 1.0) for i in range(6))
    (tmp_path / "r.json").write_text(training_to_json(training(record(total=6, steps=steps))))
    done = run_cli("check", "--against", "r.json", "-f", "table", "-f", "json=c.json",
                   "--rule", "finite_steps", "--rule", "optimizer_steps", cwd=tmp_path)  # fmt: skip
    assert done.status == 1, done.err
    lines = done.out.splitlines()
    assert lines[0] == "script train.py"
    assert [line.split()[:2] for line in lines if line.startswith(("fail", "pass"))] == [
        ["fail", "finite_steps"],
        ["pass", "optimizer_steps"],
    ]
    assert lines[-1] == "FAILED: 1 failed, 1 passed"
    (judged,) = json.loads((tmp_path / "c.json").read_text())["records"]
    assert [row["rule"] for row in judged["checks"]] == ["finite_steps", "optimizer_steps"]


def test_the_loss_of_joined_ranks_has_their_mean():
    rows = [step_row(0, False, loss=0.5), step_row(1, False, loss=0.25)]
    assert facts._loss(rows) == "loss 0.5 → 0.25"
    rows[1] = dataclasses.replace(rows[1], mean_loss=0.125)
    assert facts._loss(rows) == "loss 0.5 → 0.25 (mean of the ranks 0.5 → 0.125)"
