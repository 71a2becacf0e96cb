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
    pipelines = report["records"][2:]
    truth = {"stack": training.train("stack", "single", None)}
    count, wrong = compare({**report, "records": pipelines}, truth, "interleaved", exact=False)
    assert (len(pipelines), count > 100, wrong) == (1, True, [])
    optimizer = pipelines[0]["training"]["optimizer"]
    assert (optimizer["parameters"], optimizer["elsewhere"]) == (len(truth["stack"][0]), 0)


def test_nobody_is_accused(report):
    failed = [
        row
        for record in report["records"]
        for row in record["checks"]
        if row["status"] == "fail" and row["rule"] in {"ranks_agree", "unregistered_parameters"}
    ]
    assert failed == []
