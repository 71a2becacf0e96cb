"""A vision transformer whose class token is a parameter of the model itself."""

import torch

from benchmarks.proof.sharded.nets import Vit


def build_model() -> Vit:
    return Vit()


def example_inputs() -> torch.Tensor:
    return torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(0))
