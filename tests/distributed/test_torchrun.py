"""Started by torchrun, each hookcli is a rank."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.distributed.conftest import NETS


def torchrun(folder, model, *args, **env):
    torch_run = Path(sys.executable).with_name("torchrun")
    hookcli = Path(sys.executable).with_name("hookcli")
    return subprocess.run(
        [torch_run, "--standalone", "--nproc-per-node", "2", "--no-python", hookcli, "grads",
         f"{NETS}:{model}", "-i", f"{NETS}:batch", "--loss", f"{NETS}:loss", *args],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT), **env}, capture_output=True,
        text=True, timeout=200,
    )  # fmt: skip


def test_ranks_join_and_the_first_says_it_all(tmp_path, cli):
    done = torchrun(tmp_path, "Net", "-f", "json=report.json", "-f", "table")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Total params") == 1
    report = json.loads((tmp_path / "report.json").read_text())
    local = cli("grads", f"{NETS}:Net", "-i", f"{NETS}:batch", "--loss", f"{NETS}:loss",
                "--nproc", 2, "-f", "json").report  # fmt: skip
    for found in (report, local):
        found.pop("environment")
    assert report == local
    other = json.loads((tmp_path / "report.rank1.json").read_text())
    assert other["run"]["losses"] == report["distributed"]["ranks"][0]["losses"]


@pytest.mark.slow
def test_rank_0_says_which_other_rank_failed(tmp_path):
    done = torchrun(tmp_path, "Wrong", "-f", "json=report.json", WHAT="raise", STEP="0")
    assert done.returncode != 0
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["error"]["message"] == "rank 1: rank 1 raises"
    assert report["error"]["layer"] == "bad"
    assert "ValueError in forward, in 'bad' (Bad): rank 1: rank 1 raises" in done.stderr
