"""Without gradients, a module whose weights are used without a call is not called unused."""

from tests.conftest import run_cli

SOURCE = """
import torch
from torch import nn
from torch.nn import functional as F

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.direct = nn.Embedding(9, 4), nn.Linear(4, 4)
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))
        self.read, self.frozen = nn.Linear(4, 4), nn.Linear(4, 4).requires_grad_(False)

    def forward(self, x):
        x = self.direct.forward(self.embedding(x))
        for layer in self.layers:
            x = layer(x)
        x = F.linear(F.linear(x, self.read.weight), self.frozen.weight)
        return F.linear(x, self.embedding.weight)
"""
GRAPH = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x, edges):
        return torch.zeros_like(x).index_add(0, edges[1], self.layer(x)[edges[0]])
"""


def test_modules_that_may_be_used_without_a_call_are_not_called_unused(tmp_path):
    (tmp_path / "net.py").write_text(SOURCE)
    for more in ((), ("--no-grad",)):
        result = run_cli("check", "net.py", "--input", "2x3:int64:0..9", *more, cwd=tmp_path)
        row = next(line for line in result.out.splitlines() if "uncalled_modules" in line)
        assert row.startswith("skip"), result.out
        assert "never ran" not in result.out


def test_nodes_and_edges_of_a_graph_are_not_samples(tmp_path):
    (tmp_path / "net.py").write_text(GRAPH)
    inputs = ("--input", "x=6x4", "--input", "edges=2x9:int64:0..6")
    result = run_cli("check", "net.py", *inputs, cwd=tmp_path)
    row = next(line for line in result.out.splitlines() if "batch_independent" in line)
    assert row.startswith("skip"), result.out
