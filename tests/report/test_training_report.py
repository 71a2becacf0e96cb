"""The JSON of a training: it reads as it was written, and a doctored one is refused or drawn."""

from __future__ import annotations

import copy
import dataclasses
import json

import jsonschema
import pytest
from hypothesis import given, settings, strategies as st

from hookcli.errors import RequestError
from hookcli.formats.registry import formats_of
from hookcli.formats.training.summary import render as summary
from hookcli.formats.view import View
from hookcli.report.encode import to_json, training_to_json
from hookcli.report.files import read_any_report, read_report
from hookcli.report.schema import training_from_json, training_schema
from tests.formats.fabricate import GRADS
from tests.formats.training_reports import (
    CNN,
    EMPTY,
    GAN,
    SMALL,
    exploding,
    hostile,
    long,
    record,
    training,
)
from tests.report.test_doctored import _WELL_FORMED, HOSTILE, QUIET, at, positions

TIMED = dataclasses.replace(
    record("Net", total=2), timings={"unit": "us", "steps": [[0, 0.0, 5.0], [1, 5.5, 9.0]]}
)
ALL = {
    "cnn": CNN, "empty": EMPTY, "gan": GAN, "exploding": exploding(), "small": SMALL,
    "timed": training(TIMED), "hostile": hostile('x\x1b[31m\u202e"\\\n::error::\ud800'),
}  # fmt: skip
SCHEMA = training_schema()
DOCUMENT = json.loads(training_to_json(SMALL))
PLACES = sorted(positions(DOCUMENT), key=str)


@pytest.mark.parametrize("name", ALL)
def test_a_report_reads_as_it_was_written(tmp_path, name):
    text = training_to_json(ALL[name])
    file = tmp_path / "run.json"
    file.write_text(text)
    again = read_any_report(str(file))
    assert training_to_json(again) == text
    if name != "hostile":  # a lone surrogate is written as its escape
        assert again == ALL[name]
    if name in {"small", "hostile", "empty", "timed"}:  # the others have more of the same rows
        jsonschema.validate(json.loads(text), SCHEMA)


def test_each_step_has_a_line_and_a_record_is_an_indented_report():
    lines = training_to_json(GAN).splitlines()
    steps = [line.strip() for line in lines if line.lstrip().startswith('{"step": ')]
    assert len(steps) == 600
    divisor = 1 + 0.05 * 299
    assert steps[299] == (
        f'{{"step": 299, "forwards": 1, "backwards": 1, "loss": {2.3 / divisor!r}, '
        f'"grad_norm": {4 / divisor!r}, "lr": 0.01, "sampled": true, "weight_norm": 20.0, '
        '"update_norm": 0.02, "update_ratio": 0.001, "missing": 0, "zero": 0, "non_finite": 0}'
    )
    own = to_json(GAN.records[1]).rstrip("\n").splitlines()
    start = len(lines) - lines[::-1].index("    {") - 1
    assert [f"    {line}" for line in own] == lines[start : start + len(own)]


def test_a_hundred_thousand_steps_take_less_than_50_mb():
    text = training_to_json(long(10_000))  # a tenth of them: each takes the same
    assert text.count('{"step": ') == 10_000 + 8 * 103  # steps, and 8 parameters in sampled ones
    assert len(text) * 10 < 50e6 / 2


def test_figures_that_are_not_known_have_no_key():
    unsampled = json.loads(training_to_json(CNN))["records"][0]["training"]["steps"][3]
    assert unsampled == {
        "step": 3, "forwards": 1, "backwards": 1, "loss": 2.3 / 1.15, "grad_norm": 4 / 1.15,
        "lr": 0.01, "sampled": False,
    }  # fmt: skip


@pytest.mark.parametrize(("path", "value", "message"), [
    (("records", 0, "training"), None, "records.0.training: Field required"),
    (("records", 0, "training", "record"), "netD", "records.1.training.record: duplicate name"),
    (("records", 0, "training", "steps", 1, "step"), 0,
     "records.0.training.steps.1.step: 0 must be greater than 0"),
    (("records", 0, "training", "steps", 4, "step"), 5, "less than 5"),
    (("records", 0, "training", "steps", 0, "loss"), "big", "records.0.training.steps.0.loss"),
    (("records", 0, "training", "steps", 0, "step"), "0", "records.0.training.steps.0.step"),
    (("records", 0, "training", "steps", 0, "lr"), 10**400, "lr: Input should be a finite number"),
    (("records", 0, "training", "every"), 0,
     "records.0.training.every: Input should be greater than or equal to 1"),
    (("records", 0, "parameters", 0, "steps", 0, "step"), "\x1b[31m",
     "records.0.parameters.0.steps.0.step"),
    (("records", 0, "parameters", 0, "steps", 0, "grad"), {"norm": []}, "steps.0.grad.norm"),
    (("records", 0, "layers", 1, "order"), 0, "records.0.layers: order 0 must be greater"),
    (("records", 0), {}, "records.0"),
    (("schema",), "hookcli.run/2", "schema: Input should be 'hookcli.run/1'"),
    (("script", "ended"), "well", "script.ended"),
])  # fmt: skip
def test_the_path_of_what_is_wrong_is_named(tmp_path, path, value, message):
    document = copy.deepcopy(DOCUMENT)
    *above, last = path
    at(document, above)[last] = value
    file = tmp_path / "run.json"
    file.write_text(json.dumps(document))
    with pytest.raises(RequestError) as caught:
        read_any_report(str(file))
    assert message in caught.value.message
    assert caught.value.message.startswith(f"{file} is not a hookcli report: ")


def test_a_script_in_place_of_a_report_gets_the_command_that_runs_it(tmp_path):
    file = tmp_path / "my train.py"
    file.write_text("import torch\n")
    with pytest.raises(RequestError) as caught:
        read_any_report(str(file))
    assert f"run `hookcli run -o run.json '{file}'`" in caught.value.hint


def test_commands_that_read_a_report_of_a_model_name_what_they_got(tmp_path):
    file = tmp_path / "run.json"
    file.write_text(training_to_json(CNN))
    with pytest.raises(RequestError, match="is the report of a training script"):
        read_report(str(file))


def test_a_report_of_a_model_is_not_a_training_though_a_name_says_so(tmp_path):
    file = tmp_path / "r.json"
    named = dataclasses.replace(GRADS, warnings=('"schema": "hookcli.run/1"',))
    file.write_text(to_json(named))
    assert read_any_report(str(file)) == named


@st.composite
def doctored(draw):
    """The document with one or two values replaced, moved, removed or repeated."""
    document = copy.deepcopy(DOCUMENT)
    for _ in range(draw(st.integers(1, 2))):
        *above, last = draw(st.sampled_from(PLACES))
        change = draw(st.sampled_from(["replace", "replace", "move", "remove", "repeat"]))
        try:
            holder = at(document, above)
            other = copy.deepcopy(at(document, draw(st.sampled_from(PLACES))))
            if change == "remove":
                del holder[last]
            elif change == "repeat" and isinstance(holder, list):
                holder.append(copy.deepcopy(holder[last]))
            else:
                holder[last] = other if change == "move" else draw(HOSTILE)
        except (KeyError, IndexError, TypeError):
            continue
    return json.dumps(document).encode("utf-8", "surrogatepass")


NARROW = View(width=20, unicode=False, color=True, root="/r", start="/r", fail_on="never")


def draw_all(report):
    summary(report, NARROW).encode()
    for name, row in formats_of("run").items():
        if row.writes_folder:
            assert all(row.files(report, View()).values())
            continue
        try:
            text = row.render(report, NARROW if name == "tree" else View())
        except RequestError:  # timings alone: only one format reads them
            assert name == "perfetto"
            continue
        text.encode()
        _WELL_FORMED.get(name, str)(text)


@settings(QUIET, max_examples=20)
@given(doctored())
def test_a_doctored_report_is_refused_or_drawn(tmp_path_factory, data):
    file = tmp_path_factory.getbasetemp() / "doctored-run.json"
    file.write_bytes(data)
    try:
        report = read_any_report(str(file))
    except RequestError as error:
        assert error.place == str(file)
        assert error.hint
        return
    if hasattr(report, "records"):
        draw_all(report)
        assert training_from_json(training_to_json(report)) is not None


@pytest.mark.parametrize("name", ALL)
def test_each_format_draws_it(name):
    report = training_from_json(training_to_json(ALL[name]))
    draw_all(report)


@pytest.mark.parametrize("key", ["step", "grad", "status"])
def test_a_step_of_a_parameter_without_a_key_is_drawn(tmp_path, key):
    document = json.loads(training_to_json(CNN))
    for parameter in document["records"][0]["parameters"]:
        for step in parameter["steps"]:
            del step[key]
    (tmp_path / "r.json").write_text(json.dumps(document))
    found = read_any_report(str(tmp_path / "r.json"))
    for form in formats_of("run").values():
        if not form.writes_folder and form.name != "perfetto":
            assert form.render(found, View())
