"""What hooks attached by hand leave behind in PyTorch is taken back before each test."""

from __future__ import annotations

import pytest
from torch.nn.modules import module as torch_module


@pytest.fixture(autouse=True)
def _no_kind_of_global_backward_hook(monkeypatch):
    """PyTorch keeps which of the two kinds was registered last, also once it is removed."""
    monkeypatch.setattr(torch_module, "_global_is_full_backward_hook", None)
