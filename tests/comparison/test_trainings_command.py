"""`hookcli diff A.json B.json` of two trainings, as a user runs it."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest

from hookcli.comparison.schema import run_diff_schema
from hookcli.comparison.training.compare_trainings import compare_trainings
from hookcli.formats.training_diff.lines import last_line
from hookcli.report.encode import to_json, training_to_json
from tests.comparison.trainings import record, training

LOSSES = [2.0, 1.5, 1.2, 1.0]


def saved(name, losses=LOSSES, gradient=0.5, **facts):
    """Write the report of a training of four steps."""
    report = training(record(losses, {"fc.weight": gradient}), **facts)
    Path(name).write_text(training_to_json(report))


@pytest.fixture
def pair(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    saved("a.json")
    saved("b.json", [2.0, 1.5, 1.3, 1.4], [0.5, 0.5, 0.5, 0.9], arguments=["--lr", "|x|"])


def test_the_table_ends_with_the_verdict_and_the_status_tells_it(cli, pair):
    done = cli("diff", "a.json", "b.json")
    assert done.status == 1
    assert done.out.splitlines()[-1] == "DIFFERENT: 2 of 4 steps"
    sentence = (
        "First difference: the trainings part at step 2: the loss differs first (1.2 in A and 1.3 "
        "in B, 8.3 % > 1 %); the gradient of fc.weight is the first to follow, at step 3"
    )
    assert sentence in " ".join(done.out.split())
    assert cli("diff", "a.json", "b.json", "--fail-on", "never").status == 0
    same = cli("diff", "a.json", "a.json")
    assert (same.status, same.err) == (0, "")
    assert same.out.splitlines()[-1] == "SAME: all 24 figures of both are equal"


def test_a_tolerance_is_that_of_the_flag(cli, pair):
    done = cli("diff", "a.json", "b.json", "--tolerance", "0.5", "--tolerance", "fc.*=0.1")
    assert "the gradient of fc.weight differs first" in " ".join(done.out.split())
    done = cli("diff", "a.json", "b.json", "--tolerance", "0.9")
    assert done.out.splitlines()[-1].startswith("SAME within tolerance: differences of at most 80")


def test_json_satisfies_the_schema_and_has_every_step(cli, pair):
    done = cli("diff", "a.json", "b.json", "-f", "json")
    jsonschema.validate(done.report, run_diff_schema())
    (row,) = done.report["records"]
    assert [step["status"] for step in row["rows"]] == ["same", "same", "different", "different"]
    assert done.report["first"]["figure"]["step"] == 2


def test_markdown_escapes_what_the_user_typed(cli, pair):
    done = cli("diff", "a.json", "b.json", "-f", "markdown")
    assert done.out.startswith("### DIFFERENT: 2 of 4 steps\n")
    assert r"--lr '\|x\|'" in done.out


def test_a_training_and_the_report_of_a_model_cannot_be_compared(cli, pair):
    Path("model.json").write_text(to_json(record(LOSSES, {"fc.weight": 0.5})))
    done = cli("diff", "model.json", "b.json")
    assert done.status == 2
    assert done.err.splitlines() == [
        "error: the report of a training script can only be compared with another one",
        "  --> b.json",
        "hint: give two files that `hookcli run -f json=FILE` wrote",
    ]


def test_the_verdict_has_the_largest_difference_that_is_known():
    for gradient, told in (
        ([0.5, 0.501, 0.5, 0.5], "0.2 %"),
        ([0.0, 1e-9, 0.5, 0.5], "0 %, besides rounding of zeros"),
        ([0.0, 1e-9, 0.501, 0.5], "0.2 %, besides rounding of zeros"),
    ):  # fmt: skip
        zero = [0.0 if norm < 0.1 else 0.5 for norm in gradient]
        a, b = (
            training(record(LOSSES, {"a.weight": norms, "b.weight": 0.5}))
            for norms in (zero, gradient)
        )
        assert last_line(compare_trainings(a, b)) == (
            f"SAME within tolerance: differences of at most {told}"
        )
