"""The bytes that autograd keeps for backward, against torch's own saved-tensor hooks."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from hookcli.engine.cost.training_memory import training


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x, x * 2)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        _, double = ctx.saved_tensors
        return grad * double


class Custom(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 6)

    def forward(self, x):
        return Square.apply(self.fc(x)).sum(1)


class Dict(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(6, 5, num_layers=2)
        self.norm = nn.LayerNorm(5)

    def forward(self, x):
        out, (h, _) = self.rnn(x)
        return {"out": self.norm(out).softmax(-1), "h": h.exp()}


def by_hooks(model, x):
    """Distinct storages that are packed, the model's own and the batch aside."""
    own = {t.untyped_storage()._cdata for t in (*model.parameters(), *model.buffers(), x)}
    kept = []

    def pack(tensor):
        kept.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        model(x)
    sizes = {t.untyped_storage()._cdata: t.untyped_storage().nbytes() for t in kept}
    return sum(size for key, size in sizes.items() if key not in own)


MODELS = [
    lambda: nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Dropout(), nn.Linear(8, 2)),
    lambda: nn.Sequential(
        nn.Unflatten(1, (1, 6)), nn.Conv1d(1, 3, 3), nn.BatchNorm1d(3), nn.GELU()
    ),
    lambda: nn.TransformerEncoderLayer(6, 2, 12, batch_first=True),
    Custom,
    Dict,
]


@pytest.mark.parametrize("make", MODELS)
def test_saved_bytes_are_those_that_saved_tensor_hooks_see(make):
    torch.manual_seed(0)
    model, x = make(), torch.randn(4, 6)
    found, _ = training(model, ((x,), {}), model(x))
    assert found is not None
    assert found.saved_bytes == by_hooks(model, x) > 0
    assert found.gradient_bytes == 4 * sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize("make", MODELS)
def test_backward_is_the_same_after_its_tensors_were_read(make):
    gradients = []
    for read in (False, True):
        torch.manual_seed(0)
        model, x = make(), torch.randn(4, 6)
        output = model(x)
        if read:
            training(model, ((x,), {}), output)
        values = output.values() if isinstance(output, dict) else [output]
        sum(value.square().sum() for value in values).backward()
        gradients.append([p.grad for p in model.parameters()])
    for plain, after in zip(*gradients, strict=True):
        assert torch.equal(plain, after)


def test_what_a_checkpoint_holds_is_not_recomputed():
    runs = []
    inner = nn.Linear(3, 3)

    def block(x):
        runs.append(1)
        return inner(x).exp()

    x = torch.randn(2, 3)
    out = checkpoint(block, x.requires_grad_(), use_reentrant=False)
    training(inner, ((x,), {}), out)
    assert len(runs) == 1


def test_nothing_is_estimated_without_a_graph():
    model = nn.Linear(2, 2).requires_grad_(False)
    x = torch.randn(1, 2)
    assert training(model, ((x,), {}), model(x))[0] is None


def test_a_graph_of_a_hundred_thousand_operators_is_freed_without_recursion():
    code = (
        "import torch\n"
        "from hookcli.hooks.attach.graph import let_go, nodes_since\n"
        "y = torch.ones(1, requires_grad=True)\n"
        "for _ in range(100_000):\n"
        "    y = y * 1.0\n"
        "nodes = nodes_since([y], 0)\n"
        "assert len(nodes) == 100_000\n"
        "del y\n"
        "let_go(nodes)\n"
        "assert not nodes\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
