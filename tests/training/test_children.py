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


@pytest.mark.parametrize("method", ["spawn", "fork"])
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
