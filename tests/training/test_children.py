"""Processes that a script starts by multiprocessing are observed; those that load data are not."""

from __future__ import annotations

import json
import sys

import pytest

from tests.conftest import run_cli

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it forks")

SCRIPT = """\
import sys

import torch
import torch.multiprocessing as mp
from torch import nn
from torch.utils.data import DataLoader


def train(rank):
    torch.manual_seed(rank)
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = [torch.randn(4) for _ in range(6)]
    for x in DataLoader(data, batch_size=2, num_workers=1 if sys.argv[1] == "fork" else 0):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
    print(rank, float(model.weight.detach().sum()), flush=True)


if __name__ == "__main__":
    for rank in range(2):
        process = mp.get_context(sys.argv[1]).Process(target=train, args=(rank,))
        process.start()
        process.join()
"""


@pytest.mark.parametrize("method", ["spawn", "fork", "forkserver"])
def test_processes_of_a_script_have_reports(method, tmp_path):
    (tmp_path / "s.py").write_text(SCRIPT)
    plain = run_cli("run", "-q", "--no-children", "-o", "none.json", "s.py", method,
                    cwd=tmp_path, real=True)  # fmt: skip
    seen = run_cli("run", "-q", "-o", "run.json", "s.py", method, cwd=tmp_path, real=True)
    assert (seen.status, seen.out, seen.err) == (0, plain.out, "")
    assert json.loads((tmp_path / "none.json").read_text())["records"] == []
    files = [f"run{part}.json" for part in ("", ".rank0", ".rank1")]
    assert sorted(file.name for file in tmp_path.glob("run*")) == sorted(files)
    for file in files:
        (record,) = json.loads((tmp_path / file).read_text())["records"]
        assert (record["training"]["record"], record["training"]["total"]) == ("model", 3)
    report = json.loads((tmp_path / "run.json").read_text())
    assert report["warnings"][-1] == "this is one of 2 processes that trained alone"


SERVED = """\
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def train(rank):
    dist.init_process_group("gloo", store=dist.FileStore("store", 2), rank=rank, world_size=2)
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(4, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1 + 0.1 * rank)
    for _ in range(4):
        optimizer.zero_grad()
        model(torch.randn(3, 4)).square().mean().backward()
        optimizer.step()
    dist.destroy_process_group()
    print(float(model.module.weight.detach().sum()), flush=True)


def idle():
    print("idle", flush=True)


if __name__ == "__main__":
    context = mp.get_context("forkserver")
    context.set_forkserver_preload(["torch"])
    started = [context.Process(target=train, args=(rank,)) for rank in range(2)]
    for process in (context.Process(target=idle), *started):
        process.start()
    for process in started:
        process.join()
        assert process.exitcode == 0
"""


def test_ranks_that_a_fork_server_forks_are_joined(tmp_path):
    (tmp_path / "s.py").write_text(SERVED)
    done = run_cli("run", "-q", "-o", "run.json", "s.py", cwd=tmp_path)
    assert (done.status, done.err) == (0, "")
    names = sorted(file.name for file in tmp_path.glob("run*"))
    assert names == ["run.json", "run.rank0.json", "run.rank1.json"]
    (record,) = json.loads((tmp_path / "run.json").read_text())["records"]
    assert record["training"]["joined"]["ranks"] == "0-1"
    (row,) = [row for row in record["checks"] if row["rule"] == "ranks_agree"]
    assert row["message"].startswith("rank 1 has the learning rate 0.2 at step 0, and rank 0 0.1")


KILLED = """\
import os, signal, sys

import torch
import torch.multiprocessing as mp


def train():
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(9):
        optimizer.zero_grad()
        model(torch.randn(3, 4)).square().mean().backward()
        optimizer.step()
        if step == 5:
            os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    process = mp.get_context(sys.argv[1]).Process(target=train)
    process.start()
    process.join()
    print(process.exitcode)
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_what_was_seen_of_a_process_that_is_killed_is_kept(method, tmp_path):
    (tmp_path / "s.py").write_text(KILLED)
    done = run_cli("run", "-o", "run.json", "s.py", method, cwd=tmp_path, real=True)
    assert (done.status, done.out) == (0, "-9\n")
    report = json.loads((tmp_path / "run.json").read_text())
    (record,) = report["records"]
    assert 3 <= record["training"]["total"] <= 6
    assert [row["step"] for row in record["training"]["steps"]][:3] == [0, 1, 2]
    assert report["status"] == "partial"
    assert any(text.startswith("no end was recorded: last entry ") for text in report["warnings"])
