"""One encoder that is called twice."""

import torch

from benchmarks.proof.sharded.nets import Siamese


def build_model() -> Siamese:
    return Siamese()


def example_inputs() -> torch.Tensor:
    return torch.randn(4, 8, generator=torch.Generator().manual_seed(0))
