"""Runs of several ranks, through the command line and by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import run_cli, run_python

HERE = Path(__file__).parent
NETS, HOOKS = HERE / "nets.py", HERE / "hooks.py"


@pytest.fixture
def ranks(tmp_path):
    """Run a command by several ranks: (what it gave, its report)."""

    def run(command, config, *args, **env):
        file = tmp_path / "ranks.yaml"
        file.write_text(config.replace("NETS", str(NETS)).replace("HOOKS", str(HOOKS)))
        out = tmp_path / "report.json"
        done = run_cli(command, "-c", file, "-f", f"json={out}", "-f", "table", *args,
                       cwd=tmp_path, **env)  # fmt: skip
        return done, json.loads(out.read_text()) if out.exists() else None

    return run


@pytest.fixture
def by_hand(tmp_path):
    """The same with DistributedDataParallel alone: a list of steps for each rank."""

    def run(world, steps, cap="-", hook="allreduce_hook"):
        outs = [tmp_path / f"hand{rank}.json" for rank in range(world)]
        store = tmp_path / "store"
        done = run_python(HERE / "byhand.py", store, steps, cap, hook, *outs, cwd=tmp_path)
        assert done.status == 0, done.err
        return [json.loads(out.read_text()) for out in outs]

    return run
