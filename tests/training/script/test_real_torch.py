"""The whole command, with torch: the same bits, and a report at the end."""

from __future__ import annotations

import json
import sys

from tests.conftest import ROOT
from tests.training.script.conftest import CLEAN, run

SCRIPT = """
import os, random, sys, warnings
import numpy, torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

class Noise(Dataset):
    def __len__(self): return 12
    def __getitem__(self, i): return torch.randn(4), os.getpid() != pid, i % 2

pid = os.getpid()
torch.manual_seed(1); random.seed(2); numpy.random.seed(3)
net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.2), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for x, apart, y in DataLoader(Noise(), batch_size=2, num_workers=1):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
    print(loss.item().hex(), bool(apart.all()))
warnings.warn("from the script")
torch.save(net.state_dict(), "weights.pt")
torch.save(net, "net.pt")
print(torch.rand(1).item(), random.random(), numpy.random.rand())
print(sys.argv, [k for k in os.environ if "HOOKCLI" in k], len(net._forward_hooks))
print(type(torch.__spec__).__module__, len(sys.meta_path), file=sys.stderr)
sys.exit(int(sys.argv[1]))
"""


def test_a_training_is_the_same_and_has_a_report(tmp_path):
    folder = tmp_path / "work"
    results = []
    for before in ([], ["-m", "hookcli", "run", "-o", "run.json"]):
        folder.mkdir()
        (folder / "s.py").write_text(SCRIPT)
        env = {**CLEAN, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        results.append(run([sys.executable, *before, "s.py", "3"], folder, env=env))
        folder.rename(tmp_path / f"done{len(results)}")
    plain, hooked = results
    report = json.loads(hooked.files.pop("run.json"))
    lines = hooked.err.splitlines()
    size = len(plain.err.splitlines())
    assert (hooked.status, hooked.out) == (plain.status, plain.out)
    assert lines[:size] == plain.err.splitlines()
    assert len(lines) > size  # the summary
    assert hooked.files == plain.files
    assert plain.status == 3
    assert report["script"]["ended"] == "exit"
    (record,) = report["records"]
    losses = [row["loss"] for row in record["training"]["steps"]]
    assert [float(loss).hex() for loss in losses] == [
        row.split()[0] for row in plain.out.splitlines()[:6]
    ]


def test_hookcli_run_0_is_plain_python(tmp_path):
    (tmp_path / "s.py").write_text("import sys; print(sys.argv, 'hookcli' in sys.modules)")
    env = {**CLEAN, "PYTHONPATH": str(ROOT), "HOOKCLI_RUN": "0"}
    ran = run(
        [sys.executable, "-m", "hookcli", "run", "--max-steps", "3", "s.py"], tmp_path, env=env
    )
    assert (ran.status, ran.out, ran.err) == (0, "['s.py'] False\n", "")
    assert [path.name for path in tmp_path.iterdir()] == ["s.py"]
