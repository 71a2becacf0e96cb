"""Calls that a checkpoint repeats, also in a torch that does not tell the hooks in use."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from hookcli.engine.grad_inputs import GradInputs
from hookcli.errors import RequestError
from hookcli.hooks.resolve import Known
from hookcli.models import model as calls_of_model
from hookcli.models.backend import backend_of
from tests.conftest import attempt

SOURCE = """\
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = (nn.Linear(4, 4) for _ in range(3))

    def forward(self, x):
        x = checkpoint(lambda y: self.b(self.a(y)), self.c(x), use_reentrant=REENTRANT)
        return checkpoint(self.a, x, use_reentrant=REENTRANT)
"""


@pytest.mark.parametrize("reentrant", [True, False])
def test_each_repeated_call_has_the_number_of_the_first(tmp_path, monkeypatch, reentrant):
    file = tmp_path / "net.py"
    file.write_text(SOURCE.replace("REENTRANT", str(reentrant)))

    def calls():
        report = attempt(f"{file}:Net", "2x4", loss="sum", steps=2)
        return [(row.name, row.call, row.recomputed) for row in report.layers]

    told = calls()
    monkeypatch.setattr(calls_of_model, "top_saved_tensors_hooks", None)
    assert calls() == told
    first = [("", 0), ("c", 0), ("a", 0), ("b", 0), ("a", 1)]
    assert [row[:2] for row in told if not row[2]] == first
    assert sorted(row[:2] for row in told if row[2]) == [("a", 0), ("a", 1), ("b", 0)]


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
        self.b.requires_grad_(False)


def inputs(*patterns):
    return GradInputs(backend_of(Pair()), patterns)


def test_gradients_are_taken_to_what_the_patterns_match():
    assert [tuple(t.shape) for t in inputs("a.*").tensors()] == [(4, 4), (4,)]
    for pattern, message in (("b.weight", "nothing that requires grad matches"), ("gone", "gone")):
        with pytest.raises(RequestError, match=message):
            inputs(pattern)
    with pytest.raises(RequestError):
        inputs("a:output:output")
    with pytest.raises(RequestError, match="nothing that requires grad matches 'c:output'"):
        inputs("c:output")


def test_values_of_calls_are_kept_by_their_part():
    model = backend_of(Pair())
    wanted = GradInputs(model, ("a:output",))
    with pytest.raises(RequestError, match="matches no value of the run"):
        wanted.tensors()
    known = Known.of(model)
    assert "a" in known.module_names()

    class Call:
        key = id(model.root.a)

    x = torch.ones(2, 4, requires_grad=True)
    wanted.enter(Call, ((x,), {}))
    with pytest.raises(RequestError, match="matches no value of the run"):
        wanted.tensors()
    wanted.leave(Call, (x * 2, torch.ones(1)), None)
    assert [t.shape for t in wanted.tensors()] == [(2, 4)]
