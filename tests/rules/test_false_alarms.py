"""The verdict says nothing about what is fine: architectures of transformers and odd models.

All of them, with every sentence and its verdict, are in docs/measurements/false-alarms.md, which
`python -m benchmarks.proof.false_alarms` writes.
"""

from __future__ import annotations

import json
import warnings

import pytest

from benchmarks.proof.cases import Case, cases
from benchmarks.proof.false_alarms import Judged, judge, unjudged
from benchmarks.proof.verdicts import FAULTS, VERDICTS, verdict_of
from hookcli.config.merge import Flags, spec_of
from hookcli.diagnosis.diagnose import with_verdict
from hookcli.engine.attempt import Session
from hookcli.report.encode import to_json
from hookcli.rules.judge import judge_report
from hookcli.spec.inputs import parse_inputs
from hookcli.spec.request import Attempt
from tests.conftest import ROOT
from tests.odd_models import ODD

HANDFUL = [
    "attn_seq2seq", "flow_thread", "hook_in_forward", "mix_reversible", "name_unicode",
    "param_lazy", "param_tied_embedding", "seq_neural_ode", "state_converts_itself",
    "tensor_autocast",
]  # fmt: skip
ARCHITECTURES = ["bert", "gpt2", "t5", "mixtral", "xlnet", "segformer"]


def zoo(name):
    """Check a model of the zoo in this process."""
    source = ROOT / "tests" / "odd_models" / "source.py"
    inputs = parse_inputs((f"{source}:{name}__batch",))
    spec = spec_of("check", None, Flags(model=f"{source}:{name}", inputs=inputs))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = Session(spec, Attempt("real"), lambda *_: None).run().report
        checked = json.loads(to_json(with_verdict(judge_report(report, spec.checks))))
    failure = None if report.error is None else report.error.message
    diagnoses = checked.get("diagnoses", [])
    return Judged(Case(name, "zoo", ()), checked["checks"], diagnoses, failure)


@pytest.mark.parametrize("name", HANDFUL)
def test_the_verdict_on_odd_models_is_true(name):
    one = zoo(name)
    assert one.failure is None
    assert unjudged([one]) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_no_architecture_fails_with_the_defaults(name):
    pytest.importorskip("transformers")
    one = judge(next(case for case in cases(None) if case.name == name), ())
    assert one.failure is None
    assert [row for row in one.diagnoses if row["severity"] == "error"] == []
    assert unjudged([one]) == []


@pytest.mark.slow
def test_every_sentence_about_the_zoo_was_reviewed():
    found = [zoo(name) for name in ODD]
    assert unjudged(found) == []


def test_verdicts_have_known_words():
    words = {word for word, _ in {**VERDICTS, **FAULTS}.values()}
    assert words <= {"true", "meant", "fault", "false"}


def test_a_sentence_without_a_verdict_is_told():
    diagnosis = {"cause": "finite", "rules": ["finite"], "target": "no such module"}
    assert verdict_of("bert", diagnosis) is None
