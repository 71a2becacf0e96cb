"""A few of the architectures of `benchmarks.proof`, which takes an hour for all of them."""

from __future__ import annotations

import pytest

pytest.importorskip("transformers")
from benchmarks.proof.architectures import ARCHITECTURES
from benchmarks.proof.run import compare


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gpt2", "t5", "vit"])
def test_every_call_equals_hooks_attached_by_hand(name):
    verdict, truth, said, words = compare(ARCHITECTURES[name])
    assert verdict == "SAME", words
    assert len(said.rows) == len(truth.rows) > 20
