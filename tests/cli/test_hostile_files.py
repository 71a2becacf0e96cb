"""Files that no tool wrote, given to whole commands: refused in three lines, never our bug."""

from __future__ import annotations

import json
import os

import pytest
import torch

from hookcli.formats.registry import FORMATS
from hookcli.formats.view import View
from tests.conftest import HEAD
from tests.formats.fabricate import TRACE

NET = (
    HEAD
    + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)
    def forward(self, x):
        return self.fc(x)
"""
)
ODD = (
    HEAD
    + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)
        self.register_buffer("sparse", torch.eye(4).to_sparse())
        self.register_buffer("ragged", torch.nested.nested_tensor(
            [torch.ones(2, 4), torch.ones(3, 4)], layout=torch.jagged))
        self.register_buffer("small", torch.ones(2, 4).to(torch.float8_e4m3fn))
    def forward(self, x):
        return {"y": self.fc(x), "bits": torch.zeros(2, 4, dtype=torch.bits8)}
"""
)
QUANTIZED = (
    HEAD
    + """
import warnings
warnings.simplefilter("ignore")
model = torch.ao.quantization.quantize_dynamic(
    nn.Sequential(nn.Linear(4, 3), nn.ReLU()), {nn.Linear}, dtype=torch.qint8)
"""
)
CYCLE: list = [torch.ones(2, 4)]
CYCLE.append(CYCLE)


@pytest.fixture
def files(tmp_path):
    for name, text in {
        "net.py": NET,
        "odd.py": ODD,
        "other.py": ODD.replace("self.fc(x)", "self.fc(x) * 2"),
        "q.py": QUANTIZED,
        "float.py": HEAD + "model = nn.Sequential(nn.Linear(4, 3), nn.ReLU())\n",
        "stats.yaml": "model: net.py\nhooks: [{kind: forward, at: '*', do: stats}]\n",
        "known.json": "[" * 20_000,
        "zero.yaml": 'model: net.py\nchecks: [{rule: same_as, report: "a\\0b"}]\n',
    }.items():
        (tmp_path / name).write_text(text)
    torch.save({}, tmp_path / "empty.pt")
    torch.save(CYCLE, tmp_path / "cycle.pt")
    torch.save({1: torch.ones(3, 4)}, tmp_path / "numbered.pt")
    (tmp_path / "length.pt").write_bytes(b"\x80\x04\x8e" + b"\xff" * 7 + b"\x7f.")
    document = json.loads(FORMATS["json"].render(TRACE, View()))
    document["layers"][1]["outputs"][0]["stats"] = {"norm": [1]}
    (tmp_path / "doctored.json").write_text(json.dumps(document))
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "gone.json").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipe.pt")
    return tmp_path


REFUSED = {
    "an empty dict as input": ["inspect", "net.py", "-i", "empty.pt"],
    "numbers as names of weights": ["inspect", "net.py", "--weights", "numbered.pt"],
    "an absurd length": ["inspect", "length.pt"],
    "a pipe as weights": ["inspect", "net.py", "--weights", "pipe.pt"],
    "a doctored report": ["render", "doctored.json"],
    "a folder": ["render", "folder.json"],
    "a link to nothing": ["check", "--against", "gone.json"],
    "a device without an end": ["render", "/dev/zero"],
    "a baseline nested too deep": ["check", "net.py", "-i", "2x4", "--baseline", "known.json"],
    "a NUL in a report's name": ["check", "-c", "zero.yaml", "-i", "2x4"],
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_hostile_file_is_refused(case, cli, files):
    done = cli(*REFUSED[case])
    assert done.status in {2, 3}, done.err
    done.error()


SHOWN = {
    "a list in itself as input": (["inspect", "net.py", "-i", "cycle.pt", "--depth", "0"], {3}),
    "statistics": (["inspect", "-c", "stats.yaml", "-i", "2x4"], {0}),
    "odd tensors": (["trace", "odd.py", "-i", "2x4", "-f", "tree"], {0}),
    "odd tensors, twice": (["diff", "odd.py", "other.py", "-i", "2x4"], {1}),
    "packed weights": (["diff", "q.py", "q.py", "-i", "2x4"], {0}),
    "packed weights and none": (["diff", "float.py", "q.py", "-i", "2x4"], {1}),
}


@pytest.mark.parametrize("case", SHOWN)
def test_odd_values_are_no_bug(case, cli, files):
    arguments, statuses = SHOWN[case]
    done = cli(*arguments)
    assert done.status in statuses, done.err
    assert "hookcli failed" not in done.err


def test_a_pipe_that_somebody_writes_to_is_read(cli, tmp_path):
    text = FORMATS["json"].render(TRACE, View())
    assert cli("render", "/dev/stdin", "-f", "json", stdin=text).out == text
