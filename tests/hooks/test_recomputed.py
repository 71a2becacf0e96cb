"""A forward_pre hook under a checkpoint fires twice: that is said, not silently counted."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import hookcli


class Net(nn.Module):
    def __init__(self, *, reentrant):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.fc = nn.Linear(4, 4)
        self.reentrant = reentrant

    def forward(self, x):
        return checkpoint(self.fc, self.first(x), use_reentrant=self.reentrant)


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_hook_that_fires_again_in_a_checkpoint_is_told(reentrant, tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text(
        "hooks:\n"
        "  - {kind: forward_pre, at: fc, do: record}\n"
        "  - {kind: forward_pre, at: first, do: record}\n"
        "  - {kind: tensor, at: fc.weight, do: record}\n"
    )
    report = hookcli.trace(Net(reentrant=reentrant), torch.randn(2, 4), config=path)
    (row,) = report.checks
    assert (row.target, row.severity) == ("fc", "warning")
    assert "fired 1 more time" in row.message
    assert [e.recomputed for e in report.events if e.target == "fc"] == [False, True]


def test_the_preset_takes_no_note_of_it():
    assert not hookcli.trace(Net(reentrant=True), torch.randn(2, 4)).checks
