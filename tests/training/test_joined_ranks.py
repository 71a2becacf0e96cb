"""One training on two gloo ranks: the joined report has the figures of whole tensors."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from benchmarks.proof.sharded import training
from benchmarks.proof.sharded.run import compare, start_ranks
from hookcli.cli.targets.folders import add_files
from hookcli.formats.registry import FORMATS
from hookcli.formats.view import View
from hookcli.report.files import read_any_report
from tests.conftest import ROOT, run_cli

SCRIPT = ROOT / "tests" / "scripts" / "sharded_gloo.py"


@dataclass(frozen=True)
class Recorded:
    folder: Path
    report: dict
    truth: dict

    def file(self, name: str) -> str:
        return str(self.folder / name)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        report = start_ranks([str(SCRIPT), str(folder / "truth")], 2, folder / "run.json")
    return Recorded(folder, report, json.loads((folder / "truth").read_text()))


def test_figures_are_those_of_the_full_tensors(recorded):
    sharded = {**recorded.report, "records": recorded.report["records"][:2]}
    count, wrong = compare(sharded, recorded.truth, "two ranks", exact=True)
    assert (count > 300, wrong) == (True, [])
    assert "detached" not in recorded.report["tracking"]


def test_figures_are_those_of_a_training_on_one_process(recorded):
    alone = {name: training.train(name, "single", None) for name in recorded.truth}
    sharded = {**recorded.report, "records": recorded.report["records"][:2]}
    assert compare(sharded, alone, "one process", exact=False)[1] == []


def test_a_part_is_told_beside_the_whole(recorded):
    own = json.loads((recorded.folder / "run.rank0.json").read_text())["records"]
    other = json.loads((recorded.folder / "run.rank1.json").read_text())["records"]
    rows = [{row["name"]: row for row in record[0]["parameters"]} for record in (own, other)]
    joined = {row["name"]: row for row in recorded.report["records"][0]["parameters"]}
    first = joined["first.weight"]  # 3 rows: two on rank 0, one on rank 1
    assert first["placements"] == ["Shard(0)"]
    assert first["mesh"] == {"names": ["dp"], "sizes": [2], "at": [0], "ranks": "0-1"}
    assert (first["shape"], first["local"]["shape"], first["whole"]) == ([3, 8], [2, 8], True)
    assert first["local"]["grad"] == rows[0]["first.weight"]["grad"]
    assert rows[1]["first.weight"]["local"] == {"shape": [1, 8]}
    assert rows[0]["first.weight"]["whole"] is rows[1]["first.weight"]["whole"] is False
    assert rows[1]["scale"]["local"] == {"shape": [0]}  # one element: rank 1 has none
    assert joined["scale"]["grad"]["numel"] == 1
    plain = {row["name"]: row for row in recorded.report["records"][1]["parameters"]}
    assert plain["blocks.0.1.up.weight"]["placements"] == ["Shard(0)"]
    assert plain["blocks.0.1.down.weight"]["placements"] == ["Shard(1)"]
    assert plain["blocks.0.1.down.bias"]["placements"] == ["Replicate"]
    assert not {"placements", "mesh", "local", "whole"} & plain["words.weight"].keys()


def test_a_rank_that_parts_is_named_with_its_step_and_parameter(recorded):
    record = recorded.report["records"][2]
    assert record["training"]["partings"][0]["target"] == "4.bias"
    (row,) = [row for row in record["checks"] if row["rule"] == "ranks_agree"]
    assert (row["status"], row["severity"], row["step"]) == ("fail", "error", 6)
    message = "the parameters of rank 1 differ from those of rank 0 before step 6, first 4.bias"
    assert row["message"] == message


@pytest.mark.parametrize("files", [("0", "1"), ("1", "0")])
def test_files_are_joined_in_any_order(recorded, files, tmp_path):
    names = [recorded.file(f"run.rank{rank}.json") for rank in files]
    assert run_cli("render", *names, "-o", tmp_path / "all.json").status == 0
    assert json.loads((tmp_path / "all.json").read_text()) == recorded.report


def changed(recorded, name: str, change) -> str:
    """The file of rank 1 after a change, under another name."""
    document = json.loads((recorded.folder / "run.rank1.json").read_text())
    change(document)
    (recorded.folder / name).write_text(json.dumps(document))
    return recorded.file(name)


def test_files_that_do_not_belong_together_are_refused(recorded):
    own, other = recorded.file("run.rank0.json"), recorded.file("run.rank1.json")

    def refused(*files):
        result = run_cli("render", *files)
        assert result.status == 2
        message, place, hint = result.err.splitlines()
        assert place == f"  --> {files[-1]}" and hint.startswith("hint: ")
        return message.removeprefix("error: ").replace(f"{recorded.folder}/", "")

    same = "run.rank1.json and run.rank1.json are both of rank 1"
    assert refused(own, other, other) == same
    joined = "run.json is already joined, of rank 0-1"
    assert refused(other, recorded.file("run.json")) == joined
    job = changed(recorded, "job.json", lambda d: d["tracking"].update(job="x"))
    another = "is of another run than run.rank0.json: "
    assert refused(own, job) == f"job.json {another}it was started by another command"
    more = changed(recorded, "more.json", lambda d: d["tracking"].update(world_size=3))
    assert refused(own, more) == f"more.json {another}it has 3 ranks, not 2"
    script = changed(recorded, "script.json", lambda d: d["script"].update(arguments=["x"]))
    assert refused(own, script) == f"script.json {another}the script or its arguments differ"
    late = changed(recorded, "late.json", lambda d: d["tracking"].update(started=1))
    assert refused(own, late) == f"late.json {another}one ended before the other began"
    cut = recorded.folder / "cut.json"
    cut.write_text(Path(other).read_text()[:5000])
    assert refused(own, str(cut)).startswith("cut.json is not a hookcli report: ")
    hint = "hint: copy the file again, or omit it: the other ranks are joined without it"
    assert run_cli("render", own, cut).err.splitlines()[2] == hint


def test_figures_stay_those_of_a_part_without_the_files_of_other_ranks(recorded, tmp_path):
    for rank in range(2):
        document = json.loads((recorded.folder / f"run.rank{rank}.json").read_text())
        document["tracking"]["world_size"] = 3
        for record in document["records"]:
            for row in record["parameters"]:
                if "mesh" in row:
                    row["mesh"].update(sizes=[3], ranks="0-2")
            for group in record["training"].get("groups", []):
                if group["mesh"]:
                    group["mesh"].update(sizes=[3], ranks="0-2")
        (tmp_path / f"run.rank{rank}.json").write_text(json.dumps(document))
    files = [str(tmp_path / f"run.rank{rank}.json") for rank in range(2)]
    assert run_cli("render", *files, "-o", tmp_path / "all.json").status == 0
    report = json.loads((tmp_path / "all.json").read_text())
    own = json.loads((tmp_path / "run.rank0.json").read_text())
    rows = [{row["name"]: row for row in one["records"][0]["parameters"]} for one in (report, own)]
    assert rows[0]["first.weight"] == rows[1]["first.weight"]
    steps = [one["records"][0]["training"]["steps"] for one in (report, own)]
    assert steps[0] == steps[1]
    assert report["records"][0]["training"]["joined"]["missing"] == "2"
    assert any("are those of a part: no file of rank 2" in note for note in report["warnings"])


def test_tensorboard_gets_the_norms_of_whole_tensors(recorded, tmp_path):
    report = read_any_report(recorded.file("run.json"))
    add_files(tmp_path / "runs", FORMATS["tensorboard"].files(report, View()))
    events = EventAccumulator(str(tmp_path / "runs"), size_guidance={"scalars": 0}).Reload()

    def has(tag, expected):
        found = [event.value for event in events.Scalars(tag)]
        assert found == pytest.approx(expected, rel=1e-5), tag

    for record, rows in zip(report.records[:2], recorded.truth.values(), strict=True):
        of = record.training.record
        for name in rows[0]:
            norms = [row[name]["grad"][0] for row in rows if row[name]["grad"]]
            if norms:
                has(f"gradient_norm/{of}/{name}", norms)
            has(f"weight_norm/{of}/{name}", [rows[-1][name]["weight"][0]])
            ratios = [row[name]["ratio"] for row in rows]
            if None not in ratios and any(ratios):
                has(f"update_ratio/{of}/{name}", ratios)
        known = [[one["grad"][0] for one in row.values() if one["grad"]] for row in rows]
        has(f"gradient_norm/{of}", [math.hypot(*norms) for norms in known])
    losses = [
        read_any_report(recorded.file(name)).records[0].training.steps
        for name in ("run.rank0.json", "run.rank1.json")
    ]
    means = [(float(a.loss) + float(b.loss)) / 2 for a, b in zip(*losses, strict=True)]
    has(f"mean_loss/{report.records[0].training.record}", means)


if sys.platform == "win32":
    pytest.skip("gloo needs another set-up on Windows", allow_module_level=True)
