"""Scripts with transformers' Trainer, Accelerate and Lightning give the record of a plain loop."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from .test_scripts import ROOT, Record, Result, _environment, assert_true, tensors

FOLDER = ROOT / "tests" / "scripts" / "frameworks"
SCRIPTS = ("with_trainer", "with_accelerate", "with_lightning")


def _python(*args, cwd, **env) -> Result:
    done = subprocess.run(
        [sys.executable, *map(str, args)],
        cwd=cwd,
        env={**_environment(cwd), **env},
        capture_output=True,
        text=True,
        timeout=200,
    )
    return Result(done.returncode, done.stdout, done.stderr)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_framework_gives_the_record_of_a_plain_loop(name, tmp_path):
    truth = tmp_path / "truth.json"
    _python(
        "-m", "tests.training.oracle", FOLDER / "plain_loop.py", "plain",
        cwd=tmp_path, HOOKCLI_TRUTH=str(truth),
    )  # fmt: skip
    options = ("run", "-q", "--steps", "all", "-f", "json=report.json")
    seen = _python("-m", "hookcli", *options, FOLDER / f"{name}.py", "seen", cwd=tmp_path)
    assert seen.status == 0, seen.err
    assert tensors(tmp_path / "plain") == tensors(tmp_path / "seen")
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["tracking"].get("detached") is None
    (record,) = report["records"]
    root = record["training"]["root_type"]
    expected = Record("", root, "AdamW", 6, 1, 1, named=False)
    assert_true(expected, record, json.loads(truth.read_text())["model"])
