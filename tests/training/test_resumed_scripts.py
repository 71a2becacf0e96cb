"""Trainings that go on from a checkpoint, each without one part of its state.

`python -m benchmarks.proof.resume.run` counts all.
"""

from __future__ import annotations

import pytest

from benchmarks.proof.resume.run import results
from benchmarks.proof.resume.scripts import SCRIPTS

FIRST = "momentum"  # with buffers, a scheduler and a loader that draws from the generator


@pytest.mark.parametrize("script", [FIRST, *(name for name in SCRIPTS if name != FIRST)])
def test_what_was_lost_is_named_and_a_right_resume_is_the_same(script):
    for name, loss, group, diff in results((script,)):
        assert diff.resume is not None, (name, loss)
        assert diff.resume.lost == group, (name, loss, diff.resume.sentence)
        assert diff.resume.resumed == "b"
        if not loss:
            assert diff.verdict == "same"
            assert sum(row.compared for row in diff.records) >= 9
