"""What the process at the end does: it judges, writes and prints the report of a script."""

from __future__ import annotations

import io
import json
import pickle
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from hookcli.cli.output import Target
from hookcli.cli.training.end_of_run import end_of_run
from hookcli.cli.training.script_request import EndRequest
from hookcli.config.config import Config
from hookcli.config.merge import Flags, training_spec_of
from hookcli.console import Console
from hookcli.report.encode import training_to_json
from hookcli.spec.checks import CheckSpec
from hookcli.training.script.verdict import FOUND
from tests.formats.training_reports import CNN

FAILING = (CheckSpec("grad_norm", {"max": 1e-9}),)  # the report has larger norms


@pytest.fixture
def ended(monkeypatch, capfd, tmp_path):
    monkeypatch.chdir(tmp_path)

    def status_of(*targets, checks=(), fail_on="never", rank=0, quiet=False, cut=0):
        spec = training_spec_of("grads", Config(checks=checks), Flags(), "train.py")
        files = tuple(Target(name, file and tmp_path / file) for name, file in targets)
        end = pickle.dumps(EndRequest(spec, files, fail_on, Console(quiet=quiet), rank), 4)
        parts = end, training_to_json(CNN).encode()
        data = b"".join(len(part).to_bytes(8, "little") + part for part in parts)[: -cut or None]
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
        return end_of_run(), *capfd.readouterr()

    return status_of


def test_without_a_format_a_summary_is_on_stderr(ended, tmp_path):
    status, out, err = ended()
    assert (status, out, list(tmp_path.iterdir())) == (0, "", [])
    assert err.startswith("hookcli run ")
    assert ended(quiet=True) == (0, "", "")


def test_a_format_on_stdout_replaces_the_summary(ended, tmp_path):
    status, out, err = ended(("json", None), ("markdown", "a.md"))
    assert (status, err, json.loads(out)["schema"]) == (0, "", "hookcli.run/1")
    assert (tmp_path / "a.md").read_text()


@pytest.mark.parametrize(("fail_on", "status"), [("never", 0), ("warning", FOUND)])
def test_findings_of_a_configuration_s_checks_count_with_fail_on(fail_on, status, ended, tmp_path):
    found, _, err = ended(("json", "a.json"), checks=FAILING, fail_on=fail_on)
    assert found == status
    assert ("exit status 1: " in err) == bool(status)
    (record,) = json.loads((tmp_path / "a.json").read_text())["records"]
    assert "fail" in {row["status"] for row in record["checks"] if row["rule"] == "grad_norm"}


def test_another_rank_writes_its_own_file_and_prints_nothing(ended, tmp_path):
    assert ended(("json", "a.json"), ("table", None), rank=2) == (0, "", "")
    assert [path.name for path in tmp_path.iterdir()] == ["a.rank2.json"]


def test_a_report_that_cannot_be_written_is_kept(ended):
    status, _, err = ended(("json", "gone/a.json"))
    assert status not in {0, FOUND}
    *error, note = err.splitlines()
    assert len(error) == 3 and error[0].startswith("error: cannot write")
    name = note.removeprefix("note: the report is in ").partition(":")[0]
    with Path(name).open() as file:
        assert json.load(file)["schema"] == "hookcli.run/1"


def test_a_report_that_is_cut_off_is_that_of_a_script_that_was_killed(ended, tmp_path):
    assert ended(("json", "a.json"), cut=1) == (0, "", "")
    assert list(tmp_path.iterdir()) == []
