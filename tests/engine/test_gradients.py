"""Gradients as reported against plain PyTorch in another process; benchmarks/proof has more."""

from __future__ import annotations

import pytest

pytest.importorskip("transformers")
from benchmarks.proof.gradients import compare

SLOW = ("t5", "mamba", "modernbert")


@pytest.mark.parametrize(
    ("name", "loss"), [("inplace_resnet", "probe"), ("vae", "sum"), ("siamese", "mean")]
)
def test_a_samples_gradients_are_those_of_plain_pytorch(name, loss):
    shared = name == "siamese"  # torch's full backward hooks do not tell the calls of one apart
    held(compare(name, loss), also=() if shared else ("full",))


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_a_transformers_gradients_are_those_of_plain_pytorch(name):
    held(compare(name, "probe"))


def held(tally, also=("full",)):
    assert tally.failure is None
    assert tally.differences == []
    assert all(tally.counts[what] for what in ("parameter", "output", "input", *also))
