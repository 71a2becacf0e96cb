"""A transformer whose last layer has the weight of its embedding."""

import torch

from benchmarks.proof.sharded.nets import Gpt


def build_model() -> Gpt:
    return Gpt(tied=True, layers=1)


def example_inputs() -> torch.Tensor:
    return torch.arange(16).reshape(2, 8) % 37
