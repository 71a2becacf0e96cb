"""Blocks of two layers with a normalization before them."""

import torch
from torch import nn

from benchmarks.proof.sharded.nets import Mlp


def build_model() -> nn.Module:
    return nn.Sequential(nn.Linear(8, 16), Mlp(16, 32), Mlp(16, 48), nn.Linear(16, 6))


def example_inputs() -> torch.Tensor:
    return torch.randn(4, 8, generator=torch.Generator().manual_seed(0))
