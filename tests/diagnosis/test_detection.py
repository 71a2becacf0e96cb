"""The first sentence of the verdict names the fault that was made: its cause and its layer.

docs/measurements/detection.md has all faults; here are some of each theme.
"""

from __future__ import annotations

import pytest

from benchmarks.proof.detection.faults import FAULTS, THEMES
from benchmarks.proof.detection.judge import judge_report, verdict
from tests.conftest import run_cli

NAMED = [
    "head-never-called", "wrong-variable", "nan-weights", "sigmoid-stack", "default-init",
    "zero-head", "shared-batch-norm", "log-softmax-over-batch",
]  # fmt: skip


def report_of(folder, source, flags=()):
    (folder / "model.py").write_text(source)
    return run_cli("check", "model.py", *flags, "-f", "json", cwd=folder).report


@pytest.mark.parametrize("name", NAMED)
def test_the_first_sentence_names_the_fault(name, tmp_path):
    fault = FAULTS[name]
    source, lines = fault.source()
    judged = judge_report(fault, report_of(tmp_path, source, fault.flags), lines)
    assert judged.names_cause, judged.sentence
    assert judged.names_layer, judged.sentence


def test_the_healthy_model_of_a_fault_has_no_verdict(tmp_path):
    fault = FAULTS["detach-gate"]
    (old, new), *_ = fault.edits
    source, _ = fault.source()
    assert verdict(report_of(tmp_path, source.replace(new, old))) == []


def test_every_fault_is_one_edit_that_python_can_parse():
    for fault in FAULTS.values():
        source, lines = fault.source()
        compile(source, fault.name, "exec")
        assert bool(lines) == bool(fault.edits), fault.name
    assert len(FAULTS) == sum(map(len, THEMES.values()))


def test_a_sentence_about_another_layer_is_a_miss():
    fault = FAULTS["zero-head"]
    _, lines = fault.source()
    sentence = "3 parameters got zero gradients because 'norm.weight' is zero"
    diagnosis = {"cause": "zero", "sentence": sentence, "target": "norm", "place": "model.py:1"}
    judged = judge_report(fault, {"diagnoses": [diagnosis]}, lines)
    assert judged.names_cause
    assert not judged.names_layer
