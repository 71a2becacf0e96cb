"""A mixture of experts without dispatch: each expert sees all tokens."""

import torch

from benchmarks.proof.sharded.nets import Moe


def build_model() -> Moe:
    return Moe()


def example_inputs() -> torch.Tensor:
    return torch.randn(4, 6, 8, generator=torch.Generator().manual_seed(0))
