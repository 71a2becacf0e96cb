"""The page of a training: the steps of each record, what concerns the run, and the header."""

from __future__ import annotations

import dataclasses
import re

import pytest

from hookcli.formats.check.merged import merged
from hookcli.formats.html.data.record import training as steps_of
from hookcli.formats.html.data.references import References
from hookcli.formats.html.data.run import run
from hookcli.formats.registry import FORMATS
from hookcli.formats.view import View
from hookcli.report.findings import CheckRow, Diagnosis
from hookcli.report.report import ErrorInfo
from hookcli.report.training import ScriptInfo
from tests.formats.html.test_page import data_of
from tests.formats.training_reports import CNN, EMPTY, GAN, SMALL, exploding, record, training


def page(report):
    return FORMATS["html"].render(report, View())


def links(html):
    return [link.replace("&amp;", "&") for link in re.findall(r'<a href="#([^"]*tab=[^"]*)"', html)]


def steps(made):
    return steps_of(made, References(made))


def test_the_steps_are_columns_in_their_order():
    made = steps(record(total=5))["steps"]
    assert made["step"] == [0, 1, 2, 3, 4]
    assert made["loss"] == [float(f"{2.3 / (1 + 0.05 * i):.6g}") for i in range(5)]
    assert made["sampled"] == [1, 1, 1, 0, 1]
    assert made["update_ratio"] == [0.001, 0.001, 0.001, None, 0.001]


def test_a_figure_that_no_step_has_is_no_column():
    assert steps(record(total=5))["steps"]["scale"] is None
    assert steps(exploding(5).records[0])["steps"]["scale"] == [65536.0] * 5


def test_figures_that_are_not_finite_and_skipped_steps_are_told_apart():
    made = steps(exploding(20).records[0])["steps"]
    assert made["loss"][-1] == "nan"
    assert [i for i, norm in enumerate(made["grad_norm"]) if norm == "inf"] == [5, 9]
    assert [i for i, skipped in enumerate(made["skipped"]) if skipped] == [5, 9]
    assert made["non_finite"][-1] == 2


def test_an_update_has_the_row_of_its_parameter_and_whether_it_did_anything():
    made = record(total=3)
    rows = made.training.updates
    updates = (
        dataclasses.replace(rows[0], changed=False),
        dataclasses.replace(rows[1], restored=True),
        dataclasses.replace(rows[2], name="elsewhere.weight", ratios=("nan", None, 0.12345678)),
    )
    made = dataclasses.replace(made, training=dataclasses.replace(made.training, updates=updates))
    assert steps(made)["updates"] == [
        ["conv1.weight", 0, [0.001] * 3, "unchanged"],
        ["conv1.bias", 1, [0.001] * 3, "restored"],
        ["elsewhere.weight", -1, ["nan", None, 0.123457], ""],
    ]


def test_a_record_tells_its_optimizer_and_the_parameters_that_it_does_not_hold():
    generator = steps(GAN.records[0])
    assert generator["unheld"] == [["aux.weight", 3]]
    facts = dict(generator["facts"])
    assert (facts["optimizer"], facts["options"]) == ("Adam", "lr=2.00e-04")
    assert dict(steps(GAN.records[1])["facts"])["wrapped in"] == "DistributedDataParallel"
    assert dict(steps(SMALL.records[1])["facts"])["optimizer"] == "none"


def test_a_report_of_a_model_has_no_steps():
    from tests.formats.fabricate import LAYERS, report

    assert steps(report("inspect", layers=LAYERS)) is None


def test_the_targets_of_a_record_lead_to_its_rows():
    generator, discriminator = data_of(page(GAN))["records"]
    (failed,) = [row for row in generator["checks"] if row["outcome"] == "warning"]
    assert failed["target"] == "netG (Adam): aux.weight"
    assert generator["parameters"]["name"]["texts"][failed["parameter"]] == "aux.weight"
    assert all("parameter" not in row for row in discriminator["checks"])


def test_a_check_of_the_run_leads_to_the_record_that_its_target_begins_with():
    rows = [
        CheckRow("same_as", target, "fail", "error", 1, 2, "differs", None, "a" * 16)
        for target in ("netD (Adam): main.2.weight", "no record: main.2.weight", "")
    ]
    checks = data_of(page(dataclasses.replace(GAN, checks=tuple(rows))))["run"]["checks"]
    assert (checks[0]["record"], checks[0]["parameter"]) == (1, 1)
    assert all("record" not in row and "parameter" not in row for row in checks[1:])


def test_a_finding_of_the_header_leads_to_its_record_layer_and_step():
    found = Diagnosis("x", "error", "is zero", "try it", "main.1.bias", None, (), (), "netD", 7)
    here = dataclasses.replace(found, record="netG (Adam)")
    html = page(dataclasses.replace(GAN, diagnoses=(found, here)))
    assert links(html) == ["tab=gradients&record=0&parameter=main.1.bias&step=7"]
    alone = dataclasses.replace(found, record=None, target="conv1")
    assert links(page(training(record(), diagnoses=(alone,)))) == [
        "tab=layers&record=0&layer=conv1&step=7"
    ]


def test_without_diagnoses_the_header_has_the_failed_checks_errors_first():
    error = CheckRow("r", "main.0", "fail", "error", 1, 2, "worse", None, "e" * 16, step=4)
    records = (GAN.records[0], dataclasses.replace(GAN.records[1], checks=(error,)))
    html = page(dataclasses.replace(GAN, diagnoses=(), records=records))
    assert html.index("worse") < html.index("aux.weight did not change")
    assert links(html) == [
        "tab=layers&record=1&layer=main.0&step=4",
        "tab=gradients&record=0&parameter=aux.weight",
    ]


def test_the_first_value_that_is_not_finite_names_its_layer_step_and_inputs():
    made = data_of(page(exploding()))
    first = made["run"]["first_non_finite"]
    names = made["records"][0]["layers"]["name"]
    assert names["texts"][names["at"][first["layer"]]] == "fc2"
    assert (first["record"], first["step"], first["what"]) == (0, 412, "the loss of step 412")
    assert first["facts"] == [
        ["where", "made in forward by aten.log in layer 'fc2' at train.py:21"],
        ["input", "float32 [64, 10] -0.5 to 3.1 with 2 Inf"],
        ["reason", "the logarithm of a negative number is NaN"],
        ["batch", "hookcli-batch.pt"],
    ]


@pytest.mark.parametrize("ended", ["exception", "completed"])
def test_the_error_of_a_script_is_in_its_page(ended):
    script = ScriptInfo("train.py", (), False, ended, 1, "ValueError: no <b>", "train.py:3")
    html = page(dataclasses.replace(CNN, script=script))
    error = data_of(html)["run"]["error"]
    if ended == "completed":
        assert error is None
        return
    assert error == {
        "phase": "train.py", "type": "ValueError", "message": "no <b>", "place": "train.py:3",
    }  # fmt: skip
    assert "The run failed: ValueError in train.py, at train.py:3: no &lt;b&gt;" in html


def test_the_error_of_a_record_names_its_layer():
    error = ErrorInfo("forward", "fc1", 0, (), "RuntimeError", "one\ntwo", None, "pass it")
    made = data_of(page(training(dataclasses.replace(record(), error=error))))
    assert made["records"][0]["error"] == {
        "phase": "forward", "target": "fc1", "type": "RuntimeError", "message": "one\ntwo",
        "hint": "pass it", "layer": 3,
    }  # fmt: skip


def test_a_run_without_a_training_has_a_page():
    html = page(EMPTY)
    assert data_of(html)["records"] == []
    assert "the script called no module with gradients enabled" in html


def test_modules_that_no_optimizer_trains_are_listed():
    assert data_of(page(GAN))["run"]["others"] == [
        {"name": "inception", "type": "Inception3", "calls": 30, "parameters": 27161264,
         "place": "eval.py:9"},
    ]  # fmt: skip


def facts_of_run(report):
    return run(report, merged(report), [References(record) for record in report.records])


def test_how_a_training_was_observed_is_a_fact_if_it_was_chosen():
    plain = dict(facts_of_run(CNN)["facts"])
    assert set(plain) == {"preset", "steps in detail"}
    tracking = dataclasses.replace(
        CNN.tracking, max_steps=1000, stop_on="nonfinite", rank=1, world_size=2, eager=True,
        detached="an error\n of its own",
    )  # fmt: skip
    chosen = dict(facts_of_run(dataclasses.replace(CNN, tracking=tracking))["facts"])
    assert {name: chosen[name] for name in chosen if name not in plain} == {
        "--max-steps": "1,000", "--stop-on": "nonfinite", "rank": "1 of 2", "compiler": "off",
        "stopped observing": "an error of its own",
    }  # fmt: skip


def test_the_first_value_that_is_not_finite_has_the_facts_that_are_known():
    known = exploding(20)
    assert [name for name, _ in facts_of_run(known)["first_non_finite"]["facts"]] == [
        "where", "input", "reason", "batch",
    ]  # fmt: skip
    bare = dataclasses.replace(known.first_non_finite, inputs=(), reason=None, batch=None)
    unknown = facts_of_run(dataclasses.replace(known, first_non_finite=bare))
    assert [name for name, _ in unknown["first_non_finite"]["facts"]] == ["where"]


def test_an_optimizer_without_options_that_holds_other_parameters():
    made = record(total=10, every=5, optimizer=dataclasses.replace(
        CNN.records[0].training.optimizer, elsewhere=3, options={}))  # fmt: skip
    known = dict(steps(made)["facts"])
    assert known["held, of other modules"] == "3"
    assert known["steps in this page"] == "one in 5, and those in detail"
    assert "options" not in known
    usual = dict(steps(CNN.records[0])["facts"])
    assert "options" in usual
    assert {"held, of other modules", "steps in this page"}.isdisjoint(usual)


def test_a_target_is_found_by_its_parameter_also_with_a_part():
    made = CNN.records[0]
    references = References(made)
    assert references.of("fc2.weight").parameter == 6
    assert references.of("Net: fc2.weight").parameter == 6
    assert references.of("fc2.weight:gradient").parameter == 6
    assert references.of("elsewhere:output") == references.of("elsewhere")
    bare = References(dataclasses.replace(made, layers=()))
    assert (bare.owner("fc2.weight"), bare.of("fc2.weight").parameter) == (-1, 6)
