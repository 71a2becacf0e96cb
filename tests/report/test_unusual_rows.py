"""Rows of a report that few runs have: other calls on a rank, unknown bytes, no such data."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from hookcli.report.encode import to_json
from hookcli.report.path_ends.end_rows import cut_before
from hookcli.report.ranks.merge import merge_reports
from hookcli.report.recording import MemoryNote, Recording
from hookcli.report.rows.memory import memory_notes
from tests.distributed.rows import of_rank
from tests.formats.fabricate import LAYERS, TRACE


def test_a_rank_that_calls_another_module_is_told_at_the_first_call():
    def differing(*layers):
        made = merge_reports([of_rank(), of_rank(1, layers=layers)])
        (rank,) = made.distributed.ranks
        return [(row.what, row.target, row.value, row.of_rank_0) for row in rank.differs]

    other = replace(LAYERS[2], name="spare")
    assert ("call", "2", "spare", "head") in differing(*LAYERS[:2], other)
    assert ("calls", "", 2, 3) in differing(*LAYERS[:2])
    assert differing(*LAYERS) == []


def test_tensors_without_a_known_size_are_counted():
    def notes(unsized):
        return memory_notes(Recording(memory=MemoryNote(unsized=unsized)))

    assert notes(0) == memory_notes(Recording()) == ()
    assert notes(2) == (
        "memory is incomplete: 2 tensors without a storage of known size",
    )  # fmt: skip


def test_the_last_cut_that_a_parameter_is_behind_is_told():
    def cut(operator, *behind):
        names = dict.fromkeys(("layer", "module"), "a")
        return {"operator": operator, "place": "n.py:3", "behind": behind, "why": "cut",
                "kind": "detach", "output": "", "parameters": 1, **names}  # fmt: skip

    cuts = [cut("detach", "a"), cut("round", "b")]
    assert "detach" in cut_before(cuts, ["a.weight"])
    assert "round" in cut_before(cuts, ["b.weight"])
    assert cut_before(cuts, ["c.weight"]) is None


def test_what_json_cannot_hold_is_refused_with_its_type():
    with pytest.raises(TypeError, match="a report cannot contain object"):
        to_json(replace(TRACE, timings={"phases": object()}))
    assert json.loads(to_json(TRACE))["layers"][0]["type"] == "Net"
