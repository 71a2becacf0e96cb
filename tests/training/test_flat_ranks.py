"""FSDP1 and interleaved pipelines on two gloo ranks: figures are those of one process."""

from __future__ import annotations

import sys

import pytest

from benchmarks.proof.sharded import training
from benchmarks.proof.sharded.run import compare, start_ranks
from tests.conftest import ROOT

if sys.platform == "win32":
    pytest.skip("gloo needs another set-up on Windows", allow_module_level=True)

SCRIPT = ROOT / "tests" / "scripts" / "flat_gloo.py"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        return start_ranks([str(SCRIPT)], 2, tmp_path_factory.mktemp("ranks") / "run.json")


def _names(record: dict) -> set[str]:
    return {row["name"] for row in record["parameters"]}


def test_parameters_of_fsdp1_have_the_figures_of_one_process(report):
    alone = {"scaled": training.train("scaled", "single", None)}
    one = {**report, "records": report["records"][:1]}
    count, wrong = compare(one, alone, "FSDP1", exact=False)
    assert (count > 100, wrong) == (True, [])
    row = {row["name"]: row for row in one["records"][0]["parameters"]}["first.weight"]
    assert (row["shape"], row["placements"], row["whole"]) == ([3, 8], ["FlatShard"], True)
    assert row["mesh"] == {"names": ["dp"], "sizes": [2], "at": [0], "ranks": "0-1"}


def test_a_flat_parameter_has_the_norm_of_all_that_it_consists_of(report):
    record = report["records"][1]
    (row,) = record["parameters"]
    truth = training.train("mlp", "single", None)
    for entry, step in zip(row["steps"], truth, strict=True):
        squares = sum(figures["grad"][0] ** 2 for figures in step.values())
        assert entry["grad"]["norm"] == pytest.approx(squares**0.5, rel=1e-9)
    assert (row["placements"], row["whole"]) == (["FlatShard"], True)
    note = "parameters are those that FSDP has flattened; pass `use_orig_params=True`"
    assert sum(note in warning for warning in report["warnings"]) == 1


def test_two_stages_of_a_rank_are_in_one_record(report):
    pipelines = report["records"][2:-2]
    truth = {"stack": training.train("stack", "single", None)}
    count, wrong = compare({**report, "records": pipelines}, truth, "interleaved", exact=False)
    assert (len(pipelines), count > 100, wrong) == (1, True, [])
    optimizer = pipelines[0]["training"]["optimizer"]
    assert (optimizer["parameters"], optimizer["elsewhere"]) == (len(truth["stack"][0]), 0)


def test_a_norm_that_begins_as_a_copy_is_no_expert(report):
    (row,) = [row for row in report["records"][-2]["checks"] if row["rule"] == "ranks_agree"]
    said = "the parameters of rank 1 differ from those of rank 0 after step 0, first final."
    assert (row["status"], row["message"].startswith(said)) == ("fail", True)


def test_nobody_else_is_accused(report):
    records = [record for record in report["records"] if "final.bias" not in _names(record)]
    assert len(records) == 4
    assert [record["training"]["total"] for record in records][-1] == 8  # of rank 0; rank 1 has 6
    failed = [
        row
        for record in records
        for row in record["checks"]
        if row["status"] == "fail" and row["rule"] in {"ranks_agree", "unregistered_parameters"}
    ]
    assert failed == []
