"""A transformer with learned positions and separate projections."""

import torch

from benchmarks.proof.sharded.nets import Gpt


def build_model() -> Gpt:
    return Gpt()


def example_inputs() -> torch.Tensor:
    return torch.arange(16).reshape(2, 8) % 37
