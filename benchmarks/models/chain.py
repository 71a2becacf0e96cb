"""A chain of as many linear layers as BENCH_MODULES says: every module is called once."""

import os

import torch
from torch import nn


def build_model():
    return nn.Sequential(*(nn.Linear(8, 8) for _ in range(int(os.environ["BENCH_MODULES"]))))


def example_inputs():
    return (torch.randn(2, 8),)
