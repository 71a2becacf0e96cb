"""Trainings in plain PyTorch, watched as `hookcli run` does: mistakes are found, and told first.

`python -m benchmarks.proof.training_alarms` runs all of them.
"""

from __future__ import annotations

import pytest

from benchmarks.proof.training_alarms import result_of
from benchmarks.proof.trainings import faulty, healthy

FAULTY = {
    "no zero grad": "zero_grad is never called",
    "optimizer of the model before a copy": "none of the 4 parameters of Adam gets a gradient",
    "layer after the optimizer": "'3.weight', '3.bias' are trainable, but in no optimizer",
    "weights that are loaded again": "'0.weight', '0.bias' do not change in 150 steps",
    "diverges to nan": "step 3",
}
HEALTHY = ("gan", "experts that are not always used", "grad scaler that finds its scale")


@pytest.mark.parametrize("name", FAULTY)
def test_a_mistake_is_the_first_sentence(name):
    train, rules = faulty.CASES[name]
    found = result_of(name, train, 0, rules)
    assert found.is_found
    assert FAULTY[name] in found.sentences[0]


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_training_has_no_finding(name):
    found = result_of(name, healthy.CASES[name], 1)
    assert [row for row in found.rows if row.status == "fail"] == []
    assert found.sentences == ()
