"""A trace of a model is the same as the model, though tracing renames and moves things."""

from __future__ import annotations

import pytest

from hookcli.comparison.matching import pair_tensors, traced_tensors
from hookcli.comparison.tolerance import TensorSummary
from tests.conftest import run_cli, run_python

SOURCE = """
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

class Branch(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder

    def forward(self, x):
        return self.encoder(x).relu()

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        encoder = nn.Linear(4, 4)
        self.left, self.right = Branch(encoder), Branch(encoder)
        self.lstm = nn.LSTM(4, 3, batch_first=True)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(self.left(x) + self.right(x * 2), lengths, batch_first=True)
        return pad_packed_sequence(self.lstm(packed)[0], batch_first=True)[0]

example_inputs = (torch.randn(2, 5, 4), torch.tensor([5, 3]))
"""
TRACE = """
import warnings
import torch
warnings.simplefilter("ignore")
from net import Net, example_inputs
torch.manual_seed(0)
torch.jit.trace(Net().eval(), example_inputs, check_trace=False).save("trace.pt")
"""


def test_a_model_with_shared_and_packed_parts_is_its_own_trace(tmp_path):
    (tmp_path / "net.py").write_text(SOURCE)
    (tmp_path / "trace.py").write_text(TRACE)
    assert run_python("trace.py", cwd=tmp_path).status == 0
    result = run_cli("diff", "net.py", "trace.pt", cwd=tmp_path)
    assert result.out.splitlines()[-1] == "SAME: bitwise equal"
    assert "only" not in result.out


def tensors(*digests):
    return [
        TensorSummary(f"[{i}]{digest}", (1,), "float32", {"digest": digest})
        for i, digest in enumerate(digests)
    ]


@pytest.mark.parametrize(
    ("ours", "theirs", "kept"),
    [
        ("ab", "wab", "ab"),  # a weight is passed too
        ("abc", "b", "b"),  # what is not used is omitted
        ("ab", "ba", "ab"),
        ("ab", "ax", None),  # b differs: both are compared
        ("ab", "xy", None),
        ("aab", "ab", "ab"),
    ],
)
def test_only_what_a_trace_adds_or_omits_is_not_compared(ours, theirs, kept):
    here, there = traced_tensors(tensors(*ours), tensors(*theirs))
    if kept is None:
        assert (here, there) == (tensors(*ours), tensors(*theirs))
    else:
        assert "".join(item.values["digest"] for item in here) == kept
        assert [item.values for item in here] == [item.values for item in there]


def test_tensors_without_common_paths_are_paired_by_content_and_else_by_position():
    assert [a.values == b.values for a, b in pair_tensors(tensors(*"ab"), tensors(*"ba"))] == [
        True,
        True,
    ]
    (first, second) = pair_tensors(tensors(*"ab"), tensors(*"xa"))
    assert (first[0].path, first[1].path) == ("[0]a", "[0]x")
    assert (second[0].path, second[1].path) == ("[1]b", "[1]a")


UNREAD = """
import torch
from torch import nn

class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.read, self.unread = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        return {"aux": self.unread(x), "y": self.read(x)}

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(4, 4, batch_first=True)
        self.lstm = nn.LSTM(4, 4, batch_first=True)
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True)
        self.pool = nn.MaxPool1d(2, return_indices=True)
        self.part = Part()

    def forward(self, x):
        x = self.gru(x)[0]
        x = x + self.lstm(x)[1][1][0].unsqueeze(1)
        return self.pool(self.part(self.attention(x, x, x)[0])["y"])[0]

example_inputs = (torch.randn(2, 6, 4),)
"""
SAVE = """
import warnings
import torch
warnings.simplefilter("ignore")
from net import Net, example_inputs
torch.manual_seed(0)
model = Net().eval()
torch.jit.trace(model, example_inputs, check_trace=False).save("net.pt")
torch.export.save(torch.export.export(model, example_inputs, strict=False), "net.pt2")
model.part.read.weight.data[0, 0] += 1
torch.export.save(torch.export.export(model, example_inputs, strict=False), "other.pt2")
"""


def test_what_a_graph_drops_because_nobody_reads_it_is_no_difference(tmp_path):
    (tmp_path / "net.py").write_text(UNREAD)
    (tmp_path / "save.py").write_text(SAVE)
    assert run_python("save.py", cwd=tmp_path).status == 0
    for file in ("net.pt", "net.pt2"):
        result = run_cli("diff", "net.py", file, cwd=tmp_path)
        assert result.out.splitlines()[-1].startswith("SAME: bitwise equal"), result.out
    other = run_cli("diff", "net.py", "other.pt2", "--own-weights", cwd=tmp_path)
    assert other.status == 1
    assert "part.read (Linear)" in next(
        line for line in other.out.splitlines() if line.startswith("First difference")
    )
