"""What is fine passes: architectures of transformers and odd models, judged with the defaults.

All of them, with every finding and what was seen there, are in docs/measurements/false-alarms.md,
which `python -m benchmarks.proof.false_alarms` writes.
"""

from __future__ import annotations

import pytest

from benchmarks.proof.false_alarms import by_the_command, of_the_zoo, unjudged
from benchmarks.proof.verdicts import FAULTS, VERDICTS, verdict_of
from tests.odd_models import ODD

HANDFUL = [
    "attn_seq2seq", "flow_thread", "hook_in_forward", "mix_reversible", "name_unicode",
    "param_tied_embedding", "seq_neural_ode", "state_converts_itself", "tensor_autocast",
]  # fmt: skip
ARCHITECTURES = ["bert", "gpt2", "llama_lm", "t5", "mixtral", "mamba", "switch_transformers",
                 "xlnet", "vit", "swin", "resnet", "segformer"]  # fmt: skip


@pytest.mark.parametrize("name", HANDFUL)
def test_a_handful_of_odd_models_has_no_finding(name):
    one = of_the_zoo(name)
    assert one.failure is None
    assert one.findings == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_no_architecture_fails_with_the_defaults(name):
    pytest.importorskip("transformers")
    one = by_the_command(name)
    assert one.failure is None
    assert [row for row in one.findings if row["severity"] == "error"] == []
    assert unjudged([one]) == []


@pytest.mark.slow
def test_every_finding_in_the_zoo_was_looked_at():
    found = [of_the_zoo(name) for name in ODD]
    assert unjudged(found) == []


def test_no_verdict_calls_a_finding_false():
    said = {word for word, _ in {**VERDICTS, **FAULTS}.values()}
    assert said <= {"true", "meant", "fault"}


def test_a_finding_without_a_verdict_is_told():
    row = {"rule": "finite", "target": "no such module", "status": "fail"}
    assert verdict_of("bert", row) is None
